//! Closures: `x => e`, `(x: Int, y): T => { … }`.

use super::types::Scan;
use super::{PResult, Parser};
use crate::diag::Code;
use crate::syntax::ast::{Block, Expr, ExprKind, LambdaBody, LambdaParam, TypeExpr};
use crate::syntax::token::TokenKind;

impl Parser<'_> {
    /// At a closure, also at one with `->` by mistake.
    pub(super) fn at_lambda(&self) -> bool {
        match self.cur.kind {
            TokenKind::Name => {
                matches!(self.nth_kind(1), TokenKind::FatArrow | TokenKind::Arrow) && (!self.nth(1).newline || !self.opens.is_empty())
            }
            TokenKind::LParen => is_lambda(self.scan_from_here()),
            _ => false,
        }
    }

    #[inline(never)]
    pub(super) fn lambda(&mut self) -> PResult<Expr> {
        let lo = self.cur.span.lo;
        let (params, ret) = self.lambda_head()?;
        let body = self.lambda_body()?;
        Ok(Expr { kind: ExprKind::Lambda { params, ret, body }, span: self.span_from(lo) })
    }

    /// Up to and with the `=>`.
    #[inline(never)]
    fn lambda_head(&mut self) -> PResult<(Vec<LambdaParam>, Option<TypeExpr>)> {
        let head = if self.at(TokenKind::Name) {
            let name = self.name("a parameter")?;
            (vec![LambdaParam { name, ty: None }], None)
        } else {
            let params = self.list(TokenKind::RParen, Self::lambda_param)?;
            let ret = if self.eat(TokenKind::Colon) { Some(self.ty_in_expr()?) } else { None };
            (params, ret)
        };
        if self.at(TokenKind::Arrow) {
            let d = self
                .diag(Code::BadLambda, "a closure is written with `=>`")
                .hint("`->` stands in function types: `(Int) -> Int` is the type of `x => x + 1`");
            self.report(d);
            self.bump();
        } else {
            self.expect(TokenKind::FatArrow, None)?;
        }
        Ok(head)
    }

    fn lambda_param(&mut self) -> PResult<LambdaParam> {
        let name = self.name("a parameter")?;
        let ty = if self.eat(TokenKind::Colon) { Some(self.ty()?) } else { None };
        Ok(LambdaParam { name, ty })
    }

    #[inline(never)]
    fn lambda_body(&mut self) -> PResult<LambdaBody> {
        if self.at(TokenKind::LBrace) {
            return Ok(LambdaBody::Block(self.block()?));
        }
        let lo = self.cur.span.lo;
        let value = self.expr()?;
        if !(self.cur.kind.is_assign() && self.same_line()) {
            return Ok(LambdaBody::Expr(Box::new(value)));
        }
        self.assignment_body(lo, value)
    }

    /// `x => sum += x`: a block of one statement.
    #[inline(never)]
    fn assignment_body(&mut self, lo: u32, target: Expr) -> PResult<LambdaBody> {
        let stmt = self.assignment(lo, target)?;
        let span = stmt.span;
        Ok(LambdaBody::Block(Block { stmts: vec![stmt], span }))
    }
}

/// `(`, names with or without types, `)`, perhaps `: T`, then an arrow on the same line.
fn is_lambda(mut scan: Scan) -> bool {
    scan.bump();
    while scan.kind == TokenKind::Name {
        scan.refill();
        scan.bump();
        if scan.eat(TokenKind::Colon) && !scan.ty() {
            return false;
        }
        if !scan.eat(TokenKind::Comma) {
            break;
        }
    }
    if !scan.eat(TokenKind::RParen) {
        return false;
    }
    if scan.kind == TokenKind::Colon {
        scan.bump();
        if !scan.ty() {
            return false;
        }
    }
    matches!(scan.kind, TokenKind::FatArrow | TokenKind::Arrow)
}
