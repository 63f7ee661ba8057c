//! Operators on values: arithmetic, comparison, equality.

use super::{Body, Want, error_expr, expr};
use crate::diag::{Code, Diagnostic};
use crate::sema::hir::{self, ExprKind};
use crate::sema::show::article;
use crate::sema::types::{Ty, TyKind};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp, UnaryOp};

impl<'a> Body<'_, 'a> {
    pub fn negate(&mut self, op: UnaryOp, op_span: Span, e: hir::Expr, span: Span) -> hir::Expr {
        let ty = self.shallow(e.ty);
        let (hir_op, symbol) = if op == UnaryOp::Neg { (hir::UnaryOp::Neg, "-") } else { (hir::UnaryOp::BitNot, "~") };
        let fits = ty == Ty::INT || (ty == Ty::FLOAT && op == UnaryOp::Neg);
        if ty == Ty::ERROR || ty == Ty::NEVER {
            return e;
        }
        if !fits {
            self.bad_operand(symbol, op_span, &[&e]);
            return error_expr(span);
        }
        expr(ExprKind::Unary { op: hir_op, operand: Box::new(e) }, ty, span)
    }

    /// Binary operators on two evaluated operands (not `&&`, `||`, `?:`, equality).
    pub fn arithmetic(&mut self, op: BinaryOp, left: hir::Expr, right: hir::Expr, op_span: Span, span: Span) -> hir::Expr {
        let (l, r) = (self.shallow(left.ty), self.shallow(right.ty));
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        if l == Ty::ERROR || r == Ty::ERROR {
            return error_expr(span);
        }
        let operand = if l == Ty::NEVER { r } else { l };
        let same = l == r || l == Ty::NEVER || r == Ty::NEVER;
        let str = self.str_ty();
        if same && operand == str && op == BinaryOp::Add {
            return self.concat(left, right, span);
        }
        let Some(hir_op) = binary_op(op).filter(|_| same && (fits(op, operand) || (operand == str && compares))) else {
            self.bad_operands(op, op_span, &left, &right, l, r);
            return error_expr(span);
        };
        if operand == Ty::NEVER {
            return left;
        }
        let ty = if compares { Ty::BOOL } else { operand };
        expr(ExprKind::Binary { op: hir_op, left: Box::new(left), right: Box::new(right) }, ty, span)
    }

    fn concat(&mut self, left: hir::Expr, right: hir::Expr, span: Span) -> hir::Expr {
        let str = self.str_ty();
        // Taken over, not copied: long chains lean to the left.
        let mut parts = match left {
            hir::Expr { kind: ExprKind::Concat(parts), .. } => parts,
            left => vec![left],
        };
        match right {
            hir::Expr { kind: ExprKind::Concat(more), .. } => parts.extend(more),
            right => parts.push(right),
        }
        expr(ExprKind::Concat(parts), str, span)
    }

    fn bad_operands(&mut self, op: BinaryOp, op_span: Span, left: &hir::Expr, right: &hir::Expr, l: Ty, r: Ty) {
        let str = self.str_ty();
        let symbol = op.symbol();
        for (side, ty) in [(left, l), (right, r)] {
            if self.non_null(ty).is_some() || ty == Ty::NULL || ty == Ty::UNIT || self.bare_infer(ty).is_some() {
                return self.bad_operand(symbol, op_span, &[side]);
            }
        }
        let bitwise = matches!(op, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor);
        let hint = match (l, r) {
            (Ty::INT, Ty::FLOAT) if fits(op, Ty::FLOAT) => self.conversion_hint(left, l, r),
            (Ty::FLOAT, Ty::INT) if fits(op, Ty::FLOAT) => self.conversion_hint(right, r, l),
            (Ty::INT | Ty::FLOAT, Ty::INT | Ty::FLOAT) => Some("this works on `Int` only".to_string()),
            (Ty::INT, Ty::BOOL) | (Ty::BOOL, Ty::INT) if bitwise && (is_comparison(left) || is_comparison(right)) => {
                Some(format!("comparisons bind tighter: write `(a {symbol} b) == c`"))
            }
            _ if op == BinaryOp::Add && (l == str || r == str) => Some("put the other value into the text: `\"…${value}…\"`".to_string()),
            (a, b) if op == BinaryOp::Mul && ((a, b) == (str, Ty::INT) || (a, b) == (Ty::INT, str)) => {
                Some("text is repeated by a method: `text.repeat(n)`".to_string())
            }
            _ if l == r && l == str => Some("of the operators `Str` has `+` and the comparisons".to_string()),
            (Ty::BOOL, Ty::BOOL) if matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge) => None,
            _ if l == r && matches!(self.kind_of(l), TyKind::Param(_) | TyKind::Class(..)) => {
                Some("operators work on numbers and `Str`: call a method, such as `compareTo`".to_string())
            }
            _ => None,
        };
        let (a, b) = (self.show_ty(l), self.show_ty(r));
        let problem = Diagnostic::new(Code::BadOperand, op_span, format!("`{symbol}` does not work on `{a}` and `{b}`"));
        self.report(problem.secondary(left.span, article(&a)).secondary(right.span, article(&b)).maybe_hint(hint));
    }

    fn bad_operand(&mut self, symbol: &str, op_span: Span, operands: &[&hir::Expr]) {
        for operand in operands {
            let ty = self.shallow(operand.ty);
            let shown = self.show_ty(ty);
            let problem = match self.kind_of(ty) {
                TyKind::Nullable(_) | TyKind::Null => Diagnostic::new(
                    Code::MaybeNull,
                    operand.span,
                    format!("this is {a_shown}, which may be null, and `{symbol}` needs a value", a_shown = article(&shown)),
                )
                .hint(format!("{}, give another value by `?: …`, or insist with `!!`", self.null_test_hint(operand))),
                TyKind::Unit => Diagnostic::new(Code::UnitValue, operand.span, format!("this gives no value for `{symbol}`")),
                TyKind::Infer(_) => Diagnostic::new(Code::CannotInfer, operand.span, "the type of this is not known yet"),
                _ => Diagnostic::new(Code::BadOperand, op_span, format!("`{symbol}` does not work on `{shown}`")),
            };
            self.report(problem);
        }
    }

    /// `==`, `!=`, `===`, `!==`
    pub fn equality(&mut self, op: BinaryOp, op_span: Span, left: &'a ast::Expr, right: &'a ast::Expr, span: Span) -> hir::Expr {
        let negated = matches!(op, BinaryOp::Ne | BinaryOp::RefNe);
        let identity = matches!(op, BinaryOp::RefEq | BinaryOp::RefNe);
        let null_left = matches!(left.kind, ast::ExprKind::Null);
        if null_left || matches!(right.kind, ast::ExprKind::Null) {
            return self.compare_with_null(if null_left { right } else { left }, op.symbol(), negated, span);
        }
        let left = self.expr(left, Want::Any);
        let right = self.expr(right, Want::Any);
        let (l, r) = (self.shallow(left.ty), self.shallow(right.ty));
        if l == Ty::ERROR || r == Ty::ERROR {
            return expr(ExprKind::Bool(false), Ty::BOOL, span);
        }
        let common = self.common_type(l, r).filter(|&ty| ty != Ty::NEVER);
        let Some(ty) = common else {
            if l == Ty::NEVER {
                return left;
            }
            self.never_equal(op, op_span, &left, &right);
            return expr(ExprKind::Bool(false), Ty::BOOL, span);
        };
        if identity && !self.is_reference(ty) {
            let shown = self.show_ty(ty);
            let problem = Diagnostic::new(
                Code::BadOperand,
                op_span,
                format!("`{}` compares references, and {a_shown} is not surely one", op.symbol(), a_shown = article(&shown)),
            );
            self.report(problem.hint("compare with `==`"));
        }
        let (left, right) = (Box::new(self.coerce(left, ty)), Box::new(self.coerce(right, ty)));
        let kind = if identity { ExprKind::Same { left, right, negated } } else { ExprKind::Equals { left, right, negated } };
        expr(kind, Ty::BOOL, span)
    }

    fn compare_with_null(&mut self, e: &'a ast::Expr, symbol: &str, negated: bool, span: Span) -> hir::Expr {
        // A narrowed variable may be tested again.
        let subject = self.named_var(e);
        let value = match subject {
            Some(var) => {
                let (local, ty) = (self.local_of(var), self.var(var).ty);
                expr(ExprKind::Local(local), ty, e.span)
            }
            None => self.expr(e, Want::Any),
        };
        match self.shallow(value.ty) {
            Ty::NULL => {
                let result = expr(ExprKind::Bool(!negated), Ty::BOOL, span);
                return self.in_order(value, result);
            }
            Ty::ERROR => return expr(ExprKind::Bool(false), Ty::BOOL, span),
            Ty::NEVER => return value,
            _ => {}
        }
        self.check_nullable(&value, symbol);
        self.null_test(value, negated, span)
    }

    fn never_equal(&mut self, op: BinaryOp, op_span: Span, left: &hir::Expr, right: &hir::Expr) {
        let (l, r) = (self.shallow(left.ty), self.shallow(right.ty));
        let (a, b) = (self.show_ty(l), self.show_ty(r));
        let hint = match (l, r) {
            (Ty::INT, Ty::FLOAT) => self.conversion_hint(left, l, r),
            (Ty::FLOAT, Ty::INT) => self.conversion_hint(right, r, l),
            (Ty::INT, _) => character_hint(right),
            (_, Ty::INT) => character_hint(left),
            _ => None,
        };
        let problem = Diagnostic::new(Code::BadOperand, op_span, format!("`{}` on `{a}` and `{b}`: they can never be equal", op.symbol()));
        self.report(problem.secondary(left.span, article(&a)).secondary(right.span, article(&b)).maybe_hint(hint));
    }
}

fn is_comparison(e: &hir::Expr) -> bool {
    use hir::BinaryOp::*;
    match e.kind {
        ExprKind::Equals { .. } | ExprKind::Same { .. } => true,
        ExprKind::Binary { op, .. } => matches!(op, Lt | Le | Gt | Ge),
        _ => false,
    }
}

/// For a text of one character next to an `Int`, such as a `Str`'s byte.
fn character_hint(e: &hir::Expr) -> Option<String> {
    let ExprKind::Str(text) = &e.kind else { return None };
    let mut chars = text.chars();
    let one = chars.next().filter(|c| c.is_ascii() && chars.next().is_none())?;
    Some(format!("write `'{}'`, the character as an `Int`", one.escape_debug()))
}

fn fits(op: BinaryOp, ty: Ty) -> bool {
    use BinaryOp::*;
    match ty {
        Ty::NEVER => true,
        Ty::INT => true,
        Ty::FLOAT => matches!(op, Add | Sub | Mul | Div | Rem | Lt | Le | Gt | Ge),
        Ty::BOOL => matches!(op, BitAnd | BitOr | BitXor),
        _ => false,
    }
}

fn binary_op(op: BinaryOp) -> Option<hir::BinaryOp> {
    Some(match op {
        BinaryOp::Add => hir::BinaryOp::Add,
        BinaryOp::Sub => hir::BinaryOp::Sub,
        BinaryOp::Mul => hir::BinaryOp::Mul,
        BinaryOp::Div => hir::BinaryOp::Div,
        BinaryOp::Rem => hir::BinaryOp::Rem,
        BinaryOp::Shl => hir::BinaryOp::Shl,
        BinaryOp::Shr => hir::BinaryOp::Shr,
        BinaryOp::UShr => hir::BinaryOp::UShr,
        BinaryOp::BitAnd => hir::BinaryOp::And,
        BinaryOp::BitOr => hir::BinaryOp::Or,
        BinaryOp::BitXor => hir::BinaryOp::Xor,
        BinaryOp::Lt => hir::BinaryOp::Lt,
        BinaryOp::Le => hir::BinaryOp::Le,
        BinaryOp::Gt => hir::BinaryOp::Gt,
        BinaryOp::Ge => hir::BinaryOp::Ge,
        BinaryOp::And | BinaryOp::Or | BinaryOp::Eq | BinaryOp::Ne | BinaryOp::RefEq | BinaryOp::RefNe | BinaryOp::Elvis => return None,
    })
}
