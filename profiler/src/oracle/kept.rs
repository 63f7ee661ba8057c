//! A policy for a function that has optimized code already: calls that came in there are calls no more, so a profile of that code shows the others, and makes them look like all there is.
//!
//! In: a policy, and what the function's versions so far were made by. Out: the policy's answers, but what came in comes in again as long as the [`Bounds`] of all policies allow it, and who was tested for still is.
//! Invariant: of a virtual call no more targets are tested for than the policy names, or were tested for in one version, or [`tuning::INLINE_GUARD_MOST`]; a new one takes the place of the last one of before that the policy does not name.

use super::bounds::Bounds;
use super::question::Question;
use super::{CallSiteFacts, Evidence, InlineDecision, Oracle, Verdict, VirtualCallFacts};
use crate::ids::{CallSiteId, FuncId};
use crate::tuning;
use rustc_hash::FxHashMap;

/// What a version of a function was made by.
#[derive(Clone, Default, Debug)]
pub struct Version {
    /// With the answers that a later profile may turn into something better.
    pub asked: Vec<Question>,
    /// The calls that came in.
    pub inlined: Vec<InlineDecision>,
}

/// See the [module](self).
pub struct Kept<'a> {
    oracle: &'a dyn Oracle,
    root: FuncId,
    bounds: Bounds,
    /// By chain, call and callee.
    inlined: FxHashMap<(&'a [CallSiteId], CallSiteId, FuncId), &'a InlineDecision>,
    /// By chain and call.
    tested: FxHashMap<(&'a [CallSiteId], CallSiteId), &'a [FuncId]>,
}

impl<'a> Kept<'a> {
    /// `before`: versions of the root, those of its loops, too; what the first says of a call counts.
    pub fn new(oracle: &'a dyn Oracle, root: FuncId, before: impl IntoIterator<Item = &'a Version>) -> Self {
        let mut kept = Kept { oracle, root, bounds: Bounds::default(), inlined: FxHashMap::default(), tested: FxHashMap::default() };
        for Version { asked, inlined } in before {
            for decision in inlined.iter().filter(|decision| decision.root == root) {
                kept.inlined.entry((&decision.chain, decision.site, decision.callee)).or_insert(decision);
            }
            for question in asked {
                let Question::Tested(call) = question else { continue };
                let facts = call.facts();
                kept.tested.entry((facts.chain, facts.site)).or_insert(&call.targets);
            }
        }
        kept
    }

    /// If the call came in, and the policy would not inline it now, though there is room: its own reason may be another one than that there is none.
    fn kept(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<&InlineDecision> {
        if facts.root != self.root || verdict.is_inlined() || !self.bounds.allow(facts) {
            return None;
        }
        self.inlined.get(&(facts.chain, facts.site, facts.callee)).copied()
    }
}

impl Oracle for Kept<'_> {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        let verdict = self.oracle.decide(facts);
        self.kept(facts, verdict).map_or(verdict, |decision| decision.verdict)
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let named = self.oracle.targets(call);
        let before = if call.root == self.root { self.tested.get(&(call.chain, call.site)) } else { None };
        let Some(before) = before else { return named };
        // More may be known of the receiver's class here than there.
        let mut kept: Vec<FuncId> = before.iter().copied().filter(|target| call.candidates.contains(target)).collect();
        let new: Vec<FuncId> = named.iter().copied().filter(|target| !kept.contains(target)).collect();
        let room = if new.is_empty() { kept.len() } else { (tuning::INLINE_GUARD_MOST as usize).saturating_sub(new.len()) };
        while kept.len() > room {
            let last = kept.iter().rposition(|target| !named.contains(target));
            kept.remove(last.unwrap_or(kept.len() - 1));
        }
        kept.into_iter().chain(new).collect()
    }

    /// Of what came in before it is that of then.
    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        match self.kept(facts, self.oracle.decide(facts)) {
            Some(decision) => decision.evidence.clone(),
            None => self.oracle.evidence(facts, verdict),
        }
    }
}
