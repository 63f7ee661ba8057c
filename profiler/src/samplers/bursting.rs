//! Bursting: at each tick walk the stack and trace what follows, always (static, PLDI'06 section 5.1), or only where the stack is new (adaptive,
//! sections 5.2 and 5.3).
//!
//! In: ticks, and the stack's signature where there is a history. Out: bursts, and what their calls count for.
//! Invariant: only a burst of a known signature is compensated, by 1 / re-enable ratio; first-time signatures and static bursts count 1.

use super::signature::History;
use super::{Action, Common, Ended, Span, Tick, Wake};

#[derive(Clone, Debug)]
pub(super) struct Bursting {
    span: Span,
    adaptive: Option<Adaptive>,
    /// Of the burst that was begun last.
    weight: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    pub history: History,
    /// The chance that a known signature bursts all the same; `None`: never.
    pub re_enable: Option<f64>,
}

impl Adaptive {
    /// What the calls of a burst count for, `None` if there is to be no burst.
    fn decide(&mut self, signature: u32, common: &mut Common) -> Option<f64> {
        if !self.history.visit(signature) {
            return Some(1.0);
        }
        match self.re_enable {
            Some(ratio) if common.random.chance(ratio) => {
                common.counters.bursts_re_enabled += 1;
                Some(1.0 / ratio)
            }
            _ => {
                common.counters.bursts_skipped += 1;
                None
            }
        }
    }
}

impl Bursting {
    pub(super) fn new(span: Span, adaptive: Option<Adaptive>) -> Bursting {
        Bursting { span, adaptive, weight: 1.0 }
    }

    pub(super) fn poll(&mut self, tick: Option<Tick>, signature: impl FnOnce() -> u32, common: &mut Common) -> Action {
        if tick.is_none() {
            return Action::Wait(Wake::Tick);
        }
        common.tick += 1;
        let weight = match &mut self.adaptive {
            None => Some(1.0),
            Some(adaptive) => adaptive.decide(signature(), common),
        };
        let Some(weight) = weight else { return Action::Wait(Wake::Tick) };
        self.weight = weight;
        Action::Burst(self.span)
    }

    pub(super) fn end_burst(&mut self) -> Ended {
        Ended { weight: self.weight, next: Action::Wait(Wake::Tick) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    const TICK: Option<Tick> = Some(Tick { raised: 0, counted: 0 });
    const BURST: Action = Action::Burst(Span::Calls(5));
    const NONE: Action = Action::Wait(Wake::Tick);

    fn adaptive(re_enable: Option<f64>) -> Bursting {
        Bursting::new(Span::Calls(5), Some(Adaptive { history: History::new(16), re_enable }))
    }

    #[test]
    fn static_bursting_bursts_at_every_tick_and_never_asks_for_a_signature() {
        let mut common = Common::new(Random::new(0));
        let mut bursting = Bursting::new(Span::Cycles(9), None);
        for _ in 0..3 {
            let action = bursting.poll(TICK, || unreachable!("no signature is needed"), &mut common);
            assert_eq!(action, Action::Burst(Span::Cycles(9)));
            assert_eq!(bursting.end_burst(), Ended { weight: 1.0, next: NONE });
        }
        assert_eq!(common.tick, 3);
    }

    #[test]
    fn without_re_enablement_a_stack_bursts_once() {
        let mut common = Common::new(Random::new(0));
        let mut bursting = adaptive(None);
        let actions: Vec<Action> = [7, 8, 7, 7, 8, 9].into_iter().map(|stack| bursting.poll(TICK, || stack, &mut common)).collect();
        assert_eq!(actions, [BURST, BURST, NONE, NONE, NONE, BURST]);
        assert_eq!((common.counters.bursts_skipped, common.counters.bursts_re_enabled), (3, 0));
    }

    #[test]
    fn re_enabled_bursts_are_compensated_and_first_ones_are_not() {
        let mut common = Common::new(Random::new(3));
        let mut bursting = adaptive(Some(0.25));
        // The same stream tells beforehand which of the known ones are re-enabled; new signatures draw nothing.
        let mut random = Random::new(3);
        let mut known = || if random.unit() < 0.25 { Some(4.0) } else { None };
        let mut seen = [false; 3];
        let mut compensated = 0;
        for stack in [0, 0, 1, 0, 1, 2, 2, 2, 0, 1, 0, 1, 2, 0, 0, 1] {
            let expected = if std::mem::replace(&mut seen[stack as usize], true) { known() } else { Some(1.0) };
            let action = bursting.poll(TICK, || stack, &mut common);
            assert_eq!(action, if expected.is_some() { BURST } else { NONE });
            if let Some(weight) = expected {
                assert_eq!(bursting.end_burst().weight, weight);
                compensated += u64::from(weight > 1.0);
            }
        }
        assert!(compensated > 0 && common.counters.bursts_re_enabled == compensated, "{compensated}");
        assert_eq!(common.counters.bursts_skipped, 13 - compensated);
    }

    #[test]
    fn nothing_happens_between_ticks() {
        assert_eq!(adaptive(None).poll(None, || 7, &mut Common::new(Random::new(0))), NONE);
    }
}
