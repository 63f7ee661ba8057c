//! SSA construction against a direct evaluator: random structured programs over variables, built and interpreted, must compute what the evaluator computes. Also: every function built is sound and survives its text form.

mod common;

use common::{MockHost, outcome};
use jit::interp::Interpreter;
use jit::ir::parser::parse;
use jit::ir::verifier::verify;
use jit::ir::*;
use jit::layout::Layout;
use std::collections::{HashMap, HashSet};

const VARS: usize = 5;
const MAX_STEPS: u32 = 3000;

#[derive(Clone, Debug)]
enum Expr {
    Const(i64),
    Var(usize),
    Bin(BinaryOp, Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
enum Stmt {
    Set(usize, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// At most this many rounds.
    Loop(u32, Expr, Vec<Stmt>),
    Break,
    Continue,
    Return(Expr),
    Throw,
    Try(Vec<Stmt>, Vec<Stmt>),
    Switch(Expr, Vec<Vec<Stmt>>, Vec<Stmt>),
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn expr(&mut self, depth: u32) -> Expr {
        match self.below(if depth == 0 { 4 } else { 8 }) {
            0 => Expr::Const(self.below(7) as i64 - 3),
            1..=3 => Expr::Var(self.below(VARS as u64) as usize),
            _ => {
                use BinaryOp::*;
                let op = [IAdd, ISub, IMul, IXor, IDiv, IRem][self.below(6) as usize];
                Expr::Bin(op, Box::new(self.expr(depth - 1)), Box::new(self.expr(depth - 1)))
            }
        }
    }

    fn block(&mut self, depth: u32, in_loop: bool) -> Vec<Stmt> {
        (0..self.below(4)).map(|_| self.stmt(depth, in_loop)).collect()
    }

    fn stmt(&mut self, depth: u32, in_loop: bool) -> Stmt {
        let set = |r: &mut Self| Stmt::Set(r.below(VARS as u64) as usize, r.expr(2));
        if depth == 0 {
            return set(self);
        }
        match self.below(20) {
            0..=3 => Stmt::If(self.expr(1), self.block(depth - 1, in_loop), self.block(depth - 1, in_loop)),
            4..=6 => Stmt::Loop(1 + self.below(5) as u32, self.expr(1), self.block(depth - 1, true)),
            7..=8 => Stmt::Try(self.block(depth - 1, in_loop), self.block(depth - 1, in_loop)),
            9 => {
                let cases = (0..self.below(4)).map(|_| self.block(depth - 1, in_loop)).collect();
                Stmt::Switch(self.expr(1), cases, self.block(depth - 1, in_loop))
            }
            10 if in_loop => Stmt::Break,
            11 if in_loop => Stmt::Continue,
            12 => Stmt::Return(self.expr(1)),
            13 => Stmt::Throw,
            _ => set(self),
        }
    }
}

// The evaluator.

enum Flow {
    Next,
    Break,
    Continue,
    Return(i64),
    Throw,
}

fn eval(expr: &Expr, vars: &[i64; VARS]) -> Option<i64> {
    Some(match expr {
        Expr::Const(n) => *n,
        Expr::Var(v) => vars[*v],
        Expr::Bin(op, a, b) => eval::binary(*op, eval(a, vars)? as u64, eval(b, vars)? as u64)? as i64,
    })
}

fn run(stmts: &[Stmt], vars: &mut [i64; VARS], steps: &mut u32) -> Flow {
    macro_rules! value {
        ($e:expr) => {
            match eval($e, vars) {
                Some(value) => value,
                None => return Flow::Throw,
            }
        };
    }
    for stmt in stmts {
        *steps += 1;
        let flow = match stmt {
            Stmt::Set(var, e) => {
                vars[*var] = value!(e);
                Flow::Next
            }
            Stmt::If(cond, then, els) => {
                let branch = if value!(cond) > 0 { then } else { els };
                run(branch, vars, steps)
            }
            Stmt::Loop(rounds, cond, body) => {
                let mut flow = Flow::Next;
                for _ in 0..*rounds {
                    if value!(cond) <= 0 {
                        break;
                    }
                    flow = run(body, vars, steps);
                    match flow {
                        Flow::Next | Flow::Continue => flow = Flow::Next,
                        _ => break,
                    }
                }
                if let Flow::Break = flow { Flow::Next } else { flow }
            }
            Stmt::Break => Flow::Break,
            Stmt::Continue => Flow::Continue,
            Stmt::Return(e) => Flow::Return(value!(e)),
            Stmt::Throw => Flow::Throw,
            Stmt::Try(body, handler) => match run(body, vars, steps) {
                Flow::Throw => run(handler, vars, steps),
                flow => flow,
            },
            Stmt::Switch(index, cases, default) => {
                let index = value!(index);
                let case = usize::try_from(index).ok().and_then(|i| cases.get(i)).unwrap_or(default);
                run(case, vars, steps)
            }
        };
        if !matches!(flow, Flow::Next) {
            return flow;
        }
    }
    Flow::Next
}

// The builder's side.

struct Lower<'a> {
    module: &'a Module,
    b: FunctionBuilder,
    vars: Vec<Variable>,
    /// Break and continue targets.
    loops: Vec<(Block, Block)>,
    handlers: Vec<Block>,
    /// Seals as late as possible instead of as soon as possible.
    lazy: bool,
}

const NOWHERE: Loc = Loc(0);

impl Lower<'_> {
    fn op(&mut self, op: Op) -> Value {
        let handler = self.handlers.last().copied();
        self.b.emit_guarded(self.module, op, handler, NOWHERE).expect("has a result")
    }

    fn seal(&mut self, block: Block) {
        if !self.lazy {
            self.b.seal_block(block);
        }
    }

    fn enter(&mut self, block: Block) {
        self.b.switch_to_block(block);
    }

    fn expr(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Const(n) => self.op(Op::IConst(*n)),
            Expr::Var(v) => self.b.use_var(self.vars[*v]),
            Expr::Bin(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.op(Op::Binary(*op, a, b))
            }
        }
    }

    fn cond(&mut self, expr: &Expr) -> Value {
        let value = self.expr(expr);
        let zero = self.op(Op::IConst(0));
        self.op(Op::ICmp(IntCmp::Gt, value, zero))
    }

    fn block(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(var, e) => {
                let value = self.expr(e);
                self.b.def_var(self.vars[*var], value);
            }
            Stmt::If(cond, then, els) => {
                let cond = self.cond(cond);
                let [t, e, end] = [(); 3].map(|()| self.b.create_block());
                // Both edges may lead to one block.
                self.b.branch(cond, t, if els.is_empty() { end } else { e }, NOWHERE);
                self.seal(t);
                self.enter(t);
                self.block(then);
                self.b.jump(end, &[], NOWHERE);
                if !els.is_empty() {
                    self.seal(e);
                    self.enter(e);
                    self.block(els);
                    self.b.jump(end, &[], NOWHERE);
                }
                self.seal(end);
                self.enter(end);
            }
            Stmt::Loop(rounds, cond, body) => {
                let counter = self.b.declare_var(Ty::Int);
                let start = self.op(Op::IConst(i64::from(*rounds)));
                self.b.def_var(counter, start);
                let [head, test, inside, end] = [(); 4].map(|()| self.b.create_block());
                self.b.jump(head, &[], NOWHERE);
                self.enter(head);
                let left = self.b.use_var(counter);
                let zero = self.op(Op::IConst(0));
                let more = self.op(Op::ICmp(IntCmp::Gt, left, zero));
                self.b.branch(more, test, end, NOWHERE);
                self.seal(test);
                self.enter(test);
                let cond = self.cond(cond);
                self.b.branch(cond, inside, end, NOWHERE);
                self.seal(inside);
                self.enter(inside);
                let one = self.op(Op::IConst(1));
                let less = self.op(Op::Binary(BinaryOp::ISub, left, one));
                self.b.def_var(counter, less);
                self.loops.push((end, head));
                self.block(body);
                self.loops.pop();
                self.b.jump(head, &[], NOWHERE);
                self.seal(head);
                self.seal(end);
                self.enter(end);
            }
            Stmt::Break => self.b.jump(self.loops.last().unwrap().0, &[], NOWHERE),
            Stmt::Continue => self.b.jump(self.loops.last().unwrap().1, &[], NOWHERE),
            Stmt::Return(e) => {
                let value = self.expr(e);
                self.b.ret(Some(value), NOWHERE);
            }
            Stmt::Throw => {
                let one = self.op(Op::IConst(1));
                let zero = self.op(Op::IConst(0));
                self.op(Op::Binary(BinaryOp::IDiv, one, zero));
            }
            Stmt::Try(body, handler) => {
                let landing = self.b.create_landing_block();
                let end = self.b.create_block();
                self.handlers.push(landing);
                // A loop around the `try` is left with the handler of outside: none of ours is active there.
                self.block(body);
                self.handlers.pop();
                self.b.jump(end, &[], NOWHERE);
                self.seal(landing);
                self.enter(landing);
                self.block(handler);
                self.b.jump(end, &[], NOWHERE);
                self.seal(end);
                self.enter(end);
            }
            Stmt::Switch(index, cases, default) => {
                let index = self.expr(index);
                let blocks: Vec<Block> = cases.iter().map(|_| self.b.create_block()).collect();
                let (other, end) = (self.b.create_block(), self.b.create_block());
                // Empty cases go to the end directly, several edges of one switch to one block.
                let targets: Vec<Block> = blocks.iter().zip(cases).map(|(&b, c)| if c.is_empty() { end } else { b }).collect();
                self.b.switch(index, &targets, other, NOWHERE);
                for (&block, case) in blocks.iter().zip(cases).filter(|(_, c)| !c.is_empty()).chain([(&other, default)]) {
                    self.seal(block);
                    self.enter(block);
                    self.block(case);
                    self.b.jump(end, &[], NOWHERE);
                }
                self.seal(end);
                self.enter(end);
            }
        }
    }
}

fn build(module: &Module, program: &[Stmt], lazy: bool) -> Function {
    let declaration = Function::new("f", vec![TypeDesc::Int; 2], Some(TypeDesc::Int), NOWHERE);
    let mut b = FunctionBuilder::new(declaration);
    // The last variables are never set before the program: they start as 0.
    let vars: Vec<Variable> = (0..VARS).map(|_| b.declare_var(Ty::Int)).collect();
    (0..2).for_each(|i| b.def_var(vars[i], b.param(i)));
    let mut lower = Lower { module, b, vars, loops: vec![], handlers: vec![], lazy };
    lower.block(program);
    // The sum of all variables, weighted.
    let mut sum = Expr::Const(0);
    for v in 0..VARS {
        let scaled = Expr::Bin(BinaryOp::IMul, Box::new(sum), Box::new(Expr::Const(31)));
        sum = Expr::Bin(BinaryOp::IAdd, Box::new(scaled), Box::new(Expr::Var(v)));
    }
    let sum = lower.expr(&sum);
    lower.b.ret(Some(sum), NOWHERE);
    lower.b.finish()
}

fn expected(program: &[Stmt], args: [i64; 2]) -> Option<String> {
    let mut vars = [0; VARS];
    vars[..2].copy_from_slice(&args);
    let mut steps = 0;
    let flow = run(program, &mut vars, &mut steps);
    if steps > MAX_STEPS {
        return None;
    }
    Some(match flow {
        Flow::Return(v) => v.to_string(),
        Flow::Throw => "throws DivisionByZero".into(),
        _ => vars.iter().fold(0i64, |sum, v| sum.wrapping_mul(31).wrapping_add(*v)).to_string(),
    })
}

#[test]
fn built_programs_compute_what_they_say() {
    let mut ran = 0;
    for seed in 0..3000 {
        let mut random = Random(seed * 2 + 1);
        let depth = 2 + random.below(3) as u32;
        let program: Vec<Stmt> = (0..2 + random.below(6)).map(|_| random.stmt(depth, false)).collect();
        let mut module = Module::default();
        let func = build(&module, &program, seed % 2 == 0);
        module.funcs.push(func);
        let problems: Vec<String> = verify(&module).iter().map(|p| p.to_string()).collect();
        assert!(problems.is_empty(), "{problems:#?}\n{program:#?}\n{module}");

        let text = module.to_string();
        let again = parse(&text).unwrap();
        assert_eq!(again.to_string(), text);
        assert_eq!(again.funcs.values().next(), module.funcs.values().next(), "{text}");

        let layout = Layout::new(&module);
        let interpreter = Interpreter::new(&module, &layout);
        for args in [[0, 0], [1, -1], [5, 2], [-7, 3]] {
            let Some(expected) = expected(&program, args) else { continue };
            let mut host = MockHost::new(&module, &layout);
            let result = interpreter.run(&mut host, FuncId::from_u32(0), &args.map(|a| a as u64));
            let found = outcome(&mut host, Some(Ty::Int), result);
            assert_eq!(found, expected, "seed {seed}, arguments {args:?}\n{program:#?}\n{module}");
            ran += 1;
        }
    }
    assert!(ran > 10_000);
}

/// Sealing late must not leave more parameters than sealing early.
#[test]
fn the_form_is_minimal_and_pruned() {
    for seed in 0..1000 {
        let mut random = Random(seed * 2 + 1);
        let program: Vec<Stmt> = (0..6).map(|_| random.stmt(3, false)).collect();
        let module = Module::default();
        let [early, late] = [false, true].map(|lazy| build(&module, &program, lazy));
        let params = |f: &Function| f.blocks.values().map(|b| b.params.len()).sum::<usize>();
        assert_eq!(params(&early), params(&late));
        let mut uses: HashMap<Value, usize> = HashMap::new();
        for block in early.blocks.values() {
            let mut count = |v: Value| *uses.entry(v).or_default() += 1;
            block.insts.iter().for_each(|&i| early.insts[i].op.for_each_arg(&mut count));
            let terminator = block.terminator.as_ref().unwrap();
            terminator.for_each_operand(&mut count);
            terminator.for_each_edge(|e| e.args.iter().for_each(|&v| count(v)));
        }
        // The results and errors of `Try`s may go unused; a parameter made for a variable may not.
        let behind_tries = behind_tries(&early);
        for &block in &early.layout[1..] {
            let params = &early.blocks[block].params[usize::from(behind_tries.contains(&block))..];
            assert!(params.iter().all(|v| uses.contains_key(v)), "seed {seed}, {block:?}\n{early:?}");
        }
    }
}

fn behind_tries(func: &Function) -> HashSet<Block> {
    let terminators = func.blocks.values().filter_map(|block| block.terminator.as_ref());
    let behind =
        terminators.filter_map(|t| if let Terminator::Try { normal, unwind, .. } = t { Some([normal.block, unwind.block]) } else { None });
    behind.flatten().collect()
}

fn counting_function(shape: impl Fn(&mut FunctionBuilder, &Module, Variable)) -> Function {
    let module = Module::default();
    let mut b = FunctionBuilder::new(Function::new("f", vec![TypeDesc::Int], Some(TypeDesc::Int), NOWHERE));
    let var = b.declare_var(Ty::Int);
    b.def_var(var, b.param(0));
    shape(&mut b, &module, var);
    let value = b.use_var(var);
    b.ret(Some(value), NOWHERE);
    b.finish()
}

fn run_large(func: Function, arg: i64) -> i64 {
    let mut module = Module::default();
    module.funcs.push(func);
    assert_eq!(verify(&module), []);
    let layout = Layout::new(&module);
    let result = Interpreter::new(&module, &layout).run(&mut MockHost::new(&module, &layout), FuncId::from_u32(0), &[arg as u64]);
    result.unwrap().unwrap() as i64
}

/// A hundred thousand blocks with one read at the end of all: nothing may recurse, and an untouched variable needs no parameter.
#[test]
fn a_hundred_thousand_diamonds() {
    let func = counting_function(|b, module, var| {
        for _ in 0..50_000 {
            let zero = b.emit(module, Op::IConst(0), NOWHERE).unwrap();
            let cond = b.emit(module, Op::ICmp(IntCmp::Eq, zero, zero), NOWHERE).unwrap();
            let [then, end] = [(); 2].map(|()| b.create_block());
            b.branch(cond, then, end, NOWHERE);
            b.seal_block(then);
            b.switch_to_block(then);
            b.jump(end, &[], NOWHERE);
            b.seal_block(end);
            b.switch_to_block(end);
        }
        let value = b.use_var(var);
        let sum = b.emit(module, Op::Binary(BinaryOp::IAdd, value, value), NOWHERE).unwrap();
        b.def_var(var, sum);
    });
    assert_eq!(func.blocks.values().map(|b| b.params.len()).sum::<usize>(), 1);
    assert_eq!(run_large(func, 21), 42);
}

/// Loops within loops, ten thousand deep.
#[test]
fn ten_thousand_nested_loops() {
    let depth = 10_000;
    let func = counting_function(|b, module, var| {
        let mut open = Vec::new();
        for _ in 0..depth {
            let [head, body, end] = [(); 3].map(|()| b.create_block());
            b.jump(head, &[], NOWHERE);
            b.switch_to_block(head);
            let value = b.use_var(var);
            let zero = b.emit(module, Op::IConst(0), NOWHERE).unwrap();
            let cond = b.emit(module, Op::ICmp(IntCmp::Gt, value, zero), NOWHERE).unwrap();
            b.branch(cond, body, end, NOWHERE);
            b.seal_block(body);
            b.switch_to_block(body);
            open.push((head, end));
        }
        let value = b.use_var(var);
        let one = b.emit(module, Op::IConst(1), NOWHERE).unwrap();
        let less = b.emit(module, Op::Binary(BinaryOp::ISub, value, one), NOWHERE).unwrap();
        b.def_var(var, less);
        while let Some((head, end)) = open.pop() {
            b.jump(head, &[], NOWHERE);
            b.seal_block(head);
            b.seal_block(end);
            b.switch_to_block(end);
        }
    });
    assert_eq!(run_large(func, 3), 0);
}

/// A variable set before each of fifty thousand calls that unwind to one block: its parameter gets the value of each.
#[test]
fn many_unwind_edges_into_one_block() {
    let func = counting_function(|b, module, var| {
        let landing = b.create_landing_block();
        let end = b.create_block();
        let divisor = b.param(0);
        for i in 0..50_000 {
            let value = b.emit(module, Op::IConst(i), NOWHERE).unwrap();
            b.def_var(var, value);
            let left = b.emit(module, Op::Binary(BinaryOp::ISub, value, divisor), NOWHERE).unwrap();
            b.emit_try(module, Op::Binary(BinaryOp::IDiv, value, left), landing, NOWHERE);
        }
        b.jump(end, &[], NOWHERE);
        b.seal_block(landing);
        b.switch_to_block(landing);
        b.jump(end, &[], NOWHERE);
        b.seal_block(end);
        b.switch_to_block(end);
    });
    assert_eq!(run_large(func, 31_415), 31_415);
}

#[test]
fn unreachable_code_leaves_nothing_behind() {
    let func = counting_function(|b, module, var| {
        let out = b.create_block();
        b.jump(out, &[], NOWHERE);
        // A loop that nothing leads into, which sets the variable and leads out.
        let head = b.create_block();
        let value = b.use_var(var);
        b.def_var(var, value);
        b.jump(head, &[], NOWHERE);
        b.switch_to_block(head);
        let value = b.use_var(var);
        let more = b.emit(module, Op::Binary(BinaryOp::IAdd, value, value), NOWHERE).unwrap();
        b.def_var(var, more);
        let cond = b.emit(module, Op::ICmp(IntCmp::Gt, more, value), NOWHERE).unwrap();
        b.branch(cond, head, out, NOWHERE);
        b.seal_block(head);
        b.seal_block(out);
        b.switch_to_block(out);
    });
    assert_eq!((func.blocks.len(), func.insts.len(), func.values.len()), (1, 0, 1));
    assert_eq!(run_large(func, 5), 5);
}

/// Blocks that only jump on, and blocks that continue the only one before them, are gone; branches that lead to one place are jumps.
#[test]
fn straight_lines_are_one_block() {
    let func = counting_function(|b, module, var| {
        let zero = b.emit(module, Op::IConst(0), NOWHERE).unwrap();
        let value = b.use_var(var);
        let cond = b.emit(module, Op::ICmp(IntCmp::Gt, value, zero), NOWHERE).unwrap();
        // An `if` with empty arms, then a block with a parameter that gets one argument.
        let (then, els, join, next, end) = (b.create_block(), b.create_block(), b.create_block(), b.create_block(), b.create_block());
        let passed = b.append_param(next, Ty::Int);
        b.branch(cond, then, els, NOWHERE);
        for arm in [then, els] {
            b.seal_block(arm);
            b.switch_to_block(arm);
            b.jump(join, &[], NOWHERE);
        }
        b.seal_block(join);
        b.switch_to_block(join);
        b.jump(next, &[value], NOWHERE);
        b.seal_block(next);
        b.switch_to_block(next);
        let sum = b.emit(module, Op::Binary(BinaryOp::IAdd, passed, passed), NOWHERE).unwrap();
        b.def_var(var, sum);
        b.jump(end, &[], NOWHERE);
        b.seal_block(end);
        b.switch_to_block(end);
    });
    assert_eq!(func.blocks.len(), 1);
    assert_eq!(run_large(func, 21), 42);
}
