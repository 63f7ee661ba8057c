//! The same decisions but for one: what a single decision is worth is what its opposite makes of the program.
//!
//! In: the decisions that a policy made, the policy, and the call to decide otherwise ([`Toggle`]). Out: [`Held`], an oracle for another compilation of the same program. Recorded by a [`Recorder`](super::Recorder), that
//! compilation is a plan.
//!
//! A callee that came in behind a test of the class is decided otherwise by taking the tests of that call away, all of them: they are one decision, and what is left of some would be no virtual call.
//!
//! Each call that was decided about is decided so again, whatever sizes are now: what was inlined in the end is inlined when it is first asked about. Calls that only come up now (those within the callee that is inlined against the
//! policy, or other copies of a call that came in with its caller) are left to the policy, which goes on as if the one decision had been its own.

use crate::ids::{CallSiteId, FuncId};
use crate::oracle::{Accepted, CallSiteFacts, Certainty, Evidence, InlineDecision, Oracle, Refused, Verdict, VirtualCallFacts};
use rustc_hash::FxHashMap;

/// Which copies of a call are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// That one of the root.
    Here,
    /// All, in whatever root and behind whatever calls: a call that is inlined in the form in which others inline its caller is in all of them.
    Everywhere,
}

/// The call to decide otherwise. With [`Reach::Everywhere`], root and chain are those of the function in whose form it is inlined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toggle {
    /// The function that is compiled.
    pub root: FuncId,
    /// The calls that were inlined to get there, outermost first.
    pub chain: Box<[CallSiteId]>,
    /// The call.
    pub site: CallSiteId,
    /// The function that it calls; `None`: whichever.
    pub callee: Option<FuncId>,
    /// Which copies.
    pub reach: Reach,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// What is made of a call instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The callee comes in.
    Inlined,
    /// It stays a call.
    Called,
    /// It stays a virtual call: no class is tested for.
    Virtual,
}

impl Toggle {
    /// The opposite of a decision. A callee that came in behind a test of the class came in because there are tests: without them the call is virtual, whatever it calls.
    pub fn of(decision: &InlineDecision, reach: Reach) -> Toggle {
        let InlineDecision { root, site, callee, certainty, verdict, .. } = *decision;
        let (callee, outcome) = match certainty {
            _ if !verdict.is_inlined() => (Some(callee), Outcome::Inlined),
            Certainty::Only => (Some(callee), Outcome::Called),
            Certainty::Guarded { .. } => (None, Outcome::Virtual),
        };
        Toggle { root, chain: decision.chain.clone(), site, callee, reach, outcome }
    }

    /// Whether a question is about this call.
    pub fn is_meant(&self, root: FuncId, chain: &[CallSiteId], site: CallSiteId, callee: FuncId) -> bool {
        site == self.site
            && self.callee.is_none_or(|meant| meant == callee)
            && match self.reach {
                Reach::Here => root == self.root && *chain == *self.chain,
                Reach::Everywhere => chain.ends_with(&self.chain) && (chain.len() > self.chain.len() || root == self.root),
            }
    }

    fn verdict(&self) -> Verdict {
        match self.outcome {
            Outcome::Inlined => Verdict::Inline(Accepted::Toggled),
            Outcome::Called | Outcome::Virtual => Verdict::Call(Refused::Toggled),
        }
    }
}

/// What is asked about one call.
type Key = (FuncId, Box<[CallSiteId]>, CallSiteId, FuncId);

/// See the [module](self).
pub struct Held<'a> {
    decided: FxHashMap<Key, Verdict>,
    policy: &'a dyn Oracle,
    toggle: Toggle,
}

impl<'a> Held<'a> {
    /// `decisions`: all that the policy made, in their order.
    pub fn new<'d>(decisions: impl IntoIterator<Item = &'d InlineDecision>, policy: &'a dyn Oracle, toggle: Toggle) -> Held<'a> {
        let mut decided: FxHashMap<Key, Verdict> = FxHashMap::default();
        for decision in decisions {
            let key = (decision.root, decision.chain.clone(), decision.site, decision.callee);
            let verdict = decided.entry(key).or_insert(decision.verdict);
            if !verdict.is_inlined() {
                *verdict = decision.verdict;
            }
        }
        Held { decided, policy, toggle }
    }
}

impl Oracle for Held<'_> {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        let CallSiteFacts { root, chain, site, callee, .. } = *facts;
        if self.toggle.is_meant(root, chain, site, callee) {
            return self.toggle.verdict();
        }
        let decided = self.decided.get(&(root, chain.into(), site, callee)).copied();
        decided.unwrap_or_else(|| self.policy.decide(facts))
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let mut targets = self.policy.targets(call);
        if self.toggle.outcome == Outcome::Virtual {
            targets.retain(|&target| !self.toggle.is_meant(call.root, call.chain, call.site, target));
        }
        targets
    }

    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        self.policy.evidence(facts, verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Form, StaticOracle};

    fn sites(ids: &[u32]) -> Box<[CallSiteId]> {
        ids.iter().copied().map(CallSiteId::from_u32).collect()
    }

    fn toggle(chain: &[u32], reach: Reach) -> impl Fn(u32, &[u32], u32) -> bool + use<> {
        let (root, site, callee) = (FuncId::from_u32(7), CallSiteId::from_u32(1), FuncId::from_u32(9));
        let toggle = Toggle { root, chain: sites(chain), site, callee: Some(callee), reach, outcome: Outcome::Called };
        move |root, chain, site| toggle.is_meant(FuncId::from_u32(root), &sites(chain), CallSiteId::from_u32(site), callee)
    }

    #[test]
    fn without_its_tests_a_call_is_virtual_and_others_are_not() {
        let (root, policy) = (FuncId::from_u32(7), StaticOracle::default());
        let candidates = [9, 10].map(FuncId::from_u32);
        let call = |site| VirtualCallFacts {
            site: CallSiteId::from_u32(site),
            root,
            form: Form::Whole,
            chain: &[],
            candidates: &candidates,
            suggested: &candidates,
        };
        let held = |callee, outcome| {
            let toggle = Toggle { root, chain: [].into(), site: CallSiteId::from_u32(1), callee, reach: Reach::Here, outcome };
            let held = Held::new([], &policy, toggle);
            [1, 2].map(|site| held.targets(&call(site)).len())
        };
        assert_eq!(held(None, Outcome::Virtual), [0, 2]);
        assert_eq!(held(Some(candidates[0]), Outcome::Called), [2, 2]);
    }

    #[test]
    fn a_call_is_one_copy_or_all() {
        let here = toggle(&[4], Reach::Here);
        assert!(here(7, &[4], 1));
        assert!(!here(8, &[4], 1) && !here(7, &[], 1) && !here(7, &[3, 4], 1) && !here(7, &[4], 2));
        let everywhere = toggle(&[4], Reach::Everywhere);
        assert!(everywhere(7, &[4], 1) && everywhere(8, &[3, 4], 1) && everywhere(7, &[3, 4], 1));
        assert!(!everywhere(8, &[4], 1), "behind this call alone it is of another function's form");
        assert!(!everywhere(7, &[3], 1) && !everywhere(7, &[], 1));
    }
}
