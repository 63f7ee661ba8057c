//! Reads the text form of a module that [`super::printer`] writes.
//!
//! In: text. Out: a [`Module`] whose ids are all declared, or the first error with its line and column. Whether the module makes sense otherwise (types, dominance …) is the verifier's question.
//! Declarations may come in any order, but each kind of id is dense. Call sites need no declaration: those used without get their caller and position from their first use.

mod function;
mod lexer;

pub use lexer::Position;

use super::mnemonic::Mnemonic;
use super::*;
use cranelift_entity::{EntityRef, EntitySet, PrimaryMap};
use function::Body;
use lexer::{Token, tokenize};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, PartialEq, Debug)]
pub struct ParseError {
    pub at: Position,
    pub message: String,
}

impl ParseError {
    fn new(at: Position, message: impl Into<String>) -> Self {
        ParseError { at, message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.at.line, self.at.col, self.message)
    }
}

impl std::error::Error for ParseError {}

pub fn parse(text: &str) -> Result<Module, ParseError> {
    let mut parser = Parser {
        tokens: tokenize(text)?,
        next: 0,
        text_len: text.len(),
        classes: Default::default(),
        fields: Default::default(),
        selectors: Default::default(),
        globals: Default::default(),
        strings: Default::default(),
        sites: Default::default(),
        funcs: Default::default(),
        used_sites: Default::default(),
        uses: Vec::new(),
        entry: None,
        known: None,
    };
    while parser.peek() != &Token::End {
        parser.item()?;
    }
    parser.finish()
}

/// Ids that are declared at the top level (fields: inside their class).
trait Declared: EntityRef + fmt::Display {
    const PREFIX: &'static str;
    const KIND: Kind;
    const WHAT: &'static str;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Class,
    Field,
    Selector,
    Global,
    Str,
    Func,
}

macro_rules! declared {
    ($($id:ident $prefix:literal $kind:ident $what:literal;)*) => {$(
        impl Declared for $id {
            const PREFIX: &'static str = $prefix;
            const KIND: Kind = Kind::$kind;
            const WHAT: &'static str = $what;
        }
    )*};
}
declared! {
    ClassId "class" Class "a class";
    FieldId "field" Field "a field";
    SelectorId "sel" Selector "a selector";
    GlobalId "global" Global "a global";
    StrId "str" Str "a string";
    FuncId "fn" Func "a function";
}

type Table<K, T> = BTreeMap<u32, (Position, K, T)>;

struct Parser<'a> {
    tokens: Vec<(Token<'a>, Position)>,
    next: usize,
    text_len: usize,
    /// Own fields and methods only, until `finish`.
    classes: Table<ClassId, Class>,
    fields: Table<FieldId, Field>,
    selectors: Table<SelectorId, Selector>,
    globals: Table<GlobalId, Global>,
    strings: Table<StrId, Box<str>>,
    sites: BTreeMap<CallSiteId, CallSite>,
    funcs: Table<FuncId, Body>,
    /// First uses.
    used_sites: BTreeMap<CallSiteId, CallSite>,
    /// Ids that must be declared somewhere.
    uses: Vec<(Kind, u32, Position)>,
    entry: Option<Entry>,
    known: Option<Known>,
}

impl<'a> Parser<'a> {
    // Tokens.

    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].0
    }

    fn position(&self) -> Position {
        self.tokens[self.next].1
    }

    fn bump(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn error(&self, message: &str) -> ParseError {
        ParseError::new(self.position(), message)
    }

    fn expected(&self, what: &str) -> ParseError {
        let found = match self.peek() {
            Token::Word(text) | Token::Number(text) => format!("`{text}`"),
            Token::Text(text) => format!("{text:?}"),
            Token::Mark('>') => "`->`".to_string(),
            Token::Mark(c) => format!("`{c}`"),
            Token::End => "the end of the text".to_string(),
        };
        self.error(&format!("expected {what}, found {found}"))
    }

    fn eat(&mut self, mark: char) -> bool {
        let found = self.peek() == &Token::Mark(mark);
        if found {
            self.bump();
        }
        found
    }

    fn mark(&mut self, mark: char) -> Result<(), ParseError> {
        if self.eat(mark) {
            Ok(())
        } else {
            Err(self.expected(if mark == '>' { "`->`".to_string() } else { format!("`{mark}`") }.as_str()))
        }
    }

    fn eat_keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if *w == word);
        if found {
            self.bump();
        }
        found
    }

    fn keyword(&mut self, word: &str) -> Result<(), ParseError> {
        if self.eat_keyword(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    fn mnemonic<T: Mnemonic>(&mut self, what: &str) -> Result<T, ParseError> {
        let found = match *self.peek() {
            Token::Word(word) => T::from_word(word),
            _ => None,
        };
        let found = found.ok_or_else(|| self.expected(what))?;
        self.bump();
        Ok(found)
    }

    fn text(&mut self) -> Result<Box<str>, ParseError> {
        let Token::Text(text) = self.peek() else { return Err(self.expected("a name in quotes")) };
        let text = text.as_str().into();
        self.bump();
        Ok(text)
    }

    /// Items separated by commas up to `close`.
    fn list<T>(&mut self, close: char, mut item: impl FnMut(&mut Self) -> Result<T, ParseError>) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            self.mark(',')?;
        }
    }

    /// `@123`, `@in4`, or nothing.
    fn loc(&mut self) -> Result<Loc, ParseError> {
        if !self.eat('@') {
            return Ok(Loc::default());
        }
        let own = |number: &u32| Loc(*number).inlined().is_none();
        let loc = match self.peek() {
            Token::Number(text) => text.parse().ok().filter(own).map(Loc),
            _ => self.peek_id("in").filter(own).map(|n| Loc::in_callee(InlinedId::from_u32(n))),
        };
        let loc = loc.ok_or_else(|| self.expected("a position"))?;
        self.bump();
        Ok(loc)
    }

    /// The number of the next token, if that is an id with this prefix.
    fn peek_id(&self, prefix: &str) -> Option<u32> {
        match self.peek() {
            Token::Word(word) => word.strip_prefix(prefix).filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?.parse().ok(),
            _ => None,
        }
    }

    fn id<T: Declared>(&mut self) -> Result<T, ParseError> {
        let number = self.peek_id(T::PREFIX).filter(|&n| n < u32::MAX);
        let number = number.ok_or_else(|| self.expected(&format!("{} ({}0, {}1, …)", T::WHAT, T::PREFIX, T::PREFIX)))?;
        self.bump();
        Ok(T::new(number as usize))
    }

    /// An id that is declared elsewhere.
    fn use_id<T: Declared>(&mut self) -> Result<T, ParseError> {
        let at = self.position();
        let id: T = self.id()?;
        self.uses.push((T::KIND, id.index() as u32, at));
        Ok(id)
    }

    // Items.

    fn item(&mut self) -> Result<(), ParseError> {
        let at = self.position();
        if self.eat_keyword("entry") {
            self.keyword("main")?;
            let main = self.use_id()?;
            self.keyword("thread")?;
            self.entry = Some(Entry { main, thread: self.use_id()? });
            return Ok(());
        }
        if self.eat_keyword("known") {
            return self.known();
        }
        if self.peek_id("class").is_some() {
            return self.class(at);
        }
        if self.peek_id("sel").is_some() {
            let id = self.id()?;
            let class = self.use_id()?;
            let name = self.text()?;
            let (params, ret) = self.signature()?;
            return declare(&mut self.selectors, at, id, Selector { name, class, params, ret });
        }
        if self.peek_id("global").is_some() {
            let id = self.id()?;
            let name = self.text()?;
            self.mark(':')?;
            let ty = self.ty()?;
            return declare(&mut self.globals, at, id, Global { name, ty });
        }
        if self.peek_id("str").is_some() {
            let id = self.id()?;
            let text = self.text()?;
            return declare(&mut self.strings, at, id, text);
        }
        if let Some(site) = self.peek_id("site") {
            self.bump();
            let caller = self.use_id()?;
            let loc = self.loc()?;
            self.sites.insert(CallSiteId::from_u32(site.min(u32::MAX - 1)), CallSite { caller, loc });
            return Ok(());
        }
        if self.peek_id("fn").is_some() {
            return self.function(at);
        }
        Err(self.expected("a declaration (class0 …, fn0 …, sel0 …, global0 …, str0 …, site0 …, entry, known)"))
    }

    fn ty(&mut self) -> Result<TypeDesc, ParseError> {
        if let Token::Word(word @ ("int" | "float" | "bool" | "ref")) = *self.peek() {
            self.bump();
            return Ok(match word {
                "int" => TypeDesc::Int,
                "float" => TypeDesc::Float,
                "bool" => TypeDesc::Bool,
                _ => TypeDesc::AnyRef,
            });
        }
        if self.peek_id("class").is_none() {
            return Err(self.expected("a type (int, float, bool, ref, class0, class0?)"));
        }
        let class = self.use_id()?;
        Ok(TypeDesc::Ref { class, nullable: self.eat('?') })
    }

    fn signature(&mut self) -> Result<(Vec<TypeDesc>, Option<TypeDesc>), ParseError> {
        self.mark('(')?;
        let params = self.list(')', Self::ty)?;
        let ret = if self.eat('>') { Some(self.ty()?) } else { None };
        Ok((params, ret))
    }

    fn function(&mut self, at: Position) -> Result<(), ParseError> {
        let id = self.id()?;
        let name = self.text()?;
        let (params, ret) = self.signature()?;
        let mut func = Function::new(name, params, ret, self.loc()?);
        if self.peek() == &Token::Word("loop") {
            self.bump();
            func.start = Start::Loop;
        }
        let body = if self.peek() == &Token::Mark('{') { self.body(id, func)? } else { Body { func, insts: Vec::new() } };
        declare(&mut self.funcs, at, id, body)
    }

    fn class(&mut self, at: Position) -> Result<(), ParseError> {
        let id: ClassId = self.id()?;
        let kind = match *self.peek() {
            Token::Word("abstract") => ClassKind::Abstract,
            Token::Word("interface") => ClassKind::Interface,
            Token::Word("array") => ClassKind::Array(ElemKind::Int),
            _ => ClassKind::Concrete,
        };
        if kind != ClassKind::Concrete {
            self.bump();
        }
        let kind = match kind {
            ClassKind::Array(_) => ClassKind::Array(self.mnemonic("an element kind (int, float, bool, byte, ref)")?),
            kind => kind,
        };
        let name = self.text()?;
        let superclass = if self.eat_keyword("extends") { Some(self.use_id()?) } else { None };
        let mut interfaces = Vec::new();
        if self.eat_keyword("implements") {
            interfaces.push(self.use_id()?);
            while self.eat(',') {
                interfaces.push(self.use_id()?);
            }
        }
        let mut class = Class { name, kind, superclass, interfaces, fields: Vec::new(), methods: BTreeMap::new() };
        if self.eat('{') {
            while !self.eat('}') {
                self.member(id, &mut class)?;
            }
        }
        declare(&mut self.classes, at, id, class)
    }

    fn member(&mut self, id: ClassId, class: &mut Class) -> Result<(), ParseError> {
        let at = self.position();
        if self.peek_id("sel").is_some() {
            let selector = self.use_id()?;
            self.mark('>')?;
            class.methods.insert(selector, self.use_id()?);
            return Ok(());
        }
        if self.peek_id("field").is_none() {
            return Err(self.expected("a field (field0 \"x\": int), a method (sel0 -> fn0) or `}`"));
        }
        let field = self.id()?;
        let is_final = self.eat_keyword("final");
        let name = self.text()?;
        self.mark(':')?;
        let ty = self.ty()?;
        class.fields.push(field);
        declare(&mut self.fields, at, field, Field { name, class: id, ty, is_final })
    }

    fn known(&mut self) -> Result<(), ParseError> {
        let mut classes = BTreeMap::new();
        let mut fields = BTreeMap::new();
        self.mark('{')?;
        while !self.eat('}') {
            let Token::Word(name) = *self.peek() else { return Err(self.expected("a name")) };
            self.bump();
            if self.peek_id("field").is_some() {
                fields.insert(name, self.use_id()?).map(|_: FieldId| ())
            } else {
                classes.insert(name, self.use_id()?).map(|_: ClassId| ())
            };
        }
        let (class, field) = (ClassId::new(0), FieldId::new(0));
        let mut known = Known {
            object: class,
            str: class,
            bytes: class,
            str_array: class,
            int_array: class,
            error: class,
            error_message: field,
            error_trace: field,
            null_error: class,
            bounds_error: class,
            division_error: class,
            cast_error: class,
            stack_overflow_error: class,
            out_of_memory_error: class,
            argument_error: class,
            state_error: class,
            io_error: class,
            mutex: MutexFields { state: field, owner: field, depth: field, key: field },
        };
        for (name, place) in known.classes_mut() {
            *place = classes.remove(name).ok_or_else(|| self.error(&format!("`known` does not name the class `{name}`")))?;
        }
        for (name, place) in known.fields_mut() {
            *place = fields.remove(name).ok_or_else(|| self.error(&format!("`known` does not name the field `{name}`")))?;
        }
        if let Some(name) = classes.keys().chain(fields.keys()).next() {
            return Err(self.error(&format!("`known` has no `{name}`")));
        }
        self.known = Some(known);
        Ok(())
    }

    // The whole.

    fn finish(self) -> Result<Module, ParseError> {
        for &(kind, number, at) in &self.uses {
            let (found, prefix) = match kind {
                Kind::Class => (self.classes.contains_key(&number), ClassId::PREFIX),
                Kind::Field => (self.fields.contains_key(&number), FieldId::PREFIX),
                Kind::Selector => (self.selectors.contains_key(&number), SelectorId::PREFIX),
                Kind::Global => (self.globals.contains_key(&number), GlobalId::PREFIX),
                Kind::Str => (self.strings.contains_key(&number), StrId::PREFIX),
                Kind::Func => (self.funcs.contains_key(&number), FuncId::PREFIX),
            };
            if !found {
                return Err(ParseError::new(at, format!("{prefix}{number} is not declared")));
            }
        }
        let class_at: Vec<Position> = self.classes.values().map(|c| c.0).collect();
        let mut positions = Vec::new();
        let mut funcs = PrimaryMap::new();
        for body in dense(self.funcs)?.into_iter().map(|(_, b)| b) {
            funcs.push(body.func);
            positions.push(body.insts);
        }
        let mut module = Module {
            classes: dense(self.classes)?,
            fields: dense(self.fields)?,
            selectors: dense(self.selectors)?,
            funcs,
            globals: dense(self.globals)?,
            strings: dense(self.strings)?,
            call_sites: PrimaryMap::new(),
            entry: self.entry,
            known: self.known,
        };
        let count = self.sites.keys().chain(self.used_sites.keys()).max().map_or(0, |s| s.index() + 1);
        if count > 100_000 + self.text_len {
            return Err(ParseError::new(Position::default(), "the number of a call site this high is surely a slip"));
        }
        for site in (0..count).map(CallSiteId::new) {
            let default = CallSite { caller: FuncId::new(0), loc: Loc::default() };
            module.call_sites.push(self.sites.get(&site).or(self.used_sites.get(&site)).copied().unwrap_or(default));
        }
        inherit(&mut module, &class_at)?;
        type_results(&mut module, &positions)?;
        Ok(module)
    }
}

fn declare<K: Declared, T>(table: &mut Table<K, T>, at: Position, id: K, item: T) -> Result<(), ParseError> {
    match table.insert(id.index() as u32, (at, id, item)) {
        None => Ok(()),
        Some(_) => Err(ParseError::new(at, format!("{id} is declared twice"))),
    }
}

fn dense<K: Declared, T>(table: Table<K, T>) -> Result<PrimaryMap<K, T>, ParseError> {
    let mut map = PrimaryMap::with_capacity(table.len());
    for (at, id, item) in table.into_values() {
        if id != map.next_key() {
            return Err(ParseError::new(at, format!("{id} is declared, but {} is not: numbers leave no gaps", map.next_key())));
        }
        map.push(item);
    }
    Ok(map)
}

/// Puts inherited fields before a class's own, and adds the methods that it does not answer itself.
fn inherit(module: &mut Module, at: &[Position]) -> Result<(), ParseError> {
    let mut done = EntitySet::with_capacity(module.classes.len());
    let mut chain = Vec::new();
    for start in module.classes.keys() {
        let mut next = Some(start);
        while let Some(class) = next.filter(|&c| !done.contains(c)) {
            if chain.len() > module.classes.len() {
                return Err(ParseError::new(at[start.index()], format!("{start} extends itself")));
            }
            chain.push(class);
            next = module.classes[class].superclass;
        }
        while let Some(class) = chain.pop() {
            done.insert(class);
            let Some(superclass) = module.classes[class].superclass else { continue };
            let Class { fields, methods, .. } = &module.classes[superclass];
            let (inherited, methods) = (fields.clone(), methods.clone());
            let class = &mut module.classes[class];
            class.fields.splice(0..0, inherited);
            for (selector, func) in methods {
                class.methods.entry(selector).or_insert(func);
            }
        }
    }
    Ok(())
}

/// Gives results their types, once all declarations are known.
fn type_results(module: &mut Module, positions: &[Vec<Position>]) -> Result<(), ParseError> {
    let ids: Vec<FuncId> = module.funcs.keys().collect();
    for (id, at) in ids.into_iter().zip(positions) {
        let mut values = std::mem::take(&mut module.funcs[id].values);
        let func = &module.funcs[id];
        // The type of a `select` is its arm's, which may stand anywhere.
        let mut selects = Vec::new();
        for (inst, data) in func.insts.iter() {
            let ty = data.op.result_ty(module, |v| values[v]);
            match (data.result, ty) {
                (Some(result), Some(ty)) => values[result] = ty,
                (None, None) => {}
                (Some(_), None) => return Err(ParseError::new(at[inst.index()], "this instruction has no result")),
                (None, Some(_)) => return Err(ParseError::new(at[inst.index()], "this instruction has a result: write `v0 = …`")),
            }
            if let (Op::Select { then, .. }, Some(result)) = (&data.op, data.result) {
                selects.push((result, *then));
            }
        }
        // Backwards and forwards until nothing changes; a chain in either order takes one round.
        for _ in 0..selects.len() {
            let mut changed = false;
            for &(result, then) in selects.iter().chain(selects.iter().rev()) {
                changed |= values[result] != values[then];
                values[result] = values[then];
            }
            if !changed {
                break;
            }
        }
        module.funcs[id].values = values;
    }
    Ok(())
}
