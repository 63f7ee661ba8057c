//! Copies of loops, with SSA form repaired after: what the functions compute stays the same.

mod common;

use common::broken_promises;
use jit::ir::copy::{RegionCopy, copy_region, retarget};
use jit::ir::dominators::Dominators;
use jit::ir::parser::parse;
use jit::ir::printer::print_function;
use jit::ir::repair::Repair;
use jit::ir::verifier::verify;
use jit::ir::*;
use jit::opt::analysis::loops::{Loop, Loops, predecessors};

/// Sums with two exits, of which one uses what the loop defines, and a value that is used far behind the loop.
const EXITS: &str = r#"
fn0 "sum"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = iconst 0
  v3 = iconst 1
  jump block1(v2, v2)
block1(v4: int, v5: int):
  v6 = icmp lt v4, v0
  branch v6, block2, block4
block2():
  v7 = imul v4, v4
  v8 = iadd v5, v7
  v9 = icmp gt v8, v1
  branch v9, block4, block3
block3():
  poll
  v10 = iadd v4, v3
  jump block1(v10, v8)
block4():
  v11 = icmp eq v5, v2
  branch v11, block5, block6
block5():
  return v4
block6():
  v12 = iadd v5, v4
  return v12
}
//> fn0(0, 100) = 0
//> fn0(1, 100) = 1
//> fn0(3, 100) = 8
//> fn0(10, 10) = 8
//> fn0(10, -1) = 0
"#;

/// A loop within a loop, an operation that may throw in the inner one, and a landing block that uses values of both.
const NESTED: &str = r#"
fn0 "nested"(int, int) -> int {
block0(v0: int, v1: int):
  v2 = iconst 0
  v3 = iconst 1
  v4 = iconst 100
  jump block1(v2, v2)
block1(v5: int, v6: int):
  v7 = icmp lt v5, v0
  branch v7, block2(v2, v6), block6
block2(v8: int, v9: int):
  v10 = icmp lt v8, v5
  branch v10, block3, block5
block3():
  v11 = isub v8, v1
  try idiv v4, v11 normal block4 unwind block7
block4(v12: int):
  v13 = iadd v9, v12
  v14 = iadd v8, v3
  poll
  jump block2(v14, v13)
block5():
  v15 = iadd v5, v3
  poll
  jump block1(v15, v9)
block6():
  return v6
block7(v16: ref):
  v17 = imul v5, v4
  v18 = iadd v17, v8
  return v18
}
//> fn0(0, 1) = 0
//> fn0(1, 1) = 0
//> fn0(3, 7) = -44
//> fn0(4, 2) = 302
//> fn0(5, 0) = 100
"#;

fn loops(func: &Function) -> Loops {
    Loops::new(func, &Dominators::new(func))
}

fn enter(func: &mut Function, of: &Loop, copy: &RegionCopy) {
    for pred in predecessors(func)[of.header].clone() {
        if !of.blocks.contains(&pred) && !copy.blocks.iter().any(|&(_, new)| new == pred) {
            retarget(func, pred, of.header, copy.block(of.header));
        }
    }
}

/// The first iteration runs in a copy of the loop.
fn peel(func: &mut Function, of: &Loop) {
    let copy = copy_region(func, &of.blocks);
    enter(func, of, &copy);
    of.latches.iter().for_each(|&latch| retarget(func, copy.block(latch), copy.block(of.header), of.header));
    let mut repair = Repair::default();
    repair.copied(func, &copy);
    repair.run(func);
}

/// Each iteration goes on in a second copy: what unrolling does.
fn twice(func: &mut Function, of: &Loop) {
    let copy = copy_region(func, &of.blocks);
    of.latches.iter().for_each(|&latch| retarget(func, latch, of.header, copy.block(of.header)));
    of.latches.iter().for_each(|&latch| retarget(func, copy.block(latch), copy.block(of.header), of.header));
    let mut repair = Repair::default();
    repair.copied(func, &copy);
    repair.run(func);
}

/// Two versions of the loop, and a condition that picks one: the promises of the texts hold it and its opposite.
fn version(func: &mut Function, of: &Loop) {
    let copy = copy_region(func, &of.blocks);
    let choice = choice(func, of.header, copy.block(of.header));
    let is_outside = |pred: &Block| !of.blocks.contains(pred) && !copy.blocks.iter().any(|(_, new)| new == pred) && *pred != choice;
    let before: Vec<Block> = predecessors(func)[of.header].iter().copied().filter(is_outside).collect();
    assert!(!before.is_empty(), "nobody gets to the loop");
    before.into_iter().for_each(|pred| retarget(func, pred, of.header, choice));
    let mut repair = Repair::default();
    repair.copied(func, &copy);
    repair.run(func);
}

/// A block that goes to one of two with its parameters, as the first parameter of the function is greater than the second or not.
fn choice(func: &mut Function, greater: Block, other: Block) -> Block {
    let params: Vec<Value> = func.blocks[greater].params.clone().into_iter().map(|v| func.values.push(func.values[v])).collect();
    let cond = func.values.push(Ty::Bool);
    let [first, second] = [0, 1].map(|i| func.blocks[func.entry()].params[i]);
    let inst = func.insts.push(InstData { op: Op::ICmp(IntCmp::Gt, first, second), result: Some(cond), loc: Loc::default() });
    let [then, els] = [greater, other].map(|block| BlockCall { block, args: params.iter().copied().collect() });
    let terminator = Some(Terminator::Branch { cond, then, els });
    let block = func.blocks.push(BlockData { params, insts: vec![inst], terminator, terminator_loc: Loc::default() });
    func.layout.push(block);
    block
}

/// Changes each loop in turn, `rounds` times, and checks the function after each.
fn check(text: &str, rounds: usize, change: fn(&mut Function, &Loop)) {
    let mut module = parse(text).unwrap_or_else(|e| panic!("{e}"));
    let id = FuncId::from_u32(0);
    let count = loops(&module.funcs[id]).loops.len();
    for i in 0..rounds * count {
        let mut func = module.funcs[id].clone();
        let found = loops(&func);
        let of = found.loops.values().nth(i % found.loops.len()).expect("the loops stay");
        change(&mut func, of);
        module.funcs[id] = func;
        let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
        assert_eq!(problems, [""; 0], "{}", print_function(&module, id));
        assert_eq!(broken_promises(&module, text), [""; 0], "{}", print_function(&module, id));
    }
}

#[test]
fn the_first_iteration_stands_before_the_loop() {
    check(EXITS, 3, peel);
    check(NESTED, 3, peel);
}

#[test]
fn a_loop_goes_on_in_its_copy() {
    check(EXITS, 2, twice);
    check(NESTED, 1, twice);
}

#[test]
fn one_of_two_versions_runs() {
    check(EXITS, 2, version);
    check(NESTED, 1, version);
}

#[test]
fn parameters_stand_only_where_definitions_meet() {
    let mut module = parse(EXITS).unwrap();
    let id = FuncId::from_u32(0);
    let mut func = module.funcs[id].clone();
    let found = loops(&func);
    peel(&mut func, &found.loops[found.around(Block::from_u32(1)).unwrap()]);
    module.funcs[id] = func;
    let text = print_function(&module, id);
    let headers: Vec<&str> = text.lines().filter(|line| line.starts_with("block")).collect();
    let expected = [
        "block0(v0: int, v1: int):",
        "block1(v4: int, v5: int):",
        "block2():",
        "block3():",
        "block4(v11: int, v12: int):",
        "block5():",
        "block6():",
        "block7(v18: int, v19: int):",
        "block8():",
        "block9():",
    ];
    assert_eq!(headers, expected, "{text}");
}
