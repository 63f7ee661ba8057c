//! What a decision was made by: what the profile says of the call, and the comparison that followed.
//!
//! In: a policy's look at a profile and its judgement. Out: [`Evidence`], plain data that a decision carries, with the facts of the question, so that it can be asked again ([`robust`](super::robust)).

use super::{CallSiteFacts, InlineDecision};
use crate::estimate::share;

/// What a profile says of one call that could be inlined.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Seen {
    /// In calls: how often this copy of the call would go to the callee.
    pub weight: f64,
    /// Standard error of the weight, in calls: 0 where every call was counted, `None` where unknown.
    pub error: Option<f64>,
    /// Observed calls behind the weight, `None` where unknown. In a context it is estimated: the edge's in proportion to the weights.
    pub samples: Option<u64>,
    /// The edge's, in calls, if each sample counted the same, whatever its [antibias weight](crate::samplers::Antibias). `None` where the number of samples is unknown.
    pub raw_weight: Option<f64>,
    /// In calls: of this copy of the call, whomever it goes to.
    pub site_weight: f64,
    /// Observed calls behind `site_weight`.
    pub site_samples: Option<u64>,
    /// Of the whole profile, in calls.
    pub total: f64,
    /// Observed calls behind `total`.
    pub total_samples: Option<u64>,
    /// Calls around this one that the weight is known for, counted outwards: 0 if it is the edge's in whatever context.
    pub context: u32,
    /// The function in which the call stands was seen so often, in that context, that the call would have been seen too if it mattered.
    pub knows_caller: bool,
}

impl Seen {
    /// Of all calls: 0 to 1.
    pub fn share(&self) -> f64 {
        share(self.weight, self.total)
    }

    /// Standard error of the share, the total taken as sure.
    pub fn share_error(&self) -> Option<f64> {
        self.error.map(|error| share(error, self.total))
    }

    /// Of the site's calls: 0 to 1.
    pub fn site_share(&self) -> f64 {
        share(self.weight, self.site_weight)
    }

    /// The weight is not that of the edge in whatever context.
    pub fn is_in_context(&self) -> bool {
        self.context > 0
    }

    /// As it would be if the call had this share of all calls, and other calls from the site went on as they are.
    pub fn with_share(self, share: f64) -> Seen {
        // Of no calls nothing has a share, but decisions go by shares and not by how many calls these are of.
        let total = if self.total > 0.0 { self.total } else { 1.0 };
        let weight = share * total;
        Seen { weight, site_weight: (self.site_weight - self.weight).max(0.0) + weight, total, ..self }
    }
}

/// What two numbers were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// The callee's size after what arguments take from it; not above the limit.
    CalleeSize,
    /// The root's size with the callee; not above the limit.
    RootSize,
    /// Calls inlined around the call; below the limit.
    Depth,
    /// How often the callee stands in its chain; not above the limit.
    Recursion,
    /// The callee's share of its site's calls; not below the limit.
    SiteShare,
    /// What inlining saves by what it costs; not below the limit.
    Benefit,
}

impl Quantity {
    /// What it is called, with its unit.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::CalleeSize => "callee size (instructions)",
            Quantity::RootSize => "root size (instructions)",
            Quantity::Depth => "depth (calls)",
            Quantity::Recursion => "recursion (times)",
            Quantity::SiteShare => "share of the site's calls",
            Quantity::Benefit => "instructions saved in a call of the program, by instruction of growth",
        }
    }
}

/// The comparison that decided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// Of what.
    pub quantity: Quantity,
    /// What the call has.
    pub value: f64,
    /// What the policy asks.
    pub threshold: f64,
}

/// The numbers of [`CallSiteFacts`] that an [`InlineDecision`] has not got itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FactNumbers {
    recursion: u32,
    loop_depth: u32,
    below_hottest: u32,
    constant_args: u32,
    fresh_args: u32,
    deciding_args: u32,
    known_class_args: u32,
    closure_args: u32,
    callers: u32,
    is_cold: bool,
}

impl FactNumbers {
    pub(super) fn of(facts: &CallSiteFacts<'_>) -> FactNumbers {
        let CallSiteFacts { recursion, loop_depth, below_hottest, callers, is_cold, .. } = *facts;
        let CallSiteFacts { constant_args, fresh_args, deciding_args, known_class_args, closure_args, .. } = *facts;
        FactNumbers {
            recursion,
            loop_depth,
            below_hottest,
            constant_args,
            fresh_args,
            deciding_args,
            known_class_args,
            closure_args,
            callers,
            is_cold,
        }
    }
}

/// What a decision rests on.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// By the profile.
    pub seen: Seen,
    /// Instructions by which the root would grow.
    pub cost: f64,
    /// What decided.
    pub comparison: Comparison,
    /// The rest of the question.
    pub facts: FactNumbers,
}

impl InlineDecision {
    /// The question, if the decision has kept it with its evidence.
    pub fn facts(&self) -> Option<CallSiteFacts<'_>> {
        Some(self.facts_with(self.evidence.as_ref()?.facts))
    }

    pub(super) fn facts_with(&self, numbers: FactNumbers) -> CallSiteFacts<'_> {
        let FactNumbers { recursion, loop_depth, below_hottest, callers, is_cold, .. } = numbers;
        let FactNumbers { constant_args, fresh_args, deciding_args, known_class_args, closure_args, .. } = numbers;
        CallSiteFacts {
            site: self.site,
            root: self.root,
            form: self.form,
            callee: self.callee,
            chain: &self.chain,
            certainty: self.certainty,
            callee_size: self.callee_size,
            root_size: self.root_size,
            recursion,
            loop_depth,
            below_hottest,
            constant_args,
            fresh_args,
            deciding_args,
            known_class_args,
            closure_args,
            callers,
            is_cold,
        }
    }
}
