//! Expressions: operators by precedence climbing, postfix forms, and what they are applied to.

use super::types::Angle;
use super::{Abort, MAX_DEPTH, PResult, Parser, Role};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Name, StrPart, UnaryOp};
use crate::syntax::literal::{self, IntValue, LiteralError};
use crate::syntax::token::{Token, TokenKind};

/// Precedences of the binary operators, loosest first (§4 of the reference).
pub(in crate::syntax) mod prec {
    pub const LOWEST: u8 = 0;
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const BIT_OR: u8 = 3;
    pub const BIT_XOR: u8 = 4;
    pub const BIT_AND: u8 = 5;
    pub const EQUALITY: u8 = 6;
    pub const COMPARISON: u8 = 7;
    pub const ELVIS: u8 = 8;
    pub const RANGE: u8 = 9;
    pub const SHIFT: u8 = 10;
    pub const SUM: u8 = 11;
    pub const PRODUCT: u8 = 12;
    pub const CAST: u8 = 13;
}

#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOp),
    Range { inclusive: bool },
    Is { negated: bool },
}

fn infix_of(kind: TokenKind) -> Option<(Infix, u8)> {
    use BinaryOp::*;
    use Infix::*;
    use TokenKind as T;
    Some(match kind {
        T::PipePipe => (Binary(Or), prec::OR),
        T::AmpAmp => (Binary(And), prec::AND),
        T::Pipe => (Binary(BitOr), prec::BIT_OR),
        T::Caret => (Binary(BitXor), prec::BIT_XOR),
        T::Amp => (Binary(BitAnd), prec::BIT_AND),
        T::EqEq => (Binary(Eq), prec::EQUALITY),
        T::BangEq => (Binary(Ne), prec::EQUALITY),
        T::EqEqEq => (Binary(RefEq), prec::EQUALITY),
        T::BangEqEq => (Binary(RefNe), prec::EQUALITY),
        T::Lt => (Binary(Lt), prec::COMPARISON),
        T::Le => (Binary(Le), prec::COMPARISON),
        T::Gt => (Binary(Gt), prec::COMPARISON),
        T::Ge => (Binary(Ge), prec::COMPARISON),
        T::Is => (Is { negated: false }, prec::COMPARISON),
        T::Elvis => (Binary(Elvis), prec::ELVIS),
        T::DotDot => (Range { inclusive: true }, prec::RANGE),
        T::DotDotLt => (Range { inclusive: false }, prec::RANGE),
        T::Shl => (Binary(Shl), prec::SHIFT),
        T::Shr => (Binary(Shr), prec::SHIFT),
        T::UShr => (Binary(UShr), prec::SHIFT),
        T::Plus => (Binary(Add), prec::SUM),
        T::Minus => (Binary(Sub), prec::SUM),
        T::Star => (Binary(Mul), prec::PRODUCT),
        T::Slash => (Binary(Div), prec::PRODUCT),
        T::Percent => (Binary(Rem), prec::PRODUCT),
        _ => return None,
    })
}

/// Can begin an expression.
pub(super) fn starts_expr(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Name | Int
            | Float
            | Char
            | StrStart
            | True
            | False
            | Null
            | This
            | Super
            | LBracket
            | LParen
            | If
            | Match
            | Try
            | Return
            | Throw
            | Break
            | Continue
            | Minus
            | Bang
            | BangBang
            | Tilde
    )
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> PResult<Expr> {
        self.nested(|p| p.binary(prec::LOWEST))
    }

    fn binary(&mut self, min: u8) -> PResult<Expr> {
        let mut left = self.casts()?;
        let mut last = None;
        while let Some((infix, level)) = self.infix() {
            if level < min {
                break;
            }
            if last == Some(level) && matches!(level, prec::COMPARISON | prec::RANGE) {
                return Err(self.chained(level));
            }
            left = self.operation(left, infix, level)?;
            self.grow()?;
            last = Some(level);
        }
        Ok(left)
    }

    /// The binary operator at the current token, unless a line break ended the expression before it.
    fn infix(&self) -> Option<(Infix, u8)> {
        let kind = self.cur.kind;
        if !self.same_line() && !matches!(kind, TokenKind::Elvis | TokenKind::AmpAmp | TokenKind::PipePipe) {
            return None;
        }
        if kind == TokenKind::Bang && self.nth_kind(1) == TokenKind::Is {
            return Some((Infix::Is { negated: true }, prec::COMPARISON));
        }
        infix_of(kind)
    }

    #[inline(never)]
    fn operation(&mut self, left: Expr, infix: Infix, level: u8) -> PResult<Expr> {
        let lo = left.span.lo;
        self.mark(Role::Binary(level));
        let op_span = self.bump().span;
        let left = Box::new(left);
        let kind = match infix {
            Infix::Binary(op) => {
                let right_min = if op == BinaryOp::Elvis { level } else { level + 1 };
                ExprKind::Binary { op, op_span, left, right: Box::new(self.operand(right_min, op_span)?) }
            }
            Infix::Range { inclusive } => ExprKind::Range { start: left, end: Box::new(self.operand(level + 1, op_span)?), inclusive },
            Infix::Is { mut negated } => {
                if negated {
                    self.bump();
                }
                negated |= self.foreign_is_not();
                ExprKind::Is { value: left, ty: self.ty_in_expr()?, negated }
            }
        };
        Ok(Expr { kind, span: self.span_from(lo) })
    }

    fn operand(&mut self, min: u8, op_span: Span) -> PResult<Expr> {
        if !starts_expr(self.cur.kind) {
            let d = self.operand_missing(op_span);
            return Err(self.abort(d));
        }
        self.nested(|p| p.binary(min))
    }

    #[cold]
    #[inline(never)]
    fn chained(&mut self, level: u8) -> Abort {
        let (message, hint) = match level {
            prec::RANGE => ("ranges do not chain", "a step is written `for i in a..b step k`"),
            _ => ("comparisons do not chain", "compare twice: `a < b && b < c`"),
        };
        let d = self.diag(Code::ChainedComparison, message).hint(hint);
        self.abort(d)
    }

    /// `x as T as? U …`
    fn casts(&mut self) -> PResult<Expr> {
        let mut value = self.prefix()?;
        while self.at(TokenKind::As) && self.same_line() {
            value = self.cast(value)?;
            self.grow()?;
        }
        Ok(value)
    }

    #[inline(never)]
    fn cast(&mut self, value: Expr) -> PResult<Expr> {
        self.mark(Role::Binary(prec::CAST));
        let as_end = self.bump().span.hi;
        let adjacent = self.cur.span.lo == as_end;
        if self.at(TokenKind::Bang) && adjacent {
            let d = self
                .diag(Code::ForeignSyntax, "there is no `as!`")
                .hint("`x as T` throws a `CastError` where it fails, `x as? T` gives null");
            return Err(self.abort(d));
        }
        let safe = adjacent && self.at(TokenKind::Question);
        if safe {
            self.mark(Role::SafeCast);
            self.bump();
        }
        let ty = self.ty_in_expr()?;
        let span = Span::new(value.span.lo, self.prev_end);
        Ok(Expr { kind: ExprKind::Cast { value: Box::new(value), ty, safe }, span })
    }

    fn prefix(&mut self) -> PResult<Expr> {
        match self.cur.kind {
            TokenKind::Minus => self.unary(UnaryOp::Neg),
            TokenKind::Bang | TokenKind::BangBang => self.unary(UnaryOp::Not),
            TokenKind::Tilde => self.unary(UnaryOp::BitNot),
            _ => {
                let start = self.cur.span.lo;
                let object = self.primary()?;
                self.postfix(object, start)
            }
        }
    }

    #[inline(never)]
    fn unary(&mut self, op: UnaryOp) -> PResult<Expr> {
        self.mark(Role::Prefix);
        let token = self.bump();
        if !starts_expr(self.cur.kind) {
            let d = self.operand_missing(token.span);
            return Err(self.abort(d));
        }
        let operand = self.nested(Self::prefix)?;
        let lo = token.span.lo;
        if token.kind == TokenKind::BangBang {
            let inner = Expr { span: Span::new(lo + 1, operand.span.hi), kind: not(operand, Span::new(lo + 1, lo + 2)) };
            self.grow()?;
            return Ok(Expr { span: Span::new(lo, inner.span.hi), kind: not(inner, Span::new(lo, lo + 1)) });
        }
        let span = Span::new(lo, operand.span.hi);
        let kind = match (op, operand.kind) {
            // The smallest `Int` has no positive counterpart: its minus belongs to the literal.
            (UnaryOp::Neg, ExprKind::Int(value)) => ExprKind::Int(value.wrapping_neg()),
            (UnaryOp::Neg, ExprKind::Float(value)) => ExprKind::Float(-value),
            (op, kind) => ExprKind::Unary { op, op_span: token.span, operand: Box::new(Expr { kind, span: operand.span }) },
        };
        Ok(Expr { kind, span })
    }

    /// A literal with its sign, as patterns have it.
    pub(super) fn literal_operand(&mut self) -> PResult<Expr> {
        if self.at(TokenKind::Minus) { self.prefix_of_literal() } else { self.primary() }
    }

    fn prefix_of_literal(&mut self) -> PResult<Expr> {
        self.mark(Role::Prefix);
        let lo = self.bump().span.lo;
        let literal = self.primary()?;
        let kind = match literal.kind {
            ExprKind::Int(value) => ExprKind::Int(value.wrapping_neg()),
            ExprKind::Char(value) => ExprKind::Int(-i64::from(u32::from(value))),
            ExprKind::Float(value) => ExprKind::Float(-value),
            _ => ExprKind::Error,
        };
        Ok(Expr { kind, span: self.span_from(lo) })
    }

    #[inline(never)]
    fn postfix(&mut self, mut object: Expr, lo: u32) -> PResult<Expr> {
        loop {
            let continues = self.same_line();
            match self.cur.kind {
                TokenKind::Dot | TokenKind::QuestionDot => {
                    let safe = self.bump().kind == TokenKind::QuestionDot;
                    let name = self.member_name()?;
                    let kind = ExprKind::Field { object: Box::new(object), name, safe };
                    object = Expr { kind, span: self.span_from(lo) };
                }
                TokenKind::LParen if continues => object = self.call(object, Vec::new(), lo)?,
                TokenKind::Lt if continues && can_be_generic(&object.kind) => match self.angle() {
                    Angle::Comparison => return Ok(object),
                    Angle::Call => {
                        let type_args = self.type_args()?;
                        object = self.call(object, type_args, lo)?;
                    }
                    Angle::Uncalled => object = self.uncalled_type_args(lo)?,
                },
                TokenKind::LBracket if continues => {
                    let index = self.bracketed(TokenKind::RBracket, Self::expr)?;
                    let kind = ExprKind::Index { object: Box::new(object), index: Box::new(index) };
                    object = Expr { kind, span: self.span_from(lo) };
                }
                TokenKind::BangBang if continues => {
                    let op_span = self.bump().span;
                    let kind = ExprKind::Unary { op: UnaryOp::NonNull, op_span, operand: Box::new(object) };
                    object = Expr { kind, span: self.span_from(lo) };
                }
                TokenKind::PlusPlus | TokenKind::MinusMinus if continues => {
                    self.report_increment();
                    self.bump();
                    object = Expr { kind: ExprKind::Error, span: self.span_from(lo) };
                }
                _ => return Ok(object),
            }
            self.grow()?;
        }
    }

    #[cold]
    #[inline(never)]
    fn uncalled_type_args(&mut self, lo: u32) -> PResult<Expr> {
        self.type_args()?;
        let span = self.span_from(lo);
        let d = Diagnostic::new(Code::ExpectedToken, span, "type arguments are followed by the arguments in `(…)`");
        self.report(d.hint(format!("write `{}(…)`", self.text_of(span))));
        Ok(Expr { kind: ExprKind::Error, span })
    }

    fn member_name(&mut self) -> PResult<Name> {
        if self.cur.newline && self.cur.kind.is_keyword() {
            return Err(self.expected(Code::ExpectedName, "the name of a member"));
        }
        self.name("a member")
    }

    #[inline(never)]
    fn call(&mut self, callee: Expr, type_args: Vec<crate::syntax::ast::TypeExpr>, lo: u32) -> PResult<Expr> {
        let args = self.args()?;
        let kind = ExprKind::Call { callee: Box::new(callee), type_args, args };
        Ok(Expr { kind, span: self.span_from(lo) })
    }

    /// `(a, b)`
    pub(super) fn args(&mut self) -> PResult<Vec<Expr>> {
        self.list(TokenKind::RParen, |p| {
            if p.at(TokenKind::Name) && matches!(p.nth_kind(1), TokenKind::Eq | TokenKind::Colon) {
                let d = p.diag(Code::ForeignSyntax, "arguments have no names").hint("pass them in the order of the parameters: `f(1, 2)`");
                p.report(d);
                p.bump();
                p.bump();
            }
            p.expr()
        })
    }

    fn primary(&mut self) -> PResult<Expr> {
        let token = self.cur;
        let lo = token.span.lo;
        let kind = match token.kind {
            TokenKind::Name if self.at_lambda() => return self.lambda(),
            TokenKind::Name => {
                if let Some(result) = self.foreign_primary() {
                    return result;
                }
                ExprKind::Name(self.name("a name")?)
            }
            TokenKind::LParen if self.at_lambda() => return self.lambda(),
            TokenKind::LParen => return self.paren(),
            TokenKind::LBracket => self.array()?,
            TokenKind::StrStart => return self.string(),
            TokenKind::Int | TokenKind::Float | TokenKind::Char => self.literal(token),
            TokenKind::True | TokenKind::False => {
                self.bump();
                ExprKind::Bool(token.kind == TokenKind::True)
            }
            TokenKind::Null => self.just(ExprKind::Null),
            TokenKind::This => self.just(ExprKind::This),
            TokenKind::Super => self.super_receiver()?,
            TokenKind::If => return self.if_expr(),
            TokenKind::Match => return self.match_expr(),
            TokenKind::Try => return self.try_expr(),
            TokenKind::Break => self.just(ExprKind::Break),
            TokenKind::Continue => self.just(ExprKind::Continue),
            TokenKind::Throw | TokenKind::Return => self.jump()?,
            _ => return Err(self.expr_expected()),
        };
        Ok(Expr { kind, span: self.span_from(lo) })
    }

    #[inline(never)]
    fn array(&mut self) -> PResult<ExprKind> {
        Ok(ExprKind::Array(self.list(TokenKind::RBracket, Self::expr)?))
    }

    /// `throw` and `return`
    #[inline(never)]
    fn jump(&mut self) -> PResult<ExprKind> {
        if self.bump().kind == TokenKind::Throw {
            return Ok(ExprKind::Throw(Box::new(self.expr()?)));
        }
        let has_value = self.same_line() && starts_expr(self.cur.kind);
        Ok(ExprKind::Return(if has_value { Some(Box::new(self.expr()?)) } else { None }))
    }

    fn just(&mut self, kind: ExprKind) -> ExprKind {
        self.bump();
        kind
    }

    #[inline(never)]
    fn paren(&mut self) -> PResult<Expr> {
        let lo = self.cur.span.lo;
        if self.nth_kind(1) == TokenKind::RParen {
            let d = self.diag(Code::ExpectedExpression, "expected an expression between `(` and `)`");
            return Err(self.abort(d.hint("a closure without parameters is written `() => …`")));
        }
        let mut inner = self.bracketed(TokenKind::RParen, Self::expr)?;
        inner.span = self.span_from(lo);
        Ok(inner)
    }

    #[inline(never)]
    fn super_receiver(&mut self) -> PResult<ExprKind> {
        let token = self.bump();
        let is_call = self.at(TokenKind::Dot)
            && (self.nth_kind(1) == TokenKind::Name || self.nth_kind(1).is_keyword())
            && matches!(self.nth_kind(2), TokenKind::LParen | TokenKind::Lt);
        if is_call {
            return Ok(ExprKind::Super);
        }
        let d = Diagnostic::new(Code::BadSuper, token.span, "`super` stands only before a method call");
        let hint = if self.at(TokenKind::LParen) {
            "the base class's arguments stand in the class's header: `class Dog(name: Str) : Animal(name) { … }`"
        } else {
            "write `super.method(…)`; fields are reached by `this`"
        };
        Err(self.abort(d.hint(hint)))
    }

    // Literals.

    #[inline(never)]
    fn literal(&mut self, token: Token) -> ExprKind {
        let text = self.text_of(token.span);
        let kind = match token.kind {
            TokenKind::Float => literal::float(text).map(ExprKind::Float),
            TokenKind::Char => literal::character(text).map(ExprKind::Char),
            _ => literal::int(text).and_then(|value| match value {
                IntValue::Value(value) => Ok(ExprKind::Int(value)),
                IntValue::MinusOnly if self.minus_belongs_to_literal() => Ok(ExprKind::Int(i64::MIN)),
                IntValue::MinusOnly => Err(literal::out_of_range(text, 10)),
            }),
        };
        let kind = kind.unwrap_or_else(|error| {
            self.literal_error(token.span.lo, error);
            ExprKind::Error
        });
        self.bump();
        kind
    }

    /// A minus stands before the literal, and nothing behind it that binds tighter.
    fn minus_belongs_to_literal(&self) -> bool {
        let before = self.pos.checked_sub(1).is_some_and(|i| self.tokens[i].kind == TokenKind::Minus && self.marks[i].role == Role::Prefix);
        let next = self.nth(1);
        let tighter = match next.kind {
            TokenKind::Dot | TokenKind::QuestionDot => true,
            TokenKind::LParen | TokenKind::LBracket | TokenKind::BangBang => !next.newline || !self.opens.is_empty(),
            _ => false,
        };
        before && !tighter
    }

    /// Reports what is wrong with a literal whose text begins at `lo`. Several in one token are all worth reporting.
    #[cold]
    #[inline(never)]
    pub(super) fn literal_error(&mut self, lo: u32, error: LiteralError) {
        if self.dead {
            return;
        }
        let span = Span::new(lo + error.at.start as u32, lo + error.at.end as u32);
        self.sink.push(Diagnostic::new(error.code, span, error.message).maybe_hint(error.hint));
    }

    #[inline(never)]
    fn string(&mut self) -> PResult<Expr> {
        let lo = self.bump().span.lo;
        let mut parts = Vec::new();
        loop {
            match self.cur.kind {
                TokenKind::StrText => {
                    let token = self.bump();
                    let mut errors = Vec::new();
                    let text = literal::unescape(self.text_of(token.span), |e| {
                        // The sink keeps no more.
                        if errors.len() < crate::diag::Diagnostics::LIMIT {
                            errors.push(e);
                        }
                    });
                    errors.into_iter().for_each(|e| self.literal_error(token.span.lo, e));
                    parts.push(StrPart::Text(text.into()));
                }
                TokenKind::InterpOpen => {
                    self.bump();
                    let opens = std::mem::take(&mut self.opens);
                    let value = self.expr()?;
                    if !self.at(TokenKind::InterpClose) {
                        return Err(self.expected(Code::ExpectedToken, "`}` to end the interpolation"));
                    }
                    self.opens = opens;
                    self.bump();
                    parts.push(StrPart::Expr(value));
                }
                _ => break,
            }
        }
        if self.at(TokenKind::StrEnd) {
            self.bump();
        }
        Ok(Expr { kind: ExprKind::Str(parts), span: self.span_from(lo) })
    }

    #[cold]
    #[inline(never)]
    fn report_increment(&mut self) {
        let (op, text) = if self.at(TokenKind::PlusPlus) { ("+=", "++") } else { ("-=", "--") };
        let d =
            self.diag(Code::ForeignSyntax, format!("there is no `{text}`")).hint(format!("write `x {op} 1`, as a statement of its own"));
        self.report(d);
    }

    #[cold]
    #[inline(never)]
    fn expr_expected(&mut self) -> Abort {
        if matches!(self.cur.kind, TokenKind::PlusPlus | TokenKind::MinusMinus) {
            self.report_increment();
            return Abort;
        }
        if let Some(d) = self.foreign_expr() {
            return self.abort(d);
        }
        self.expected(Code::ExpectedExpression, "an expression")
    }
}

fn not(operand: Expr, op_span: Span) -> ExprKind {
    ExprKind::Unary { op: UnaryOp::Not, op_span, operand: Box::new(operand) }
}

fn can_be_generic(kind: &ExprKind) -> bool {
    matches!(kind, ExprKind::Name(_) | ExprKind::Field { .. })
}

// The deepest tree the parser builds must be one that any pass can follow.
const _: () = assert!(MAX_DEPTH <= 1000);
