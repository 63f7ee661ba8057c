//! A policy without rules for sizes: what a copy saves, by how often it is expected to run, against what it costs.
//!
//! In: sizes, what arguments promise, how often the copy runs. Out: a judgement.
//!
//! *Benefit*: the share of all calls that are this copy's, times the instructions that each of them saves: those of the call, and those that constants, objects that may vanish, known classes and closures make superfluous.
//! *Cost*: the instructions by which the root grows. Each must save so much ([`CostBenefit::worth`]) as it takes to compile it; and the more the larger the root already is, since it drives other code out of the cache and uses up
//! what the root may grow ([`CostBenefit::pressure`]). So calls are not compared with each other, which the compiler asks about one by one, but with a price that rises: what is best by instruction still comes in when the rest no
//! longer does. What makes the code no larger is taken.
//!
//! Sources: that profiles good enough need no static rules, T. Nakaike et al. 2014, as TACO'15 section 4.1 reports; a threshold that grows exponentially with the root, A. Prokopec et al., "An Optimization-Driven Incremental Inline
//! Substitution Algorithm for Just-in-Time Compilers", CGO 2019.

use super::bounds::Bounds;
use super::policy::{Judgement, Policy, growth, unseen};
use super::receivers::GuardRules;
use super::view::{ProfileView, Weighting};
use super::{Accepted, CallSiteFacts, Comparison, Quantity, Refused, Seen, Verdict};
use crate::tuning;

/// See the [module](self). Savings are in instructions.
#[derive(Clone, Copy, Debug)]
pub struct CostBenefit {
    /// Whether a copy's calls are those of its context.
    pub weighting: Weighting,
    /// By the call.
    pub saved_call: f64,
    /// By each argument that is a constant.
    pub saved_constant: f64,
    /// Besides, by each that decides a branch of the callee.
    pub saved_deciding: f64,
    /// By each argument that may vanish.
    pub saved_fresh: f64,
    /// By each argument of a known class that the callee calls or tests.
    pub saved_class: f64,
    /// Besides, by each closure that the callee calls.
    pub saved_closure: f64,
    /// What an instruction must save in a call of the program, taken over all its calls, in a root of no size.
    pub worth: f64,
    /// Instructions of the root that double that.
    pub pressure: f64,
    /// For virtual calls.
    pub guards: GuardRules,
    /// Whatever the profile says.
    pub bounds: Bounds,
}

impl CostBenefit {
    /// With the default numbers.
    pub fn new(weighting: Weighting) -> Self {
        CostBenefit {
            weighting,
            saved_call: tuning::INLINE_SAVED_CALL,
            saved_constant: tuning::INLINE_SAVED_CONSTANT,
            saved_deciding: tuning::INLINE_SAVED_DECIDING,
            saved_fresh: tuning::INLINE_SAVED_FRESH,
            saved_class: tuning::INLINE_SAVED_CLASS,
            saved_closure: tuning::INLINE_SAVED_CLOSURE,
            worth: tuning::INLINE_WORTH,
            pressure: tuning::INLINE_PRESSURE,
            guards: GuardRules::default(),
            bounds: Bounds::default(),
        }
    }

    /// For what comes in beside what [`StaticOracle`](super::StaticOracle) takes. Of a program that makes few calls, a share of them is little time: `calls_per_second`, where it is known, raises the price
    /// below [`tuning::INLINE_CALL_RATE`].
    pub fn beside_static(weighting: Weighting, calls_per_second: Option<f64>) -> Self {
        let dearer = calls_per_second.map_or(1.0, |rate| (tuning::INLINE_CALL_RATE / rate).max(1.0));
        CostBenefit { worth: tuning::INLINE_WORTH_BESIDE * dearer, ..CostBenefit::new(weighting) }
    }

    /// By one call.
    fn saved(&self, facts: &CallSiteFacts<'_>) -> f64 {
        self.saved_call
            + self.saved_constant * f64::from(facts.constant_args)
            + self.saved_deciding * f64::from(facts.deciding_args)
            + self.saved_fresh * f64::from(facts.fresh_args)
            + self.saved_class * f64::from(facts.known_class_args)
            + self.saved_closure * f64::from(facts.closure_args)
    }
}

impl Policy for CostBenefit {
    fn weighting(&self) -> Weighting {
        self.weighting
    }

    fn look(&self, profile: &ProfileView, facts: &CallSiteFacts<'_>) -> Seen {
        profile.look(facts.chain, facts.site, facts.callee, self.weighting)
    }

    fn judge(&self, facts: &CallSiteFacts<'_>, seen: &Seen) -> Judgement {
        if let Some(broken) = self.bounds.broken(facts) {
            return broken;
        }
        let cost = growth(facts);
        if cost <= 0.0 {
            let (value, threshold) = (facts.callee_size.into(), tuning::INLINE_CALL_SIZE);
            let comparison = Comparison { quantity: Quantity::CalleeSize, value, threshold };
            return Judgement { verdict: Verdict::Inline(Accepted::Tiny), cost, comparison };
        }
        if let Some(broken) = self.guards.broken(facts, seen) {
            return broken;
        }
        let benefit = seen.share() * self.saved(facts) / cost;
        let price = self.worth * (f64::from(facts.root_size) / self.pressure).exp2();
        let by_benefit = |verdict, threshold| {
            let comparison = Comparison { quantity: Quantity::Benefit, value: benefit, threshold };
            Judgement { verdict, cost, comparison }
        };
        let full = self.bounds.root_full(facts, Refused::BudgetSpent);
        if seen.weight <= 0.0 {
            // Where the root is full, that is what no number of calls would change.
            let verdict = Verdict::Call(unseen(seen));
            return full.map_or(by_benefit(verdict, price), |full| Judgement { verdict, ..full });
        }
        if benefit < self.worth {
            return by_benefit(Verdict::Call(Refused::NotWorth), price);
        }
        if let Some(full) = full {
            return full;
        }
        let reason = if seen.is_in_context() { Accepted::HotInContext } else { Accepted::Benefit };
        let verdict = if benefit < price { Verdict::Call(Refused::BudgetSpent) } else { Verdict::Inline(reason) };
        by_benefit(verdict, price)
    }

    fn guards(&self) -> &GuardRules {
        &self.guards
    }
}
