//! A policy that inlines what a profile says is worth it, and elsewhere goes by sizes and loops: for profiles that are still growing.
//!
//! In: a policy and a profile, the questions. Out: its answers where it inlines, and those of [`StaticOracle`] where it does not, or has too few samples in all: what has not run yet may run for the rest of the program, and a profile of
//! its first moments cannot know. Where both refuse, that the call was never seen is what is told: the code around it is then rare.
//! Invariant: evidence is that of the profile's own answers; what the static policy decides has none, as without a profile.

use super::cost_benefit::CostBenefit;
use super::evidence::Evidence;
use super::policy::{Kind, Policy, ProfileOracle};
use super::question::{Question, RefusedCall};
use super::robust::flip_margin;
use super::view::{Calls, ProfileView, Receiver, Weighting};
use super::{CallSiteFacts, Oracle, Refused, StaticOracle, Verdict, VirtualCallFacts};
use crate::estimate::share;
use crate::ids::FuncId;
use crate::tuning;
use std::sync::Arc;
use std::time::Duration;

/// See the [module](self).
pub struct Fallback {
    first: ProfileOracle,
    otherwise: StaticOracle,
    knows_enough: bool,
}

impl Fallback {
    /// `None` if the policy asks no profile. Whether this one is asked at all is decided here. `time`: how long the program ran while its calls were made, where that is known.
    pub fn new(kind: Kind, profile: ProfileView, time: Option<Duration>) -> Option<Fallback> {
        let rate = time.map(|time| profile.total().weight / time.as_secs_f64());
        let policy: Box<dyn Policy> = match kind {
            Kind::CostBenefit => Box::new(CostBenefit::beside_static(Weighting::Edges, rate)),
            Kind::Context => Box::new(CostBenefit::beside_static(Weighting::Contexts, rate)),
            _ => kind.policy()?,
        };
        let knows_enough = Fallback::would_ask(&profile);
        Some(Fallback { first: ProfileOracle::new(policy, Arc::new(profile)), otherwise: StaticOracle::default(), knows_enough })
    }

    /// A profile has so many samples that it is asked.
    pub fn would_ask(profile: &ProfileView) -> bool {
        let Calls { weight, samples, .. } = profile.total();
        weight > 0.0 && samples.is_none_or(|samples| samples >= tuning::INLINE_LEAST_SAMPLES)
    }

    /// Its own profile has.
    pub fn knows_enough(&self) -> bool {
        self.knows_enough
    }

    /// The verdict, and whether it is the profile's.
    fn answer(&self, facts: &CallSiteFacts<'_>) -> (Verdict, bool) {
        let first = self.knows_enough.then(|| self.first.decide(facts));
        if let Some(inlined) = first.filter(|v| v.is_inlined()) {
            return (inlined, true);
        }
        let unseen = first.filter(|v| *v == Verdict::Call(Refused::ColdByProfile));
        match (self.otherwise.decide(facts), unseen) {
            (Verdict::Call(_), Some(unseen)) => (unseen, true),
            (verdict, _) => (verdict, false),
        }
    }

    /// How many of the profile's calls would be inlined, or find a test for their target, and were not when this was answered, or were taken to be never made; 0 where that may be chance.
    pub fn gain(&self, asked: &Question) -> f64 {
        match asked {
            _ if !self.knows_enough => 0.0,
            Question::Refused(call) => self.refused_now(call),
            Question::Tested(call) => self.tested_now(&call.facts(), &call.targets),
        }
    }

    /// Of a call that stayed one: inlining counts where it is sure, and that it is made at all where the code around it was made as if it were not.
    fn refused_now(&self, call: &RefusedCall) -> f64 {
        let facts = call.facts();
        let (seen, judgement) = self.first.judge(&facts);
        let is_sure = if judgement.verdict.is_inlined() {
            let margin = flip_margin(self.first.policy(), &facts, &seen);
            margin.is_none_or(|margin| margin.errors.is_some_and(|errors| errors >= tuning::INLINE_SURE))
        } else {
            call.was_rare() && seen.error.is_some_and(|error| seen.weight > tuning::INLINE_SURE * error)
        };
        // What the policy went by may be the edge's, of all copies together.
        let copy = || self.first.profile().look(facts.chain, facts.site, facts.callee, self.first.policy().weighting());
        if is_sure { copy().weight } else { 0.0 }
    }

    fn tested_now(&self, call: &VirtualCallFacts<'_>, tested: &[FuncId]) -> f64 {
        let policy = self.first.policy();
        let (site, receivers) = self.first.profile().distribution(call.chain, call.site, policy.weighting());
        let likely = |receivers: &[Receiver]| policy.guards().likely(site, receivers, call.candidates).unwrap_or_default();
        let is_sure = |target: FuncId| likely(&less_sure(&receivers, target)).contains(&target);
        let new = likely(&receivers).into_iter().filter(|target| !tested.contains(target) && is_sure(*target));
        let weight = |target: FuncId| receivers.iter().filter(|r| r.callee == target).map(|r| r.calls.weight).sum::<f64>();
        let all: f64 = receivers.iter().map(|receiver| receiver.calls.weight).sum();
        // The site's share is that of its copy.
        new.map(|target| share(weight(target), all) * site * self.first.profile().total().weight).sum()
    }
}

/// The receivers as they might be if one of them were seen too often by chance.
fn less_sure(receivers: &[Receiver], target: FuncId) -> Vec<Receiver> {
    let mut receivers = receivers.to_vec();
    for Receiver { callee, calls: Calls { weight, error, .. } } in &mut receivers {
        if *callee == target {
            *weight = (*weight - tuning::INLINE_SURE * error.unwrap_or(f64::INFINITY)).max(0.0);
        }
    }
    receivers.sort_by(|a, b| b.calls.weight.total_cmp(&a.calls.weight));
    receivers
}

impl Oracle for Fallback {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        self.answer(facts).0
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        if self.knows_enough { self.first.targets(call) } else { self.otherwise.targets(call) }
    }

    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        self.answer(facts).1.then(|| self.first.evidence(facts, verdict)).flatten()
    }
}
