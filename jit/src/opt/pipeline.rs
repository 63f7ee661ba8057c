//! The order of passes, and what is measured and checked around each.
//!
//! In: a module, a policy, options. Out: [`Optimized`].

use super::analysis::call_graph;
use super::analysis::frequency::Frequencies;
use super::analysis::hierarchy::Hierarchy;
use super::analysis::summaries::Summaries;
use super::{Pass, PassSet, inline};
use crate::ir::printer::print_body;
use crate::ir::verifier::verify_function;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};
use profiler::oracle::{InlineDecision, Oracle, TinyOnly, Verdict};
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
    pub probes: Probes,
    /// The function that is worked on.
    pub func: FuncId,
}

/// What is known of the program as lowered, and stays true; and what is wanted of it.
struct Program {
    hierarchy: Hierarchy,
    callers: SecondaryMap<FuncId, u32>,
    frequencies: Frequencies,
    summaries: Summaries,
    probes: Probes,
}

impl Program {
    fn new(module: &Module, probes: Probes) -> Program {
        let hierarchy = Hierarchy::new(module);
        let callers = call_graph::caller_counts(module, &hierarchy);
        let frequencies = Frequencies::new(module, &hierarchy);
        let summaries = Summaries::new(module, &hierarchy);
        Program { hierarchy, callers, frequencies, summaries, probes }
    }

    fn context<'a>(&'a self, module: &'a Module, func: FuncId) -> Context<'a> {
        let Program { hierarchy, callers, frequencies, summaries, probes } = self;
        Context { module, hierarchy, callers, frequencies, summaries, probes: *probes, func }
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

#[derive(Debug)]
pub struct Optimized {
    pub module: Module,
    /// The functions that are still called: not those that are inlined wherever they were. Only these went through all passes.
    pub called: Vec<FuncId>,
    /// In the order in which they were made.
    pub decisions: Vec<InlineDecision>,
    /// By [`Pass`], in the order of [`Pass::ALL`].
    pub timings: Vec<(Pass, Timing)>,
    pub inlining: Timing,
    pub total: Duration,
}

/// Rounds of inlining into one function: what comes in may make further calls certain.
const ROUNDS: usize = 6;

/// How many instructions for each of the program's all roots together may have before they take in nothing more but tiny callees, and how many in any case: keeps the time for a program linear in its length.
const GROWTH: usize = 10;
const GROWTH_BASE: usize = 50_000;

/// Between rounds of a root's inlining: what makes calls certain or vanish.
const CLEAN_UP: &[Pass] =
    &[Pass::NullChecks, Pass::Simplify, Pass::Branches, Pass::Gvn, Pass::Loads, Pass::Escape, Pass::Simplify, Pass::Branches, Pass::Dce];

/// Optimizes a whole program.
pub fn optimize(module: Module, oracle: &dyn Oracle, options: &Options) -> Optimized {
    let start = Instant::now();
    let program = Program::new(&module, options.probes);
    let mut pipeline = Pipeline {
        options: *options,
        timings: Pass::ALL.iter().map(|&p| (p, Timing::default())).collect(),
        inlining: Timing::default(),
        decisions: Vec::new(),
        settled: PassSet::NONE,
    };
    let mut module = module;
    for id in call_graph::bottom_up(&module, &program.hierarchy) {
        let mut func = module.funcs[id].clone();
        let cx = program.context(&module, id);
        pipeline.settled = PassSet::NONE;
        pipeline.passes(EARLY, &mut func, &cx);
        pipeline.inline(&mut func, &cx, &TinyOnly(oracle), EARLY);
        module.funcs[id] = func;
    }
    // What was refused there, the policy itself is asked about now.
    pipeline.decisions.retain(|d| matches!(d.verdict, Verdict::Inline(_)));
    let roots = pipeline.roots(&module, &program, oracle);
    let mut called = Vec::new();
    for (id, func) in roots {
        module.funcs[id] = func;
        called.push(id);
    }
    called.sort_unstable();
    let Pipeline { timings, inlining, decisions, .. } = pipeline;
    Optimized { module, called, decisions, timings, inlining, total: start.elapsed() }
}

fn instructions(func: &Function) -> usize {
    func.layout.iter().map(|&b| func.blocks[b].insts.len() + 1).sum()
}

struct Pipeline {
    options: Options,
    timings: Vec<(Pass, Timing)>,
    inlining: Timing,
    decisions: Vec<InlineDecision>,
    /// Passes that find nothing more in the function that is worked on, as it is.
    settled: PassSet,
}

impl Pipeline {
    /// Every function that can still be called, from the program's entries on, as it is to be compiled. What was inlined wherever it was called is not among them.
    fn roots(&mut self, module: &Module, program: &Program, oracle: &dyn Oracle) -> Vec<(FuncId, Function)> {
        let mut seen: EntitySet<FuncId> = EntitySet::with_capacity(module.funcs.len());
        let mut work: Vec<FuncId> = module.entry.iter().flat_map(|e| [e.thread, e.main]).collect();
        let mut roots = Vec::new();
        let mut room = GROWTH_BASE + GROWTH * module.funcs.values().map(instructions).sum::<usize>();
        while let Some(id) = work.pop() {
            if module.funcs[id].layout.is_empty() || !seen.insert(id) {
                continue;
            }
            let mut func = module.funcs[id].clone();
            let cx = program.context(module, id);
            self.settled = PassSet::NONE;
            match room {
                0 => self.inline(&mut func, &cx, &TinyOnly(oracle), CLEAN_UP),
                _ => self.inline(&mut func, &cx, oracle, CLEAN_UP),
            }
            room = room.saturating_sub(instructions(&func));
            self.steps(LATE, &mut func, &cx);
            inline::drop_unused(&mut func);
            call_graph::for_each_op(&func, |op| work.extend(call_graph::callees(module, cx.hierarchy, op)));
            roots.push((id, func));
        }
        roots
    }

    fn inline(&mut self, func: &mut Function, cx: &Context<'_>, oracle: &dyn Oracle, clean_up: &[Pass]) {
        for _ in 0..ROUNDS {
            let mut changed = self.passes(&[Pass::Devirtualize], func, cx);
            let start = Instant::now();
            let inlined = inline::run(func, cx, oracle, &mut self.decisions);
            self.inlining.time += start.elapsed();
            self.inlining.runs += 1;
            self.inlining.changed += u64::from(inlined);
            self.check("inline", func, cx);
            if inlined {
                self.settled = PassSet::NONE;
            }
            changed |= inlined;
            if !changed {
                return;
            }
            self.passes(clean_up, func, cx);
        }
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
        let problems: Vec<String> = verify_function(cx.module, cx.func, func).iter().map(|p| format!("{p}\n")).collect();
        assert!(problems.is_empty(), "{pass} broke {}:\n{}\n{}", func.name, problems.concat(), print_body(cx.module, cx.func, func));
    }
}

/// Runs one pass over every function with a body, as tests do. Says whether anything changed.
pub fn run_pass(module: &mut Module, pass: Pass) -> bool {
    let program = Program::new(module, Probes::None);
    let mut changed = false;
    for id in module.funcs.keys().collect::<Vec<_>>() {
        if !module.funcs[id].layout.is_empty() {
            let mut func = module.funcs[id].clone();
            changed |= pass.run(&mut func, &program.context(module, id));
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
        inline::run(&mut func, &program.context(module, id), oracle, &mut decisions);
        inlined.push((id, func));
    }
    inlined.into_iter().for_each(|(id, func)| module.funcs[id] = func);
    decisions
}
