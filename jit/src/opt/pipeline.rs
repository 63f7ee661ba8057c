//! The order of passes, and what is measured and checked around each.
//!
//! In: a function, a policy, options. Out: the function in its early form, or as it is to be compiled.

use super::analysis::call_graph;
use super::analysis::captures::Captures;
use super::analysis::frequency::Frequencies;
use super::analysis::hierarchy::Hierarchy;
use super::analysis::non_null::unproven;
use super::analysis::param_uses::ParamUses;
use super::analysis::rare::RareCalls;
use super::analysis::summaries::Summaries;
use super::{Pass, PassSet, inline};
use crate::ir::printer::print_body;
use crate::ir::verifier::verify_function;
use crate::ir::*;
use cranelift_entity::SecondaryMap;
use profiler::oracle::{Form, InlineDecision, NoInlining, Oracle, TinyOnly, Verdict};
use std::time::{Duration, Instant};

/// Before inlining, and between its rounds while only tiny callees come in: makes bodies small and types known.
pub const EARLY: &[Pass] = &[Pass::NullChecks, Pass::Simplify, Pass::Branches, Pass::Simplify, Pass::Gvn, Pass::Dce];

/// One entry of a list of passes.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Once(Pass),
    /// Again while it changes something, at most [`REPEATS`] times.
    Repeat(&'static [Pass]),
}

use Step::{Once, Repeat};

const REPEATS: usize = 3;

/// What is equal becomes one: a load that goes makes checks equal, which makes more loads equal.
const MERGE: Step = Repeat(&[Pass::Simplify, Pass::Branches, Pass::Gvn, Pass::Loads]);

/// After inlining.
const LATE: &[Step] = &[
    Once(Pass::Rotate),
    MERGE,
    Once(Pass::Unroll),
    Once(Pass::Escape),
    MERGE,
    Once(Pass::Dce),
    Once(Pass::Licm),
    Once(Pass::Ranges),
    MERGE,
    Once(Pass::Dce),
    Once(Pass::Licm),
    // Lengths that leave a loop once the checks before them are gone.
    Once(Pass::Ranges),
    Once(Pass::Unroll),
    MERGE,
    Once(Pass::Dce),
    Once(Pass::Barriers),
    Once(Pass::Dce),
];

/// Where unrolling changed something: folds what is constant in each round.
const UNROLLED: &[Pass] = &[Pass::Branches, Pass::Simplify, Pass::Gvn];

/// Whether calls can be counted that are inlined.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Probes {
    #[default]
    None,
    /// An [`Op::Probe`] stands where each inlined body begins, and is executed exactly as often as the callee is called.
    Inlined,
    /// The same, but where an error ends the callee it is as well whether that was counted: for samples, in code that is to be as fast as without.
    Sampled,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub passes: PassSet,
    /// Run the verifier after each pass; a broken function is a bug and panics.
    pub verify: bool,
    pub probes: Probes,
}

impl Default for Options {
    fn default() -> Self {
        Options { passes: PassSet::ALL, verify: cfg!(debug_assertions), probes: Probes::None }
    }
}

/// What a pass may look at besides its function.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Declarations of everything. Bodies may be at any stage: passes do not look at them.
    pub module: &'a Module,
    pub hierarchy: &'a Hierarchy,
    /// Call sites that may reach each function, in the program as lowered.
    pub callers: &'a SecondaryMap<FuncId, u32>,
    /// How often functions run, by a guess.
    pub frequencies: &'a Frequencies,
    /// What calls may write, in the program as lowered.
    pub summaries: &'a Summaries,
    /// What calls may keep, in the program as lowered.
    pub captures: &'a Captures,
    /// What functions do with arguments, in the program as lowered.
    pub param_uses: &'a ParamUses,
    /// Says which targets of virtual calls are tested for.
    pub oracle: &'a dyn Oracle,
    /// Calls that it says nobody makes, of those that it was asked about.
    pub rare_calls: &'a RareCalls,
    pub probes: Probes,
    /// The function that is worked on.
    pub func: FuncId,
    /// What is made of it.
    pub form: Form,
}

/// What is known of the program as lowered, and stays true; and what is wanted of it.
pub(super) struct Program {
    pub hierarchy: Hierarchy,
    callers: SecondaryMap<FuncId, u32>,
    frequencies: Frequencies,
    summaries: Summaries,
    captures: Captures,
    param_uses: ParamUses,
    /// None, before anybody is asked.
    rare_calls: RareCalls,
    probes: Probes,
}

impl Program {
    pub fn new(module: &Module, probes: Probes) -> Program {
        let hierarchy = Hierarchy::new(module);
        let callers = call_graph::caller_counts(module, &hierarchy);
        let frequencies = Frequencies::new(module, &hierarchy);
        let summaries = Summaries::new(module, &hierarchy);
        let captures = Captures::new(module, &hierarchy);
        let param_uses = ParamUses::new(module, &hierarchy);
        Program { hierarchy, callers, frequencies, summaries, captures, param_uses, rare_calls: RareCalls::default(), probes }
    }

    pub fn context<'a>(&'a self, module: &'a Module, func: FuncId, form: Form) -> Context<'a> {
        let Program { hierarchy, callers, frequencies, summaries, captures, param_uses, rare_calls, probes } = self;
        let (oracle, probes) = (&NoInlining, *probes);
        Context { module, hierarchy, callers, frequencies, summaries, captures, param_uses, oracle, rare_calls, probes, func, form }
    }
}

/// Time and success of one pass over all functions.
#[derive(Clone, Copy, Default, Debug)]
pub struct Timing {
    pub time: Duration,
    pub runs: u64,
    /// Runs that changed something.
    pub changed: u64,
}

/// Rounds of inlining into one function: what comes in may make further calls certain. Some levels of calls take two.
const ROUNDS: usize = 8;

/// Between rounds of a root's inlining: what makes calls certain or vanish.
const CLEAN_UP: &[Pass] =
    &[Pass::NullChecks, Pass::Simplify, Pass::Branches, Pass::Gvn, Pass::Loads, Pass::Escape, Pass::Simplify, Pass::Branches, Pass::Dce];

/// Runs passes over one function after the other, and keeps the books.
pub(super) struct Pipeline {
    options: Options,
    pub timings: Vec<(Pass, Timing)>,
    pub inlining: Timing,
    /// Not taken yet.
    decisions: Vec<InlineDecision>,
    /// Passes that find nothing more in the function that is worked on, as it is.
    settled: PassSet,
}

impl Pipeline {
    pub fn new(options: &Options) -> Pipeline {
        Pipeline {
            options: *options,
            timings: Pass::ALL.iter().map(|&p| (p, Timing::default())).collect(),
            inlining: Timing::default(),
            decisions: Vec::new(),
            settled: PassSet::NONE,
        }
    }

    /// Gives a function as lowered the form in which others inline it, where only what `oracle` calls tiny is inside. Gives what was inlined.
    pub fn early(&mut self, func: &mut Function, cx: &Context<'_>, oracle: &dyn Oracle) -> Vec<InlineDecision> {
        self.settled = PassSet::NONE;
        self.passes(EARLY, func, cx);
        self.inline(func, cx, &TinyOnly(oracle), EARLY);
        // What was refused here, the policy itself is asked about in the end.
        self.decisions.retain(|d| matches!(d.verdict, Verdict::Inline(_)));
        std::mem::take(&mut self.decisions)
    }

    /// Makes of a function in its early form what is to be compiled. Gives what was decided.
    pub fn late(&mut self, func: &mut Function, cx: &Context<'_>, oracle: &dyn Oracle) -> Vec<InlineDecision> {
        self.settled = PassSet::NONE;
        let rare = self.inline(func, cx, oracle, CLEAN_UP);
        self.steps(LATE, func, &Context { rare_calls: &rare, ..*cx });
        inline::drop_unused(func);
        std::mem::take(&mut self.decisions)
    }

    /// Gives the calls that stay since nobody makes them.
    fn inline(&mut self, func: &mut Function, cx: &Context<'_>, oracle: &dyn Oracle, clean_up: &[Pass]) -> RareCalls {
        let cx = &Context { oracle, ..*cx };
        let mut rare = RareCalls::default();
        for _ in 0..ROUNDS {
            let mut changed = self.passes(&[Pass::Devirtualize], func, cx);
            let start = Instant::now();
            let known = self.decisions.len();
            let inlined = inline::run(func, cx, oracle, &mut self.decisions);
            if rare.add(&self.decisions[known..]) {
                self.settled = self.settled.without(Pass::Escape);
            }
            self.inlining.time += start.elapsed();
            self.inlining.runs += 1;
            self.inlining.changed += u64::from(inlined);
            self.check("inline", func, cx);
            if inlined {
                self.settled = PassSet::NONE;
            }
            changed |= inlined;
            if !changed {
                break;
            }
            self.passes(clean_up, func, &Context { rare_calls: &rare, ..*cx });
        }
        rare
    }

    fn steps(&mut self, steps: &[Step], func: &mut Function, cx: &Context<'_>) {
        for &step in steps {
            match step {
                Once(pass) => _ = self.passes(&[pass], func, cx),
                Repeat(passes) => _ = (0..REPEATS).any(|_| !self.passes(passes, func, cx)),
            }
        }
    }

    /// Runs those that are enabled and may find something. Whether any changed something.
    fn passes(&mut self, passes: &[Pass], func: &mut Function, cx: &Context<'_>) -> bool {
        let (mut any, enabled) = (false, self.options.passes);
        for &pass in passes.iter().filter(|&&p| enabled.contains(p)) {
            if self.settled.contains(pass) {
                continue;
            }
            let start = Instant::now();
            let changed = pass.run(func, cx);
            let timing = &mut self.timings[pass as usize].1;
            timing.time += start.elapsed();
            timing.runs += 1;
            timing.changed += u64::from(changed);
            any |= changed;
            if changed {
                self.settled = PassSet::NONE;
            }
            if !changed || pass.is_exhaustive() {
                self.settled = self.settled.with(pass);
            }
            self.check(pass.name(), func, cx);
            if changed && pass == Pass::Unroll {
                self.passes(UNROLLED, func, cx);
            }
        }
        any
    }

    fn check(&self, pass: &str, func: &Function, cx: &Context<'_>) {
        if !self.options.verify {
            return;
        }
        let found = verify_function(cx.module, cx.func, func);
        let unproven = unproven(func).into_iter().map(|inst| format!("{inst}: {:?} of what may be null\n", func.insts[inst].op));
        let problems: Vec<String> = found.iter().map(|p| format!("{p}\n")).chain(unproven).collect();
        assert!(problems.is_empty(), "{pass} broke {}:\n{}\n{}", func.name, problems.concat(), print_body(cx.module, cx.func, func));
    }
}

/// Runs one pass over every function with a body, as tests do, with what the oracle says of the calls in it. Says whether anything changed.
pub fn run_pass(module: &mut Module, pass: Pass, oracle: &dyn Oracle) -> bool {
    let program = Program::new(module, Probes::None);
    let mut changed = false;
    for id in module.funcs.keys().collect::<Vec<_>>() {
        if !module.funcs[id].layout.is_empty() {
            let mut func = module.funcs[id].clone();
            let cx = Context { oracle, ..program.context(module, id, Form::Whole) };
            let (mut decisions, mut rare) = (Vec::new(), RareCalls::default());
            inline::run(&mut func.clone(), &cx, oracle, &mut decisions);
            rare.add(&decisions);
            changed |= pass.run(&mut func, &Context { rare_calls: &rare, ..cx });
            module.funcs[id] = func;
        }
    }
    changed
}

/// Inlines one round into every function with a body, as tests do: from the bodies as they were before.
pub fn run_inlining(module: &mut Module, oracle: &dyn Oracle, probes: Probes) -> Vec<InlineDecision> {
    let program = Program::new(module, probes);
    let mut decisions = Vec::new();
    let mut inlined = Vec::new();
    for (id, func) in module.funcs.iter().filter(|(_, f)| !f.layout.is_empty()) {
        let mut func = func.clone();
        inline::run(&mut func, &program.context(module, id, Form::Whole), oracle, &mut decisions);
        inlined.push((id, func));
    }
    inlined.into_iter().for_each(|(id, func)| module.funcs[id] = func);
    decisions
}
