//! `tests/verify/*.txt`: modules that break one rule each, `error:` lines saying what the verifier finds. A case ends at a line of dashes.

use jit::ir::parser::parse;
use jit::ir::verifier::{verify, verify_function};
use jit::ir::*;

#[test]
fn each_rule_is_checked() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verify");
    let mut failures = Vec::new();
    let mut cases = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for case in text.split("-----\n") {
            cases += 1;
            let expected: Vec<&str> = case.lines().filter_map(|l| l.strip_prefix("error: ")).collect();
            let body: String = case.lines().filter(|l| !l.starts_with("error: ")).map(|l| format!("{l}\n")).collect();
            let module = parse(&body).unwrap_or_else(|e| panic!("{}: {e} in\n{body}", path.display()));
            let found: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
            if found != expected {
                failures.push(format!("{body}gives\n{}\nnot\n{}\n", found.join("\n"), expected.join("\n")));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(cases > 50);
}

fn sound() -> Module {
    parse("class0 \"A\" { field0 \"x\": int }\nsel0 class0 \"m\"(class0)\nfn0 \"f\"(int) -> int {\nblock0(v0: int):\n  v1 = iadd v0, v0\n  jump block1\nblock1():\n  return v1\n}").unwrap()
}

/// A new entry in the table of the function's positions.
fn inlined(module: &mut Module) -> &mut Inlined {
    let (func, site) = (FuncId::from_u32(0), CallSiteId::from_u32(0));
    module.call_sites.push(CallSite { caller: func, loc: Loc(1) });
    let table = &mut module.funcs[func].inlined;
    let id = table.push(Inlined { callee: func, loc: Loc(2), site, call: Loc(1) });
    &mut table[id]
}

/// What the text form cannot say.
#[test]
fn dangling_ids_and_shared_instructions_are_found() {
    type Change = fn(&mut Module);
    let func = FuncId::from_u32(0);
    let cases: [(Change, &str); 12] = [
        (|m| m.funcs[FuncId::from_u32(0)].layout.push(Block::from_u32(7)), "fn0 block7 - this block does not exist"),
        (|m| m.funcs[FuncId::from_u32(0)].layout.push(Block::from_u32(1)), "fn0 block1 - this block stands in the layout twice"),
        (|m| m.funcs[FuncId::from_u32(0)].blocks[Block::from_u32(1)].terminator = None, "fn0 block1 - this block has no terminator"),
        (
            |m| m.funcs[FuncId::from_u32(0)].blocks[Block::from_u32(1)].insts.push(Inst::from_u32(0)),
            "fn0 block1 - inst0 stands in two places",
        ),
        (|m| m.funcs[FuncId::from_u32(0)].blocks[Block::from_u32(1)].insts.push(Inst::from_u32(9)), "fn0 block1 - inst9 does not exist"),
        (|m| m.funcs[FuncId::from_u32(0)].insts[Inst::from_u32(0)].result = Some(Value::from_u32(9)), "fn0 block0 - v9 does not exist"),
        (
            |m| m.funcs[FuncId::from_u32(0)].insts[Inst::from_u32(0)].result = None,
            "fn0 block0 `iadd v0, v0` - the result is None, not Some(Int)",
        ),
        (
            |m| m.funcs[FuncId::from_u32(0)].insts[Inst::from_u32(0)].op = Op::LoadGlobal(GlobalId::from_u32(3)),
            "fn0 block0 `load_global global3` - global3 does not exist",
        ),
        (|m| inlined(m).callee = FuncId::from_u32(9), "fn0 - in0 mentions fn9, which does not exist"),
        (|m| inlined(m).site = CallSiteId::from_u32(9), "fn0 - in0 mentions site9, which does not exist"),
        (|m| m.classes[ClassId::from_u32(0)].fields.push(FieldId::from_u32(5)), "class0 mentions an id that does not exist"),
        (|m| m.classes[ClassId::from_u32(0)].fields.clear(), "field0 stands 0 times in its class's list"),
    ];
    assert_eq!(verify(&sound()), []);
    for (change, expected) in cases {
        let mut module = sound();
        change(&mut module);
        let found: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
        assert_eq!(found.first().map(String::as_str), Some(expected));
    }
    assert_eq!(verify_function(&sound(), func, &sound().funcs[func]), []);
}

/// A subclass that forgot what its superclass understands: the text form would fill it in.
#[test]
fn subclasses_understand_what_superclasses_do() {
    let text = "class0 \"A\" { sel0 -> fn0 }\nclass1 \"B\" extends class0\nsel0 class0 \"m\"(class0)\nfn0 \"m\"(class0)";
    let mut module = parse(text).unwrap();
    assert_eq!(verify(&module), []);
    module.classes[ClassId::from_u32(1)].methods.clear();
    let found = verify(&module);
    assert_eq!(found[0].message, "class1 does not understand sel0, which its superclass does");
}

/// Ten thousand landing blocks and a chain of a hundred thousand `try`s: linear, and no recursion.
#[test]
fn large_functions_are_checked_quickly() {
    let mut text = String::from("fn0 \"f\"(int) -> int {\nblock0(v0: int):\n  jump block1\n");
    let n = 100_000;
    for i in 1..=n {
        let landing = 200_001 + i % 10_000;
        text += &format!("block{i}():\n  try idiv v0, v0 normal block{}(v0) unwind block{landing}(v0)\n", 100_000 + i);
        text +=
            &format!("block{}(v{}: int, v{}: int):\n  jump block{}\n", 100_000 + i, 2 * i, 2 * i + 1, if i == n { 200_000 } else { i + 1 });
    }
    text = text.replace("jump block200000\n", &format!("return v{}\n", 2 * n + 1));
    for i in 0..10_000 {
        text += &format!("block{}(v{}: ref, v{}: int):\n  return v{}\n", 200_001 + i, 300_000 + 2 * i, 300_001 + 2 * i, 300_001 + 2 * i);
    }
    text += "}";
    let module = parse(&text).unwrap();
    assert_eq!(verify(&module), []);
}
