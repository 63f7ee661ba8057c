//! Policies that write a plan and that follow one.
//!
//! [`Recorder`]: any policy; keeps its answers, those about targets and repeated ones too, which no list of [`InlineDecision`]s has. [`PlanOracle`]: in: a [`Plan`], the program of now. Out: the recorded answers.
//!
//! A call may have been asked about several times, for the optimizer works in rounds and may have copied it, and it records a refusal that is repeated only once. The size of the root tells the answers apart: that of the same size
//! counts, or else the one for the nearest size; but of those for roots no larger than now the last one does, unless one was a refusal because of the size.
//!
//! Code that the plan does not know of follows that for the rest of the function that it does know ([`Forms`]): which loops get code of their own is up to the moment.

use super::{Guard, Plan, Planned};
use crate::ids::{CallSiteId, FuncId};
use crate::oracle::{CallSiteFacts, Evidence, Form, InlineDecision, Oracle, Refused, TinyOnly, Verdict, VirtualCallFacts};
use crate::program::Program;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Mutex, PoisonError};

/// What a policy has answered: each answer once, in the order in which they were given.
#[derive(Clone, Default, Debug)]
pub struct Answers {
    /// About calls.
    pub decisions: Vec<Planned>,
    /// About targets; none where there was nothing to test for.
    pub guards: Vec<Guard>,
}

/// See the [module](self). Of early forms it keeps what comes in, which only what is tiny does: what does not is asked about again.
pub struct Recorder<'a> {
    oracle: &'a dyn Oracle,
    answers: Mutex<(Vec<Planned>, FxHashSet<Planned>)>,
    guards: Mutex<Vec<Guard>>,
}

impl<'a> Recorder<'a> {
    /// Nothing has been answered yet.
    pub fn new(oracle: &'a dyn Oracle) -> Self {
        Recorder { oracle, answers: Mutex::default(), guards: Mutex::default() }
    }

    /// So far.
    pub fn into_answers(self) -> Answers {
        let (decisions, _) = self.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        Answers { decisions, guards: self.guards.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }
}

impl Oracle for Recorder<'_> {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        let verdict = match facts.form {
            Form::Early => TinyOnly(self.oracle).decide(facts),
            Form::Whole | Form::Loop(_) => self.oracle.decide(facts),
        };
        if facts.form == Form::Early && !verdict.is_inlined() {
            return verdict;
        }
        let answer = Planned::from(&InlineDecision::new(facts, verdict, None));
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, known) = &mut *answers;
        if known.insert(answer.clone()) {
            all.push(answer);
        }
        verdict
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let targets = match call.form {
            Form::Early => TinyOnly(self.oracle).targets(call),
            Form::Whole | Form::Loop(_) => self.oracle.targets(call),
        };
        let VirtualCallFacts { site, root, form, chain, candidates, .. } = *call;
        let guard = Guard { root, form, chain: chain.into(), site, candidates: candidates.into(), targets: targets.as_slice().into() };
        let mut guards = self.guards.lock().unwrap_or_else(PoisonError::into_inner);
        // From the end: what is asked again is asked soon.
        if !targets.is_empty() && !guards.iter().rev().any(|known| *known == guard) {
            guards.push(guard);
        }
        targets
    }

    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        self.oracle.evidence(facts, verdict)
    }
}

struct Answer {
    form: Form,
    chain: Box<[CallSiteId]>,
    sizes: (u32, u32),
    verdict: Verdict,
}

struct Tests {
    form: Form,
    chain: Box<[CallSiteId]>,
    candidates: Box<[FuncId]>,
    targets: Box<[FuncId]>,
}

/// Whose answers count.
enum Forms {
    /// Those of the same code.
    Own,
    /// Those of the whole function, for a loop.
    Whole,
    /// Those of loops, for a function, or for another loop. They have a call twice, in the loop and behind it, where it is rare: that it comes in somewhere counts. Less may be known of a receiver's class there.
    Loops,
}

/// See the [module](self).
pub struct PlanOracle {
    compiled: FxHashSet<(FuncId, Form)>,
    answers: FxHashMap<(FuncId, CallSiteId, FuncId), Vec<Answer>>,
    tests: FxHashMap<(FuncId, CallSiteId), Vec<Tests>>,
}

impl PlanOracle {
    /// What the plan says of functions and call sites that are gone from the program `now` is left out; [`Plan::staleness`] names them.
    pub fn new(plan: &Plan, now: &Program) -> PlanOracle {
        let mapping = plan.names().find_in(now);
        let function = |id: FuncId| mapping.function(id);
        let functions = |ids: &[FuncId]| ids.iter().filter_map(|&id| function(id)).collect::<Box<[FuncId]>>();
        let sites = |ids: &[CallSiteId]| ids.iter().map(|&id| mapping.site(id)).collect::<Option<Box<[CallSiteId]>>>();
        let mut oracle = PlanOracle { compiled: FxHashSet::default(), answers: FxHashMap::default(), tests: FxHashMap::default() };
        for planned in plan.decisions() {
            let key = (function(planned.root), mapping.site(planned.site), function(planned.callee));
            let ((Some(root), Some(site), Some(callee)), Some(chain)) = (key, sites(&planned.chain)) else { continue };
            let Planned { form, root_size, callee_size, verdict, .. } = *planned;
            let answer = Answer { form, chain, sizes: (root_size, callee_size), verdict };
            oracle.compiled.insert((root, form));
            oracle.answers.entry((root, site, callee)).or_default().push(answer);
        }
        for guard in plan.guards() {
            let key = (function(guard.root), mapping.site(guard.site));
            let ((Some(root), Some(site)), Some(chain)) = (key, sites(&guard.chain)) else { continue };
            let form = guard.form;
            oracle.compiled.insert((root, form));
            let tests = Tests { form, chain, candidates: sorted(&functions(&guard.candidates)), targets: functions(&guard.targets) };
            oracle.tests.entry((root, site)).or_default().push(tests);
        }
        oracle
    }
}

impl PlanOracle {
    fn forms(&self, root: FuncId, form: Form) -> Forms {
        let is_compiled = |form| self.compiled.contains(&(root, form));
        match form {
            Form::Loop(_) if !is_compiled(form) && is_compiled(Form::Whole) => Forms::Whole,
            Form::Loop(_) | Form::Whole if !is_compiled(form) => Forms::Loops,
            _ => Forms::Own,
        }
    }
}

impl Forms {
    fn have(&self, form: Form, asked: Form) -> bool {
        match self {
            Forms::Own => form == asked,
            Forms::Whole => form == Form::Whole,
            Forms::Loops => matches!(form, Form::Loop(_)),
        }
    }
}

impl Oracle for PlanOracle {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        let forms = self.forms(facts.root, facts.form);
        let answers = self.answers.get(&(facts.root, facts.site, facts.callee)).into_iter().flatten();
        let answers = answers.filter(|answer| forms.have(answer.form, facts.form) && *answer.chain == *facts.chain);
        let comes_in = matches!(forms, Forms::Loops) && answers.clone().any(|answer| answer.verdict.is_inlined());
        let answers = answers.filter(|answer| !comes_in || answer.verdict.is_inlined());
        // Of two that were asked about at the same sizes, the later says what became of the call: code for a loop has it twice.
        if let Some(answer) = answers.clone().rfind(|answer| answer.sizes == (facts.root_size, facts.callee_size)) {
            return answer.verdict;
        }
        let distance = |answer: &Answer| answer.sizes.0.abs_diff(facts.root_size);
        let nearest = answers.reduce(|best, answer| {
            let is_later = answer.sizes.0 <= facts.root_size && !is_for_size(best.verdict) && !is_for_size(answer.verdict);
            if is_later || distance(answer) < distance(best) || answer.sizes == best.sizes { answer } else { best }
        });
        let Some(best) = nearest else { return Verdict::Call(Refused::NotInPlan) };
        match best.verdict {
            // It was no larger than the call; another size may be.
            Verdict::Inline(accepted) if accepted.keeps_size() && best.sizes.1 != facts.callee_size => Verdict::Call(Refused::NotInPlan),
            verdict => verdict,
        }
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let forms = self.forms(call.root, call.form);
        let candidates = sorted(call.candidates);
        let is_candidate = |func: &FuncId| candidates.binary_search(func).is_ok();
        let tests = self.tests.get(&(call.root, call.site)).into_iter().flatten();
        let mut tests = tests.filter(|tests| forms.have(tests.form, call.form) && *tests.chain == *call.chain);
        let same = tests.clone().find(|tests| tests.candidates == candidates);
        let among_more = || tests.find(|tests| candidates.iter().all(|candidate| tests.candidates.binary_search(candidate).is_ok()));
        let found = if matches!(forms, Forms::Own) { same } else { same.or_else(among_more) };
        found.map_or(Vec::new(), |tests| tests.targets.iter().copied().filter(is_candidate).collect())
    }
}

/// Refused for the root's size: near that size it is again.
fn is_for_size(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Call(Refused::RootTooLarge | Refused::BudgetSpent))
}

fn sorted(ids: &[FuncId]) -> Box<[FuncId]> {
    let mut ids: Box<[FuncId]> = ids.into();
    ids.sort_unstable();
    ids
}
