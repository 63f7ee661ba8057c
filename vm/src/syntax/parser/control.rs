//! `if`, `match` with its patterns, and `try`.

use super::{Abort, PResult, Parser};
use crate::diag::Code;
use crate::source::Span;
use crate::syntax::ast::{
    Arm, ArmBody, Catch, Else, Expr, ExprKind, Name, Pattern, PatternKind, Stmt, StmtKind, StrPart, TypeExpr, TypeKind,
};
use crate::syntax::token::TokenKind;

impl Parser<'_> {
    #[inline(never)]
    pub(super) fn if_expr(&mut self) -> PResult<Expr> {
        let lo = self.bump().span.lo;
        if self.at(TokenKind::Let) || self.at(TokenKind::Var) {
            let d = self.diag(Code::ForeignSyntax, "there is no `if let`");
            return Err(self.abort(d.hint("declare before: `let x = …`, then `if x != null { … }`")));
        }
        let cond = Box::new(self.expr()?);
        let then = self.block()?;
        // A line that begins with `else =>` is the next arm of a `match` around this `if`.
        let has_else = self.at(TokenKind::Else) && self.nth_kind(1) != TokenKind::FatArrow;
        let els = if has_else {
            self.bump();
            Some(Box::new(self.else_part()?))
        } else {
            None
        };
        Ok(Expr { kind: ExprKind::If { cond, then, els }, span: self.span_from(lo) })
    }

    fn else_part(&mut self) -> PResult<Else> {
        if self.at(TokenKind::If) {
            return Ok(Else::If(self.nested(Self::if_expr)?));
        }
        Ok(Else::Block(self.block()?))
    }

    #[inline(never)]
    pub(super) fn match_expr(&mut self) -> PResult<Expr> {
        let lo = self.bump().span.lo;
        let subject = Box::new(self.expr()?);
        if !self.at(TokenKind::LBrace) {
            return Err(self.block_expected());
        }
        let open = self.bump().span;
        let opens = std::mem::take(&mut self.opens);
        let arms = self.nested(|p| p.arms(open))?;
        self.opens = opens;
        Ok(Expr { kind: ExprKind::Match { subject, arms }, span: self.span_from(lo) })
    }

    fn arms(&mut self, open: Span) -> PResult<Vec<Arm>> {
        let mut arms = Vec::new();
        loop {
            while self.eat(TokenKind::Semi) {}
            if self.eat(TokenKind::RBrace) {
                return Ok(arms);
            }
            if self.at(TokenKind::Eof) || self.at_outer_item() {
                let d = self.unclosed(open);
                return Err(self.abort(d));
            }
            let start = self.pos;
            self.mark_start();
            match self.arm() {
                Ok(arm) => {
                    let arm = self.end_of_arm(arm);
                    arms.push(arm);
                }
                Err(Abort) => self.sync_statement(start),
            }
        }
    }

    #[inline(never)]
    fn end_of_arm(&mut self, mut arm: Arm) -> Arm {
        if self.cur.newline || matches!(self.cur.kind, TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof) {
            return arm;
        }
        let start = self.pos;
        let comma = self.at(TokenKind::Comma);
        let message = format!("expected the end of the `match` arm, found {}", self.found());
        let hint = comma.then(|| "a line break or `;` stands between arms".to_string());
        let d = self.diag(Code::ExpectedEnd, message).maybe_hint(hint);
        self.report(d);
        if comma {
            self.bump();
            return arm;
        }
        self.sync_statement(start);
        if let ArmBody::Expr(body) = &mut arm.body {
            body.kind = ExprKind::Error;
        }
        arm
    }

    #[inline(never)]
    fn arm(&mut self) -> PResult<Arm> {
        let lo = self.cur.span.lo;
        let mut patterns = vec![self.pattern()?];
        while self.eat(TokenKind::Comma) {
            patterns.push(self.pattern()?);
        }
        match self.cur.kind {
            TokenKind::FatArrow => {
                self.bump();
            }
            TokenKind::Arrow | TokenKind::Colon => {
                let d = self.diag(Code::ForeignSyntax, "a pattern is followed by `=>`").hint("`match x { 1 => a; else => b }`");
                self.report(d);
                self.bump();
            }
            TokenKind::Pipe | TokenKind::PipePipe => {
                let d = self.diag(Code::ExpectedPattern, "patterns are separated by commas").hint("write `1, 2 => …`");
                return Err(self.abort(d));
            }
            TokenKind::If => {
                let d = self
                    .diag(Code::ForeignSyntax, "patterns have no conditions")
                    .hint("write an `if` behind the `=>`, or instead of the `match`");
                return Err(self.abort(d));
            }
            _ => {
                let hint = "a pattern is a literal, a constant's name, `a..b`, `null`, `is Type` or `else`";
                let d = self.expected_diag(Code::ExpectedToken, "`=>`").hint(hint);
                return Err(self.abort(d));
            }
        }
        let body = self.arm_body()?;
        Ok(Arm { patterns, body, span: self.span_from(lo) })
    }

    #[inline(never)]
    fn arm_body(&mut self) -> PResult<ArmBody> {
        match self.cur.kind {
            TokenKind::LBrace => return Ok(ArmBody::Block(self.block()?)),
            TokenKind::Let | TokenKind::Var | TokenKind::While | TokenKind::For | TokenKind::Lock => {
                let message = format!("{} needs braces here", self.cur.kind.describe());
                let d = self.diag(Code::ExpectedBlock, message).hint("write `pattern => { … }`");
                return Err(self.abort(d));
            }
            _ => {}
        }
        let lo = self.cur.span.lo;
        let value = self.expr()?;
        if self.cur.kind.is_assign() && self.same_line() {
            return Ok(ArmBody::Stmt(Box::new(self.assignment(lo, value)?)));
        }
        Ok(ArmBody::Expr(value))
    }

    // Patterns.

    #[inline(never)]
    fn pattern(&mut self) -> PResult<Pattern> {
        let lo = self.cur.span.lo;
        let kind = match self.cur.kind {
            TokenKind::Else => {
                self.bump();
                PatternKind::Else
            }
            TokenKind::Is => {
                self.bump();
                let ty = self.ty_in_expr()?;
                let bind = if self.eat(TokenKind::As) { Some(self.name("a variable")?) } else { None };
                PatternKind::Is { ty, bind }
            }
            _ => self.value_pattern()?,
        };
        Ok(Pattern { kind, span: self.span_from(lo) })
    }

    fn value_pattern(&mut self) -> PResult<PatternKind> {
        let start = self.pattern_value()?;
        let inclusive = match self.cur.kind {
            TokenKind::DotDot => true,
            TokenKind::DotDotLt => false,
            _ => return Ok(PatternKind::Value(start)),
        };
        self.mark(super::Role::Binary(super::expr::prec::RANGE));
        self.bump();
        let end = self.pattern_value()?;
        Ok(PatternKind::Range { start, end, inclusive })
    }

    /// A literal, or the name of a constant.
    fn pattern_value(&mut self) -> PResult<Expr> {
        use TokenKind::*;
        if let Some(d) = self.foreign_pattern() {
            return Err(self.abort(d));
        }
        let value = match self.cur.kind {
            Name => return self.constant_name(),
            Minus if matches!(self.nth_kind(1), Int | Float | Char) => self.pattern_literal()?,
            Int | Float | Char | StrStart | True | False | Null => self.pattern_literal()?,
            _ => {
                let hint = "a pattern is a literal, a constant's name, `a..b`, `null`, `is Type` or `else`";
                let d = self.expected_diag(Code::ExpectedPattern, "a pattern").hint(hint);
                return Err(self.abort(d));
            }
        };
        let interpolated = matches!(&value.kind, ExprKind::Str(parts) if parts.iter().any(|p| matches!(p, StrPart::Expr(_))));
        if interpolated {
            let d = crate::diag::Diagnostic::new(Code::ExpectedPattern, value.span, "a pattern's text has no `${…}`");
            return Err(self.abort(d.hint("compare with `if` and `==` instead")));
        }
        Ok(value)
    }

    fn pattern_literal(&mut self) -> PResult<Expr> {
        self.nested(Self::literal_operand)
    }

    fn constant_name(&mut self) -> PResult<Expr> {
        let name = self.name("a constant")?;
        let lo = name.span.lo;
        let mut value = Expr { span: name.span, kind: ExprKind::Name(name) };
        if self.eat(TokenKind::Dot) {
            let name = self.name("a constant")?;
            value = Expr { kind: ExprKind::Field { object: Box::new(value), name, safe: false }, span: self.span_from(lo) };
        }
        if self.at(TokenKind::LParen) && !self.cur.newline {
            let d = self.diag(Code::ExpectedPattern, "patterns do not take objects apart");
            return Err(self.abort(d.hint("test the type with `is Type as name`, then use its fields")));
        }
        Ok(value)
    }

    // Errors.

    #[inline(never)]
    pub(super) fn try_expr(&mut self) -> PResult<Expr> {
        let token = self.bump();
        let body = self.block()?;
        let mut catches = Vec::new();
        // `catch` and `finally` are no identifiers: whatever line they begin, they belong here.
        while self.at(TokenKind::Catch) || (catches.is_empty() && matches!(self.cur_name(), Some("except" | "rescue"))) {
            catches.push(self.catch()?);
        }
        let finally = if self.eat(TokenKind::Finally) { Some(self.block()?) } else { None };
        if catches.is_empty() && finally.is_none() {
            let d = crate::diag::Diagnostic::new(Code::BadCatch, token.span, "a `try` needs a `catch` or `finally`");
            self.report(d.hint("`try { … } catch (e: Error) { … }`"));
        }
        Ok(Expr { kind: ExprKind::Try { body, catches, finally }, span: self.span_from(token.span.lo) })
    }

    #[inline(never)]
    fn catch(&mut self) -> PResult<Catch> {
        if !self.at(TokenKind::Catch) {
            let d = self.diag(Code::BadCatch, "errors are caught with `catch`").hint("`catch (e: Error) { … }`");
            self.report(d);
        }
        let lo = self.bump().span.lo;
        let (name, ty) = if self.at(TokenKind::LParen) { self.catch_parameter()? } else { self.bare_catch(lo) };
        let body = self.block()?;
        Ok(Catch { name, ty, body })
    }

    fn catch_parameter(&mut self) -> PResult<(Name, TypeExpr)> {
        self.bracketed(TokenKind::RParen, |p| {
            // `(Error e)`
            if p.at(TokenKind::Name) && p.nth_kind(1) == TokenKind::Name {
                let ty = p.ty()?;
                let name = p.name("a variable")?;
                p.bad_catch(name.span.lo, &format!("write `catch ({}: {})`", name.text, p.text_of(ty.span)));
                return Ok((name, ty));
            }
            let name = p.name("a variable")?;
            if p.at(TokenKind::RParen) {
                p.bad_catch(name.span.lo, &format!("write `catch ({}: Error)` to catch every error", name.text));
                let ty = TypeExpr { kind: TypeKind::Error, span: name.span };
                return Ok((name, ty));
            }
            p.expect(TokenKind::Colon, Some("`catch (e: Error)`"))?;
            let ty = p.ty()?;
            if p.at(TokenKind::Pipe) {
                let d =
                    p.diag(Code::BadCatch, "a `catch` names one type").hint("catch a common base class, or write several `catch` clauses");
                return Err(p.abort(d));
            }
            Ok((name, ty))
        })
    }

    fn bad_catch(&mut self, lo: u32, hint: &str) {
        let span = self.span_from(lo);
        self.report(crate::diag::Diagnostic::new(Code::BadCatch, span, "a `catch` names its variable and its type").hint(hint));
    }

    /// `catch { … }`, `catch e { … }`, `catch e: Error { … }`
    fn bare_catch(&mut self, lo: u32) -> (Name, TypeExpr) {
        self.bad_catch(lo, "write `catch (e: Error) { … }`");
        let span = self.span_from(lo);
        let name = match self.name_if_present() {
            Some(name) => name,
            None => Name { text: "_".into(), span },
        };
        if (self.eat(TokenKind::Colon) || self.at(TokenKind::Name))
            && let Ok(ty) = self.ty()
        {
            return (name, ty);
        }
        (name, TypeExpr { kind: TypeKind::Error, span })
    }

    fn name_if_present(&mut self) -> Option<Name> {
        if self.at(TokenKind::Name) { self.name("a variable").ok() } else { None }
    }

    /// After the value of an assignment's target: the operator and the value.
    #[inline(never)]
    pub(super) fn assignment(&mut self, lo: u32, target: Expr) -> PResult<Stmt> {
        let op_token = self.cur;
        let assignable = match &target.kind {
            ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Error => true,
            ExprKind::Field { safe, .. } => !safe,
            _ => false,
        };
        if !assignable {
            let hint = match &target.kind {
                ExprKind::Field { .. } => "test the object for null first: `if x != null { x.f = … }`",
                ExprKind::This | ExprKind::Super => "an object cannot be replaced; assign to its fields: `this.f = …`",
                _ => "a variable, a field `x.f` or an element `x[i]` can be assigned to; equality is written `==`",
            };
            let d = crate::diag::Diagnostic::new(Code::BadAssignTarget, target.span, "this cannot be assigned to").hint(hint);
            self.report(d);
        }
        let op = super::stmt::compound_op(op_token.kind);
        self.bump();
        let value = self.expr()?;
        if self.cur.kind.is_assign() && self.same_line() {
            let d = self.statement_end_expected(self.pos);
            return Err(self.abort(d));
        }
        let kind = if assignable { StmtKind::Assign { target, op, op_span: op_token.span, value } } else { StmtKind::Error };
        Ok(Stmt { kind, span: self.span_from(lo) })
    }
}
