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
        if facts.recursion > 0 && !limits.allows_recursion(facts) {
            let levels = if facts.root == facts.callee { limits.recursion.levels } else { 0 };
            return Some(refusal(Refused::Recursive, Quantity::Recursion, facts.recursion.into(), levels.into(), facts));
        }
        if facts.chain.len() >= limits.depth_limit {
            return Some(refusal(Refused::TooDeep, Quantity::Depth, facts.chain.len() as f64, limits.depth_limit as f64, facts));
        }
        None
    }

    /// The root would grow beyond its limit.
    pub fn root_full(&self, facts: &CallSiteFacts<'_>, reason: Refused) -> Option<Judgement> {
        let size = f64::from(facts.root_size) + f64::from(facts.callee_size);
        let limit = f64::from(self.0.root_limit);
        (size > limit).then(|| refusal(reason, Quantity::RootSize, size, limit, facts))
    }
}

/// A refusal by a limit.
fn refusal(reason: Refused, quantity: Quantity, value: f64, threshold: f64, facts: &CallSiteFacts<'_>) -> Judgement {
    let comparison = Comparison { quantity, value, threshold };
    Judgement { verdict: Verdict::Call(reason), cost: super::policy::growth(facts), comparison }
}
