//! Policies by the run's own profile, as far as that has come.
//!
//! In: a profiler whose ledger grows while the program runs; perhaps an earlier profile, which serves until there is enough of the run's own. Out: oracles, each with a profile that does not change any more ([`Policy`]).
//!
//! The ledger is locked while what it holds is copied, during which the organizer waits: so that is done not often, and never for more than a twentieth of the time. A profile that nobody else reads is begun anew every second, so that it
//! shows the program's present phase; what was collected before serves until the new one has enough samples. The longer nothing was compiled, the slower is the pace at which samples and profiles come, up to a limit; in its time nothing must have been compiled for a profile to be older.
//! Invariant: whatever becomes of the profile, there is an oracle.

use super::controller::{Newer, Policy};
use crate::runtime::profiling::Profiler;
use profiler::collect::Weights;
use profiler::oracle::{Fallback, Kind, Oracle, ProfileView};
use profiler::profile::{Meta, Profile};
use profiler::tuning::{BESIDE_GAP, BESIDE_SETTLED, INLINE_LEAST_SAMPLES};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// From one look at the ledger to the next, at least; and so many times what the last look took.
const PAUSE: Duration = Duration::from_millis(20);
const SPARE: u32 = 20;
/// After which a profile is begun anew, at the usual pace or where something was compiled meanwhile.
const AGE: Duration = Duration::from_secs(1);
/// A younger profile is read again once its samples have grown by this part of them: reading one of many contexts takes milliseconds, and a few samples more decide nothing else.
const NEWS: u64 = 10;

/// See the [module](self).
pub struct Guide {
    profiler: Arc<Profiler>,
    kind: Kind,
    oracle: Arc<Fallback>,
    /// The program was started, what is collected now was begun, and something was compiled last: by the profiler's clock.
    started: Instant,
    begun: Instant,
    asked: Instant,
    /// Of what is collected now, those that the oracle knows.
    samples: u64,
    /// The last look at the ledger: when it ended, and how long it took.
    looked: Option<(Instant, Duration)>,
    /// Times as slow as usual.
    pace: u32,
    /// The oracle is newer than what [`Policy::newer`] has given, and its profile was collected in this time.
    news: Option<Duration>,
}

fn oracle(kind: Kind, view: ProfileView, time: Option<Duration>) -> Option<Arc<Fallback>> {
    Fallback::new(kind, view, time).map(Arc::new)
}

impl Guide {
    /// `None` if the policy asks no profile. `earlier`: of the same program's functions and call sites; may be empty.
    pub fn new(kind: Kind, profiler: Arc<Profiler>, earlier: ProfileView) -> Option<Guide> {
        let now = profiler.working_time();
        let oracle = oracle(kind, earlier, None)?;
        Some(Guide { profiler, kind, oracle, started: now, begun: now, asked: now, samples: 0, looked: None, pace: 1, news: None })
    }

    fn refresh(&mut self) {
        let start = Instant::now();
        let is_early = |(ended, took): (Instant, Duration)| start.duration_since(ended) < PAUSE.max(took * SPARE);
        if self.looked.is_some_and(is_early) {
            return;
        }
        if let Some((profile, time)) = self.collected(self.profiler.working_time())
            && let Some(oracle) = oracle(self.kind, ProfileView::of_own(&profile), self.knows_calls().then_some(time))
        {
            self.oracle = oracle;
            self.news = Some(time);
        }
        let end = Instant::now();
        self.looked = Some((end, end - start));
    }

    /// What was collected, and in which time; `None` if that is not enough, or nothing new.
    fn collected(&mut self, now: Instant) -> Option<(Profile, Duration)> {
        let options = self.profiler.options();
        let mut ledger = self.profiler.ledger();
        let collected = ledger.collector.dcg();
        let samples = collected.total_estimate().samples;
        let time = now - self.begun;
        // What was compiled meanwhile has changed what is collected.
        let slow = if self.asked > self.begun { 1 } else { self.pace };
        let is_young = self.profiler.is_read_at_the_end() || time < AGE * slow;
        let least = if is_young { self.samples / NEWS } else { 0 };
        if samples < INLINE_LEAST_SAMPLES || samples - self.samples <= least {
            return None;
        }
        self.samples = samples;
        let program = ledger.program.clone();
        if is_young {
            return Some((ledger.collector.profile(Meta::default(), program, None).ok()?, time));
        }
        let old = std::mem::replace(&mut ledger.collector, options.collector().ok()?);
        drop(ledger);
        (self.begun, self.samples) = (now, 0);
        Some((old.profile(Meta::default(), program, None).ok()?, time))
    }

    /// From one window to the next it takes as long as nothing was compiled. Who reads the profile at the end wants it evenly.
    fn slow_down(&mut self) {
        if self.profiler.is_read_at_the_end() {
            return;
        }
        let calm = self.profiler.working_time() - self.asked;
        let gaps = calm.as_nanos() / u128::from(BESIDE_GAP);
        self.set_pace(gaps.clamp(1, u128::from(BESIDE_SETTLED)) as u32);
    }

    fn set_pace(&mut self, pace: u32) {
        self.pace = pace;
        #[cfg(feature = "native")]
        self.profiler.windows().iter().for_each(|windows| windows.set_rarer(pace));
    }

    /// The profile says how many calls there were, not only how they are distributed.
    fn knows_calls(&self) -> bool {
        Weights::of(&self.profiler.options().parameters.mode) != Weights::Shares
    }
}

impl Policy for Guide {
    fn oracle(&mut self) -> Arc<dyn Oracle> {
        self.asked = self.profiler.working_time();
        self.set_pace(1);
        self.refresh();
        self.oracle.clone()
    }

    fn keeps(&self) -> bool {
        true
    }

    fn newer(&mut self) -> Option<Newer> {
        self.slow_down();
        self.refresh();
        let time = self.news.take().filter(|_| self.knows_calls())?;
        // A program is expected to run as long as it has run.
        let ahead = (self.profiler.working_time() - self.started).as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
        Some(Newer { oracle: self.oracle.clone(), ahead })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::profiling::{Counting, ProfileOptions, Reader, Time};
    use profiler::collect::StructureKind;
    use profiler::event::Event;
    use profiler::ids::{CallSiteId, FuncId, ThreadId};
    use profiler::oracle::{Form, VirtualCallFacts};
    use profiler::program::{CallSite, Edge, Function, Program};
    use profiler::sample::{Observed, Sample};
    use profiler::samplers::Parameters;

    /// `f0` calls `f1` or `f2`.
    fn profiler(reader: Reader) -> Arc<Profiler> {
        let mut program = Program::default();
        for _ in 0..3 {
            program.functions.push(Function { name: "".into(), file: "".into(), line: 0 });
        }
        program.sites.push(CallSite { caller: FuncId::from_u32(0), line: 0 });
        let options = ProfileOptions {
            parameters: Parameters::beside_estimator(),
            structure: StructureKind::Dcg,
            max_nodes: 100,
            time: Time::Real,
            counting: Counting::Beside,
            longest_burst: None,
            rest: None,
            seed: 1,
            reader,
        };
        Arc::new(Profiler::new(options, program).unwrap())
    }

    /// So many calls are seen, as what many ticks bring home.
    fn calls(profiler: &Profiler, callee: u32, count: u64) {
        let mut ledger = profiler.ledger();
        let edge = ledger.program.edge(Edge { site: Some(CallSiteId::from_u32(0)).into(), callee: FuncId::from_u32(callee) });
        let crate::runtime::profiling::Ledger { program, collector, .. } = &mut *ledger;
        collector.learn(program).unwrap();
        for tick in 0..count / 10 {
            let observed = Observed::burst([Event::call(edge), Event::RETURN].repeat(10));
            let thread = ThreadId::from_u32(0);
            collector.add(&Sample { thread, stack: Vec::new(), observed, weight: 5.0, tick: tick + 1, stands_for: 1.0 });
        }
    }

    fn targets(guide: &mut Guide) -> Vec<u32> {
        guide.looked = None;
        let candidates = [1, 2].map(FuncId::from_u32);
        let call = VirtualCallFacts {
            site: CallSiteId::from_u32(0),
            root: FuncId::from_u32(0),
            form: Form::Whole,
            chain: &[],
            candidates: &candidates,
            suggested: &candidates,
        };
        guide.oracle().targets(&call).iter().map(|target| target.as_u32()).collect()
    }

    #[test]
    fn a_profile_decides_once_it_has_enough_samples_until_a_newer_one_has() {
        let profiler = profiler(Reader::Compiler);
        let mut guide = Guide::new(Kind::CostBenefit, profiler.clone(), ProfileView::default()).unwrap();
        assert_eq!(targets(&mut guide), [1, 2], "as suggested");
        calls(&profiler, 1, 900);
        assert_eq!(targets(&mut guide), [1, 2], "too few samples");
        assert!(guide.newer().is_none());
        calls(&profiler, 1, 1000);
        assert_eq!(targets(&mut guide), [1]);
        assert!(guide.newer().is_some_and(|newer| newer.ahead >= 1.0));
        assert!(guide.newer().is_none(), "it is the same");
        // The second is over.
        guide.begun -= 2 * AGE;
        calls(&profiler, 1, 100);
        assert_eq!((targets(&mut guide), profiler.ledger().collector.dcg().total()), (vec![1], 0.0));
        calls(&profiler, 2, 900);
        assert_eq!(targets(&mut guide), [1], "the one before serves");
        calls(&profiler, 2, 200);
        assert_eq!(targets(&mut guide), [2]);
    }

    #[test]
    fn a_function_is_called_as_often_as_all_samples_say() {
        let profiler = profiler(Reader::Compiler);
        calls(&profiler, 1, 900);
        calls(&profiler, 2, 100);
        calls(&profiler, 1, 10);
        assert_eq!([0, 1, 2].map(|func| profiler.calls_of(FuncId::from_u32(func))), [0.0, 4550.0, 500.0]);
    }

    #[test]
    fn samples_come_the_rarer_the_longer_nothing_was_compiled() {
        let profiler = profiler(Reader::Compiler);
        let mut guide = Guide::new(Kind::CostBenefit, profiler.clone(), ProfileView::default()).unwrap();
        let gap = Duration::from_nanos(BESIDE_GAP);
        // So long ago something was compiled, and the profile was begun, both in tenths of a gap.
        let mut look = |calm: u32, age: u32| {
            let now = profiler.working_time();
            (guide.looked, guide.asked, guide.begun) = (None, now - gap * calm / 10, now - gap * age / 10);
            calls(&profiler, 1, 1000);
            guide.newer();
            (guide.pace, guide.samples)
        };
        assert_eq!(look(5, 4), (1, 1000));
        assert_eq!(look(35, 30), (3, 2000));
        assert_eq!(look(55, 54), (5, 3000), "older than a second, but it is the better profile the longer it is");
        assert_eq!(look(35, 54), (3, 0), "something was compiled in its time, so it is begun anew");
        assert_eq!(look(500, 10), (BESIDE_SETTLED, 1000));
        assert_eq!(look(500, 450), (BESIDE_SETTLED, 0), "as old as a profile may be");
        targets(&mut guide);
        assert_eq!(guide.pace, 1, "something is compiled again");
    }

    #[test]
    fn the_users_own_profile_is_never_begun_anew() {
        let profiler = profiler(Reader::Document);
        let mut guide = Guide::new(Kind::Dynamic, profiler.clone(), ProfileView::default()).unwrap();
        calls(&profiler, 1, 2000);
        guide.begun -= 2 * AGE;
        assert_eq!((targets(&mut guide), profiler.ledger().collector.dcg().total()), (vec![1], 10_000.0));
        calls(&profiler, 2, 2000);
        assert_eq!(targets(&mut guide), [1, 2]);
        (guide.looked, guide.asked) = (None, guide.asked - 9 * AGE);
        _ = guide.newer();
        assert_eq!(guide.pace, 1, "it is taken evenly");
    }

    #[test]
    fn policies_without_a_profile_have_no_guide() {
        for kind in [Kind::None, Kind::Static] {
            assert!(Guide::new(kind, profiler(Reader::Compiler), ProfileView::default()).is_none());
        }
    }
}
