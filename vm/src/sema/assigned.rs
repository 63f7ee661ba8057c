//! Which local variables are assigned, where, and whether from a closure: what flow analysis must know before it reads a body.
//!
//! In: a body's syntax. Out: for each declared variable (by the position of its name) the positions of its assignments: where their values end, for closures in these are made before.
//! Invariant: names are resolved with the same scoping as in `body`.

use crate::source::Span;
use crate::syntax::ast::*;
use rustc_hash::FxHashMap;

#[derive(Default, Debug)]
pub struct Assignments {
    /// Ascending.
    positions: Vec<u32>,
    /// Some are in a closure that is not the one that declares the variable.
    pub in_closure: bool,
}

impl Assignments {
    pub fn any_within(&self, span: Span) -> bool {
        let first = self.positions.partition_point(|&p| p < span.lo);
        self.positions.get(first).is_some_and(|&p| p < span.hi)
    }

    pub fn any_after(&self, position: u32) -> bool {
        self.positions.last().is_some_and(|&p| p >= position)
    }
}

#[derive(Default, Debug)]
pub struct Assigned {
    variables: FxHashMap<u32, Assignments>,
}

impl Assigned {
    /// Assignments of the variable whose name is declared at `span`; `None` where there are none.
    pub fn of(&self, span: Span) -> Option<&Assignments> {
        self.variables.get(&span.lo)
    }

    pub fn scan_block<'a>(&mut self, params: impl IntoIterator<Item = &'a Name>, block: &'a Block) {
        let mut scan = Scan::new(self, params);
        scan.block(block);
        scan.finish();
    }

    pub fn scan_expr<'a>(&mut self, params: impl IntoIterator<Item = &'a Name>, expr: &'a Expr) {
        let mut scan = Scan::new(self, params);
        scan.expr(expr);
        scan.finish();
    }
}

struct Scan<'s, 'a> {
    out: &'s mut Assigned,
    /// Innermost last: name, position of the declaration, closure depth.
    scope: FxHashMap<&'a str, (u32, u32)>,
    undo: Vec<(&'a str, Option<(u32, u32)>)>,
    closures: u32,
}

impl<'s, 'a> Scan<'s, 'a> {
    fn new(out: &'s mut Assigned, params: impl IntoIterator<Item = &'a Name>) -> Self {
        let mut scan = Scan { out, scope: FxHashMap::default(), undo: Vec::new(), closures: 0 };
        params.into_iter().for_each(|p| scan.declare(p));
        scan
    }

    fn finish(self) {
        for a in self.out.variables.values_mut() {
            a.positions.sort_unstable();
        }
    }

    fn declare(&mut self, name: &'a Name) {
        let old = self.scope.insert(&name.text, (name.span.lo, self.closures));
        self.undo.push((&name.text, old));
    }

    fn scoped(&mut self, body: impl FnOnce(&mut Self)) {
        let mark = self.undo.len();
        body(self);
        for (name, old) in self.undo.drain(mark..).rev() {
            match old {
                Some(old) => self.scope.insert(name, old),
                None => self.scope.remove(name),
            };
        }
    }

    fn assign(&mut self, name: &Name, value: Span) {
        if let Some(&(position, depth)) = self.scope.get(&*name.text) {
            let entry = self.out.variables.entry(position).or_default();
            entry.positions.push(value.hi.saturating_sub(1).max(name.span.lo));
            entry.in_closure |= depth != self.closures;
        }
    }

    fn block(&mut self, block: &'a Block) {
        self.scoped(|s| block.stmts.iter().for_each(|stmt| s.stmt(stmt)));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Var(decl) => {
                self.expr(&decl.init);
                self.declare(&decl.name);
            }
            StmtKind::Assign { target, value, .. } => {
                self.expr(target);
                self.expr(value);
                if let ExprKind::Name(name) = &target.kind {
                    self.assign(name, value.span);
                }
            }
            StmtKind::Expr(e) => self.expr(e),
            StmtKind::While { cond, body } => {
                self.expr(cond);
                self.block(body);
            }
            StmtKind::For { var, iter, step, body } => {
                self.expr(iter);
                step.iter().for_each(|e| self.expr(e));
                self.scoped(|s| {
                    s.declare(var);
                    s.block(body);
                });
            }
            StmtKind::Lock { mutex, body } => {
                self.expr(mutex);
                self.block(body);
            }
            StmtKind::Error => {}
        }
    }

    fn exprs(&mut self, exprs: &'a [Expr]) {
        exprs.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Str(parts) => parts.iter().for_each(|p| {
                if let StrPart::Expr(e) = p {
                    self.expr(e)
                }
            }),
            ExprKind::Array(items) => self.exprs(items),
            ExprKind::Field { object, .. } => self.expr(object),
            ExprKind::Call { callee, args, .. } => {
                self.expr(callee);
                self.exprs(args);
            }
            ExprKind::Index { object, index } => {
                self.expr(object);
                self.expr(index);
            }
            ExprKind::Unary { operand: e, .. } | ExprKind::Cast { value: e, .. } | ExprKind::Is { value: e, .. } | ExprKind::Throw(e) => {
                self.expr(e)
            }
            ExprKind::Binary { left, right, .. } | ExprKind::Range { start: left, end: right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            ExprKind::If { cond, then, els } => {
                self.expr(cond);
                self.block(then);
                match els.as_deref() {
                    Some(Else::Block(b)) => self.block(b),
                    Some(Else::If(e)) => self.expr(e),
                    None => {}
                }
            }
            ExprKind::Match { subject, arms } => {
                self.expr(subject);
                arms.iter().for_each(|arm| self.arm(arm));
            }
            ExprKind::Try { body, catches, finally } => {
                self.block(body);
                for catch in catches {
                    self.scoped(|s| {
                        s.declare(&catch.name);
                        s.block(&catch.body);
                    });
                }
                finally.iter().for_each(|b| self.block(b));
            }
            ExprKind::Lambda { params, body, .. } => self.lambda(params, body),
            ExprKind::Return(value) => value.iter().for_each(|e| self.expr(e)),
            ExprKind::Int(_)
            | ExprKind::Char(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Name(_)
            | ExprKind::This => {}
            ExprKind::Super | ExprKind::Break | ExprKind::Continue | ExprKind::Error => {}
        }
    }

    fn arm(&mut self, arm: &'a Arm) {
        self.scoped(|s| {
            for pattern in &arm.patterns {
                if let PatternKind::Is { bind: Some(name), .. } = &pattern.kind {
                    s.declare(name);
                }
            }
            match &arm.body {
                ArmBody::Expr(e) => s.expr(e),
                ArmBody::Block(b) => s.block(b),
                ArmBody::Stmt(stmt) => s.stmt(stmt),
            }
        });
    }

    fn lambda(&mut self, params: &'a [LambdaParam], body: &'a LambdaBody) {
        self.closures += 1;
        self.scoped(|s| {
            params.iter().for_each(|p| s.declare(&p.name));
            match body {
                LambdaBody::Expr(e) => s.expr(e),
                LambdaBody::Block(b) => s.block(b),
            }
        });
        self.closures -= 1;
    }
}
