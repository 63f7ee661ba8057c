//! Types, type parameters and type arguments, and the look ahead that tells type arguments from a comparison.
//!
//! In an expression `<` after a name begins type arguments only where a list of types and its `>` follow: before a call's `(` on the same line (`f<T>(x)`), or behind
//! `as` and `is` (`x as List<Int>`). All else is a comparison, so `x as Int < y` and `a < b` are.

use super::expr::starts_expr;
use super::{PResult, Parser, Role};
use crate::diag::Code;
use crate::source::Span;
use crate::syntax::ast::{TypeExpr, TypeKind, TypeParam};
use crate::syntax::token::{Token, TokenKind};

/// Tokens that the look ahead reads at most. No list of types is that long, and it keeps the parser's time linear.
const LOOK_AHEAD: u32 = 256;
/// Levels of types that the look ahead follows.
const LOOK_DEPTH: u32 = 64;

impl<'a> Parser<'a> {
    pub(super) fn ty(&mut self) -> PResult<TypeExpr> {
        self.nested(|p| p.ty_inner(false))
    }

    /// A type behind `as` or `is`.
    pub(super) fn ty_in_expr(&mut self) -> PResult<TypeExpr> {
        self.nested(|p| p.ty_inner(true))
    }

    fn ty_inner(&mut self, in_expr: bool) -> PResult<TypeExpr> {
        let lo = self.cur.span.lo;
        let mut ty = match self.cur.kind {
            TokenKind::Name => self.named_type(in_expr)?,
            TokenKind::LParen => self.paren_type(in_expr)?,
            _ => return Err(self.type_expected()),
        };
        if self.at(TokenKind::Question) && self.same_line() {
            // `T??` is `T?`.
            while self.at(TokenKind::Question) && self.same_line() {
                self.bump();
            }
            ty = TypeExpr { kind: TypeKind::Nullable(Box::new(ty)), span: self.span_from(lo) };
        }
        Ok(ty)
    }

    fn named_type(&mut self, in_expr: bool) -> PResult<TypeExpr> {
        let lo = self.cur.span.lo;
        let name = self.name("a type")?;
        let has_args = self.at(TokenKind::Lt) && (!in_expr || self.scan_from_here().type_args());
        let args = if has_args { self.type_args()? } else { Vec::new() };
        let span = self.span_from(lo);
        if self.at(TokenKind::LBracket) && self.nth_kind(1) == TokenKind::RBracket && self.same_line() {
            let element = self.text_of(span);
            let d = self.diag(Code::ForeignSyntax, "array types are not written with `[]`").hint(format!("write `Array<{element}>`"));
            return Err(self.abort(d));
        }
        Ok(TypeExpr { kind: TypeKind::Named { name, args }, span })
    }

    /// `(A, B) -> R`, or a type in parentheses.
    fn paren_type(&mut self, in_expr: bool) -> PResult<TypeExpr> {
        let lo = self.cur.span.lo;
        let mut params = self.list(TokenKind::RParen, Self::ty)?;
        if self.at(TokenKind::Arrow) {
            self.bump();
            let ret = Box::new(self.nested(|p| p.ty_inner(in_expr))?);
            return Ok(TypeExpr { kind: TypeKind::Fun { params, ret }, span: self.span_from(lo) });
        }
        if self.at(TokenKind::FatArrow) && !in_expr {
            let d = self
                .diag(Code::ForeignSyntax, "a function type is written with `->`")
                .hint("`=>` stands in closures: `(Int) -> Int` is the type of `x => x + 1`");
            return Err(self.abort(d));
        }
        if params.len() != 1 {
            let d = self.diag(Code::ExpectedType, format!("expected `->` and a result type, found {}", self.found()));
            return Err(self.abort(d.hint("a function type is written `(A, B) -> R`; there are no tuples, but there is `Pair<A, B>`")));
        }
        let mut ty = params.remove(0);
        ty.span = self.span_from(lo);
        Ok(ty)
    }

    fn type_expected(&mut self) -> super::Abort {
        let hint = match self.cur.kind {
            TokenKind::LBracket => Some("an array's type is written `Array<Int>`".to_string()),
            TokenKind::Eq => Some("write the type between `:` and `=`, or leave the `:` out".to_string()),
            TokenKind::Null => Some("a type with null is written `T?`; functions without a result give `Unit`".to_string()),
            _ => None,
        };
        let d = self.expected_diag(Code::ExpectedType, "a type").maybe_hint(hint);
        self.abort(d)
    }

    /// `<A, B>`; the current token is the `<`.
    pub(super) fn type_args(&mut self) -> PResult<Vec<TypeExpr>> {
        self.angled(Self::ty)
    }

    /// `[<T, U: Bound & Bound>]`
    pub(super) fn type_params(&mut self) -> PResult<Vec<TypeParam>> {
        if !self.at(TokenKind::Lt) {
            return Ok(Vec::new());
        }
        self.angled(|p| {
            let name = p.name("a type parameter")?;
            let mut bounds = Vec::new();
            if matches!(p.cur_name(), Some("extends")) {
                let d = p.diag(Code::ForeignSyntax, "a type parameter's bound stands behind `:`").hint("write `T: Bound`");
                p.report(d);
                p.bump();
                bounds.push(p.ty()?);
            }
            if p.eat(TokenKind::Colon) {
                bounds.push(p.ty()?);
                while p.eat(TokenKind::Amp) {
                    bounds.push(p.ty()?);
                }
            }
            Ok(TypeParam { name, bounds })
        })
    }

    fn angled<T>(&mut self, mut item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<Vec<T>> {
        self.mark(Role::TypeOpen);
        let open = self.bump().span;
        let mut items = vec![item(self)?];
        while self.eat(TokenKind::Comma) && self.cur.kind.without_gt().is_none() {
            items.push(item(self)?);
        }
        self.close_angle(open)?;
        Ok(items)
    }

    /// Takes one `>`, off the current token where that is a longer one.
    fn close_angle(&mut self, open: Span) -> PResult<()> {
        let Some(rest) = self.cur.kind.without_gt() else {
            let d = self.expected_diag(Code::ExpectedToken, "`,` or `>`").secondary(open, "opened here");
            return Err(self.abort(d));
        };
        self.mark(Role::TypeClose);
        match rest {
            None => {
                self.bump();
            }
            Some(kind) => {
                let lo = self.cur.span.lo + 1;
                self.prev_end = lo;
                self.cur = Token { kind, newline: false, span: Span::new(lo, self.cur.span.hi) };
            }
        }
        Ok(())
    }

    pub(super) fn scan_from_here(&self) -> Scan<'a> {
        Scan { tokens: self.tokens, pos: self.pos, kind: self.cur.kind, budget: LOOK_AHEAD }
    }

    /// What the `<` at the current token begins, which stands behind a name in an expression.
    pub(super) fn angle(&self) -> Angle {
        let mut scan = self.scan_from_here();
        if !scan.type_args() {
            return Angle::Comparison;
        }
        let next = scan.token();
        let whole = scan.kind == next.kind;
        match next.kind {
            _ if !whole => Angle::Comparison,
            TokenKind::LParen if !next.newline => Angle::Call,
            TokenKind::LBracket => Angle::Uncalled,
            kind if !starts_expr(kind) || (next.newline && self.opens.is_empty()) => Angle::Uncalled,
            _ => Angle::Comparison,
        }
    }
}

/// What a `<` behind a name begins.
pub(super) enum Angle {
    Comparison,
    /// Type arguments and a `(` on the same line.
    Call,
    /// Type arguments before what cannot be the right side of a comparison: nothing that is correct looks so.
    Uncalled,
}

/// Reads ahead without building anything or reporting.
pub(super) struct Scan<'a> {
    tokens: &'a [Token],
    pos: usize,
    /// Kind of the current token, or of what is left of it.
    pub(super) kind: TokenKind,
    budget: u32,
}

impl Scan<'_> {
    pub(super) fn token(&self) -> Token {
        self.tokens[self.pos]
    }

    pub(super) fn bump(&mut self) {
        self.pos = (self.pos + 1).min(self.tokens.len() - 1);
        self.kind = self.tokens[self.pos].kind;
        self.budget = self.budget.saturating_sub(1);
    }

    pub(super) fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.kind == kind && self.budget > 0;
        if found {
            self.bump();
        }
        found
    }

    /// Without the budget, for lists whose end was not in sight anyway.
    pub(super) fn refill(&mut self) {
        self.budget = LOOK_AHEAD;
    }

    pub(super) fn ty(&mut self) -> bool {
        self.ty_at(0)
    }

    pub(super) fn type_args(&mut self) -> bool {
        self.type_args_at(0)
    }

    fn type_args_at(&mut self, depth: u32) -> bool {
        if !self.eat(TokenKind::Lt) || !self.ty_at(depth) {
            return false;
        }
        while self.eat(TokenKind::Comma) {
            if self.kind.without_gt().is_some() {
                break;
            }
            if !self.ty_at(depth) {
                return false;
            }
        }
        match self.kind.without_gt() {
            None => return false,
            Some(None) => self.bump(),
            Some(Some(rest)) => self.kind = rest,
        }
        true
    }

    fn ty_at(&mut self, depth: u32) -> bool {
        if depth > LOOK_DEPTH {
            return false;
        }
        let ok = match self.kind {
            TokenKind::Name => {
                self.bump();
                self.kind != TokenKind::Lt || self.type_args_at(depth + 1)
            }
            TokenKind::LParen => self.paren_at(depth + 1),
            _ => false,
        };
        while ok && self.eat(TokenKind::Question) {}
        ok
    }

    fn paren_at(&mut self, depth: u32) -> bool {
        self.bump();
        let mut count = 0;
        while self.kind != TokenKind::RParen {
            count += 1;
            if !self.ty_at(depth) {
                return false;
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if !self.eat(TokenKind::RParen) {
            return false;
        }
        if self.eat(TokenKind::Arrow) { self.ty_at(depth) } else { count == 1 }
    }
}
