//! Builds one function's SSA form: blocks, instructions, and variables that may be assigned many times.
//!
//! In: a declaration ([`Function`] without body) and the calls of whoever lowers to SSA. Out ([`FunctionBuilder::finish`]): the function, blocks in the order in which they were entered (those that only continue another one joined to it), everything
//! numbered densely in that order, without unreachable blocks, with block parameters only where a variable needs one.
//!
//! Invariants: a block's edges are all known once it is sealed; the entry block is nobody's target; explicit parameters stand before those that variables got. Variables are turned into values by `super::ssa`.
//! The builder holds no [`Module`]: whoever lowers keeps it and lends it where a result's type is looked up, so signatures are declared before they are called.

use super::entities::*;
use super::inst::{Args, BlockCall, Op, Terminator};
use super::module::{Function, InstData, Module};
use super::ssa::Ssa;
use super::types::Ty;
use cranelift_entity::entity_impl;

/// A variable that may be assigned any number of times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable(u32);
entity_impl!(Variable, "var");

pub struct FunctionBuilder {
    pub(super) func: Function,
    pub(super) ssa: Ssa,
    /// Where instructions go; `None` after a terminator.
    current: Option<Block>,
}

impl FunctionBuilder {
    /// Starts the body of `declaration` in its entry block, whose parameters are the function's.
    pub fn new(declaration: Function) -> Self {
        assert!(declaration.layout.is_empty(), "{} has a body already", declaration.name);
        let mut builder = FunctionBuilder { func: declaration, ssa: Ssa::default(), current: None };
        let entry = builder.create_block();
        for i in 0..builder.func.params.len() {
            let ty = builder.func.params[i].ty();
            builder.append_param(entry, ty);
        }
        builder.ssa.seal(&mut builder.func, entry);
        builder.switch_to_block(entry);
        builder
    }

    /// Value of the function's parameter `index`.
    pub fn param(&self, index: usize) -> Value {
        self.func.blocks[self.func.entry()].params[index]
    }

    pub fn func(&self) -> &Function {
        &self.func
    }

    pub fn value_ty(&self, value: Value) -> Ty {
        self.func.values[value]
    }

    // Variables.

    pub fn declare_var(&mut self, ty: Ty) -> Variable {
        self.ssa.declare(ty)
    }

    pub fn def_var(&mut self, var: Variable, value: Value) {
        debug_assert_eq!(self.ssa.var_ty(var), self.func.values[value], "{var} = {value} in {}", self.func.name);
        let block = self.here();
        self.ssa.write(block, var, value);
    }

    /// The variable's value here; its type's zero (0, 0.0, false, null) on ways that have not assigned it.
    pub fn use_var(&mut self, var: Variable) -> Value {
        let block = self.here();
        self.ssa.read(&mut self.func, block, var)
    }

    // Blocks.

    pub fn create_block(&mut self) -> Block {
        self.func.blocks.push(Default::default())
    }

    /// A block for `Try`s to unwind to; its first parameter is the error ([`FunctionBuilder::exception`]).
    pub fn create_landing_block(&mut self) -> Block {
        let block = self.create_block();
        self.append_param(block, Ty::Ref);
        block
    }

    /// The error that came to a landing block.
    pub fn exception(&self, landing: Block) -> Value {
        self.func.blocks[landing].params[0]
    }

    /// An explicit parameter; every edge to the block passes a value for it.
    pub fn append_param(&mut self, block: Block, ty: Ty) -> Value {
        assert!(!self.ssa.has_edges(block), "{block} gets a parameter after an edge");
        let value = self.func.values.push(ty);
        self.func.blocks[block].params.push(value);
        value
    }

    pub fn block_params(&self, block: Block) -> &[Value] {
        &self.func.blocks[block].params
    }

    /// Instructions go to `block` from now on. Each block is entered once; the one left is terminated, unless nothing leads to it.
    pub fn switch_to_block(&mut self, block: Block) {
        self.close_dead_end();
        assert!(self.current.is_none(), "{} is left without a terminator in {}", self.current.unwrap(), self.func.name);
        assert!(self.ssa.place(block), "{block} is entered twice in {}", self.func.name);
        self.func.layout.push(block);
        self.current = Some(block);
    }

    /// All edges to `block` are there.
    pub fn seal_block(&mut self, block: Block) {
        self.ssa.seal(&mut self.func, block);
    }

    pub fn seal_all(&mut self) {
        for block in self.func.blocks.keys() {
            self.ssa.seal(&mut self.func, block);
        }
    }

    /// The block instructions go to; `None` after a terminator.
    pub fn current_block(&self) -> Option<Block> {
        self.current
    }

    /// Nothing leads here: what is emitted now will be dropped. (May be false for dead code whose block is not sealed yet.)
    pub fn is_unreachable(&self) -> bool {
        self.current.is_none_or(|b| self.is_dead_end(b))
    }

    fn is_dead_end(&self, block: Block) -> bool {
        block != self.func.entry() && self.ssa.is_sealed(block) && !self.ssa.has_edges(block)
    }

    fn close_dead_end(&mut self) {
        if self.current.is_some_and(|b| self.is_dead_end(b)) {
            self.terminate(Terminator::Unreachable, Loc::default());
        }
    }

    /// The current block; after a terminator a fresh one that nothing leads to.
    fn here(&mut self) -> Block {
        if let Some(block) = self.current {
            return block;
        }
        let block = self.create_block();
        self.ssa.seal(&mut self.func, block);
        self.switch_to_block(block);
        block
    }

    // Instructions.

    /// Appends `op`; gives its result if it has one. If it throws, it leaves the function.
    pub fn emit(&mut self, module: &Module, op: Op, loc: Loc) -> Option<Value> {
        let block = self.here();
        let ty = op.result_ty(module, |v| self.func.values[v]);
        let result = ty.map(|ty| self.func.values.push(ty));
        let inst = self.func.insts.push(InstData { op, result, loc });
        self.func.blocks[block].insts.push(inst);
        result
    }

    /// Ends the block with `op` as a `Try` and goes on in a fresh block; gives the result if there is one. If `op` throws, control goes to the landing block `unwind` with the error.
    pub fn emit_try(&mut self, module: &Module, op: Op, unwind: Block, loc: Loc) -> Option<Value> {
        let ty = op.result_ty(module, |v| self.func.values[v]);
        let normal = self.create_block();
        let result = ty.map(|ty| self.append_param(normal, ty));
        self.terminate(Terminator::Try { op, normal: target(normal, &[]), unwind: target(unwind, &[]) }, loc);
        self.seal_block(normal);
        self.switch_to_block(normal);
        result
    }

    /// [`FunctionBuilder::emit_try`] where there is a landing block and `op` may throw, [`FunctionBuilder::emit`] otherwise.
    pub fn emit_guarded(&mut self, module: &Module, op: Op, unwind: Option<Block>, loc: Loc) -> Option<Value> {
        match unwind {
            Some(landing) if op.may_throw() => self.emit_try(module, op, landing, loc),
            _ => self.emit(module, op, loc),
        }
    }

    // Terminators.

    /// Ends the current block. Edges carry the arguments for explicit parameters only (without a `Try`'s result and error); those for variables are added.
    pub fn terminate(&mut self, terminator: Terminator, loc: Loc) {
        let block = self.here();
        let mut index = 0;
        terminator.for_each_edge(|edge| {
            assert!(edge.block != self.func.layout[0], "an edge to the entry block in {}", self.func.name);
            self.ssa.add_edge(block, index, edge.block);
            index += 1;
        });
        let data = &mut self.func.blocks[block];
        data.terminator = Some(terminator);
        data.terminator_loc = loc;
        self.current = None;
    }

    pub fn jump(&mut self, to: Block, args: &[Value], loc: Loc) {
        self.terminate(Terminator::Jump(target(to, args)), loc);
    }

    pub fn branch(&mut self, cond: Value, then: Block, els: Block, loc: Loc) {
        self.terminate(Terminator::Branch { cond, then: target(then, &[]), els: target(els, &[]) }, loc);
    }

    pub fn switch(&mut self, index: Value, targets: &[Block], default: Block, loc: Loc) {
        let targets = targets.iter().map(|&b| target(b, &[])).collect();
        self.terminate(Terminator::Switch { index, targets, default: target(default, &[]) }, loc);
    }

    pub fn ret(&mut self, value: Option<Value>, loc: Loc) {
        self.terminate(Terminator::Return(value), loc);
    }

    /// Leaves the function; where a handler is in reach, `jump` to its landing block with the (non-null) error instead.
    pub fn throw(&mut self, error: Value, loc: Loc) {
        self.terminate(Terminator::Throw(error), loc);
    }

    pub fn unreachable(&mut self, loc: Loc) {
        self.terminate(Terminator::Unreachable, loc);
    }

    /// The finished function. Panics if a block that can be reached has no terminator.
    pub fn finish(mut self) -> Function {
        self.close_dead_end();
        assert!(self.current.is_none(), "{} has no terminator in {}", self.current.unwrap(), self.func.name);
        self.seal_all();
        self.ssa.finish(self.func)
    }
}

fn target(block: Block, args: &[Value]) -> BlockCall {
    BlockCall { block, args: Args::from_slice(args) }
}
