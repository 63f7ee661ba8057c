//! What would be tested for without a profile: the optimizer tells it with each question for targets.
//!
//! In: the questions to a policy. Out: its answers, unchanged; and whether a test that it asked for would have been made by static rules, too.

use profiler::ids::{CallSiteId, FuncId};
use profiler::oracle::{CallSiteFacts, Certainty, Evidence, InlineDecision, Oracle, Verdict, VirtualCallFacts};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

type Target = (FuncId, Box<[CallSiteId]>, CallSiteId, FuncId);

pub struct Suggestions<'a> {
    policy: &'a dyn Oracle,
    targets: Mutex<BTreeSet<Target>>,
}

impl<'a> Suggestions<'a> {
    pub fn new(policy: &'a dyn Oracle) -> Suggestions<'a> {
        Suggestions { policy, targets: Mutex::default() }
    }

    /// The call is reached without a profile: no class is tested for before it, or not because of the profile.
    pub fn are_enough_for(&self, decision: &InlineDecision) -> bool {
        let InlineDecision { root, site, callee, .. } = *decision;
        let targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        decision.certainty == Certainty::Only || targets.contains(&(root, decision.chain.clone(), site, callee))
    }
}

impl Oracle for Suggestions<'_> {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        self.policy.decide(facts)
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        targets.extend(call.suggested.iter().map(|&target| (call.root, call.chain.into(), call.site, target)));
        self.policy.targets(call)
    }

    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        self.policy.evidence(facts, verdict)
    }
}
