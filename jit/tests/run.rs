//! Runs every `tests/run/*.ir`: each line `//> fn0(1, 2.5, true, null) = result` calls a function of the file; `//> prints text` says what the calls before it printed.

mod common;

use common::{MockHost, broken_promises};
use jit::interp::Interpreter;
use jit::ir::parser::parse;
use jit::ir::verifier::verify;
use jit::ir::*;
use jit::layout::Layout;
use jit::opt::{Probes, run_inlining};
use profiler::oracle::{Accepted, CallSiteFacts, Oracle, Verdict};

fn run_file(name: &str, text: &str) -> Vec<String> {
    let module = parse(text).unwrap_or_else(|e| panic!("{name}:{e}"));
    let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
    assert!(problems.is_empty(), "{name}: {problems:#?}");
    broken_promises(&module, text).into_iter().map(|f| format!("{name}:{f}")).collect()
}

#[test]
fn programs_do_what_they_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 6);
    let failures: Vec<String> =
        files.iter().flat_map(|f| run_file(&f.file_name().unwrap().to_string_lossy(), &std::fs::read_to_string(f).unwrap())).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn fixture(text: &str) -> (Module, Layout) {
    let module = parse(text).unwrap();
    assert_eq!(verify(&module).iter().map(|p| p.to_string()).collect::<Vec<_>>(), [""; 0]);
    let layout = Layout::new(&module);
    (module, layout)
}

const CHAIN: &str = r#"class0 "E"
fn0 "inner"(class0?) -> int @1 {
block0(v0: ref):
  call_builtin fill_trace(v0) @10
  v1 = iconst 1
  return v1
}
fn1 "middle"(class0?) -> int @2 {
block0(v0: ref):
  try call fn0(v0) site0 normal block1 unwind block2 @20
block1(v1: int):
  v2 = call fn0(v0) site1 @21
  return v2 @22
block2(v3: ref):
  throw v3
}
fn2 "outer"() -> int @3 {
block0():
  v0 = new class0 @30
  poll @31
  v1 = call fn1(v0) site2 @32
  return v1
}
"#;

#[test]
fn stack_traces_name_each_frame_where_it_stands() {
    let (module, layout) = fixture(CHAIN);
    let mut host = MockHost::new(&module, &layout);
    Interpreter::new(&module, &layout).run(&mut host, FuncId::from_u32(2), &[]).unwrap();
    let trace: Vec<_> = host.trace.iter().map(|(f, l)| (f.as_u32(), l.0)).collect();
    assert_eq!(trace, [(0, 10), (1, 21), (2, 32)]);
}

#[test]
fn calls_are_told_with_their_sites() {
    let (module, layout) = fixture(CHAIN);
    let calls = |prepare: &dyn Fn(&mut MockHost)| {
        let mut host = MockHost::new(&module, &layout);
        prepare(&mut host);
        _ = Interpreter::new(&module, &layout).run(&mut host, FuncId::from_u32(2), &[]);
        let calls = host.calls.iter().map(|&(site, callee)| (site.map(|s| s.as_u32()), callee.as_u32()));
        calls.collect::<Vec<_>>()
    };
    let all = [(None, 2), (Some(2), 1), (Some(0), 0), (Some(1), 0)];
    assert_eq!(calls(&|_| {}), all);
    // The host itself checks that returns come with the frames' ends, here that of a prologue that throws.
    let throws_at_prologue = |host: &mut MockHost| {
        host.yields_until_throw = 0;
        host.poison();
    };
    assert_eq!(calls(&throws_at_prologue), all[..1]);
}

#[test]
fn yields_at_prologues_and_polls() {
    let (module, layout) = fixture(CHAIN);
    let mut host = MockHost::new(&module, &layout);
    host.poison();
    host.ask_to_yield();
    let interpreter = Interpreter::new(&module, &layout);
    interpreter.run(&mut host, FuncId::from_u32(2), &[]).unwrap();
    assert_eq!(host.yields, 1, "one yield answers both requests");
    host.ask_to_yield();
    interpreter.run(&mut host, FuncId::from_u32(2), &[]).unwrap();
    assert_eq!(host.yields, 2, "the poll sees the flag");
}

#[test]
fn an_error_in_the_prologue_is_the_calls() {
    let text = "fn0 \"callee\"() -> int {\nblock0():\n v0 = iconst 1\n v1 = iconst 0\n try idiv v0, v1 normal block1 unwind block2\nblock1(v2: int):\n return v2\nblock2(v3: ref):\n v4 = iconst 7\n return v4\n}\n\
        fn1 \"caller\"(int) -> int {\nblock0(v0: int):\n poll\n try call fn0() site0 normal block1 unwind block2\nblock1(v1: int):\n return v1\nblock2(v2: ref):\n v3 = iconst 8\n return v3\n}";
    let (module, layout) = fixture(text);
    let interpreter = Interpreter::new(&module, &layout);
    let mut host = MockHost::new(&module, &layout);
    assert_eq!(interpreter.run(&mut host, FuncId::from_u32(1), &[0]), Ok(Some(7)));
    // `fn0`'s own handler covers its first instructions, but not its prologue.
    host.yields_until_throw = 0;
    host.poison();
    assert!(interpreter.run(&mut host, FuncId::from_u32(0), &[]).is_err());
}

#[test]
fn out_of_memory_can_be_caught() {
    let text = "class0 \"A\"\nfn0 \"f\"() -> int {\nblock0():\n v0 = iconst 0\n jump block1(v0)\nblock1(v1: int):\n try new class0 normal block2(v1) unwind block3(v1)\n\
        block2(v2: ref, v3: int):\n v4 = iconst 1\n v5 = iadd v3, v4\n jump block1(v5)\nblock3(v6: ref, v7: int):\n return v7\n}";
    let (module, layout) = fixture(text);
    let mut host = MockHost::new(&module, &layout);
    host.room = 1000;
    assert_eq!(Interpreter::new(&module, &layout).run(&mut host, FuncId::from_u32(0), &[]), Ok(Some(1000)));
}

#[test]
fn recursion_goes_as_deep_as_the_stack_is_large() {
    let text = "fn0 \"f\"(int) -> int {\nblock0(v0: int):\n v1 = iconst 1\n v2 = iadd v0, v1\n try call fn0(v2) site0 normal block1 unwind block2\nblock1(v3: int):\n return v3\nblock2(v4: ref):\n return v2\n}";
    let (module, layout) = fixture(text);
    let depth = |bytes| {
        let interpreter = Interpreter::new(&module, &layout).with_stack_bytes(bytes);
        interpreter.run(&mut MockHost::new(&module, &layout), FuncId::from_u32(0), &[0]).unwrap().unwrap()
    };
    let (small, large) = (depth(1 << 16), depth(1 << 24));
    assert!(small > 300, "{small}");
    assert!((250..260).contains(&(large / small)), "{small}, {large}");
    assert_eq!(
        Interpreter::new(&module, &layout).with_stack_bytes(0).run(&mut MockHost::new(&module, &layout), FuncId::from_u32(0), &[0]),
        Err(jit::trap::Thrown)
    );
}

/// What the trace says is the same where the callees stand in the code of their callers, and the code is run with its handlers.
#[test]
fn stack_traces_name_inlined_frames() {
    let run = |module: &Module| {
        let layout = Layout::new(module);
        let mut host = MockHost::new(module, &layout);
        Interpreter::new(module, &layout).run(&mut host, FuncId::from_u32(2), &[]).unwrap();
        (host.trace.iter().map(|(f, l)| (f.as_u32(), l.0)).collect::<Vec<_>>(), host.yields)
    };
    let mut module = fixture(CHAIN).0;
    let expected = run(&module);
    for _ in 0..3 {
        run_inlining(&mut module, &Everything, Probes::None);
        assert_eq!(verify(&module), []);
        assert_eq!(run(&module), expected, "{module}");
    }
    let text = module.to_string();
    let outer = &text[text.find("fn2 ").unwrap()..];
    assert!(!outer.contains("call fn"), "{outer}");
    assert_eq!(parse(&text).unwrap().to_string(), text);
}

struct Everything;

impl Oracle for Everything {
    fn decide(&self, _: &CallSiteFacts<'_>) -> Verdict {
        Verdict::Inline(Accepted::Small)
    }
}
