//! Policies that ask a profile, and the names of all policies.
//!
//! In: facts about a call, a [`ProfileView`]. Out: through [`ProfileOracle`] an [`Oracle`]'s answers, with their evidence.
//!
//! A policy works in two steps, so that the second can be repeated with other numbers: it *looks* at the profile ([`Seen`]), and *judges* by the facts and what it has seen, and by nothing else.

use super::cost_benefit::CostBenefit;
use super::dynamic::Dynamic;
use super::evidence::{Comparison, Evidence, FactNumbers, Seen};
use super::receivers::GuardRules;
use super::view::{ProfileView, Weighting};
use super::{CallSiteFacts, NoInlining, Oracle, Refused, StaticOracle, Verdict, VirtualCallFacts};
use crate::ids::FuncId;
use crate::tuning;
use std::sync::Arc;

/// What a policy makes of what it has seen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Judgement {
    /// Whether the call is inlined, and why.
    pub verdict: Verdict,
    /// Instructions by which the root would grow.
    pub cost: f64,
    /// What decided.
    pub comparison: Comparison,
}

/// Instructions by which the root would grow: not above 0 if the callee is no larger than the call.
pub(super) fn growth(facts: &CallSiteFacts<'_>) -> f64 {
    f64::from(facts.callee_size) - tuning::INLINE_CALL_SIZE
}

/// Why a call that the profile has not seen stays one.
pub(super) fn unseen(seen: &Seen) -> Refused {
    if seen.knows_caller { Refused::ColdByProfile } else { Refused::NoSamples }
}

/// A policy that decides by a profile.
pub trait Policy: Send + Sync {
    /// Which weights it goes by.
    fn weighting(&self) -> Weighting;

    /// What the profile says of the call.
    fn look(&self, profile: &ProfileView, facts: &CallSiteFacts<'_>) -> Seen;

    /// By these facts and numbers alone. A call that is inlined would be so too with a larger share ([`Seen::with_share`]); weights that are all multiplied with the same change nothing.
    fn judge(&self, facts: &CallSiteFacts<'_>, seen: &Seen) -> Judgement;

    /// Which receivers of a virtual call are tested for.
    fn guards(&self) -> &GuardRules;
}

/// A policy with the profile that it asks.
pub struct ProfileOracle {
    policy: Box<dyn Policy>,
    profile: Arc<ProfileView>,
}

impl ProfileOracle {
    /// For as long as the profile is not replaced by a newer one.
    pub fn new(policy: Box<dyn Policy>, profile: Arc<ProfileView>) -> Self {
        ProfileOracle { policy, profile }
    }

    /// Who judges.
    pub fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    /// What it is judged by.
    pub fn profile(&self) -> &ProfileView {
        &self.profile
    }

    pub(super) fn judge(&self, facts: &CallSiteFacts<'_>) -> (Seen, Judgement) {
        let seen = self.policy.look(&self.profile, facts);
        (seen, self.policy.judge(facts, &seen))
    }
}

impl Oracle for ProfileOracle {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        self.judge(facts).1.verdict
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let (share, receivers) = self.profile.distribution(call.chain, call.site, self.policy.weighting());
        self.policy.guards().likely(share, &receivers, call.candidates).unwrap_or_else(|| call.suggested.to_vec())
    }

    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        let (seen, judgement) = self.judge(facts);
        let Judgement { cost, comparison, .. } = judgement;
        // A policy around this one may have decided otherwise, for reasons of its own.
        (judgement.verdict == verdict).then(|| Box::new(Evidence { seen, cost, comparison, facts: FactNumbers::of(facts) }))
    }
}

/// A policy by its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// [`NoInlining`].
    None,
    /// [`StaticOracle`].
    Static,
    /// [`Dynamic`].
    Dynamic,
    /// [`Dynamic::weak_static`].
    WeakStatic,
    /// [`CostBenefit`] by edges.
    CostBenefit,
    /// [`CostBenefit`] by contexts.
    Context,
}

impl Kind {
    /// From the simplest to the one that asks most.
    pub const ALL: [Kind; 6] = [Kind::None, Kind::Static, Kind::Dynamic, Kind::WeakStatic, Kind::CostBenefit, Kind::Context];

    /// Lower case, with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            Kind::None => "none",
            Kind::Static => "static",
            Kind::Dynamic => "dynamic",
            Kind::WeakStatic => "weak-static",
            Kind::CostBenefit => "cost-benefit",
            Kind::Context => "context",
        }
    }

    /// The policy, with the default numbers of [`tuning`]; `None` for those that ask no profile.
    pub fn policy(self) -> Option<Box<dyn Policy>> {
        match self {
            Kind::None | Kind::Static => None,
            Kind::Dynamic => Some(Box::new(Dynamic::default())),
            Kind::WeakStatic => Some(Box::new(Dynamic::weak_static())),
            Kind::CostBenefit => Some(Box::new(CostBenefit::new(Weighting::Edges))),
            Kind::Context => Some(Box::new(CostBenefit::new(Weighting::Contexts))),
        }
    }

    /// The policy with its profile, which may be empty.
    pub fn oracle(self, profile: Arc<ProfileView>) -> Box<dyn Oracle> {
        match (self.policy(), self) {
            (Some(policy), _) => Box::new(ProfileOracle::new(policy, profile)),
            (None, Kind::None) => Box::new(NoInlining),
            (None, _) => Box::new(StaticOracle::default()),
        }
    }
}
