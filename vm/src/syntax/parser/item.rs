//! Files and declarations: imports, functions, classes, interfaces, objects, globals.

use super::{Abort, PResult, Parser, Role};
use crate::diag::{Code, Diagnostic};
use crate::source::{Origin, Span};
use crate::syntax::ast::*;
use crate::syntax::literal;
use crate::syntax::token::TokenKind;

/// Where a declaration stands decides what it may look like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    File,
    Class,
    Interface,
    Object,
}

impl Parser<'_> {
    pub(super) fn file(&mut self) -> File {
        let mut file = File { imports: Vec::new(), items: Vec::new() };
        loop {
            while self.eat(TokenKind::Semi) {}
            if self.at(TokenKind::Eof) {
                return file;
            }
            let start = self.pos;
            self.mark_start();
            if self.at(TokenKind::Import) {
                self.import_item(&mut file, start);
                continue;
            }
            self.uninitialized = None;
            match self.item() {
                Ok(item) => {
                    file.items.push(item);
                    self.end_of_item();
                }
                Err(Abort) => {
                    file.items.extend(self.uninitialized.take().map(Item::Global));
                    self.sync_item(start);
                }
            }
        }
    }

    fn import_item(&mut self, file: &mut File, start: usize) {
        if !file.items.is_empty() {
            let d = self.diag(Code::ImportOrder, "an import after a declaration").hint("imports stand at the beginning of the file");
            self.report(d);
        }
        match self.import() {
            Ok(import) => {
                file.imports.push(import);
                self.end_of_item();
            }
            Err(Abort) => self.sync_item(start),
        }
    }

    #[inline(never)]
    fn import(&mut self) -> PResult<Import> {
        let lo = self.bump().span.lo;
        let text_only =
            self.nth_kind(1) == TokenKind::StrEnd || (self.nth_kind(1) == TokenKind::StrText && self.nth_kind(2) == TokenKind::StrEnd);
        if !self.at(TokenKind::StrStart) || !text_only {
            let d = match self.at(TokenKind::StrStart) {
                true => self.diag(Code::ExpectedToken, "an import's path has no `${…}`"),
                false => self.expected_diag(Code::ExpectedToken, "the path of a file as a string"),
            };
            let d = d.hint("for example `import \"shapes.lang\"`");
            return Err(self.abort(d));
        }
        self.bump();
        let mut path = String::new();
        if self.at(TokenKind::StrText) {
            let token = self.bump();
            let mut errors = Vec::new();
            path = literal::unescape(self.text_of(token.span), |e| errors.push(e));
            errors.into_iter().take(10).for_each(|e| self.literal_error(token.span.lo, e));
        }
        self.bump();
        Ok(Import { path: path.into(), span: self.span_from(lo) })
    }

    fn end_of_item(&mut self) {
        if self.cur.newline || matches!(self.cur.kind, TokenKind::Semi | TokenKind::Eof | TokenKind::RBrace) {
            return;
        }
        let message = format!("expected a line break between declarations, found {}", self.found());
        let d = self.expected_end_diag(message);
        self.report(d);
        if !self.cur.kind.starts_item() {
            self.sync_item(self.pos);
        }
    }

    /// Skips to the next declaration.
    fn sync_item(&mut self, start: usize) {
        self.opens.clear();
        loop {
            let fresh = self.pos != start;
            match self.cur.kind {
                TokenKind::Eof => return,
                kind if fresh && kind.starts_item() && self.cur.newline => return,
                TokenKind::LBrace => self.skip_braces(),
                _ => {
                    self.bump();
                }
            }
        }
    }

    pub(super) fn item(&mut self) -> PResult<Item> {
        let lo = self.cur.span.lo;
        let modifiers = self.modifiers(Place::File)?;
        match self.cur.kind {
            TokenKind::Fun => Ok(Item::Fun(self.function(modifiers, lo, Place::File)?)),
            TokenKind::Class => Ok(Item::Class(self.class(modifiers, lo)?)),
            TokenKind::Interface => {
                self.no_modifiers(modifiers, "an interface");
                Ok(Item::Interface(self.interface(lo)?))
            }
            TokenKind::Object => {
                self.no_modifiers(modifiers, "an object");
                Ok(Item::Object(self.object(lo)?))
            }
            TokenKind::Let | TokenKind::Var => {
                self.no_modifiers(modifiers, "a variable");
                Ok(Item::Global(self.var_decl("a variable")?))
            }
            _ => self.no_item(lo),
        }
    }

    #[inline(never)]
    fn no_item(&mut self, lo: u32) -> PResult<Item> {
        if let Some(result) = self.foreign_item(lo) {
            return result;
        }
        if self.at(TokenKind::RBrace) {
            let d = self.diag(Code::UnexpectedClose, "this `}` closes nothing").hint("there is one `}` too many, here or further up");
            return Err(self.abort(d));
        }
        if super::expr::starts_expr(self.cur.kind)
            || matches!(self.cur.kind, TokenKind::While | TokenKind::For | TokenKind::Lock | TokenKind::LBrace)
        {
            let d = self
                .diag(Code::StatementOutside, "a statement outside of a function")
                .hint("a program starts in `fun main() { … }`: put it there");
            return Err(self.abort(d));
        }
        let hint = "a file holds `fun`, `class`, `interface`, `object`, `let` and `var` declarations";
        let d = self.expected_diag(Code::ExpectedItem, "a declaration").hint(hint);
        Err(self.abort(d))
    }

    // Modifiers.

    fn modifiers(&mut self, place: Place) -> PResult<Modifiers> {
        let mut modifiers = Modifiers::default();
        loop {
            if self.foreign_modifier() {
                continue;
            }
            let span = self.cur.span;
            let slot = match self.cur.kind {
                TokenKind::Override => &mut modifiers.is_override,
                TokenKind::Abstract => &mut modifiers.is_abstract,
                TokenKind::Native => &mut modifiers.is_native,
                _ => break,
            };
            let twice = slot.replace(span).is_some();
            if twice {
                let d = self.diag(Code::BadModifier, format!("{} stands here twice", self.cur.kind.describe()));
                self.report(d);
            }
            self.bump();
        }
        if let Some(span) = modifiers.is_native
            && self.origin == Origin::User
        {
            self.report(Diagnostic::new(Code::Reserved, span, "`native` is reserved for the library"));
        }
        let misplaced = match place {
            Place::Class => None,
            Place::File => modifiers.is_override.map(|span| (span, "`override` stands only before methods of classes and interfaces")),
            Place::Interface => modifiers.is_abstract.map(|span| (span, "an interface's function without a body is abstract already")),
            Place::Object => modifiers
                .is_override
                .or(modifiers.is_abstract)
                .map(|span| (span, "an object's functions are neither abstract nor overridden")),
        };
        if let Some((span, message)) = misplaced {
            self.report(Diagnostic::new(Code::BadModifier, span, message).hint("leave it out"));
        }
        Ok(modifiers)
    }

    fn no_modifiers(&mut self, modifiers: Modifiers, what: &str) {
        if let Some(span) = modifiers.is_abstract.or(modifiers.is_native).or(modifiers.is_override) {
            let modifier = self.text_of(span);
            self.report(Diagnostic::new(Code::BadModifier, span, format!("{what} cannot be `{modifier}`")).hint("leave it out"));
        }
    }

    // Functions.

    /// The current token is the `fun` (or what was reported in its place).
    #[inline(never)]
    pub(super) fn function(&mut self, modifiers: Modifiers, lo: u32, place: Place) -> PResult<FunDecl> {
        self.bump();
        if self.at(TokenKind::Lt) {
            let d = self.diag(Code::ForeignSyntax, "type parameters stand behind the function's name").hint("write `fun f<T>(…)`");
            return Err(self.abort(d));
        }
        let name = self.name("a function")?;
        let type_params = self.type_params()?;
        if !self.at(TokenKind::LParen) {
            let hint = match self.cur.kind {
                TokenKind::Dot => "functions cannot be added to a class from outside",
                _ => "a function without parameters has empty parentheses: `fun f()`",
            };
            self.expect(TokenKind::LParen, Some(hint))?;
        }
        let params = self.list(TokenKind::RParen, Self::param)?;
        let ret = self.result_type()?;
        let body = self.function_body()?;
        let decl = FunDecl { modifiers, name, type_params, params, ret, body, span: self.span_from(lo) };
        self.check_body(&decl, place);
        Ok(decl)
    }

    fn param(&mut self) -> PResult<Param> {
        if matches!(self.cur.kind, TokenKind::Let | TokenKind::Var) {
            let d = self
                .diag(Code::BadModifier, "a parameter is declared without `let` or `var`")
                .hint("write `name: Type`; parameters cannot be assigned to");
            self.report(d);
            self.bump();
        }
        let (name, ty) = self.name_and_type("a parameter")?;
        Ok(Param { name, ty })
    }

    fn name_and_type(&mut self, what: &str) -> PResult<(Name, TypeExpr)> {
        if let Some(pair) = self.type_before_name()? {
            return Ok(pair);
        }
        let name = self.name(what)?;
        if matches!(self.cur.kind, TokenKind::Comma | TokenKind::RParen) {
            let d = Diagnostic::new(Code::ExpectedType, name.span, format!("`{}` needs a type", name.text));
            self.report(d.hint(format!("for example `{}: Int`", name.text)));
            let ty = TypeExpr { kind: TypeKind::Error, span: name.span };
            return Ok((name, ty));
        }
        self.expect(TokenKind::Colon, None)?;
        let ty = self.ty()?;
        if self.at(TokenKind::Eq) {
            let d =
                self.diag(Code::ForeignSyntax, "parameters have no default values").hint("pass every argument, or write a second function");
            self.report(d);
            self.bump();
            self.expr()?;
        }
        Ok((name, ty))
    }

    fn result_type(&mut self) -> PResult<Option<TypeExpr>> {
        if self.at(TokenKind::Arrow) {
            let d = self.diag(Code::ForeignSyntax, "a function's result type stands behind `:`").hint("write `fun f(x: Int): Int`");
            self.report(d);
            self.bump();
            return Ok(Some(self.ty()?));
        }
        if !self.eat(TokenKind::Colon) {
            return Ok(None);
        }
        Ok(Some(self.ty()?))
    }

    fn function_body(&mut self) -> PResult<FunBody> {
        if self.cur_name() == Some("throws") && !self.cur.newline {
            let d = self.diag(Code::ForeignSyntax, "errors that a function throws are not declared").hint("leave `throws` out");
            self.report(d);
            self.bump();
            self.ty()?;
        }
        match self.cur.kind {
            TokenKind::LBrace => Ok(FunBody::Block(self.block()?)),
            TokenKind::Eq => {
                self.bump();
                if self.at(TokenKind::LBrace) {
                    let d = self
                        .diag(Code::ForeignSyntax, "a block body has no `=` before it")
                        .hint("write `fun f() { … }` or `fun f() = expression`");
                    self.report(d);
                    return Ok(FunBody::Block(self.block()?));
                }
                Ok(FunBody::Expr(self.last_expr()?))
            }
            TokenKind::FatArrow if !self.cur.newline => {
                let d = self
                    .diag(Code::ForeignSyntax, "a function's expression stands behind `=`")
                    .hint("write `fun f(x: Int) = x + 1`; `=>` stands in closures");
                self.report(d);
                self.bump();
                if self.at(TokenKind::LBrace) { Ok(FunBody::Block(self.block()?)) } else { Ok(FunBody::Expr(self.last_expr()?)) }
            }
            _ => Ok(FunBody::None),
        }
    }

    #[inline(never)]
    fn check_body(&mut self, decl: &FunDecl, place: Place) {
        let bodiless = decl.modifiers.is_abstract.or(decl.modifiers.is_native);
        let name = &decl.name;
        match (&decl.body, bodiless) {
            (FunBody::None, None) if place != Place::Interface => {
                let hint =
                    if place == Place::Class { "write `{ … }`, or `abstract` before `fun`" } else { "write `{ … }` or `= expression`" };
                let d = Diagnostic::new(Code::MissingBody, name.span, format!("the function `{}` has no body", name.text));
                self.report(d.hint(hint));
            }
            (FunBody::Block(_) | FunBody::Expr(_), Some(span)) => {
                let modifier = self.text_of(span);
                let d = Diagnostic::new(Code::BadModifier, span, format!("a function with a body cannot be `{modifier}`"));
                self.report(d.secondary(name.span, "this function"));
            }
            _ => {}
        }
        if place == Place::File
            && let Some(span) = decl.modifiers.is_abstract
        {
            self.report(Diagnostic::new(Code::BadModifier, span, "only classes and their methods are abstract").hint("leave it out"));
        }
    }

    // Classes.

    #[inline(never)]
    fn class(&mut self, modifiers: Modifiers, lo: u32) -> PResult<ClassDecl> {
        self.bump();
        let name = self.name("a class")?;
        let type_params = self.type_params()?;
        if self.cur_name() == Some("constructor") {
            let d = self
                .diag(Code::ForeignSyntax, "the constructor's parameters stand behind the class's name")
                .hint("write `class Point(let x: Int, let y: Int)`");
            self.report(d);
            self.bump();
        }
        let params = if self.at(TokenKind::LParen) { self.list(TokenKind::RParen, Self::class_param)? } else { Vec::new() };
        let mut supers = Vec::new();
        while self.at_supers(supers.is_empty()) {
            if supers.is_empty() {
                self.mark(Role::Bases);
            }
            self.bump();
            supers.push(self.super_type()?);
        }
        let members = if self.at(TokenKind::LBrace) {
            self.members(Place::Class, Self::class_member, |v| Some(Member::Field(v)))?
        } else {
            Vec::new()
        };
        Ok(ClassDecl { modifiers, name, type_params, params, supers, members, span: self.span_from(lo) })
    }

    /// At `:` before the first base, `,` before the others; also at the words that stand there in Java.
    fn at_supers(&mut self, first: bool) -> bool {
        if let Some(word @ ("extends" | "implements" | "with")) = self.cur_name() {
            let d = self.diag(Code::ForeignSyntax, format!("bases stand behind `:`, not behind `{word}`"));
            self.report(d.hint("write `class Dog(name: Str) : Animal(name), Named { … }`"));
            return true;
        }
        self.at(if first { TokenKind::Colon } else { TokenKind::Comma })
    }

    fn class_param(&mut self) -> PResult<ClassParam> {
        while self.foreign_modifier() {}
        let field = match self.cur.kind {
            TokenKind::Let => Some(Mutability::Let),
            TokenKind::Var => Some(Mutability::Var),
            _ => None,
        };
        if field.is_some() || self.foreign_let() {
            self.bump();
        }
        let (name, ty) = self.name_and_type("a parameter")?;
        Ok(ClassParam { field, name, ty })
    }

    fn super_type(&mut self) -> PResult<Super> {
        let lo = self.cur.span.lo;
        let ty = self.ty()?;
        let args = if self.at(TokenKind::LParen) && !self.cur.newline { Some(self.args()?) } else { None };
        Ok(Super { ty, args, span: self.span_from(lo) })
    }

    /// `{ members }`; a member with an error in it is left out, but for what `variable` makes of one whose initializer has it.
    fn members<T>(
        &mut self,
        place: Place,
        member: fn(&mut Self, Place) -> PResult<T>,
        variable: fn(VarDecl) -> Option<T>,
    ) -> PResult<Vec<T>> {
        let open = self.bump().span;
        let mut members = Vec::new();
        loop {
            while self.eat(TokenKind::Semi) {}
            if self.eat(TokenKind::RBrace) {
                return Ok(members);
            }
            if self.at(TokenKind::Eof) || self.at_outer_type() {
                let d = self.unclosed(open);
                return Err(self.abort(d));
            }
            let start = self.pos;
            self.mark_start();
            self.uninitialized = None;
            match self.nested(|p| member(p, place)) {
                Ok(m) => {
                    members.push(m);
                    self.end_of_member();
                }
                Err(Abort) => {
                    members.extend(self.uninitialized.take().and_then(variable));
                    self.sync_member(start);
                }
            }
        }
    }

    /// At a declaration in the first column that cannot be a member.
    fn at_outer_type(&self) -> bool {
        use TokenKind::*;
        let is_type = matches!(self.cur.kind, Class | Interface | Object | Import) || (self.at(Abstract) && self.nth_kind(1) == Class);
        is_type && self.at_column_zero()
    }

    fn end_of_member(&mut self) {
        if self.cur.newline || matches!(self.cur.kind, TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof) {
            return;
        }
        let message = format!("expected a line break between members, found {}", self.found());
        let d = self.expected_end_diag(message);
        self.report(d);
        if self.goes_on() {
            self.sync_member(self.pos);
        }
    }

    fn sync_member(&mut self, start: usize) {
        self.opens.clear();
        loop {
            let fresh = self.pos != start;
            match self.cur.kind {
                TokenKind::Eof | TokenKind::RBrace => return,
                kind if fresh && self.cur.newline && (kind.starts_statement() || kind == TokenKind::Native) => return,
                TokenKind::Semi => return,
                TokenKind::LBrace => self.skip_braces(),
                _ if fresh && self.at_outer_item() => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    fn class_member(&mut self, place: Place) -> PResult<Member> {
        let lo = self.cur.span.lo;
        if self.at(TokenKind::Init) {
            self.bump();
            if self.at(TokenKind::LParen) {
                let d = self
                    .diag(Code::ForeignSyntax, "`init` has no parameters")
                    .hint("the constructor's parameters stand in the class's header: `class Point(let x: Int)`");
                return Err(self.abort(d));
            }
            return Ok(Member::Init(self.block()?));
        }
        let modifiers = self.modifiers(place)?;
        match self.cur.kind {
            TokenKind::Fun => Ok(Member::Fun(self.function(modifiers, lo, place)?)),
            TokenKind::Let | TokenKind::Var => {
                self.no_modifiers(modifiers, "a field");
                Ok(Member::Field(self.var_decl("a field")?))
            }
            _ => {
                if let Some(result) = self.foreign_field(lo) {
                    return Ok(Member::Field(result?));
                }
                if self.foreign_fun() {
                    return Ok(Member::Fun(self.function(modifiers, lo, place)?));
                }
                Err(self.member_expected("a class holds `let` and `var` fields, `init` blocks and `fun` methods"))
            }
        }
    }

    fn member_expected(&mut self, hint: &str) -> Abort {
        if let Some(d) = self.foreign_member() {
            return self.abort(d);
        }
        let d = self.expected_diag(Code::ExpectedMember, "a member").hint(hint);
        self.abort(d)
    }

    #[inline(never)]
    fn interface(&mut self, lo: u32) -> PResult<InterfaceDecl> {
        self.bump();
        let name = self.name("an interface")?;
        let type_params = self.type_params()?;
        let mut supers = Vec::new();
        while self.at_supers(supers.is_empty()) {
            if supers.is_empty() {
                self.mark(Role::Bases);
            }
            self.bump();
            supers.push(self.ty()?);
        }
        let funs = if self.at(TokenKind::LBrace) { self.members(Place::Interface, Self::interface_member, |_| None)? } else { Vec::new() };
        Ok(InterfaceDecl { name, type_params, supers, funs, span: self.span_from(lo) })
    }

    fn interface_member(&mut self, place: Place) -> PResult<FunDecl> {
        let lo = self.cur.span.lo;
        let modifiers = self.modifiers(place)?;
        if self.at(TokenKind::Fun) || self.foreign_fun() {
            return self.function(modifiers, lo, place);
        }
        let is_field = self.at(TokenKind::Let) || self.at(TokenKind::Var) || self.at_let_word();
        Err(self.member_expected(match is_field {
            true => "an interface has no fields: declare a function, `fun name(): Type`",
            false => "an interface holds `fun` declarations only",
        }))
    }

    #[inline(never)]
    fn object(&mut self, lo: u32) -> PResult<ObjectDecl> {
        self.bump();
        let name = self.name("an object")?;
        let (mut globals, mut funs) = (Vec::new(), Vec::new());
        if self.at(TokenKind::Colon) || self.at(TokenKind::LParen) {
            let d = self.diag(Code::ExpectedToken, "an object is only a namespace: it has no bases and no parameters");
            return Err(self.abort(d.hint("for an instance write a class and a global: `let it = Name()`")));
        }
        if !self.at(TokenKind::LBrace) {
            return Err(self.block_expected());
        }
        for member in self.members(Place::Object, Self::object_member, |v| Some(Member::Field(v)))? {
            match member {
                Member::Field(global) => globals.push(global),
                Member::Fun(fun) => funs.push(fun),
                Member::Init(_) => {}
            }
        }
        Ok(ObjectDecl { name, globals, funs, span: self.span_from(lo) })
    }

    fn object_member(&mut self, place: Place) -> PResult<Member> {
        let span: Span = self.cur.span;
        if self.at(TokenKind::Init) {
            let d = Diagnostic::new(Code::ExpectedMember, span, "an object has no `init`")
                .hint("its globals are initialized before `main` starts");
            return Err(self.abort(d));
        }
        self.class_member(place)
    }
}
