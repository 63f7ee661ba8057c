//! Blocks and statements.

use super::expr::starts_expr;
use super::{Abort, PResult, Parser, Role};
use crate::diag::Code;
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Block, Expr, ExprKind, Mutability, Stmt, StmtKind, TypeExpr, TypeKind, VarDecl};
use crate::syntax::token::TokenKind;

/// The operator that a compound assignment applies; `None` for plain `=`.
pub(super) fn compound_op(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        TokenKind::PlusEq => BinaryOp::Add,
        TokenKind::MinusEq => BinaryOp::Sub,
        TokenKind::StarEq => BinaryOp::Mul,
        TokenKind::SlashEq => BinaryOp::Div,
        TokenKind::PercentEq => BinaryOp::Rem,
        TokenKind::AmpEq => BinaryOp::BitAnd,
        TokenKind::PipeEq => BinaryOp::BitOr,
        TokenKind::CaretEq => BinaryOp::BitXor,
        TokenKind::ShlEq => BinaryOp::Shl,
        TokenKind::ShrEq => BinaryOp::Shr,
        TokenKind::UShrEq => BinaryOp::UShr,
        _ => return None,
    })
}

impl Parser<'_> {
    /// `{ statements }`. Where the braces are missing around one statement, that is reported and the statement taken.
    pub(super) fn block(&mut self) -> PResult<Block> {
        if !self.at(TokenKind::LBrace) {
            return self.block_without_braces();
        }
        let open = self.bump().span;
        let opens = std::mem::take(&mut self.opens);
        let stmts = self.nested(|p| p.statements(open))?;
        self.opens = opens;
        Ok(Block { stmts, span: self.span_from(open.lo) })
    }

    #[cold]
    #[inline(never)]
    fn block_without_braces(&mut self) -> PResult<Block> {
        let operator = self.foreign_operator().is_some();
        let then = self.cur_name() == Some("then");
        let abort = self.block_expected();
        if then {
            self.bump();
        }
        if then && self.at(TokenKind::LBrace) {
            return self.nested(Self::block);
        }
        if operator || !self.opens.is_empty() || self.cur.newline || !starts_expr(self.cur.kind) {
            return Err(abort);
        }
        self.nested(Self::single_statement)
    }

    #[inline(never)]
    fn single_statement(&mut self) -> PResult<Block> {
        let stmt = self.statement_inner()?;
        let span = stmt.span;
        Ok(Block { stmts: vec![stmt], span })
    }

    #[inline(never)]
    pub(super) fn block_expected(&mut self) -> Abort {
        let hint = match self.cur.kind {
            TokenKind::Colon => Some("blocks stand in braces: `if x { … }`"),
            _ if self.cur_name() == Some("then") => Some("there is no `then`: the condition is followed by `{`"),
            kind if starts_expr(kind) || kind.starts_statement() => Some("braces are needed around a single statement, too"),
            _ => None,
        };
        let d = match self.assign_as_expression().or_else(|| self.foreign_operator()) {
            Some(d) => d,
            None => self.expected_diag(Code::ExpectedBlock, "`{`").maybe_hint(hint.map(str::to_string)),
        };
        self.abort(d)
    }

    /// Up to and with the `}`.
    fn statements(&mut self, open: Span) -> PResult<Vec<Stmt>> {
        let mut stmts = Vec::new();
        loop {
            while self.eat(TokenKind::Semi) {}
            if self.eat(TokenKind::RBrace) {
                return Ok(stmts);
            }
            if self.at(TokenKind::Eof) || self.at_outer_item() {
                let d = self.unclosed(open);
                return Err(self.abort(d));
            }
            stmts.push(self.statement());
        }
    }

    fn statement(&mut self) -> Stmt {
        let start = self.pos;
        let lo = self.cur.span.lo;
        self.mark_start();
        self.uninitialized = None;
        match self.statement_inner() {
            Ok(stmt) => self.end_of_statement(start, stmt),
            Err(Abort) => {
                let kind = self.uninitialized.take().map_or(StmtKind::Error, StmtKind::Var);
                self.sync_statement(start);
                Stmt { kind, span: self.span_from(lo) }
            }
        }
    }

    /// A line break, a `;`, or the block's end must follow.
    #[inline(never)]
    fn end_of_statement(&mut self, start: usize, mut stmt: Stmt) -> Stmt {
        if self.cur.newline || matches!(self.cur.kind, TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof) {
            return stmt;
        }
        let d = self.statement_end_expected(start);
        self.report(d);
        if self.goes_on() {
            self.sync_statement(self.pos);
            if !matches!(stmt.kind, StmtKind::Var(_)) {
                stmt.kind = StmtKind::Error;
            }
        }
        stmt
    }

    pub(super) fn statement_inner(&mut self) -> PResult<Stmt> {
        let lo = self.cur.span.lo;
        let kind = match self.cur.kind {
            TokenKind::Let | TokenKind::Var => StmtKind::Var(self.var_decl("a variable")?),
            TokenKind::While => self.while_loop()?,
            TokenKind::For => self.for_loop()?,
            TokenKind::Lock => {
                self.bump();
                StmtKind::Lock { mutex: self.expr()?, body: self.block()? }
            }
            TokenKind::Fun | TokenKind::Class | TokenKind::Interface | TokenKind::Object | TokenKind::Abstract | TokenKind::Override => {
                self.local_declaration()?
            }
            TokenKind::Import => return Err(self.misplaced_import()),
            _ => match self.foreign_statement() {
                Some(result) => result?,
                None => return self.expr_or_assignment(),
            },
        };
        Ok(Stmt { kind, span: self.span_from(lo) })
    }

    #[inline(never)]
    fn expr_or_assignment(&mut self) -> PResult<Stmt> {
        let lo = self.cur.span.lo;
        let value = self.expr()?;
        if self.cur.kind.is_assign() && self.same_line() {
            return self.assignment(lo, value);
        }
        Ok(Stmt { kind: StmtKind::Expr(value), span: self.span_from(lo) })
    }

    /// `let name [: type] = expr`; the current token is the `let` or `var` (or what was reported in its place).
    pub(super) fn var_decl(&mut self, what: &str) -> PResult<VarDecl> {
        let mutability = if self.at(TokenKind::Var) { Mutability::Var } else { Mutability::Let };
        let lo = self.bump().span.lo;
        self.var_rest(mutability, lo, what)
    }

    #[inline(never)]
    pub(super) fn var_rest(&mut self, mutability: Mutability, lo: u32, what: &str) -> PResult<VarDecl> {
        let mut mutability = mutability;
        if self.cur_name() == Some("mut") && self.nth_kind(1) == TokenKind::Name {
            let d = self.diag(Code::ForeignSyntax, "there is no `mut`").hint("a variable that changes is declared with `var`");
            self.report(d);
            self.bump();
            mutability = Mutability::Var;
        }
        if self.at(TokenKind::LParen) {
            let d = self.diag(Code::ExpectedName, "a declaration names one variable").hint("declare them one by one: `let a = pair.first`");
            return Err(self.abort(d));
        }
        let name = self.name(what)?;
        let ty = if self.eat(TokenKind::Colon) { Some(self.ty()?) } else { None };
        if self.at(TokenKind::Eq) {
            self.bump();
            return match self.initializer() {
                Ok(init) => Ok(VarDecl { mutability, name, ty, init, span: self.span_from(lo) }),
                Err(abort) => {
                    let init = self.no_expr();
                    self.uninitialized = Some(VarDecl { mutability, name, ty, init, span: self.span_from(lo) });
                    Err(abort)
                }
            };
        }
        // `let x: Int` without a value; the line may be over or go on with something else.
        if !self.cur.newline && !matches!(self.cur.kind, TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof) {
            let d = self.expected_diag(Code::ExpectedToken, "`=`").maybe_hint(self.var_hint(name.span));
            return Err(self.abort(d));
        }
        let span = self.span_from(lo);
        let hint = match &ty {
            Some(TypeExpr { kind: TypeKind::Nullable(_), .. }) => "write `= null`, or another first value".to_string(),
            Some(_) => format!("give `{}` a first value; one that may be missing has a type `T?` and begins as null", name.text),
            None => format!("give `{}` a first value: `= …`", name.text),
        };
        let d = crate::diag::Diagnostic::new(Code::MissingInit, name.span, format!("`{}` has no initializer", name.text));
        self.report(d.hint(hint));
        let init = self.no_expr();
        Ok(VarDecl { mutability, name, ty, init, span })
    }

    fn initializer(&mut self) -> PResult<Expr> {
        let init = self.last_expr()?;
        if self.cur.kind.is_assign() && self.same_line() {
            let d = self.statement_end_expected(self.pos);
            return Err(self.abort(d));
        }
        Ok(init)
    }

    fn no_expr(&self) -> Expr {
        Expr { kind: ExprKind::Error, span: Span::new(self.prev_end, self.prev_end) }
    }

    #[inline(never)]
    fn while_loop(&mut self) -> PResult<StmtKind> {
        self.bump();
        Ok(StmtKind::While { cond: self.expr()?, body: self.block()? })
    }

    #[inline(never)]
    fn for_loop(&mut self) -> PResult<StmtKind> {
        self.bump();
        let parens = (0..2).take_while(|&n| self.nth_kind(n) == TokenKind::LParen).count();
        if self.nth_kind(parens) == TokenKind::Name && self.nth_kind(parens + 1) == TokenKind::Comma {
            return self.for_of_pairs();
        }
        if self.at(TokenKind::LParen) {
            return self.foreign_for();
        }
        if self.at(TokenKind::Semi) || matches!(self.nth_kind(1), TokenKind::Eq | TokenKind::Semi) || self.nth_kind(2) == TokenKind::Eq {
            return self.c_style_for();
        }
        if self.at(TokenKind::Let) || self.at(TokenKind::Var) {
            let d = self.diag(Code::BadFor, "a loop's variable is declared without `let` or `var`").hint("write `for x in xs { … }`");
            self.report(d);
            self.bump();
        }
        let var = self.name("a variable")?;
        if !self.at(TokenKind::In) {
            let d = self.diag(Code::BadFor, format!("expected `in`, found {}", self.found()));
            self.report(d.hint("write `for x in xs { … }` or `for i in 0..<n { … }`"));
            if !matches!(self.cur_name(), Some("of")) {
                return Err(Abort);
            }
        }
        self.bump();
        let iter = self.expr()?;
        let step = self.step()?;
        Ok(StmtKind::For { var, iter, step, body: self.block()? })
    }

    pub(super) fn step(&mut self) -> PResult<Option<Expr>> {
        if self.cur_name() != Some("step") || !self.same_line() {
            return Ok(None);
        }
        self.mark(Role::Step);
        self.bump();
        Ok(Some(self.expr()?))
    }

    /// Declarations stand at the top level only: reported, parsed and left out.
    #[inline(never)]
    fn local_declaration(&mut self) -> PResult<StmtKind> {
        let hint = match self.cur.kind {
            TokenKind::Fun => "write a closure, `let f = (x: Int) => …`, or move the function out",
            _ => "move it to the top level of the file",
        };
        let message = format!("{} cannot stand inside of a function", self.cur.kind.describe());
        let d = self.diag(Code::NestedDeclaration, message).hint(hint);
        self.report(d);
        let opens = std::mem::take(&mut self.opens);
        self.nested(Self::item)?;
        self.opens = opens;
        Ok(StmtKind::Error)
    }

    #[inline(never)]
    fn misplaced_import(&mut self) -> Abort {
        let d = self.diag(Code::ImportOrder, "an import inside of a function").hint("imports stand at the beginning of the file");
        self.abort(d)
    }
}
