//! What is left of a call from a loop's poll on, as a function of its own: at every poll of the modules of other tests and of those here, entered at some of its arrivals, the functions compute what they computed.
//!
//! The way over is written in SSA here: behind the poll a global counts arrivals, and at each `every`-th the rest of the call is a call of the new function.

mod common;

use common::broken_promises;
use jit::ir::dominators::Dominators;
use jit::ir::parser::parse;
use jit::ir::polls::{LoopPoll, loop_polls};
use jit::ir::printer::print_function;
use jit::ir::verifier::verify;
use jit::ir::*;
use jit::opt::analysis::hierarchy::Hierarchy;
use jit::opt::analysis::loops::Loops;
use jit::opt::analysis::types::Types;
use jit::opt::osr::{enter_at, loops_around_calls};
use jit::opt::{Pass, run_pass};
use profiler::oracle::StaticOracle;
use std::path::Path;

fn body(func: &mut Function, block: Block, ops: Vec<(Op, Option<Ty>)>) -> Vec<Option<Value>> {
    let insts = ops.into_iter().map(|(op, ty)| {
        let result = ty.map(|ty| func.values.push(ty));
        let inst = func.insts.push(InstData { op, result, loc: Loc::default() });
        func.blocks[block].insts.push(inst);
        result
    });
    insts.collect()
}

/// Leaves the function `id` at each `every`-th arrival at the poll for the function `rest`.
fn leave(module: &mut Module, id: FuncId, poll: &LoopPoll, rest: FuncId, every: i64) {
    let arrivals = module.globals.push(Global { name: "arrivals".into(), ty: TypeDesc::Int });
    let site = module.call_sites.push(CallSite { caller: id, loc: Loc::default() });
    let func = &mut module.funcs[id];
    let at = func.blocks[poll.block].insts.iter().position(|&i| i == poll.inst).unwrap() + 1;
    let insts = func.blocks[poll.block].insts.split_off(at);
    let terminator = func.blocks[poll.block].terminator.take();
    let on = func.blocks.push(BlockData { insts, terminator, ..BlockData::default() });
    let exit = func.blocks.push(BlockData::default());
    let mut int = |op| body(func, poll.block, vec![(op, Some(Ty::Int))])[0].unwrap();
    let (count, one) = (int(Op::LoadGlobal(arrivals)), int(Op::IConst(1)));
    let (next, modulus) = (int(Op::Binary(BinaryOp::IAdd, count, one)), int(Op::IConst(every)));
    let (rem, zero) = (int(Op::Binary(BinaryOp::IRem, next, modulus)), int(Op::IConst(0)));
    let last = body(func, poll.block, vec![(Op::StoreGlobal(arrivals, next), None), (Op::ICmp(IntCmp::Eq, rem, zero), Some(Ty::Bool))]);
    let to = |block| BlockCall { block, args: Args::new() };
    func.blocks[poll.block].terminator = Some(Terminator::Branch { cond: last[1].unwrap(), then: to(exit), els: to(on) });
    let call = Op::Call { func: rest, args: poll.live.iter().copied().collect(), site };
    let ret = func.ret.map(|ty| ty.ty());
    let result = body(func, exit, vec![(call, ret)])[0];
    func.blocks[exit].terminator = Some(Terminator::Return(result));
    func.layout.extend([on, exit]);
}

fn sound(module: &Module, what: &str) {
    let problems: Vec<String> = verify(module).iter().map(|p| format!("{p}\n")).collect();
    assert!(problems.is_empty(), "{what}:\n{}\n{module}", problems.concat());
}

/// Every poll of the module's functions, with the function that goes on there.
fn entries(module: &Module) -> Vec<(FuncId, LoopPoll, Function)> {
    let mut entries = Vec::new();
    for (id, func) in module.funcs.iter().filter(|(_, func)| !func.layout.is_empty()) {
        for poll in loop_polls(func) {
            let rest = enter_at(module, func, poll.block).expect("little lives there");
            entries.push((id, poll, rest));
        }
    }
    entries
}

/// Gives how many polls there were.
fn check(text: &str) -> usize {
    let module = parse(text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
    assert_eq!(broken_promises(&module, text), [""; 0], "{text}");
    let entries = entries(&module);
    for (id, poll, rest) in &entries {
        for every in 1..=4 {
            let mut module = module.clone();
            let rest = module.funcs.push(rest.clone());
            leave(&mut module, *id, poll, rest, every);
            let what = format!("{id} left at {} every {every}", poll.block);
            sound(&module, &what);
            assert_eq!(broken_promises(&module, text), [""; 0], "{what}:\n{}", print_function(&module, rest));
            // The optimizer takes it for what it is.
            for &pass in Pass::ALL.iter().chain(Pass::ALL) {
                run_pass(&mut module, pass, &StaticOracle::default());
                sound(&module, &format!("{what}, {}", pass.name()));
            }
            assert_eq!(broken_promises(&module, text), [""; 0], "{what}, optimized:\n{}", print_function(&module, rest));
        }
    }
    entries.len()
}

/// Three loops as the front end makes them, each tested before it and at its end; the inner ones may run no round. What the outer rounds compute is used further inside and behind.
const NEST: &str = r#"
fn0 "nest"(int, float) -> int {
block0(v0: int, v1: float):
  v2 = iconst 0
  v3 = iconst 1
  v4 = iconst 7
  v5 = icmp lt v2, v0
  branch v5, block1(v2, v2), block8(v2)
block1(v10: int, v11: int):
  v12 = imul v10, v4
  v13 = int_to_float v12
  v14 = fadd v13, v1
  v15 = icmp lt v2, v10
  branch v15, block2(v2, v11), block6(v11)
block2(v20: int, v21: int):
  v22 = iadd v12, v20
  v23 = iand v22, v3
  v24 = icmp eq v23, v2
  branch v24, block3(v20, v21, v24), block5(v21)
block3(v30: int, v31: int, v32: bool):
  v33 = int_to_float v22
  v34 = fmul v33, v14
  v35 = float_to_int v34
  v36 = imul v31, v4
  v37 = iadd v36, v35
  v38 = bnot v32
  v39 = bool_to_int v38
  v40 = iadd v37, v39
  poll
  v41 = iadd v30, v3
  v42 = icmp lt v41, v10
  branch v42, block3(v41, v40, v38), block5(v40)
block5(v50: int):
  v51 = ixor v50, v22
  poll
  v52 = iadd v20, v3
  v53 = icmp lt v52, v0
  branch v53, block2(v52, v51), block6(v51)
block6(v60: int):
  v61 = iadd v60, v12
  poll
  v62 = iadd v10, v3
  v63 = icmp lt v62, v0
  branch v63, block1(v62, v61), block8(v61)
block8(v80: int):
  v81 = isub v80, v0
  return v81
}
//> fn0(0, 0.5) = 0
//> fn0(1, 0.5) = -1
//> fn0(2, 0.25) = 104
//> fn0(5, 1.5) = 637096613314068
//> fn0(6, -0.75) = 1091280273653269935
"#;

/// A loop whose test is made of several blocks behind the poll, two of which lead to the header: entered there, it has two entries.
const TESTS: &str = r#"
fn0 "tests"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = iconst 0
  v3 = iconst 3
  v4 = iconst 1
  jump block1(v2, v2)
block1(v5: int, v6: int):
  v7 = imul v6, v3
  v8 = iadd v7, v5
  poll
  v9 = iadd v5, v4
  v10 = irem v9, v3
  v11 = icmp ne v10, v2
  branch v11, block1(v9, v8), block2
block2():
  v12 = icmp lt v9, v0
  branch v12, block3, block4
block3():
  v13 = ixor v8, v9
  v14 = icmp ne v13, v1
  branch v14, block1(v9, v13), block4
block4():
  v15 = iadd v8, v9
  return v15
}
//> fn0(1, 0) = 8
//> fn0(4, 0) = 212
//> fn0(9, 6) = 8
//> fn0(10, 1) = 147932
"#;

/// Objects and a `try` in the loop: one handler goes on with the next round, one leaves the loop, one leaves the function.
const HANDLERS: &str = r#"
class0 "Object"
class1 "Box" extends class0 {
  field0 "value": int
}
fn0 "handlers"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = iconst 0
  v3 = iconst 1
  v4 = iconst 60
  v5 = new class1
  v6 = null
  jump block1(v2, v5, v6)
block1(v7: int, v8: ref, v9: ref):
  v10 = isub v7, v3
  try idiv v4, v10 normal block2 unwind block3(v10)
block2(v11: int):
  v12 = new class1
  v13 = iadd v11, v7
  store v12.field0, v13
  v14 = isub v7, v1
  try irem v4, v14 normal block4 unwind block6(v12)
block3(v15: ref, v16: int):
  v17 = iadd v16, v4
  store v8.field0, v17
  jump block5(v8)
block4(v18: int):
  v19 = load v8.field0
  v20 = iadd v19, v18
  store v12.field0, v20
  jump block5(v12)
block5(v21: ref):
  poll
  v22 = iadd v7, v3
  v23 = icmp lt v22, v0
  branch v23, block1(v22, v21, v8), block7
block6(v24: ref, v25: ref):
  v26 = load v25.field0
  v27 = ref_eq v9, v6
  v28 = bool_to_int v27
  v29 = iadd v26, v28
  return v29
block7():
  v30 = load v21.field0
  v31 = load v9.field0
  v32 = iadd v30, v31
  return v32
}
//> fn0(1, 50) = throws Null
//> fn0(2, 50) = 60
//> fn0(5, 50) = 171
//> fn0(9, 50) = 295
//> fn0(9, 2) = 62
//> fn0(9, 6) = 18
"#;

/// No class is above all others, and what lives is an element, of which nobody knows the class, and either that or nothing.
const ELEMENTS: &str = r#"
class0 interface "Shape"
class1 "Box" implements class0 {
  field0 "value": int
}
class2 array ref "Array<Shape>"
fn0 "elements"(int) -> int {
block0(v0: int):
  v1 = iconst 0
  v2 = iconst 1
  v3 = new_array class2, v2
  v4 = new class1
  store v4.field0, v0
  store_elem ref v3[v1], v4
  v5 = load_elem ref v3[v1]
  v6 = null
  jump block1(v1, v6)
block1(v7: int, v8: ref):
  poll
  v9 = iadd v7, v2
  v10 = icmp lt v9, v0
  branch v10, block1(v9, v5), block2
block2():
  v11 = ref_eq v8, v5
  v12 = check_cast class1, v5
  v13 = load v12.field0
  branch v11, block3, block4
block3():
  v14 = iadd v13, v9
  return v14
block4():
  return v13
}
//> fn0(1) = 1
//> fn0(5) = 10
"#;

#[test]
fn nests_and_handlers() {
    assert_eq!(check(NEST) + check(TESTS) + check(HANDLERS) + check(ELEMENTS), 3 + 1 + 1 + 1);
}

/// Wherever a nest is entered, its loops are entered at their headers only: the innermost stay what they are, and get a copy for each loop around.
#[test]
fn loops_keep_their_shape() {
    let depths = |func: &Function| {
        let mut depths: Vec<u32> = Loops::new(func, &Dominators::new(func)).loops.values().map(|l| l.depth).collect();
        depths.sort_unstable();
        depths
    };
    let module = parse(NEST).unwrap();
    let found: Vec<Vec<u32>> = entries(&module).iter().map(|(.., rest)| depths(rest)).collect();
    assert_eq!(found, [vec![1, 1, 1, 2, 2, 3], vec![1, 1, 2, 2, 3], vec![1, 2, 3]]);
    let module = parse(TESTS).unwrap();
    assert_eq!(depths(&entries(&module)[0].2), [1]);
}

/// What is constant is no parameter.
#[test]
fn constants_are_made_anew() {
    let module = parse(HANDLERS).unwrap();
    let (_, poll, rest) = entries(&module).remove(0);
    let names: Vec<String> = poll.live.iter().map(|v| v.to_string()).collect();
    assert_eq!(names, ["v0", "v1", "v7", "v8", "v9", "v21"]);
    let class1 = TypeDesc::Ref { class: ClassId::from_u32(1), nullable: true };
    assert_eq!(rest.params, [TypeDesc::Int, TypeDesc::Int, TypeDesc::Int, class1, class1, class1]);
    let ops = rest.blocks[rest.entry()].insts.iter().map(|&i| rest.insts[i].op.clone());
    let constants = ops.take(3).collect::<Vec<_>>();
    assert_eq!(constants, [Op::IConst(1), Op::IConst(60), Op::Null]);
}

#[test]
fn the_text_form_says_where_a_function_begins() {
    let mut module = parse(NEST).unwrap();
    let (id, _, rest) = entries(&module).remove(1);
    module.funcs[id] = rest;
    let text = module.to_string();
    assert!(text.contains("-> int loop {"), "{text}");
    assert_eq!(parse(&text).unwrap().funcs[id], module.funcs[id]);
    let mut module = parse(ELEMENTS).unwrap();
    let (id, _, rest) = entries(&module).remove(0);
    module.funcs[id] = rest;
    let text = module.to_string();
    assert!(module.funcs[id].params.contains(&TypeDesc::AnyRef), "{text}");
    assert_eq!(parse(&text).unwrap().funcs[id], module.funcs[id]);
}

#[test]
fn modules_of_other_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut polls = 0;
    for path in ["opt", "run"].iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap()) {
        let text = std::fs::read_to_string(path.unwrap().path()).unwrap();
        for case in text.split("\n-----\n") {
            let (case, _) = case.split_once("\n=====\n").unwrap_or((case, ""));
            if case.contains("poll") {
                polls += check(case);
            }
        }
    }
    assert!(polls > 50, "only {polls} polls");
}

/// A call's loop is the innermost that can be left: around that without a poll it is the next.
#[test]
fn calls_stand_in_the_innermost_loop_that_can_be_left() {
    let text = r#"
fn0 "nest"(int) -> int {
block0(v0: int):
  v1 = iconst 1
  v2 = call fn0(v0) site0
  jump block1(v0)
block1(v3: int):
  v4 = call fn0(v3) site1
  jump block2(v3)
block2(v5: int):
  v6 = call fn0(v5) site2
  poll
  v7 = isub v5, v1
  v8 = icmp lt v7, v1
  branch v8, block3(v7), block2(v7)
block3(v9: int):
  v10 = call fn0(v9) site3
  v11 = icmp lt v10, v1
  branch v11, block4, block3(v10)
block4():
  v12 = call fn0(v9) site4
  poll
  v13 = isub v3, v1
  v14 = icmp lt v13, v1
  branch v14, block5, block1(v13)
block5():
  v15 = call fn0(v3) site5
  return v15
}
"#;
    let func = parse(text).unwrap().funcs.values().next().unwrap().clone();
    let mut calls: Vec<(u32, String)> = loops_around_calls(&func).iter().map(|(site, block)| (site.as_u32(), block.to_string())).collect();
    calls.sort();
    assert_eq!(calls, [(1, "block4"), (2, "block2"), (3, "block4"), (4, "block4")].map(|(site, block)| (site, block.to_owned())));
}

/// What the callers of the function pass says nothing of what lives in its loop.
#[test]
fn parameters_are_no_arguments() {
    let text = r#"
class0 "Shape"
class1 "Circle" extends class0 {
  field0 "size": int
}
class2 "Square" extends class0 {
  field1 "size": int
}
entry main fn1 thread fn1
fn0 "f"(class1) -> bool {
block0(v0: ref):
  v1 = new class2
  jump block1(v1)
block1(v2: ref):
  poll
  v3 = has_class class1, v2
  branch v3, block1(v2), block2
block2():
  return v3
}
fn1 "main"() {
block0():
  v0 = new class1
  v1 = call fn0(v0) site0
  return
}
"#;
    let module = parse(text).unwrap();
    let (id, _, rest) = entries(&module).remove(0);
    let hierarchy = Hierarchy::new(&module);
    let types = Types::new(&module, &hierarchy, id, &rest);
    assert!(types.of(rest.blocks[rest.entry()].params[0]).contains(ClassId::from_u32(2)));
}
