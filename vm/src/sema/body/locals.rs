//! Scopes and local variables: declaration, look-up through closures, reading with what flow analysis knows.

use super::{Body, Var, VarKind, expr};
use crate::sema::flow::VarId;
use crate::sema::hir::{self, Capture, ExprKind, LocalId};
use crate::sema::types::Ty;
use crate::source::Span;
use crate::syntax::ast::Name;

/// Where a scope started.
pub struct ScopeMark {
    undo: usize,
    outer: u32,
    vars: usize,
}

impl<'a> Body<'_, 'a> {
    pub fn open_scope(&mut self) -> ScopeMark {
        let mark = ScopeMark { undo: self.undo.len(), outer: self.scope, vars: self.vars.len() };
        self.scopes_made += 1;
        self.scope = self.scopes_made;
        mark
    }

    pub fn close_scope(&mut self, mark: ScopeMark) {
        while self.undo.len() > mark.undo {
            let Some((name, old)) = self.undo.pop() else { break };
            match old {
                Some(old) => self.names.insert(name, old),
                None => self.names.remove(name),
            };
        }
        self.scope = mark.outer;
        self.state.retain(|var| (var.0 as usize) < mark.vars);
    }

    /// A new slot in the current frame.
    pub fn new_local(&mut self, name: &str, ty: Ty, span: Span) -> LocalId {
        let locals = &mut self.frame().locals;
        locals.push(hir::Local { name: name.into(), ty, boxed: false, span });
        LocalId(locals.len() as u32 - 1)
    }

    /// Declares a variable in the innermost scope.
    pub fn declare(&mut self, name: &'a Name, ty: Ty, kind: VarKind) -> (VarId, LocalId) {
        let library = self.library();
        self.ck.check_reserved(name, library);
        if let Some(&old) = self.names.get(&*name.text) {
            let old = &self.vars[old.0 as usize];
            if old.scope == self.scope {
                let first = old.span;
                self.ck.report_duplicate(name, first);
            }
        }
        self.declare_hidden(&name.text, ty, kind, name.span)
    }

    pub fn declare_hidden(&mut self, name: &'a str, ty: Ty, kind: VarKind, span: Span) -> (VarId, LocalId) {
        let local = self.new_local(name, ty, span);
        let var = VarId(self.vars.len() as u32);
        self.vars.push(Var { name, span, ty, kind, frame: self.frames.len() - 1, local, scope: self.scope });
        let old = self.names.insert(name, var);
        self.undo.push((name, old));
        (var, local)
    }

    pub fn lookup_var(&self, name: &str) -> Option<VarId> {
        self.names.get(name).copied()
    }

    pub fn var(&self, var: VarId) -> &Var<'a> {
        &self.vars[var.0 as usize]
    }

    /// The local that stands for a variable in the current frame, captured on the way in.
    pub fn local_of(&mut self, var: VarId) -> LocalId {
        let (home, mut local) = (self.var(var).frame, self.var(var).local);
        for level in home + 1..self.frames.len() {
            if let Some(&found) = self.frames[level].captured.get(&var) {
                local = found;
                continue;
            }
            let (name, ty, span) = (self.var(var).name, self.var(var).ty, self.var(var).span);
            let frame = &mut self.frames[level];
            let inner = LocalId(frame.locals.len() as u32);
            frame.locals.push(hir::Local { name: name.into(), ty, boxed: false, span });
            frame.captures.push(Capture { outer: local, inner });
            frame.captured.insert(var, inner);
            local = inner;
        }
        local
    }

    /// The variable that a local of the current frame stands for.
    pub fn var_of(&self, local: LocalId) -> Option<VarId> {
        let (level, frame) = (self.frames.len() - 1, self.frames.last()?);
        let captured = frame.captured.iter().find(|(_, inner)| **inner == local).map(|(&var, _)| var);
        let own = || self.vars.iter().rposition(|v| v.frame == level && v.local == local).map(|i| VarId(i as u32));
        captured.or_else(own)
    }

    /// Reads a variable, narrowed to what is known of it.
    pub fn read_var(&mut self, var: VarId, span: Span) -> hir::Expr {
        let local = self.local_of(var);
        let read = expr(ExprKind::Local(local), self.var(var).ty, span);
        match self.state.get(var) {
            Some(ty) => expr(ExprKind::Convert(Box::new(read)), ty, span),
            None => read,
        }
    }

    pub fn read_this(&mut self, span: Span) -> Option<hir::Expr> {
        let this = self.this.filter(|_| !self.before_this)?;
        Some(self.read_var(this, span))
    }

    /// A variable of the compiler's own that holds `value`.
    pub fn temp(&mut self, value: hir::Expr, out: &mut Vec<hir::Stmt>) -> LocalId {
        let (ty, span) = (value.ty, value.span);
        let local = self.new_local("", ty, span);
        out.push(super::stmt(hir::StmtKind::Let { local, init: value }, span));
        local
    }
}
