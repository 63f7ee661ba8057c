//! Inlining plans: what was decided about each call of each function that was optimized, as a document that decides the same again.
//!
//! In: [`InlineDecision`]s and the answers to questions for targets ([`Recorder`]), with the program that they speak of. Out: [`Plan`], which with feature `export` is written and read as JSON (`docs/plan-format.md`);
//! [`PlanOracle`], a policy that replays one in a program compiled from the same source, whatever numbers functions and call sites have there. [`Held`]: the same decisions but for one.
//!
//! Invariant: every index of a plan is in range. Replayed in the program that it was made from, by the optimizer that made it, a plan leads to the same decisions, if it has each answer that was given: an optimizer that
//! records a refusal only the first time leaves open what was answered when it asked again, which the replay guesses from the size of the root ([`PlanOracle`]). A [`Recorder`] has them all.
//!
//! ```
//! use profiler::ids::{CallSiteId, FuncId};
//! use profiler::oracle::{Accepted, Certainty, Form, InlineDecision, Verdict};
//! use profiler::plan::{About, Plan};
//! use profiler::program::{CallSite, Function, Program};
//!
//! let mut program = Program::default();
//! let mut function = |name: &str, line| program.functions.push(Function { name: name.into(), file: "toy.x".into(), line });
//! let (main, work) = (function("main", 1), function("work", 8));
//! let site = program.sites.push(CallSite { caller: main, line: 3 });
//! let decision = InlineDecision {
//!     root: main,
//!     form: Form::Whole,
//!     site,
//!     callee: work,
//!     chain: [].into(),
//!     certainty: Certainty::Only,
//!     callee_size: 12,
//!     root_size: 40,
//!     verdict: Verdict::Inline(Accepted::Small),
//!     evidence: None,
//! };
//! let about = About { program: "toy".into(), policy: "static".into() };
//! let plan = Plan::from_decisions(about, &program, [&decision], &[])?;
//! assert!(plan.staleness(&program).is_empty());
//! # Ok::<(), profiler::plan::PlanError>(())
//! ```

mod error;
#[cfg(feature = "export")]
mod json;
mod oracle;
mod toggle;

pub use error::PlanError;
#[cfg(feature = "export")]
pub use json::{parse, read, render, write};
pub use oracle::{Answers, PlanOracle, Recorder};
pub use toggle::{Held, Outcome, Reach, Toggle};

use crate::ids::{CallSiteId, FuncId};
use crate::matching::{Names, SiteKey};
use crate::oracle::{Form, InlineDecision, Verdict};
use crate::profile::{Call, Staleness, Told};
use crate::program::Program;
use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};

/// How a plan came about.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct About {
    /// The program that was compiled.
    pub program: Box<str>,
    /// The policy that decided.
    pub policy: Box<str>,
}

/// What was decided about a call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Planned {
    /// The function that was compiled.
    pub root: FuncId,
    /// Which code of it.
    pub form: Form,
    /// The calls that were inlined to get there, outermost first.
    pub chain: Box<[CallSiteId]>,
    /// The call.
    pub site: CallSiteId,
    /// The function that it calls.
    pub callee: FuncId,
    /// In instructions.
    pub callee_size: u32,
    /// Of the root at the time, in instructions: tells apart what was asked more than once.
    pub root_size: u32,
    /// The answer.
    pub verdict: Verdict,
}

impl From<&InlineDecision> for Planned {
    fn from(decision: &InlineDecision) -> Planned {
        let InlineDecision { root, form, site, callee, callee_size, root_size, verdict, .. } = *decision;
        Planned { root, form, chain: decision.chain.clone(), site, callee, callee_size, root_size, verdict }
    }
}

/// What class tests were put before a virtual call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The function that was compiled.
    pub root: FuncId,
    /// Which code of it.
    pub form: Form,
    /// The calls that were inlined to get there, outermost first.
    pub chain: Box<[CallSiteId]>,
    /// The call.
    pub site: CallSiteId,
    /// What it could reach.
    pub candidates: Box<[FuncId]>,
    /// What was tested for, the most frequent first.
    pub targets: Box<[FuncId]>,
}

/// See the [module](self). Its functions and call sites have numbers of its own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Plan {
    about: About,
    names: Names,
    decisions: Vec<Planned>,
    guards: Vec<Guard>,
}

impl Plan {
    /// The plan that these decisions, in the order in which they were made, amount to. `guards`: as a [`Recorder`] has them.
    ///
    /// # Errors
    /// A decision speaks of what the program does not have.
    pub fn from_decisions<'a>(
        about: About,
        program: &Program,
        decisions: impl IntoIterator<Item = &'a InlineDecision>,
        guards: &[Guard],
    ) -> Result<Plan, PlanError> {
        Plan::build(about, program, decisions.into_iter().map(Planned::from), guards)
    }

    /// The plan that all answers amount to that were recorded, repeated refusals too: it leaves nothing open.
    ///
    /// # Errors
    /// An answer speaks of what the program does not have.
    pub fn from_recorder(about: About, program: &Program, recorder: Recorder<'_>) -> Result<Plan, PlanError> {
        Plan::from_answers(about, program, &[recorder.into_answers()])
    }

    /// As [`Plan::from_recorder`], of several recorders one after the other, such as one for each function.
    ///
    /// # Errors
    /// An answer speaks of what the program does not have.
    pub fn from_answers(about: About, program: &Program, all: &[Answers]) -> Result<Plan, PlanError> {
        let decisions = all.iter().flat_map(|answers| answers.decisions.iter().cloned());
        let guards = all.iter().flat_map(|answers| &answers.guards);
        Plan::build(about, program, decisions, guards)
    }

    fn build<'a>(
        about: About,
        program: &Program,
        all: impl IntoIterator<Item = Planned>,
        guards: impl IntoIterator<Item = &'a Guard>,
    ) -> Result<Plan, PlanError> {
        let mut names = Renaming::new(program);
        let mut plan = Plan { about, ..Plan::default() };
        for planned in all {
            plan.decisions.push(Planned {
                root: names.function(planned.root)?,
                chain: names.sites(&planned.chain)?,
                site: names.site(planned.site)?,
                callee: names.function(planned.callee)?,
                ..planned
            });
        }
        for guard in guards {
            plan.guards.push(Guard {
                root: names.function(guard.root)?,
                form: guard.form,
                chain: names.sites(&guard.chain)?,
                site: names.site(guard.site)?,
                candidates: names.functions(&guard.candidates)?,
                targets: names.functions(&guard.targets)?,
            });
        }
        plan.names = names.used;
        Ok(plan)
    }

    /// How it came about.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The functions and call sites that it speaks of.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// In the order in which they were made, with the plan's numbers.
    pub fn decisions(&self) -> &[Planned] {
        &self.decisions
    }

    /// With the plan's numbers.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// What the plan speaks of that the program does not have, or has elsewhere. Its parts are those of the plan's decisions.
    pub fn staleness(&self, now: &Program) -> Staleness {
        let call = |site, callee| Call { site: Some(site), callee, weight: 1.0 };
        let decided = self.decisions.iter().map(|d| call(d.site, d.callee));
        let guarded = self.guards.iter().flat_map(|guard| guard.targets.iter().map(|&target| call(guard.site, target)));
        Staleness::of_calls(Told::Decisions, &self.names, decided.chain(guarded), now)
    }
}

/// A program's numbers to those of a plan, which has only what it speaks of.
struct Renaming {
    all: Names,
    used: Names,
    functions: SecondaryMap<FuncId, PackedOption<FuncId>>,
    sites: SecondaryMap<CallSiteId, PackedOption<CallSiteId>>,
}

impl Renaming {
    fn new(program: &Program) -> Renaming {
        Renaming { all: Names::of(program), used: Names::default(), functions: SecondaryMap::new(), sites: SecondaryMap::new() }
    }

    fn function(&mut self, id: FuncId) -> Result<FuncId, PlanError> {
        if let Some(known) = self.functions.get(id).and_then(|known| known.expand()) {
            return Ok(known);
        }
        let key = get(self.all.functions.get(id), "function", id, self.all.functions.len())?;
        let new = self.used.functions.push(key.clone());
        self.functions[id] = new.into();
        Ok(new)
    }

    fn site(&mut self, id: CallSiteId) -> Result<CallSiteId, PlanError> {
        if let Some(known) = self.sites.get(id).and_then(|known| known.expand()) {
            return Ok(known);
        }
        let key = *get(self.all.sites.get(id), "site", id, self.all.sites.len())?;
        let caller = self.function(key.caller)?;
        let new = self.used.sites.push(SiteKey { caller, ..key });
        self.sites[id] = new.into();
        Ok(new)
    }

    fn sites(&mut self, ids: &[CallSiteId]) -> Result<Box<[CallSiteId]>, PlanError> {
        ids.iter().map(|&id| self.site(id)).collect()
    }

    fn functions(&mut self, ids: &[FuncId]) -> Result<Box<[FuncId]>, PlanError> {
        ids.iter().map(|&id| self.function(id)).collect()
    }
}

fn get<T, K: EntityRef>(found: Option<T>, what: &'static str, id: K, len: usize) -> Result<T, PlanError> {
    found.ok_or(PlanError::NoSuch { what, index: id.index(), len })
}
