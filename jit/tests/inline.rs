//! What the inliner tells its policy, what it records, and that large programs take bounded time.

use jit::ir::parser::parse;
use jit::ir::verifier::verify;
use jit::ir::{CallSiteId, FuncId, Module};
use jit::opt::{Options, Probes, optimize, run_inlining};
use profiler::oracle::{Accepted, CallSiteFacts, Certainty, InlineDecision, Oracle, Refused, StaticOracle, Verdict, VirtualCallFacts};
use std::sync::Mutex;

/// Refuses everything and writes down the facts.
#[derive(Default)]
struct Scribe(Mutex<Vec<String>>);

impl Oracle for Scribe {
    fn decide(&self, f: &CallSiteFacts<'_>) -> Verdict {
        let marks = [
            (f.loop_depth, "depth"),
            (f.constant_args, "constant"),
            (f.fresh_args, "fresh"),
            (f.deciding_args, "deciding"),
            (f.known_class_args, "known class"),
            (f.closure_args, "closure"),
            (f.is_cold.into(), "cold"),
        ];
        let marks: Vec<String> = marks.iter().filter(|m| m.0 > 0).map(|(n, name)| format!("{name} {n}")).collect();
        let line = format!("{} size {} of {}, {} callers: {}", f.site, f.callee_size, f.root_size, f.callers, marks.join(", "));
        self.0.lock().unwrap().push(line);
        Verdict::Call(Refused::Disabled)
    }
}

const FACTS: &str = r#"class0 "Error" {
  field0 "code": int
}
fn0 "leaf"(int, class0?) -> int {
block0(v0: int, v1: ref):
  v2 = iconst 3
  v3 = iadd v0, v2
  v4 = imul v3, v0
  return v4
}
fn1 "f"(int, class0?) -> int {
block0(v0: int, v1: ref):
  v2 = iconst 0
  v3 = new class0
  store v3.field0, v0
  v4 = call fn0(v2, v3) site0
  jump block1(v4)
block1(v5: int):
  v6 = icmp gt v5, v2
  branch v6, block2, block3
block2():
  v7 = call fn0(v5, v1) site1
  jump block1(v7)
block3():
  try call fn0(v5, v1) site2 normal block4 unwind block5
block4(v8: int):
  branch v6, block6, block7
block5(v9: ref):
  v10 = call fn0(v5, v9) site3
  throw v9
block6():
  v11 = new class0
  store_global global0, v11
  v12 = call fn0(v8, v11) site4
  return v12
block7():
  v13 = call fn0(v8, v1) site5
  call_builtin fill_trace(v1)
  jump block8
block8():
  return v13
block9():
  v14 = call fn0(v0, v1) site6
  return v14
}
global0 "g": class0?
"#;

#[test]
fn facts_are_as_the_code_says() {
    let mut module = parse(FACTS).unwrap();
    assert_eq!(verify(&module), []);
    let scribe = Scribe::default();
    run_inlining(&mut module, &scribe, Probes::None);
    let found = scribe.0.into_inner().unwrap();
    let expected = [
        "site1 size 2 of 56, 7 callers: depth 1",
        "site0 size 2 of 56, 7 callers: constant 1, fresh 1",
        "site2 size 2 of 56, 7 callers: ",
        "site3 size 2 of 56, 7 callers: cold 1",
        "site4 size 2 of 56, 7 callers: ",
        "site5 size 2 of 56, 7 callers: cold 1",
    ];
    assert_eq!(found, expected);
}

const ARGUMENTS: &str = r#"class0 abstract "(Int) -> Int"
class1 "add" extends class0 {
  sel0 -> fn0
}
class2 "mul" extends class0 {
  sel0 -> fn1
}
sel0 class0 "invoke"(class0, int) -> int
fn0 "add"(class1, int) -> int {
block0(v0: ref, v1: int):
  v2 = iadd v1, v1
  return v2
}
fn1 "mul"(class2, int) -> int {
block0(v0: ref, v1: int):
  v2 = imul v1, v1
  return v2
}
fn2 "invokes"(class0, int) -> int {
block0(v0: ref, v1: int):
  v2 = call_virtual sel0(v0, v1) site0
  return v2
}
fn3 "keeps"(class0, int) -> int {
block0(v0: ref, v1: int):
  store_global global0, v0
  v2 = iconst 3
  v3 = icmp gt v1, v2
  branch v3, block1, block2
block1():
  return v1
block2():
  return v2
}
fn4 "f"(class0) -> int {
block0(v0: ref):
  v1 = iconst 7
  v2 = new class1
  v3 = null_check v2
  v4 = call fn2(v3, v1) site1
  v5 = call fn3(v3, v4) site2
  v6 = call fn2(v0, v5) site3
  v7 = has_class class2, v0
  branch v7, block1, block2
block1():
  v8 = call fn2(v0, v6) site4
  v9 = call fn3(v0, v1) site5
  v10 = iadd v8, v9
  return v10
block2():
  v11 = call fn2(v0, v6) site6
  return v11
}
fn5 "g"() -> int {
block0():
  v0 = new class2
  v1 = call fn4(v0) site7
  v2 = new class1
  v3 = call fn4(v2) site8
  return v3
}
global0 "g": class0?
"#;

#[test]
fn arguments_count_where_the_callee_looks_at_them() {
    let mut module = parse(ARGUMENTS).unwrap();
    assert_eq!(verify(&module), []);
    let scribe = Scribe::default();
    run_inlining(&mut module, &scribe, Probes::None);
    let found = scribe.0.into_inner().unwrap();
    let facts = |site: &str| found.iter().find(|l| l.starts_with(site)).unwrap().split_once("callers: ").unwrap().1;
    assert_eq!(facts("site1 "), "constant 1, known class 1, closure 1", "made here");
    assert_eq!(facts("site2 "), "", "the callee does not call it");
    assert_eq!(facts("site3 "), "", "any class");
    assert_eq!(facts("site4 "), "known class 1", "behind a test");
    assert_eq!(facts("site5 "), "constant 1, deciding 1");
    assert_eq!(facts("site6 "), "", "behind a test that has failed");
    assert_eq!(facts("site7 "), "fresh 1, known class 1", "the callee tests it");
}

/// Names the first candidate of every virtual call, and writes down what it is asked.
#[derive(Default)]
struct First(Mutex<Vec<String>>);

impl Oracle for First {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        match facts.certainty {
            Certainty::Guarded { .. } => Verdict::Call(Refused::CalleeTooLarge),
            Certainty::Only => Verdict::Inline(Accepted::Small),
        }
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let chain: Vec<String> = call.chain.iter().map(|s| s.to_string()).collect();
        let line = format!("{} {}{}: {} of {}", call.root, chain.concat(), call.site, call.suggested.len(), call.candidates.len());
        self.0.lock().unwrap().push(line);
        call.candidates[..1].to_vec()
    }
}

/// `<start>` calls `main`, which calls a method of one of `classes` classes, each with its own; the other entry makes the objects.
fn polymorphic(classes: u32) -> Module {
    let mut text = String::from("class0 abstract \"Shape\"\n");
    let main = classes;
    for i in 0..classes {
        text += &format!("class{} \"C\" extends class0 {{\n  sel0 -> fn{i}\n}}\n", i + 1);
        text += &format!("fn{i} \"C.get\"(class{}) -> int {{\nblock0(v0: ref):\n  v1 = iconst {i}\n  return v1\n}}\n", i + 1);
    }
    text += "sel0 class0 \"get\"(class0) -> int\nglobal0 \"g\": class0?\n";
    text += &format!("entry main fn{} thread fn{}\n", main + 1, main + 2);
    text += &format!(
        "fn{main} \"main\"() -> int {{\nblock0():\n  v0 = load_global global0 @5\n  v1 = call_virtual sel0(v0) site0 @6\n  return v1\n}}\n"
    );
    text += &format!("fn{} \"<start>\"() {{\nblock0():\n  v0 = call fn{main}() site1 @7\n  return\n}}\n", main + 1);
    text += &format!("fn{} \"thread\"(class0) {{\nblock0(v0: ref):\n", main + 2);
    for i in 1..=classes {
        text += &format!("  v{i} = new class{i}\n  store_global global0, v{i}\n");
    }
    text += "  return\n}\n";
    parse(&text).unwrap()
}

#[test]
fn a_virtual_call_gets_tests_once() {
    let module = polymorphic(5);
    assert_eq!(verify(&module), []);
    let oracle = First::default();
    let optimized = optimize(module, &oracle, &Options { verify: true, ..Options::default() });
    let start = optimized.module.entry.unwrap().main;
    let text = optimized.module.to_string();
    let body = &text[text.find(&format!("{start} \"<start>\"")).unwrap()..];
    let body = &body[..body.find("\n}").unwrap()];
    let count = |what: &str| body.matches(what).count();
    assert_eq!((count("has_class"), count("call fn"), count("call_virtual")), (1, 1, 1), "{body}");
    let asked = oracle.0.into_inner().unwrap();
    assert_eq!(asked[0], "fn5 site0: 0 of 5", "before the function is inlined anywhere");
    assert_eq!(asked[1], "fn6 site1site0: 0 of 5", "with the calls around it");
    let guarded: Vec<&InlineDecision> = optimized.decisions.iter().filter(|d| d.certainty != Certainty::Only).collect();
    let [decision] = guarded[..] else { panic!("{guarded:?}") };
    assert_eq!((decision.callee.as_u32(), decision.certainty), (0, Certainty::Guarded { targets: 5 }));
}

struct Only(&'static str, Module);

impl Oracle for Only {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        match &*self.1.funcs[facts.callee].name == self.0 && facts.recursion == 0 {
            true => Verdict::Inline(Accepted::Small),
            false => Verdict::Call(Refused::CalleeTooLarge),
        }
    }
}

const LEVELS: &str = r#"class0 "Object"
entry main fn3 thread fn4
fn0 "leaf"() {
block0():
  call fn0() site0
  return
}
fn1 "middle"() {
block0():
  call fn0() site1
  call fn0() site2
  return
}
fn2 "other"() {
block0():
  call fn2() site3
  return
}
fn3 "main"() {
block0():
  call fn1() site4
  call fn2() site5
  call fn1() site6
  return
}
fn4 "thread"(class0) {
block0(v0: ref):
  return
}
"#;

fn told(decision: &InlineDecision) -> String {
    let chain: Vec<String> = decision.chain.iter().map(|s| s.to_string()).collect();
    format!("{} {}{}: {:?}", decision.root, chain.concat(), decision.site, decision.verdict)
}

#[test]
fn every_call_is_recorded_once_for_each_root() {
    let oracle = Only("middle", parse(LEVELS).unwrap());
    let optimized = optimize(parse(LEVELS).unwrap(), &oracle, &Options { verify: true, ..Options::default() });
    let found: Vec<String> = optimized.decisions.iter().map(told).collect();
    let expected = [
        "fn3 site4: Inline(Small)",
        "fn3 site6: Inline(Small)",
        "fn3 site5: Call(CalleeTooLarge)",
        "fn3 site4site1: Call(CalleeTooLarge)",
        "fn3 site4site2: Call(CalleeTooLarge)",
        "fn3 site6site1: Call(CalleeTooLarge)",
        "fn3 site6site2: Call(CalleeTooLarge)",
        "fn2 site3: Call(CalleeTooLarge)",
        "fn0 site0: Call(CalleeTooLarge)",
    ];
    let (mut found, mut expected) = (found, expected.map(String::from).to_vec());
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "`middle` is no root: nobody calls it any more");
}

/// A tower of functions that call the next twice, and one that calls it ten thousand times: roots stop growing.
#[test]
fn growth_is_bounded() {
    let mut text = String::from("class0 \"Object\"\nentry main fn0 thread fn1\nfn1 \"thread\"(class0) {\nblock0(v0: ref):\n  return\n}\n");
    let mut body = String::new();
    for i in 0..10_000 {
        body += &format!("  v{i} = call fn2() site{i}\n");
    }
    text += &format!("fn0 \"main\"() {{\nblock0():\n{body}  return\n}}\n");
    let levels = 200;
    for i in 2..levels {
        let next = if i + 1 == levels { 2 } else { i + 1 };
        let site = 10_000 + 2 * i;
        text +=
            &format!("fn{i} \"f\"() -> int {{\nblock0():\n  v0 = call fn{next}() site{site}\n  v1 = call fn{next}() site{}\n", site + 1);
        text += "  v2 = imul v0, v1\n  v3 = iadd v2, v1\n  return v3\n}\n";
    }
    let module = parse(&text).unwrap();
    assert_eq!(verify(&module), []);
    let optimized = optimize(module, &StaticOracle::default(), &Options { verify: false, ..Options::default() });
    assert_eq!(verify(&optimized.module), []);
    let insts = |f: &jit::ir::Function| f.layout.iter().map(|&b| f.blocks[b].insts.len()).sum::<usize>();
    let sizes: Vec<usize> = optimized.module.funcs.values().map(insts).collect();
    assert!(sizes[0] < 100_000 && sizes[2..].iter().all(|&n| n < 4000), "{sizes:?}");
}

/// Says of one call that it is never made, and takes all others.
struct Unseen(CallSiteId);

impl Oracle for Unseen {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        match facts.site == self.0 {
            true => Verdict::Call(Refused::ColdByProfile),
            false => Verdict::Inline(Accepted::Small),
        }
    }
}

const BUFFER: &str = r#"class0 "Object"
class1 "Buffer" {
  field0 "length": int
}
global0 "length": int
entry main fn2 thread fn3
fn0 "add"(class1, int) {
block0(v0: ref, v1: int):
  v2 = load v0.field0
  v3 = iconst 100
  v4 = icmp lt v2, v3
  branch v4, block1, block2
block1():
  v5 = iadd v2, v1
  store v0.field0, v5
  return
block2():
  call fn1(v0) site0
  return
}
fn1 "flush"(class1) {
block0(v0: ref):
  v1 = iconst 0
  store v0.field0, v1
  v2 = load_global global0
  store_global global0, v2
  return
}
fn2 "main"() {
block0():
  v0 = new class1
  v1 = iconst 1
  v2 = iconst 0
  jump block1(v2)
block1(v3: int):
  call fn0(v0, v3) site1
  v4 = iadd v3, v1
  v5 = iconst 1000
  v6 = icmp lt v4, v5
  poll
  branch v6, block1(v4), block2
block2():
  v7 = load v0.field0
  store_global global0, v7
  return
}
fn3 "thread"(class0) {
block0(v0: ref):
  return
}
"#;

/// It is known in the rounds after the one in which it was asked about, and behind them.
#[test]
fn a_call_that_is_not_made_keeps_no_object() {
    let module = parse(BUFFER).unwrap();
    assert_eq!(verify(&module), []);
    let objects = |unseen| {
        let options = Options { verify: true, ..Options::default() };
        let text = optimize(module.clone(), &Unseen(CallSiteId::from_u32(unseen)), &options).module.to_string();
        let main = &text[text.find("\"main\"").unwrap()..];
        let main = &main[..main.find("\n}").unwrap()];
        let start = &main[..main.find("block1(").unwrap_or(main.len())];
        (start.matches("new ").count(), main.matches("new ").count(), main.matches("call ").count())
    };
    assert_eq!(objects(0), (0, 1, 1), "an object for the call that stays, behind the loop's start");
    assert_eq!(objects(9), (0, 0, 0));
}
