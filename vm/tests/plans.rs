//! Inlining plans of the sample programs: the optimizer that follows one decides as it did before, and makes the same code.

use jit::ir::polls::loop_polls;
use jit::ir::{FuncId, Module};
use jit::opt::{Entry, Optimized, Optimizer, Options, optimize};
use profiler::oracle::{CallSiteFacts, Form, InlineDecision, Kind, Oracle, ProfileView, StaticOracle, Verdict, VirtualCallFacts};
use profiler::plan::{About, Held, Outcome, Plan, PlanOracle, Reach, Recorder, Toggle, parse, render};
use profiler::profile::{DcgEdge, Meta, Profile};
use profiler::program::{Edge, Program};
use profiler::samplers::Random;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use vm::diag::Diagnostics;
use vm::runtime::names;
use vm::sema::{self, Scope};
use vm::source::SourceMap;

fn compile(sample: &str, text: String) -> (Module, Program) {
    let mut map = SourceMap::new();
    let mut errors = Diagnostics::new();
    let units = sema::load_text(&mut map, Path::new(sample), text, &mut errors);
    let module = sema::check(&units, Scope::Reachable).0.and_then(|mut p| vm::lower::lower(&mut p, &map, &mut errors));
    let module = module.expect("samples compile");
    let program = names::program(&module, &map);
    (module, program)
}

fn run(module: &Module, oracle: &dyn Oracle) -> Optimized {
    optimize(module.clone(), oracle, &Options::default())
}

/// What a decision says, without what it rests on.
fn told(decisions: &[InlineDecision]) -> Vec<(u32, Vec<u32>, u32, u32, Verdict)> {
    let chain = |d: &InlineDecision| d.chain.iter().map(|site| site.as_u32()).collect();
    decisions.iter().map(|d| (d.root.as_u32(), chain(d), d.site.as_u32(), d.root_size, d.verdict)).collect()
}

fn same(again: &Optimized, first: &Optimized, what: &str) {
    let (again, first) = (told(&again.decisions), told(&first.decisions));
    let differs = again.iter().zip(&first).position(|(a, b)| a != b);
    assert_eq!(differs.map(|at| (&again[at], &first[at])), None, "{what}");
    assert_eq!(again.len(), first.len(), "{what}");
}

/// A profile in which the calls that were decided about have weights of all magnitudes.
fn profile(program: &Program, decisions: &[InlineDecision]) -> Profile {
    let (mut random, mut program) = (Random::new(1), program.clone());
    let mut weights = BTreeMap::new();
    for decision in decisions {
        let edge = program.edge(Edge { site: Some(decision.site).into(), callee: decision.callee });
        weights.entry(edge).or_insert_with(|| (12.0 * random.unit()).exp2().floor() - 1.0);
    }
    let edges = weights.into_iter().map(|(edge, weight)| DcgEdge {
        edge,
        weight,
        error: Some(0.0),
        share_error: Some(0.0),
        samples: weight as u64,
    });
    Profile::builder(Meta::default(), program).dcg(edges).build().expect("a good profile")
}

#[test]
fn what_follows_a_plan_is_compiled_as_before() {
    let mut found_again = 0;
    for sample in ["deltablue", "event_simulation", "expression_tree", "nbody", "richards"] {
        let path = format!("{}/../lang-samples/{sample}.lang", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).expect("a sample");
        let (module, program) = compile(&path, text.clone());
        let by_size = run(&module, &StaticOracle::default());
        let view = Arc::new(ProfileView::new(&profile(&program, &by_size.decisions), &program));
        for kind in [Kind::Static, Kind::WeakStatic, Kind::Context] {
            let oracle = kind.oracle(view.clone());
            let recorder = Recorder::new(&*oracle);
            let first = run(&module, &recorder);
            let about = About { program: sample.into(), policy: kind.name().into() };
            let plan = Plan::from_recorder(about, &program, recorder).expect("its own program");
            let mut file = Vec::new();
            render(&plan, &mut file).expect("memory");
            let plan = parse(&file).expect("what was written");
            let again = run(&module, &PlanOracle::new(&plan, &program));
            same(&again, &first, &format!("{sample} {kind:?}"));
            assert_eq!(again.module.to_string(), first.module.to_string(), "{sample} {kind:?}");
            assert!(told(&first.decisions).iter().any(|(.., verdict)| verdict.is_inlined()));

            // The same source, further down its file. A closure is called by its line, so it is not found again.
            let (moved, now) = compile(&path, format!("\n\n{text}"));
            let stale = plan.staleness(&now);
            assert!(!stale.moved_functions.is_empty() && stale.gone_sites.is_empty(), "{stale}");
            if stale.gone_functions.is_empty() {
                let followed = run(&moved, &PlanOracle::new(&plan, &now));
                same(&followed, &first, &format!("{sample} {kind:?}, moved"));
                found_again += 1;
            }
        }
    }
    assert!(found_again > 0);
}

/// As when the profile moves before loops get code.
struct ByForm<'a> {
    starts: &'a dyn Oracle,
    loops: &'a dyn Oracle,
}

impl ByForm<'_> {
    fn of(&self, form: Form) -> &dyn Oracle {
        if let Form::Loop(_) = form { self.loops } else { self.starts }
    }
}

impl Oracle for ByForm<'_> {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        self.of(facts.form).decide(facts)
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        self.of(call.form).targets(call)
    }
}

/// Starts and loops of all functions, the forms in which they come into others, and which of these came first: nothing of it changes the code that a plan leads to.
#[test]
fn loops_and_starts_that_follow_a_plan_are_compiled_as_before() {
    for sample in ["deltablue", "expression_tree", "raytrace"] {
        let path = format!("{}/../lang-samples/{sample}.lang", env!("CARGO_MANIFEST_DIR"));
        let (module, program) = compile(&path, std::fs::read_to_string(&path).expect("a sample"));
        let by_size = run(&module, &StaticOracle::default());
        let view = Arc::new(ProfileView::new(&profile(&program, &by_size.decisions), &program));
        let starts = by_size.called.iter().map(|&func| (func, Entry::Start));
        let loops = module.funcs.iter().flat_map(|(id, func)| loop_polls(func).into_iter().map(move |poll| (id, Entry::Loop(poll.block))));
        let jobs: Vec<(FuncId, Entry)> = starts.chain(loops).collect();
        for kinds in [[Kind::Static, Kind::Context], [Kind::Context, Kind::WeakStatic]] {
            let make = |oracle: &dyn Oracle, jobs: &mut dyn Iterator<Item = &(FuncId, Entry)>| {
                let mut optimizer = Optimizer::new(module.clone(), &Options::default());
                jobs.map(|&(func, entry)| ((func, entry), optimizer.root(func, entry, oracle).map(|root| root.func)))
                    .collect::<BTreeMap<_, _>>()
            };
            let [starts, loops] = kinds.map(|kind| kind.oracle(view.clone()));
            let by_form = ByForm { starts: &*starts, loops: &*loops };
            let recorder = Recorder::new(&by_form);
            let first = make(&recorder, &mut jobs.iter());
            let plan = Plan::from_recorder(About::default(), &program, recorder).expect("its own program");
            let again = make(&PlanOracle::new(&plan, &program), &mut jobs.iter().rev());
            for (job, func) in &first {
                assert!(again[job] == *func, "{sample} {kinds:?}: {job:?} of {}", module.funcs[job.0].name);
            }
        }
    }
}

type Ends = BTreeMap<(u32, Vec<u32>, u32, u32), bool>;

/// Whether each call was inlined in the end.
fn ends(decisions: &[InlineDecision]) -> Ends {
    let mut ends = Ends::new();
    for d in decisions {
        let key = (d.root.as_u32(), d.chain.iter().map(|site| site.as_u32()).collect(), d.site.as_u32(), d.callee.as_u32());
        *ends.entry(key).or_default() |= d.verdict.is_inlined();
    }
    ends
}

#[test]
fn a_toggle_changes_one_decision_and_its_plan_is_followed() {
    let (mut toggled, mut with_others) = (0, 0);
    for sample in ["event_simulation", "expression_tree", "richards"] {
        let path = format!("{}/../lang-samples/{sample}.lang", env!("CARGO_MANIFEST_DIR"));
        let (module, program) = compile(&path, std::fs::read_to_string(&path).expect("a sample"));
        let by_size = run(&module, &StaticOracle::default());
        let view = Arc::new(ProfileView::new(&profile(&program, &by_size.decisions), &program));
        let oracle = Kind::Context.oracle(view);
        let first = run(&module, &*oracle);
        let before = ends(&first.decisions);
        let late = &first.decisions[first.early..];
        for decision in late.iter().step_by(late.len() / 8 + 1) {
            let toggle = Toggle::of(decision, Reach::Here);
            let what = format!("{sample}: {toggle:?}");
            let held = Held::new(&first.decisions, &*oracle, toggle.clone());
            let recorder = Recorder::new(&held);
            let otherwise = run(&module, &recorder);
            let after = ends(&otherwise.decisions);
            let key = (
                decision.root.as_u32(),
                decision.chain.iter().map(|site| site.as_u32()).collect(),
                decision.site.as_u32(),
                decision.callee.as_u32(),
            );
            let changed: Vec<_> =
                before.iter().filter(|(key, inlined)| after.get(key).is_some_and(|now| now != *inlined)).map(|(key, _)| key).collect();
            // What was asked again after it had been refused was inlined in the end.
            let ended = before[&key] == decision.verdict.is_inlined();
            let is_otherwise = match toggle.outcome {
                // Nobody asks about a call that stays virtual.
                Outcome::Virtual => !after.contains_key(&key),
                Outcome::Inlined | Outcome::Called => changed.contains(&&key),
            };
            assert!(!ended || is_otherwise, "{what}: it is as it was");
            toggled += usize::from(ended);
            with_others += usize::from(changed.iter().any(|&other| *other != key));

            let about = About { program: sample.into(), policy: "context".into() };
            let plan = Plan::from_recorder(about, &program, recorder).expect("its own program");
            let followed = run(&module, &PlanOracle::new(&plan, &program));
            assert_eq!(followed.module.to_string(), otherwise.module.to_string(), "{what}");
        }
    }
    assert!(toggled >= 12, "{toggled}");
    assert_eq!(with_others, 0, "decisions that took others with them");
}
