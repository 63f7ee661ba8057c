//! What the inliner tells its policy, what it records, and that large programs take bounded time.

use jit::ir::Module;
use jit::ir::parser::parse;
use jit::ir::verifier::verify;
use jit::opt::{Options, Probes, optimize, run_inlining};
use profiler::oracle::{Accepted, CallSiteFacts, InlineDecision, Oracle, Refused, StaticOracle, Verdict};
use std::sync::Mutex;

/// Refuses everything and writes down the facts.
#[derive(Default)]
struct Scribe(Mutex<Vec<String>>);

impl Oracle for Scribe {
    fn decide(&self, f: &CallSiteFacts<'_>) -> Verdict {
        let marks = [(f.loop_depth, "depth"), (f.constant_args, "constant"), (f.fresh_args, "fresh"), (f.is_cold.into(), "cold")];
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
