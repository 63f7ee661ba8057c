//! What people type out of habit from Kotlin, Java, Swift, JavaScript, Python or C: recognized to say how it is written here, and mostly parsed as what was meant, so that
//! one habit is one error.
//!
//! Nothing here makes a correct program fail: every form is looked at only where the grammar has no use for it.

use super::expr::starts_expr;
use super::item::Place;
use super::words::*;
use super::{Abort, PResult, Parser};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::syntax::ast::*;
use crate::syntax::token::{Token, TokenKind};

const TERNARY: &str = "write `if condition { a } else { b }`, which is an expression; for a null, `x ?: b`";

const MATCH: &str = "write `match x { 1 => a; 2, 3 => b; else => c }`";

const COALESCE: &str = "write `x ?: b` for `b` where `x` is null";

impl Parser<'_> {
    fn operator_word(&self) -> Option<&'static str> {
        if self.at(TokenKind::In) { Some("write `xs.contains(x)`") } else { self.cur_name().and_then(operator_hint) }
    }

    /// At another language's word for an operator.
    pub(super) fn foreign_operator(&self) -> Option<Diagnostic> {
        let hint = self.operator_word()?;
        Some(self.foreign(format!("there is no operator {}", self.found()), hint))
    }

    /// At a `?` behind a value.
    fn question_mark(&self) -> Diagnostic {
        match self.nth_kind(1) {
            TokenKind::Question => self.foreign("there is no `??`", COALESCE),
            _ => self.foreign("there is no `? :`", TERNARY),
        }
    }

    fn foreign(&self, message: impl Into<String>, hint: impl Into<String>) -> Diagnostic {
        self.diag(Code::ForeignSyntax, message).hint(hint)
    }

    /// The token after the current one stands on the same line.
    fn next_on_line(&self, kind: TokenKind) -> bool {
        self.nth_kind(1) == kind && !self.nth(1).newline
    }

    // Expressions.

    /// `new Foo()`, `not x`.
    #[inline(never)]
    pub(super) fn foreign_primary(&mut self) -> Option<PResult<Expr>> {
        let word = self.cur_name()?;
        let next = self.nth(1);
        // `for i in a..new step 2`: a variable.
        if next.newline || self.text_of(next.span) == "step" {
            return None;
        }
        let hint = match word {
            "new" if next.kind == TokenKind::Name => "objects are made by a call alone: `Point(1, 2)`",
            "not" if next.kind == TokenKind::Name => "write `!`",
            "await" if next.kind == TokenKind::Name => "`t.join()` waits for a thread `t`",
            _ => return None,
        };
        let d = self.foreign(format!("there is no `{word}`"), hint);
        self.report(d);
        self.bump();
        Some(self.nested(Self::literal_operand))
    }

    /// `x is not T`, behind the `is`.
    pub(super) fn foreign_is_not(&mut self) -> bool {
        let found = self.cur_name() == Some("not") && self.next_on_line(TokenKind::Name);
        if found {
            let d = self.foreign("there is no `is not`", "write `x !is Type`");
            self.report(d);
            self.bump();
        }
        found
    }

    /// The current token cannot begin an expression: why somebody might have thought so.
    #[inline(never)]
    pub(super) fn foreign_expr(&mut self) -> Option<Diagnostic> {
        use TokenKind::*;
        let found = self.found();
        let adjacent = self.nth(1).span.lo == self.cur.span.hi;
        Some(match self.cur.kind {
            LBrace => self
                .foreign("a `{` begins no expression", "a closure is written `x => …`, `(x, y) => …` or `() => { … }`; an array `[1, 2]`"),
            // The bracket before it is not closed.
            Fun if self.cur.newline && !self.opens.is_empty() && self.nth_kind(1) == Name => return None,
            Fun => self.foreign("a function inside of an expression is written differently", "write a closure: `(x: Int) => x + 1`"),
            Dot if adjacent && self.nth_kind(1) == Int => {
                let digits = self.text_of(self.nth(1).span);
                self.diag(Code::BadNumber, "a digit must stand on both sides of the point").hint(format!("write `0.{digits}`"))
            }
            Plus => self.diag(Code::ExpectedExpression, "there is no sign `+`").hint(if self.cur.newline {
                "to go on with the line above, end it with the `+`; else leave the `+` out"
            } else {
                "leave it out"
            }),
            Else => self.diag(Code::ExpectedExpression, "this `else` belongs to no `if`").hint("an `else` follows its `if` block's `}`"),
            Catch | Finally => self
                .diag(Code::ExpectedExpression, format!("this {found} belongs to no `try`"))
                .hint("`try { … } catch (e: Error) { … } finally { … }`"),
            RParen | RBracket if self.opens.is_empty() && self.cur.newline => {
                self.diag(Code::UnexpectedClose, format!("this {found} closes nothing")).hint("there is one too many, here or further up")
            }
            While | For | Let | Var | Lock if !self.cur.newline => self
                .diag(Code::ExpectedExpression, format!("{found} is a statement and has no value"))
                .hint("write it on a line of its own, before"),
            Arrow | FatArrow => self
                .diag(Code::BadLambda, format!("expected a closure's parameters before {found}"))
                .hint("write `x => …`, `(x, y) => …` or `() => …`"),
            Question => self.question_mark(),
            kind if self.cur.newline && is_line_operator(kind) => self
                .diag(Code::ExpectedExpression, format!("a line cannot begin with {found}"))
                .hint("to go on with the line above, end that with the operator, or put the expression in parentheses"),
            RBrace | Eof | Semi if self.opens.is_empty() => self.missing_here(&found),
            kind if self.opens.is_empty() && self.cur.newline && kind.starts_statement() => self.missing_here(&found),
            _ => return None,
        })
    }

    /// The line above, or the block, is over too early.
    fn missing_here(&self, found: &str) -> Diagnostic {
        let at = if self.cur.newline { Span::new(self.prev_end, self.prev_end) } else { self.cur.span };
        Diagnostic::new(Code::ExpectedExpression, at, format!("expected an expression before {found}"))
    }

    /// Nothing that could be the right operand of the operator at `op`.
    #[inline(never)]
    pub(super) fn operand_missing(&mut self, op: Span) -> Diagnostic {
        let op_text = self.text_of(op);
        let adjacent = self.cur.span.lo == op.hi;
        match (op_text, self.cur.kind) {
            ("*", TokenKind::Star) if adjacent => {
                return Diagnostic::new(Code::ForeignSyntax, op, "there is no `**`").hint("write `Math.pow(x, y)`, or multiply");
            }
            ("<", TokenKind::Gt) if adjacent => return Diagnostic::new(Code::ForeignSyntax, op, "there is no `<>`").hint("write `!=`"),
            (_, TokenKind::PlusPlus | TokenKind::MinusMinus) => {
                return self.foreign(format!("there is no {}", self.found()), "write `x += 1`, as a statement of its own");
            }
            _ => {}
        }
        if self.cur.newline && !is_line_operator(self.cur.kind) {
            let message = format!("expected an expression after `{op_text}`, found {}", self.found());
            return Diagnostic::new(Code::ExpectedExpression, op, message);
        }
        if let Some(d) = self.foreign_expr() {
            return d;
        }
        self.expected_diag(Code::ExpectedExpression, &format!("an expression after `{op_text}`"))
    }

    /// At `=` and its kin where a statement's value, condition or argument should have ended.
    pub(super) fn assign_as_expression(&self) -> Option<Diagnostic> {
        if !self.cur.kind.is_assign() || !self.same_line() {
            return None;
        }
        let hint = match self.cur.kind {
            TokenKind::Eq => "to compare, write `==`; to assign, write a statement of its own",
            _ => "write the assignment as a statement of its own, before",
        };
        Some(self.diag(Code::AssignExpression, "an assignment is a statement and has no value").hint(hint))
    }

    /// In brackets, where `,` or `close` was expected.
    pub(super) fn bracket_hint(&self, close: TokenKind) -> Option<String> {
        if let Some(hint) = self.operator_word() {
            return Some(hint.to_string());
        }
        if let Some(hint) = self.c_cast_hint() {
            return Some(hint);
        }
        if self.cur.newline && starts_expr(self.cur.kind) {
            let line = self.text_of(Span::new(self.base, self.prev_end)).bytes().filter(|b| *b == b'\n').count() + 1;
            return Some(format!("a comma, or the {} of line {line}, is missing", close.describe()));
        }
        let hint = match self.cur.kind {
            TokenKind::Question if self.nth_kind(1) == TokenKind::Question => COALESCE,
            TokenKind::Question => TERNARY,
            TokenKind::Ellipsis => "a range is written `a..b`, or `a..<b` without its end",
            TokenKind::FatArrow | TokenKind::Arrow => "a closure's parameters are names: `x => …`, `(x, y: Int) => …`",
            TokenKind::LBrace => "a closure is written `x => …` or `() => { … }`",
            TokenKind::Colon => "types stand in declarations and in a closure's parameters, which are names only: `(x: Int, y) => …`",
            kind if starts_expr(kind) => "a comma stands between two items",
            _ => return None,
        };
        Some(hint.to_string())
    }

    /// Behind `(Type)`, at what may have been meant as its operand.
    fn c_cast_hint(&self) -> Option<String> {
        let from = self.pos.checked_sub(3)?;
        let [open, name, close] = self.tokens[from..self.pos] else { return None };
        let in_parens = (open.kind, name.kind, close.kind) == (TokenKind::LParen, TokenKind::Name, TokenKind::RParen);
        let ty = own_type(self.text_of(name.span));
        let before = from.checked_sub(1).map(|i| self.tokens[i].kind);
        let is_call = matches!(before, Some(TokenKind::Name | TokenKind::RParen | TokenKind::RBracket | TokenKind::Gt));
        if !in_parens || is_call || !looks_like_type(ty) || !begins_operand(self.cur.kind) {
            return None;
        }
        Some(match ty {
            "Int" | "Float" => format!("numbers are converted by methods: `x.to{ty}()`"),
            "Str" => "text of a value is written `\"${x}\"`".to_string(),
            _ => format!("a cast is written `x as {ty}`"),
        })
    }

    // Statements.

    /// Behind `when (x)` or `when`, at what goes on as if that were a `match`.
    fn foreign_match(&self) -> Option<Diagnostic> {
        let is_word = |t: &Token| t.kind == TokenKind::Name && matches!(self.text_of(t.span), "switch" | "when");
        let at = self.tokens[..self.pos].iter().rposition(|t| t.newline || is_word(t)).filter(|&at| is_word(&self.tokens[at]))?;
        let alone = at + 1 == self.pos;
        let goes_on = match self.cur.kind {
            TokenKind::LBrace => alone || is_in_parentheses(&self.tokens[at + 1..self.pos]),
            kind => alone && begins_operand(kind),
        };
        let span = self.tokens[at].span;
        goes_on.then(|| Diagnostic::new(Code::ForeignSyntax, span, format!("there is no `{}`", self.text_of(span))).hint(MATCH))
    }

    pub(super) fn expected_end_diag(&self, message: String) -> Diagnostic {
        if let Some(d) = self.foreign_match() {
            return d;
        }
        match self.cur.kind {
            TokenKind::RParen | TokenKind::RBracket => self
                .diag(Code::UnexpectedClose, format!("this {} closes nothing", self.found()))
                .hint("there is one too many, here or before"),
            _ => self.diag(Code::ExpectedEnd, message),
        }
    }

    /// A statement that began at token `start` is over, but its line goes on.
    #[inline(never)]
    pub(super) fn statement_end_expected(&self, start: usize) -> Diagnostic {
        use TokenKind::*;
        if let Some(d) = self.assign_as_expression() {
            return d;
        }
        let first = self.tokens[start];
        let word = if first.kind == Name { self.text_of(first.span) } else { "" };
        if let Some(d) = self.foreign_operator().or_else(|| self.foreign_match()) {
            return d;
        }
        let d = self.expected_end_diag(format!("expected the end of the statement, found {}", self.found()));
        if let Some(hint) = self.c_cast_hint() {
            return d.hint(hint);
        }
        match self.cur.kind {
            Question => self.question_mark(),
            Bang if self.pos == start + 1 && self.nth_kind(1) == LParen => d.hint(format!("a call has no `!`: `{word}(…)`")),
            LBrace if matches!(word, "foreach" | "unless" | "until" | "loop" | "repeat" | "forever" | "elif" | "elsif" | "elseif") => {
                self.unknown_word(first.span, word)
            }
            LBrace if is_fun_word(word) => self.unknown_word(first.span, word),
            LBrace => {
                d.hint("a closure is passed in the parentheses: `f(x => …)`; blocks stand only after `if`, `while`, `for` and their like")
            }
            Name if matches!(self.cur_name(), Some("elif" | "elsif" | "elseif" | "elseIf")) => {
                self.foreign(format!("there is no {}", self.found()), "write `else if`")
            }
            Colon => d.hint("a variable is declared with `let x: Int = …` or `var x: Int = …`"),
            Ellipsis => d.hint("a range is written `a..b`, or `a..<b` without its end"),
            Arrow | FatArrow => d.hint("a closure's parameters are names: `x => …`, `(x, y: Int) => …`"),
            Comma => d.hint("there is one value in a statement; several stand in an array `[a, b]` or a `Pair(a, b)`"),
            StrStart | Int | Float | Name if self.pos == start + 1 && !word.is_empty() => {
                d.hint(format!("a call has parentheses: `{word}(…)`"))
            }
            kind if starts_expr(kind) || kind.starts_statement() => d.hint("a line break or `;` stands between two statements"),
            _ => d,
        }
    }

    fn unknown_word(&self, span: Span, word: &str) -> Diagnostic {
        let hint = match word {
            "foreach" => "write `for x in xs { … }`",
            "unless" => "write `if !condition { … }`",
            "until" => "write `while !condition { … }`",
            "elif" | "elsif" | "elseif" => "write `else if`",
            "raise" => "write `throw Error(…)`",
            "do" => "write `while true { … if !condition { break } }`",
            _ if is_fun_word(word) => "a function is declared with `fun` at the top level; a closure is written `(x: Int) => …`",
            _ => "write `while true { … }` or `for i in 0..<n { … }`",
        };
        Diagnostic::new(Code::ForeignSyntax, span, format!("there is no `{word}`")).hint(hint)
    }

    /// A statement that begins with a name as none does here; `None`: it is none of those known.
    #[inline(never)]
    pub(super) fn foreign_statement(&mut self) -> Option<PResult<StmtKind>> {
        let word = self.cur_name()?;
        let next = self.nth(1);
        if next.newline {
            return None;
        }
        let lo = self.cur.span.lo;
        if let Some(result) = self.foreign_field(lo) {
            return Some(result.map(StmtKind::Var));
        }
        let d = match (word, next.kind) {
            ("elif" | "elsif" | "elseif", kind) if begins_operand(kind) => self.unknown_word(self.cur.span, word),
            ("do" | "loop" | "repeat" | "forever", TokenKind::LBrace) => self.unknown_word(self.cur.span, word),
            // Also a function may have the name, and what is called with a closure has a `:` here.
            ("foreach", TokenKind::LParen) if self.nth_kind(3) != TokenKind::In && self.nth_kind(4) != TokenKind::In => return None,
            ("foreach", TokenKind::LParen | TokenKind::Name) => self.unknown_word(self.cur.span, word),
            ("unless" | "until" | "raise", kind) if begins_operand(kind) => self.unknown_word(self.cur.span, word),
            ("switch" | "when", kind) if begins_operand(kind) || kind == TokenKind::LBrace => {
                self.foreign(format!("there is no `{word}`"), MATCH)
            }
            (_, TokenKind::Name) if is_fun_word(word) => {
                self.foreign_fun();
                return Some(self.local_declaration_of_function());
            }
            (_, TokenKind::Name) if modifier_hint(word).is_some() => {
                self.foreign_modifier();
                return Some(self.nested(Self::statement_kind));
            }
            (_, kind) if modifier_hint(word).is_some() && kind.starts_statement() => {
                self.foreign_modifier();
                return Some(self.nested(Self::statement_kind));
            }
            _ => return None,
        };
        Some(Err(self.abort(d)))
    }

    fn statement_kind(&mut self) -> PResult<StmtKind> {
        Ok(self.statement_inner()?.kind)
    }

    #[inline(never)]
    fn local_declaration_of_function(&mut self) -> PResult<StmtKind> {
        let lo = self.cur.span.lo;
        self.nested(|p| p.function(Modifiers::default(), lo, Place::File))?;
        Ok(StmtKind::Error)
    }

    /// `for (k, v) in m` and `for k, v in m`
    #[inline(never)]
    pub(super) fn for_of_pairs(&mut self) -> PResult<StmtKind> {
        let d = self.diag(Code::BadFor, "a loop has one variable").hint(
            "of a map write `for e in m.entries() { … }`, with `e.first` and `e.second`; of a list `for i in 0..<xs.size() { … }`, with `xs[i]`",
        );
        self.report(d);
        let mut depth = 0;
        while depth > 0 || self.cur.kind != TokenKind::LBrace {
            let is_over = depth == 0 && self.cur.newline;
            depth += nesting(self.cur.kind);
            if is_over || depth < 0 || self.cur.kind == TokenKind::Eof {
                return Err(Abort);
            }
            self.bump();
        }
        self.block()?;
        Ok(StmtKind::Error)
    }

    /// `for (…)`: with `in` it is only the parentheses that are wrong.
    #[inline(never)]
    pub(super) fn foreign_for(&mut self) -> PResult<StmtKind> {
        let skip = match (self.nth_kind(1), self.nth_kind(2)) {
            (TokenKind::Let | TokenKind::Var, TokenKind::Name) | (TokenKind::Name, TokenKind::Name) if !self.is_in(2) => 2,
            _ => 1,
        };
        if !(self.nth_kind(skip) == TokenKind::Name && self.is_in(skip + 1)) {
            return self.c_style_for();
        }
        let d = self.diag(Code::BadFor, "a `for` has no parentheses").hint("write `for x in xs { … }`");
        self.report(d);
        self.opens.push(self.cur.span);
        for _ in 0..skip {
            self.bump();
        }
        let var = self.name("a variable")?;
        self.bump();
        let iter = self.expr()?;
        let step = self.step()?;
        if !self.at(TokenKind::RParen) {
            let open = self.opens.last().copied().unwrap_or_default();
            return Err(self.missing_close(open, TokenKind::RParen));
        }
        self.opens.pop();
        self.bump();
        Ok(StmtKind::For { var, iter, step, body: self.block()? })
    }

    fn is_in(&self, n: usize) -> bool {
        let token = self.nth(n);
        matches!(token.kind, TokenKind::In | TokenKind::Colon) || (token.kind == TokenKind::Name && self.text_of(token.span) == "of")
    }

    pub(super) fn c_style_for(&mut self) -> PResult<StmtKind> {
        let d = self
            .diag(Code::BadFor, "there is no `for (…; …; …)`")
            .hint("count with `for i in 0..<n { … }` or `for i in 9..0 step -1 { … }`, or use `while`");
        self.report(d);
        let parens = self.at(TokenKind::LParen);
        let mut depth = 0u32;
        loop {
            match self.cur.kind {
                TokenKind::Eof | TokenKind::LBrace | TokenKind::RBrace => break,
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.bump();
            if (parens && depth == 0) || (!parens && self.cur.newline) {
                break;
            }
        }
        self.block()?;
        Ok(StmtKind::Error)
    }

    // Patterns.

    #[inline(never)]
    pub(super) fn foreign_pattern(&mut self) -> Option<Diagnostic> {
        if self.at(TokenKind::In) {
            return Some(self.foreign("a pattern has no `in`", "write the range alone: `1..5 => …`"));
        }
        let word = self.cur_name()?;
        match (word, self.nth_kind(1)) {
            ("default" | "otherwise", TokenKind::Arrow | TokenKind::Colon) => {
                Some(self.foreign(format!("there is no `{word}`"), "write `else => …`"))
            }
            ("case" | "when", kind) if starts_expr(kind) || kind == TokenKind::Is => {
                Some(self.foreign(format!("there is no `{word}`"), "write the pattern alone: `1, 2 => …`"))
            }
            _ => None,
        }
    }

    // Declarations.

    /// At another language's modifier: reports and skips it.
    pub(super) fn foreign_modifier(&mut self) -> bool {
        let Some(word) = self.cur_name() else { return false };
        let Some(hint) = modifier_hint(word) else { return false };
        let next = self.nth(1);
        let declares = next.kind == TokenKind::Name || next.kind.starts_statement() || next.kind == TokenKind::Native;
        if next.newline || !declares || self.at_let_word() {
            return false;
        }
        let d = self.foreign(format!("there is no modifier `{word}`"), hint);
        self.report(d);
        self.bump();
        true
    }

    /// At `val x =`, `const x:` and their like.
    pub(super) fn at_let_word(&self) -> bool {
        let is_word = self.cur_name().is_some_and(is_let_word);
        is_word && self.next_on_line(TokenKind::Name) && !matches!(self.nth_kind(2), TokenKind::Name | TokenKind::LParen | TokenKind::Lt)
    }

    /// Reports another language's `let`; the current token stays at it.
    pub(super) fn foreign_let(&mut self) -> bool {
        if !self.at_let_word() {
            return false;
        }
        let word = self.cur_name().unwrap_or("");
        let d = self.foreign(format!("variables are not declared with `{word}`"), "`let` declares what does not change, `var` what does");
        self.report(d);
        true
    }

    /// Reports another language's `fun`; the current token stays at it.
    pub(super) fn foreign_fun(&mut self) -> bool {
        let Some(word) = self.cur_name().filter(|w| is_fun_word(w)) else { return false };
        if !self.next_on_line(TokenKind::Name) {
            return false;
        }
        let d = self.foreign(format!("functions are not declared with `{word}`"), "write `fun name(x: Int): Int { … }`");
        self.report(d);
        true
    }

    /// `val x = 1`, `int x = 1`, `List<Int> xs = …`: parsed as the `let` or `var` that was meant.
    pub(super) fn foreign_field(&mut self, lo: u32) -> Option<PResult<VarDecl>> {
        if self.foreign_let() {
            self.bump();
            return Some(self.var_rest(Mutability::Let, lo, "a variable"));
        }
        if !self.at_type_then_name() || self.cur_name().is_some_and(is_other_word) {
            return None;
        }
        let (at, ty_hint) = self.type_then_name_text();
        let d = Diagnostic::new(Code::ForeignSyntax, at, "a variable's type stands behind its name");
        self.report(d.hint(format!("write `let {ty_hint} = …`, or `var` if it changes")));
        if let Err(abort) = self.ty() {
            return Some(Err(abort));
        }
        Some(self.var_rest(Mutability::Var, lo, "a variable"))
    }

    /// `Type name`, followed by what may follow a declared variable.
    fn at_type_then_name(&self) -> bool {
        if !self.at(TokenKind::Name)
            || !matches!(self.nth_kind(1), TokenKind::Name | TokenKind::Lt | TokenKind::Question)
            || self.nth(1).newline
        {
            return false;
        }
        let mut scan = self.scan_from_here();
        if !scan.ty() || scan.kind != TokenKind::Name || scan.token().newline {
            return false;
        }
        scan.bump();
        // Without a value it may be anything, unless it looks like a type.
        let is_type = self.cur_name().is_some_and(looks_like_type);
        scan.kind == TokenKind::Eq
            || (is_type && (scan.token().newline || matches!(scan.kind, TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof)))
    }

    /// For `Type name` at the current token: where the type stands, and `name: Type` as it is written here.
    fn type_then_name_text(&self) -> (Span, String) {
        let mut scan = self.scan_from_here();
        scan.ty();
        let name = scan.token().span;
        let ty = self.text_of(Span::new(self.cur.span.lo, name.lo)).trim_end();
        let span = Span::new(self.cur.span.lo, self.cur.span.lo + ty.len() as u32);
        let text = if ty.len() > 60 { "x: Type".to_string() } else { format!("{}: {}", self.text_of(name), own_type(ty)) };
        (span, text)
    }

    /// `int x` in a parameter list.
    pub(super) fn type_before_name(&mut self) -> PResult<Option<(Name, TypeExpr)>> {
        if !self.at(TokenKind::Name) || !matches!(self.nth_kind(1), TokenKind::Name | TokenKind::Lt) {
            return Ok(None);
        }
        if self.cur_name() == Some("vararg") {
            let d = self.foreign("a function has a fixed number of parameters", "declare one of type `Array<T>` or `List<T>`");
            return Err(self.abort(d));
        }
        let mut scan = self.scan_from_here();
        if !scan.ty() || scan.kind != TokenKind::Name {
            return Ok(None);
        }
        let (at, hint) = self.type_then_name_text();
        let d = Diagnostic::new(Code::ForeignSyntax, at, "a parameter's type stands behind its name").hint(format!("write `{hint}`"));
        self.report(d);
        let ty = self.ty()?;
        let name = self.name("a parameter")?;
        Ok(Some((name, ty)))
    }

    /// After `let name`, where neither `:` nor `=` follows.
    pub(super) fn var_hint(&self, name: Span) -> Option<String> {
        let name = self.text_of(name);
        match self.cur.kind {
            TokenKind::Name => {
                let word = self.cur_name()?;
                let (name, ty) = if looks_like_type(word) { (name, word) } else { (word, name) };
                Some(format!("the type stands behind the name, after a `:`: `let {name}: {} = …`", own_type(ty)))
            }
            TokenKind::Comma => Some("a declaration names one variable".to_string()),
            TokenKind::In => Some("a loop is written `for x in xs { … }`".to_string()),
            kind if starts_expr(kind) => Some(format!("write `let {name} = …`")),
            _ => None,
        }
    }

    /// A top-level declaration as other languages write it.
    pub(super) fn foreign_item(&mut self, lo: u32) -> Option<PResult<Item>> {
        let word = self.cur_name()?;
        if self.foreign_fun() {
            return Some(self.function(Modifiers::default(), lo, Place::File).map(Item::Fun));
        }
        if let Some(result) = self.foreign_field(lo) {
            return Some(result.map(Item::Global));
        }
        let next = self.nth(1);
        if !next.newline
            && matches!(next.kind, TokenKind::Name | TokenKind::StrStart | TokenKind::Class)
            && let Some(hint) = declaration_hint(word)
        {
            let d = self.foreign(format!("there is no `{word}`"), hint);
            return Some(Err(self.abort(d)));
        }
        None
    }

    /// A member as other languages write it, which cannot be taken for what was meant.
    pub(super) fn foreign_member(&mut self) -> Option<Diagnostic> {
        use TokenKind::*;
        if matches!(self.cur.kind, Class | Interface | Object) {
            let message = format!("{} cannot stand inside of a class", self.cur.kind.describe());
            return Some(self.diag(Code::NestedDeclaration, message).hint("move it to the top level of the file"));
        }
        let word = self.cur_name()?;
        let next = self.nth_kind(1);
        Some(match word {
            "constructor" | "def" | "__init__" if next == LParen || next == LBrace => self.foreign(
                "constructors have no declaration of their own",
                "parameters stand in the class's header, `class Point(let x: Int)`; code in `init { … }`",
            ),
            "companion" => {
                self.foreign("there are no companion objects", "write functions and variables at the top level, or in an `object`")
            }
            "get" | "set" if next == LParen || next == LBrace => {
                self.foreign("fields have no accessors", "write a method: `fun area(): Float { … }`")
            }
            _ if next == LParen => {
                self.diag(Code::ExpectedMember, "a method begins with `fun`").hint(format!("write `fun {word}(…): Type {{ … }}`"))
            }
            _ if next == Colon || next == Eq => self
                .diag(Code::ExpectedMember, "a field begins with `let` or `var`")
                .hint(format!("write `let {word} = …`, or `var` if it changes")),
            _ => return None,
        })
    }
}

/// Begins an expression, and cannot go on with one behind a name.
fn nesting(kind: TokenKind) -> i32 {
    use TokenKind::*;
    match kind {
        LParen | LBracket | LBrace => 1,
        RParen | RBracket | RBrace => -1,
        _ => 0,
    }
}

/// Whether the first of these closes with the last.
fn is_in_parentheses(tokens: &[Token]) -> bool {
    let depth = tokens.iter().scan(0, |depth, token| {
        *depth += nesting(token.kind);
        Some(*depth)
    });
    tokens.first().is_some_and(|first| first.kind == TokenKind::LParen)
        && depth.into_iter().position(|depth| depth == 0) == Some(tokens.len() - 1)
}

fn begins_operand(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, Name | This | Super | True | False | Null | Int | Float | Char | StrStart)
}

/// A binary operator that cannot begin an expression.
fn is_line_operator(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Star | Slash
            | Percent
            | Amp
            | Pipe
            | Caret
            | EqEq
            | BangEq
            | EqEqEq
            | BangEqEq
            | Lt
            | Le
            | Gt
            | Ge
            | Shl
            | Shr
            | UShr
            | DotDot
            | DotDotLt
            | As
            | Is
    ) || kind.is_assign()
}
