//! What an optimizer has asked, kept to be asked again when the profile has moved.
//!
//! In: a policy, the questions of one root. Out: those whose answers a later profile may turn into something better: calls that stayed calls, and virtual calls with the targets that were tested for ([`Questions::into_list`]).
//! What was inlined and has become cold is not among them: it does no harm but to the size of the code.

use super::evidence::{Evidence, FactNumbers};
use super::{CallSiteFacts, Form, InlineDecision, Oracle, Refused, Verdict, VirtualCallFacts};
use crate::ids::{CallSiteId, FuncId};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A question with its answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Question {
    /// A call that stayed one.
    Refused(RefusedCall),
    /// A virtual call.
    Tested(TestedCall),
}

/// A call that was not inlined.
#[derive(Clone, PartialEq, Debug)]
pub struct RefusedCall {
    decision: InlineDecision,
    numbers: FactNumbers,
}

impl RefusedCall {
    /// As they were asked.
    pub fn facts(&self) -> CallSiteFacts<'_> {
        self.decision.facts_with(self.numbers)
    }

    /// The code around it was compiled as if it were never made.
    pub fn was_rare(&self) -> bool {
        self.decision.verdict == Verdict::Call(Refused::ColdByProfile)
    }
}

/// A virtual call whose targets were asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestedCall {
    root: FuncId,
    form: Form,
    site: CallSiteId,
    chain: Box<[CallSiteId]>,
    candidates: Box<[FuncId]>,
    /// The answer.
    pub targets: Box<[FuncId]>,
}

impl TestedCall {
    /// As they were asked; suggestions are not kept.
    pub fn facts(&self) -> VirtualCallFacts<'_> {
        let TestedCall { root, form, site, chain, candidates, .. } = self;
        VirtualCallFacts { site: *site, root: *root, form: *form, chain, candidates, suggested: &[] }
    }
}

/// A call behind a chain, with its callee; none for whom a virtual call goes to.
type Place = (Box<[CallSiteId]>, CallSiteId, Option<FuncId>);

/// A policy whose questions about one root are kept. An optimizer asks several times about a call, as the root grows: the last answer counts, and all tests together.
pub struct Questions<'a> {
    oracle: &'a dyn Oracle,
    root: FuncId,
    asked: Mutex<FxHashMap<Place, Question>>,
}

impl<'a> Questions<'a> {
    /// Nothing has been asked yet.
    pub fn new(oracle: &'a dyn Oracle, root: FuncId) -> Self {
        Questions { oracle, root, asked: Mutex::default() }
    }

    fn asked(&self) -> MutexGuard<'_, FxHashMap<Place, Question>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In no order.
    pub fn into_list(self) -> Vec<Question> {
        self.asked.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }
}

impl Oracle for Questions<'_> {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        let verdict = self.oracle.decide(facts);
        if facts.root != self.root {
            return verdict;
        }
        let place = (facts.chain.into(), facts.site, Some(facts.callee));
        if verdict.is_inlined() {
            self.asked().remove(&place);
        } else {
            let call = RefusedCall { decision: InlineDecision::new(facts, verdict, None), numbers: FactNumbers::of(facts) };
            self.asked().insert(place, Question::Refused(call));
        }
        verdict
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let targets = self.oracle.targets(call);
        let VirtualCallFacts { site, root, form, chain, candidates, .. } = *call;
        if root == self.root {
            let mut asked = self.asked();
            let place = (chain.into(), site, None);
            // What was tested for before still is.
            let before = match asked.get(&place) {
                Some(Question::Tested(call)) => &call.targets[..],
                _ => &[],
            };
            let all = before.iter().chain(targets.iter().filter(|target| !before.contains(target)));
            let targets = all.copied().collect();
            asked.insert(
                place,
                Question::Tested(TestedCall { root, form, site, chain: chain.into(), candidates: candidates.into(), targets }),
            );
        }
        targets
    }

    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        self.oracle.evidence(facts, verdict)
    }
}
