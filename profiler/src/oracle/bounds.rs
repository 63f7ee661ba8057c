//! What every policy keeps to whatever a profile says, so that inlining ends and roots stay compilable.
//!
//! In: facts. Out: why a call may not be inlined, with the comparison, or nothing. The numbers are those of [`StaticOracle`].

use super::policy::Judgement;
use super::{CallSiteFacts, Comparison, Quantity, Refused, StaticOracle, Verdict};

/// Limits on chains and roots.
#[derive(Clone, Copy, Default, Debug)]
pub struct Bounds(StaticOracle);

impl Bounds {
    /// The first bound that is broken, whatever the callee's size is: recursion, depth.
    pub fn broken(&self, facts: &CallSiteFacts<'_>) -> Option<Judgement> {
        let Bounds(limits) = self;
        if let Some(beyond) = limits.recursion_beyond(facts).filter(|_| facts.recursion > 0) {
            return Some(refusal(Refused::Recursive, beyond, facts));
        }
        if facts.chain.len() >= limits.depth_limit {
            let (value, threshold) = (facts.chain.len() as f64, limits.depth_limit as f64);
            return Some(refusal(Refused::TooDeep, Comparison { quantity: Quantity::Depth, value, threshold }, facts));
        }
        None
    }

    /// No bound is broken, and the root has room.
    pub fn allow(&self, facts: &CallSiteFacts<'_>) -> bool {
        self.broken(facts).or_else(|| self.root_full(facts, Refused::RootTooLarge)).is_none()
    }

    /// The root would grow beyond its limit.
    pub fn root_full(&self, facts: &CallSiteFacts<'_>, reason: Refused) -> Option<Judgement> {
        let value = f64::from(facts.root_size) + f64::from(facts.callee_size);
        let threshold = f64::from(self.0.root_limit);
        (value > threshold).then(|| refusal(reason, Comparison { quantity: Quantity::RootSize, value, threshold }, facts))
    }
}

/// A refusal by a limit.
fn refusal(reason: Refused, comparison: Comparison, facts: &CallSiteFacts<'_>) -> Judgement {
    Judgement { verdict: Verdict::Call(reason), cost: super::policy::growth(facts), comparison }
}
