//! Plans: written, read, and followed.

use super::support::{World, compile, facts, func, site, view, worlds};
use profiler::ids::FuncId;
use profiler::oracle::{Accepted, CallSiteFacts, Form, InlineDecision, Kind, Oracle, Refused, StaticOracle, Verdict, VirtualCallFacts};
use profiler::plan::{About, Guard, Plan, PlanError, PlanOracle, Recorder, parse, render};
use profiler::program::{CallSite, Function, Program};
use proptest::prelude::*;
use std::sync::Arc;

/// The plan of a whole program, and what was decided for it.
fn plan(world: &World, oracle: &dyn Oracle) -> (Plan, Vec<InlineDecision>) {
    let recorder = Recorder::new(oracle);
    let decisions: Vec<_> = (0..world.0.len()).flat_map(|root| compile(world, root, false, &recorder)).collect();
    let about = About { program: "world".into(), policy: "any".into() };
    let plan = Plan::from_decisions(about, &world.program(false), &decisions, &recorder.into_answers().guards).expect("a good plan");
    (plan, decisions)
}

fn text(plan: &Plan) -> String {
    let mut out = Vec::new();
    render(plan, &mut out).expect("memory");
    String::from_utf8(out).expect("text")
}

type Told = Vec<(String, Vec<u32>, u32, String, u32, u32, Verdict)>;

/// Decisions by name, so that numbers do not matter.
fn told(program: &Program, decisions: &[InlineDecision]) -> Told {
    let name = |id| program.functions[id].name.to_string();
    let line = |id| program.sites[id].line;
    let chain = |d: &InlineDecision| d.chain.iter().map(|&id| line(id)).collect();
    let one = |d: &InlineDecision| (name(d.root), chain(d), line(d.site), name(d.callee), d.callee_size, d.root_size, d.verdict);
    decisions.iter().map(one).collect()
}

proptest! {
    #[test]
    fn a_plan_is_followed_to_the_letter(
        world in worlds(), factors in prop::collection::vec(0.0..4.0f64, 1..20), kind in prop::sample::select(&Kind::ALL[..]), reversed in any::<bool>(),
    ) {
        let oracle = kind.oracle(Arc::new(view(&world.profile(&factors, 1.0, true))));
        let (plan, decisions) = plan(&world, &*oracle);
        let read = parse(text(&plan).as_bytes()).expect("what was written");
        prop_assert_eq!(&read, &plan);
        let now = world.program(reversed);
        prop_assert!(plan.staleness(&now).is_empty());
        let replay = PlanOracle::new(&read, &now);
        let again: Vec<_> = (0..world.0.len()).flat_map(|root| compile(&world, root, reversed, &replay)).collect();
        prop_assert_eq!(told(&now, &again), told(&world.program(false), &decisions));
    }
}

/// `main` in line 1 calls `work`, of line 10, twice in line 3 and once in line 4.
fn program(first: u32) -> Program {
    let mut program = Program::default();
    for (name, line) in [("main", first), ("work", first + 9)] {
        program.functions.push(Function { name: name.into(), file: "p.x".into(), line });
    }
    for line in [2, 2, 3] {
        program.sites.push(CallSite { caller: func(0), line: first + line });
    }
    program
}

fn decision(at: usize, root_size: u32, verdict: Verdict) -> InlineDecision {
    InlineDecision::new(&CallSiteFacts { site: site(at), root_size, ..facts(12) }, verdict, None)
}

const INLINE: Verdict = Verdict::Inline(Accepted::Small);
const REFUSE: Verdict = Verdict::Call(Refused::RootTooLarge);

fn by_hand(decisions: &[InlineDecision], guards: &[Guard]) -> Plan {
    Plan::from_decisions(About::default(), &program(1), decisions, guards).expect("a good plan")
}

#[test]
fn call_sites_on_one_line_are_told_apart_and_lines_may_move() {
    let plan = by_hand(&[decision(1, 50, INLINE), decision(0, 62, REFUSE)], &[]);
    for first in [1, 41] {
        let replay = PlanOracle::new(&plan, &program(first));
        let decide = |at| replay.decide(&CallSiteFacts { site: site(at), ..facts(12) });
        assert_eq!([decide(0), decide(1), decide(2)], [REFUSE, INLINE, Verdict::Call(Refused::NotInPlan)]);
    }
    let moved = plan.staleness(&program(41));
    assert_eq!((moved.gone, moved.moved, moved.moved_functions.len()), (0.0, 1.0, 2));
}

#[test]
fn what_was_asked_more_than_once_is_answered_by_the_roots_size() {
    let large = Verdict::Call(Refused::CalleeTooLarge);
    let plan = by_hand(&[decision(0, 50, large), decision(0, 80, INLINE), decision(0, 300, REFUSE)], &[]);
    let replay = PlanOracle::new(&plan, &program(1));
    let decide = |root_size| replay.decide(&CallSiteFacts { root_size, ..facts(12) });
    assert_eq!([40, 50, 60, 80, 150, 300, 400].map(decide), [large, large, large, INLINE, INLINE, REFUSE, REFUSE]);
    // Refused when the root was full, taken when it had shrunk.
    let plan = by_hand(&[decision(0, 985, REFUSE), decision(0, 870, INLINE)], &[]);
    let replay = PlanOracle::new(&plan, &program(1));
    assert_eq!(
        [980, 985, 996, 870].map(|root_size| replay.decide(&CallSiteFacts { root_size, ..facts(12) })),
        [REFUSE, REFUSE, REFUSE, INLINE]
    );
    let tiny = Verdict::Inline(Accepted::Tiny);
    let replay = PlanOracle::new(&by_hand(&[decision(0, 50, tiny)], &[]), &program(1));
    assert_eq!(replay.decide(&CallSiteFacts { root_size: 70, ..facts(12) }), tiny);
    assert_eq!(replay.decide(&facts(13)), Verdict::Call(Refused::NotInPlan), "a larger one is not tiny");
}

/// Code for a loop has a call twice, in the loop and behind it.
#[test]
fn of_answers_for_the_same_sizes_the_last_counts() {
    let large = Verdict::Call(Refused::CalleeTooLarge);
    for (first, last) in [(large, INLINE), (INLINE, large)] {
        let replay = PlanOracle::new(&by_hand(&[decision(0, 200, first), decision(0, 200, last)], &[]), &program(1));
        assert_eq!([120, 200, 300].map(|root_size| replay.decide(&CallSiteFacts { root_size, ..facts(12) })), [last; 3]);
    }
}

fn of(form: Form, decision: InlineDecision) -> InlineDecision {
    InlineDecision { form, ..decision }
}

/// What is compiled of a function is up to the moment, but not what becomes of its calls.
#[test]
fn code_that_the_plan_does_not_know_of_follows_the_rest_of_the_function() {
    let large = Verdict::Call(Refused::CalleeTooLarge);
    let tiny = Verdict::Inline(Accepted::Tiny);
    let decide = |decisions: &[InlineDecision]| {
        let replay = PlanOracle::new(&by_hand(decisions, &[]), &program(1));
        [Form::Early, Form::Whole, Form::Loop(0), Form::Loop(1)].map(|form| replay.decide(&CallSiteFacts { form, ..facts(12) }))
    };
    let nothing = Verdict::Call(Refused::NotInPlan);
    let (early, whole) = (of(Form::Early, decision(0, 50, tiny)), of(Form::Whole, decision(0, 50, large)));
    let [hot, rare] = [INLINE, large].map(|verdict| of(Form::Loop(1), decision(0, 50, verdict)));
    assert_eq!(decide(std::slice::from_ref(&early)), [tiny, nothing, nothing, nothing], "it came in before, in loops, too");
    assert_eq!(decide(&[whole.clone(), hot.clone()]), [nothing, large, large, INLINE]);
    assert_eq!(decide(&[hot, rare]), [nothing, INLINE, INLINE, large], "behind the loop the call is rare");
    let (not_tiny, later) = (of(Form::Early, decision(0, 110, large)), of(Form::Whole, decision(0, 140, INLINE)));
    assert_eq!(decide(&[not_tiny, later]), [large, INLINE, INLINE, INLINE]);
}

#[test]
fn another_root_or_chain_is_another_call() {
    let replay = PlanOracle::new(&by_hand(&[decision(0, 50, INLINE)], &[]), &program(1));
    let nothing = Verdict::Call(Refused::NotInPlan);
    let chain = [site(2)];
    assert_eq!(replay.decide(&CallSiteFacts { chain: &chain, ..facts(12) }), nothing);
    assert_eq!(replay.decide(&CallSiteFacts { root: func(1), ..facts(12) }), nothing);
    assert_eq!(replay.decide(&CallSiteFacts { callee: func(0), ..facts(12) }), nothing);
}

fn guard(candidates: &[usize], targets: &[usize]) -> Guard {
    Guard {
        root: func(0),
        form: Form::Whole,
        chain: [].into(),
        site: site(2),
        candidates: candidates.iter().copied().map(func).collect(),
        targets: targets.iter().copied().map(func).collect(),
    }
}

#[test]
fn targets_are_those_for_the_same_candidates() {
    let replay = PlanOracle::new(&by_hand(&[], &[guard(&[0, 1], &[1, 0]), guard(&[1], &[1])]), &program(1));
    let targets = |candidates: &[usize]| {
        let candidates: Vec<_> = candidates.iter().copied().map(func).collect();
        replay
            .targets(&VirtualCallFacts {
                site: site(2),
                root: func(0),
                form: Form::Whole,
                chain: &[],
                candidates: &candidates,
                suggested: &candidates,
            })
            .len()
    };
    assert_eq!([targets(&[1, 0]), targets(&[1]), targets(&[0])], [2, 1, 0]);
    let of_loop = Guard { form: Form::Loop(0), ..guard(&[0, 1], &[1, 0]) };
    let replay = PlanOracle::new(&by_hand(&[], &[of_loop]), &program(1));
    let asked = |form, candidates: &[FuncId]| {
        replay.targets(&VirtualCallFacts { site: site(2), root: func(0), form, chain: &[], candidates, suggested: &[] })
    };
    assert_eq!(asked(Form::Whole, &[func(1)]), [func(1)], "less was known in the loop");
    assert!(asked(Form::Loop(0), &[func(1)]).is_empty() && asked(Form::Early, &[func(1)]).is_empty());
    let chain = [site(0)];
    let deeper =
        VirtualCallFacts { site: site(2), root: func(0), form: Form::Whole, chain: &chain, candidates: &[func(1)], suggested: &[] };
    assert!(replay.targets(&deeper).is_empty());
}

#[test]
fn what_is_gone_is_left_out_and_named() {
    let plan = by_hand(&[decision(0, 50, INLINE), decision(2, 62, INLINE)], &[]);
    let mut now = Program::default();
    now.functions.push(program(1).functions[func(0)].clone());
    now.functions.push(program(1).functions[func(1)].clone());
    now.sites.push(CallSite { caller: func(0), line: 3 });
    let stale = plan.staleness(&now);
    assert_eq!((stale.gone, stale.gone_sites.len()), (0.5, 1));
    assert!(stale.to_string().starts_with("50.00 % of its decisions are about what"), "{stale}");
    assert_eq!(PlanOracle::new(&plan, &now).decide(&facts(12)), INLINE);
}

#[test]
fn decisions_of_another_program_make_no_plan() {
    let strange = Plan::from_decisions(About::default(), &program(1), [&decision(3, 1, INLINE)], &[]);
    assert!(matches!(strange, Err(PlanError::NoSuch { what: "site", index: 3, len: 3 })));
}

#[test]
fn damaged_plans_are_refused_with_a_cause() {
    let good = text(&by_hand(&[decision(0, 50, INLINE)], &[]));
    assert!(parse(good.as_bytes()).is_ok());
    let error = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} in {good}");
        parse(good.replace(from, to).as_bytes()).expect_err(to).to_string()
    };
    assert!(error("\"version\":2", "\"version\":3").contains("version 3"));
    assert!(error("inlining plan", "call profile").contains("not an inlining plan"));
    assert!(error("\"site\":0", "\"site\":7").contains("no site 7: there are 1"));
    assert!(error("\"caller\":0", "\"caller\":4294967295").contains("no function 4294967295"));
    assert!(error("\"whole\"", "\"loop\"").contains("as in \"loop 0\""));
    assert!(error("\"small\"", "\"spell\"").contains("\"spell\""));
    assert!(error("\"inline\":true", "\"inline\":false").contains("\"small\""), "a reason for the other answer");
    assert!(error("\"root_size\"", "\"size\"").contains("unknown field"));
    let strange = parse(text(&by_hand(&[], &[guard(&[0], &[1])])).as_bytes()).expect_err("not among its candidates").to_string();
    assert!(strange.contains("a guard's target 1 is none of its candidates"), "{strange}");
    assert!(parse(b"\xff").is_err() && parse(b"").is_err() && parse(b"[1]").is_err());
    for end in 0..good.trim_end().len() {
        assert!(parse(&good.as_bytes()[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn the_documents_example_is_a_plan_and_names_all_reasons() {
    let document = include_str!("../../../docs/plan-format.md");
    let example = document.split("```json").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let plan = parse(example.as_bytes()).expect("a good plan");
    assert_eq!(text(&plan), example.trim_start(), "as it would be written");
    for verdict in Verdict::ALL {
        let row = format!("| `{}` | ", verdict.is_inlined());
        let row = document.lines().find(|line| line.starts_with(&row)).expect("a row");
        assert!(row.contains(&format!("`{}`", verdict.reason().0)), "{verdict:?}");
    }
}

#[test]
fn every_reason_has_a_word_of_its_own() {
    let words: std::collections::BTreeSet<_> = Verdict::ALL.iter().map(|verdict| (verdict.is_inlined(), verdict.reason().0)).collect();
    assert_eq!(words.len(), Verdict::ALL.len());
}

#[test]
fn a_recorder_changes_nothing() {
    let oracle = StaticOracle::default();
    let recorder = Recorder::new(&oracle);
    assert_eq!(recorder.decide(&facts(40)), oracle.decide(&facts(40)));
    assert!(recorder.into_answers().guards.is_empty());
}

#[test]
fn of_early_forms_what_comes_in_is_recorded() {
    let oracle = StaticOracle::default();
    let recorder = Recorder::new(&oracle);
    let forms = [Form::Early, Form::Whole];
    let decided = forms.map(|form| [8, 40].map(|size| recorder.decide(&CallSiteFacts { form, ..facts(size) }).is_inlined()));
    assert_eq!(decided, [[true, false], [true, true]]);
    let recorded: Vec<bool> = recorder.into_answers().decisions.iter().map(|planned| planned.verdict.is_inlined()).collect();
    assert_eq!(recorded, [true; 3], "what does not come in is asked about again");
}
