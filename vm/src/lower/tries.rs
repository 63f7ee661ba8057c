//! `try`, `catch`, `finally`, `lock`.
//!
//! Inside a `try`, operations that may throw unwind to a *landing block*. `catch` clauses are tried there in order; what none takes is raised again further out. `finally` stands in the function once: each
//! way out of the `try` puts its number into a variable and jumps there, and at the end of `finally` a switch on the variable goes on: so nested `finally`s cost linear code.
//!
//! The `catch` bodies are covered by the `finally` of their own `try`, but not by its `catch` clauses.

use super::body::{Exit, Flow, FnLower, Scope};
use super::control::Join;
use super::expr::loc;
use crate::sema::hir::{Block as HirBlock, Catch, Expr};
use jit::ir::builder::Variable;
use jit::ir::{self, Block, Builtin, IntCmp, Loc, Op, Value};

/// Ways into a `finally`: the end of what it protects, an error, and from here on other exits.
const AT_END: i64 = 0;
const BY_ERROR: i64 = 1;
pub(super) const FIRST_EXIT: i64 = 2;

impl<'a> FnLower<'_, 'a> {
    pub(super) fn try_expr(
        &mut self,
        expr: &'a Expr,
        body: &'a HirBlock,
        catches: &'a [Catch],
        finally: Option<&'a HirBlock>,
        want: bool,
    ) -> Flow<Option<Value>> {
        let at = loc(expr);
        let join = self.join(expr, want);
        let result = join.result;
        match finally {
            None => {
                self.try_catch(body, catches, join, at)?;
            }
            Some(finally) => self.protect(at, |l| l.try_catch(body, catches, join, at), |l| l.block(finally, false).map(|_| ()))?,
        }
        Ok(result.map(|r| self.b.use_var(r)))
    }

    /// The body with its `catch` clauses; goes on behind the join. The value is in the join's variable.
    fn try_catch(&mut self, body: &'a HirBlock, catches: &'a [Catch], join: Join, at: Loc) -> Flow<()> {
        if catches.is_empty() {
            self.arm(body, &join, at);
            return self.enter(join.block);
        }
        let landing = self.push_handler();
        self.arm(body, &join, at);
        self.pop_handler();
        if self.enter(landing).is_ok() {
            self.dispatch_error(landing, catches, &join, at);
        }
        self.enter(join.block)
    }

    fn dispatch_error(&mut self, landing: Block, catches: &'a [Catch], join: &Join, at: Loc) {
        let error = self.b.exception(landing);
        for catch in catches {
            let ty = self.ty(catch.ty);
            let catch_loc = self.local_loc(catch, at);
            let next = (!self.is_class(ty, self.cx.program.known.error)).then(|| self.b.create_block());
            if let Some(next) = next {
                let class = self.cx.class_of(ty);
                let fits = self.op_safe(Op::InstanceOf(class, error), catch_loc);
                let taken = self.b.create_block();
                self.b.branch(fits, taken, next, catch_loc);
                self.b.seal_block(taken);
                self.b.switch_to_block(taken);
            }
            self.bind(catch.local, error, catch_loc);
            self.arm(&catch.body, join, catch_loc);
            let Some(next) = next else { return }; // Everything thrown is an `Error`.
            self.b.seal_block(next);
            self.b.switch_to_block(next);
        }
        self.raise(error, at);
    }

    fn local_loc(&self, catch: &Catch, at: Loc) -> Loc {
        catch.body.stmts.first().map(|s| s.span.lo).or(catch.body.value.as_ref().map(|v| v.span.lo)).map_or(at, Loc)
    }

    fn push_handler(&mut self) -> Block {
        let landing = self.b.create_landing_block();
        self.scopes.push(Scope::Handler(landing));
        self.unwind = Some(landing);
        landing
    }

    fn pop_handler(&mut self) {
        self.scopes.pop();
        self.unwind = self.scopes.iter().rev().find_map(|s| match s {
            Scope::Handler(landing) => Some(*landing),
            _ => None,
        });
    }

    pub(super) fn lock(&mut self, mutex: &'a Expr, body: &'a HirBlock, at: Loc) -> Flow<()> {
        let mutex_loc = loc(mutex);
        let mutex = self.expr(mutex)?;
        let call = |l: &mut Self, builtin| l.op(Op::CallBuiltin { builtin, args: [mutex].into_iter().collect() }, mutex_loc);
        call(self, Builtin::MutexLock);
        self.protect(
            at,
            |l| l.block(body, false).map(|_| ()),
            |l| {
                call(l, Builtin::MutexUnlock);
                Ok(())
            },
        )
    }

    /// Runs `finally` on every way out of what `protected` lowers.
    fn protect(&mut self, at: Loc, protected: impl FnOnce(&mut Self) -> Flow<()>, finally: impl FnOnce(&mut Self) -> Flow<()>) -> Flow<()> {
        let entry = self.b.create_block();
        let way = self.b.declare_var(ir::Ty::Int);
        let error = self.b.declare_var(ir::Ty::Ref);
        // So that what they held in an earlier round of a loop is not carried along.
        let null = self.null(at);
        self.b.def_var(error, null);
        self.declare_result(at);
        let result = self.ret_var;
        self.scopes.push(Scope::Finally { entry, way, exits: Vec::new() });
        let landing = self.push_handler();
        let mut ways = Vec::new();
        if protected(self).is_ok() {
            ways.push(AT_END);
            self.enter_finally(entry, way, AT_END, at);
        }
        self.pop_handler();
        let Some(Scope::Finally { exits, .. }) = self.scopes.pop() else { unreachable!("scopes nest") };
        if self.enter(landing).is_ok() {
            let caught = self.b.exception(landing);
            self.b.def_var(error, caught);
            ways.push(BY_ERROR);
            self.enter_finally(entry, way, BY_ERROR, at);
        }
        ways.extend((0..exits.len()).map(|i| FIRST_EXIT + i as i64));
        self.enter(entry)?;
        finally(self)?;
        self.ret_var = result; // A `try` in the `finally` has had one of its own.
        self.go_on(&ways, way, error, &exits, at)
    }

    /// The variable for the function's result, at the outermost `finally` anew.
    fn declare_result(&mut self, at: Loc) {
        if self.cx.is_void(self.ret_ty) || self.scopes.iter().any(|s| matches!(s, Scope::Finally { .. })) {
            return;
        }
        let variable = self.b.declare_var(self.cx.value_ty(self.ret_ty));
        let zero = self.zero(self.ret_ty, at);
        self.b.def_var(variable, zero);
        self.ret_var = Some(variable);
    }

    /// After `finally`: on to where the way that was taken leads. What is behind the `try` goes on in the current block.
    fn go_on(&mut self, ways: &[i64], way: Variable, error: Variable, exits: &[Exit], at: Loc) -> Flow<()> {
        let behind = self.b.create_block();
        let blocks: Vec<Block> = ways.iter().map(|&w| if w == AT_END { behind } else { self.b.create_block() }).collect();
        self.dispatch(ways, &blocks, way, at);
        for (&number, &block) in ways.iter().zip(&blocks) {
            if number == AT_END || self.enter(block).is_err() {
                continue;
            }
            match number {
                BY_ERROR => {
                    let error = self.b.use_var(error);
                    self.raise(error, at);
                }
                _ => self.leave(exits[(number - FIRST_EXIT) as usize], at),
            }
        }
        self.enter(behind)
    }

    fn dispatch(&mut self, ways: &[i64], blocks: &[Block], way: Variable, at: Loc) {
        match (ways, blocks) {
            (_, []) => self.b.unreachable(at),
            (_, &[block]) => self.jump(block, at),
            (&[first, _], &[a, b]) => {
                let way = self.b.use_var(way);
                let first = self.int(first, at);
                let is_first = self.op_safe(Op::ICmp(IntCmp::Eq, way, first), at);
                self.b.branch(is_first, a, b, at);
            }
            _ => {
                let way = self.b.use_var(way);
                let last = blocks[blocks.len() - 1];
                let targets: Vec<Block> =
                    (0..=ways[ways.len() - 1]).map(|number| ways.iter().position(|&w| w == number).map_or(last, |i| blocks[i])).collect();
                self.b.switch(way, &targets, last, at);
            }
        }
    }
}
