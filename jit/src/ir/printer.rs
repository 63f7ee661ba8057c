//! The text form of a module: `Display` of [`Module`], and [`print_function`] for one function.
//!
//! In: any module, broken ones too. Out: text that [`super::parser::parse`] reads back. Printing what was parsed gives the same text again; parsing what was printed gives an equal module if functions are
//! numbered densely in layout order (as [`super::FunctionBuilder`] leaves them) and classes keep the module's invariants. User names after `//` are for the reader only.
//!
//! ```text
//! class1 "Point" extends class0 {
//!   field0 "x": int
//!   sel0 -> fn1
//! }
//! sel0 class0 "hash"(class0) -> int
//! fn1 "Point.hash"(class1) -> int @17 {
//! block0(v0: ref):
//!   v1 = load v0.field0 @21 // Point.x
//!   v2 = iconst 7
//!   try idiv v1, v2 normal block1() unwind block2(v1) @23
//! …
//! ```
//! A body that others were inlined into begins with what the positions `@in0`, `@in1` … stand for, one line each: `in0 fn4 @17 site2 @33` is position 17 of fn4, called by site2, the call being at 33.
//! Left out because they follow from the rest: inherited fields and methods; call sites used once, in their caller, at their position.

use super::entities::*;
use super::inst::{Barrier, BlockCall, Null, Op, Terminator};
use super::mnemonic::Mnemonic;
use super::module::*;
use super::types::TypeDesc;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use std::fmt::{self, Display, Formatter, Write};

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (id, text) in self.strings.iter() {
            writeln!(f, "{id} {}", Quoted(text))?;
        }
        self.classes.iter().try_for_each(|(id, class)| print_class(f, self, id, class))?;
        for (id, selector) in self.selectors.iter() {
            write!(f, "{id} {} {}", selector.class, Quoted(&selector.name))?;
            print_signature(f, &selector.params, selector.ret)?;
            writeln!(f)?;
        }
        for (id, global) in self.globals.iter() {
            writeln!(f, "{id} {}: {}", Quoted(&global.name), global.ty)?;
        }
        if let Some(entry) = self.entry {
            writeln!(f, "entry main {} thread {}", entry.main, entry.thread)?;
        }
        if let Some(known) = &self.known {
            writeln!(f, "known {{")?;
            known.classes().into_iter().try_for_each(|(name, id)| writeln!(f, "  {name} {id}"))?;
            known.fields().into_iter().try_for_each(|(name, id)| writeln!(f, "  {name} {id}"))?;
            writeln!(f, "}}")?;
        }
        let implied = implied_call_sites(self);
        for (id, site) in self.call_sites.iter() {
            if implied[id] != Some(*site) {
                writeln!(f, "{id} {} @{}", site.caller, site.loc.0)?;
            }
        }
        for (id, func) in self.funcs.iter() {
            writeln!(f)?;
            write_function(f, self, id, func)?;
        }
        Ok(())
    }
}

/// One function's text, as it stands in its module's.
pub fn print_function(module: &Module, id: FuncId) -> String {
    print_body(module, id, &module.funcs[id])
}

/// Text of a function that does not stand in the module (yet).
pub fn print_body(module: &Module, id: FuncId, func: &Function) -> String {
    let mut text = String::new();
    write_function(&mut text, module, id, func).expect("writing to a string does not fail");
    text
}

/// An operation without its result.
pub fn op_text(op: &Op) -> String {
    let mut text = String::new();
    print_op(&mut text, op).expect("writing to a string does not fail");
    text
}

pub fn terminator_text(terminator: &Terminator) -> String {
    let mut text = String::new();
    print_terminator(&mut text, terminator).expect("writing to a string does not fail");
    text
}

/// Where each call site is first used, as the parser takes it for those it finds no line for.
pub(super) fn implied_call_sites(module: &Module) -> SecondaryMap<CallSiteId, Option<CallSite>> {
    let mut sites: SecondaryMap<CallSiteId, Option<CallSite>> = SecondaryMap::new();
    for (caller, func) in module.funcs.iter() {
        let mut used = |site: CallSiteId, loc| {
            if module.call_sites.is_valid(site) {
                sites[site].get_or_insert(call_site_at(&func.inlined, caller, loc));
            }
        };
        func.inlined.values().for_each(|i| used(i.site, i.call));
        let mut visit = |op: &Op, loc| match op {
            Op::Call { site, .. } | Op::CallVirtual { site, .. } => used(*site, loc),
            _ => {}
        };
        for block in func.layout.iter().map(|&b| &func.blocks[b]) {
            block.insts.iter().for_each(|&i| visit(&func.insts[i].op, func.insts[i].loc));
            if let Some(Terminator::Try { op, .. }) = &block.terminator {
                visit(op, block.terminator_loc);
            }
        }
    }
    sites
}

/// A call's site follows from its position: where it was inlined from, its callee is the caller.
pub(super) fn call_site_at(inlined: &PrimaryMap<InlinedId, Inlined>, caller: FuncId, loc: Loc) -> CallSite {
    let inside = loc.inlined().and_then(|id| inlined.get(id));
    inside.map_or(CallSite { caller, loc }, |i| CallSite { caller: i.callee, loc: i.loc })
}

fn print_class(f: &mut Formatter<'_>, module: &Module, id: ClassId, class: &Class) -> fmt::Result {
    write!(f, "{id} ")?;
    match class.kind {
        ClassKind::Concrete => {}
        ClassKind::Abstract => write!(f, "abstract ")?,
        ClassKind::Interface => write!(f, "interface ")?,
        ClassKind::Array(kind) => write!(f, "array {} ", kind.word())?,
    }
    write!(f, "{}", Quoted(&class.name))?;
    if let Some(superclass) = class.superclass {
        write!(f, " extends {superclass}")?;
    }
    for (i, interface) in class.interfaces.iter().enumerate() {
        write!(f, "{}{interface}", if i == 0 { " implements " } else { ", " })?;
    }
    let superclass = class.superclass.and_then(|s| module.classes.get(s));
    let inherits = |(selector, func): &(&SelectorId, &FuncId)| superclass.is_some_and(|s| s.methods.get(selector) == Some(func));
    let fields: Vec<_> = class.fields.iter().filter(|&&f| module.fields.get(f).is_some_and(|f| f.class == id)).collect();
    let methods: Vec<_> = class.methods.iter().filter(|m| !inherits(m)).collect();
    if fields.is_empty() && methods.is_empty() {
        return writeln!(f);
    }
    writeln!(f, " {{")?;
    for &&field in &fields {
        let Field { name, ty, is_final, .. } = &module.fields[field];
        writeln!(f, "  {field} {}{}: {ty}", if *is_final { "final " } else { "" }, Quoted(name))?;
    }
    for (selector, func) in methods {
        write!(f, "  {selector} -> {func}")?;
        comment(f, module.funcs.get(*func).map(|f| f.name.to_string()))?;
        writeln!(f)?;
    }
    writeln!(f, "}}")
}

fn print_signature(f: &mut impl Write, params: &[TypeDesc], ret: Option<TypeDesc>) -> fmt::Result {
    write!(f, "({})", Commas(params))?;
    ret.map_or(Ok(()), |ret| write!(f, " -> {ret}"))
}

fn write_function(f: &mut impl Write, module: &Module, id: FuncId, func: &Function) -> fmt::Result {
    write!(f, "{id} {}", Quoted(&func.name))?;
    print_signature(f, &func.params, func.ret)?;
    print_loc(f, func.loc)?;
    if func.start == Start::Loop {
        write!(f, " loop")?;
    }
    if func.layout.is_empty() {
        return writeln!(f);
    }
    writeln!(f, " {{")?;
    for (id, Inlined { callee, loc, site, call }) in func.inlined.iter() {
        write!(f, "{id} {callee}")?;
        print_loc(f, *loc)?;
        write!(f, " {site}")?;
        print_loc(f, *call)?;
        comment(f, module.funcs.get(*callee).map(|f| f.name.to_string()))?;
        writeln!(f)?;
    }
    for &block in &func.layout {
        write!(f, "{block}(")?;
        for (i, &param) in func.blocks[block].params.iter().enumerate() {
            let ty = func.values.get(param).map_or("?", |ty| ty.word());
            write!(f, "{}{param}: {ty}", if i == 0 { "" } else { ", " })?;
        }
        writeln!(f, "):")?;
        for data in func.blocks[block].insts.iter().map(|&i| &func.insts[i]) {
            write!(f, "  ")?;
            data.result.map_or(Ok(()), |result| write!(f, "{result} = "))?;
            print_op(f, &data.op)?;
            print_loc(f, data.loc)?;
            comment(f, names(module, &data.op))?;
            writeln!(f)?;
        }
        if let Some(terminator) = &func.blocks[block].terminator {
            write!(f, "  ")?;
            print_terminator(f, terminator)?;
            print_loc(f, func.blocks[block].terminator_loc)?;
            if let Terminator::Try { op, .. } = terminator {
                comment(f, names(module, op))?;
            }
            writeln!(f)?;
        }
    }
    writeln!(f, "}}")
}

fn print_loc(f: &mut impl Write, loc: Loc) -> fmt::Result {
    match loc.inlined() {
        Some(id) => write!(f, " @{id}"),
        None if loc == Loc::default() => Ok(()),
        None => write!(f, " @{}", loc.0),
    }
}

fn comment(f: &mut impl Write, text: Option<String>) -> fmt::Result {
    let Some(text) = text else { return Ok(()) };
    let line: String = text.chars().take(60).flat_map(char::escape_debug).collect();
    write!(f, " // {line}")
}

/// What the ids in `op` are called in the source.
fn names(module: &Module, op: &Op) -> Option<String> {
    let class = |c: &ClassId| module.classes.get(*c).map(|c| c.name.to_string());
    let field = |f: &FieldId| module.fields.get(*f).map(|f| format!("{}.{}", class(&f.class).unwrap_or_default(), f.name));
    match op {
        Op::StrConst(str) => module.strings.get(*str).map(|s| s.to_string()),
        Op::New(c) | Op::NewArray(c, _) | Op::InstanceOf(c, _) | Op::HasClass(c, _) | Op::CheckCast(c, _) => class(c),
        Op::LoadField(f, ..) | Op::StoreField { field: f, .. } | Op::Atomic(_, f, ..) | Op::AtomicCas(f, ..) => field(f),
        Op::LoadGlobal(g) | Op::StoreGlobal(g, _) => module.globals.get(*g).map(|g| g.name.to_string()),
        Op::Call { func, .. } => module.funcs.get(*func).map(|f| f.name.to_string()),
        Op::CallVirtual { selector, .. } => {
            module.selectors.get(*selector).map(|s| format!("{}.{}", class(&s.class).unwrap_or_default(), s.name))
        }
        _ => None,
    }
}

fn print_op(f: &mut impl Write, op: &Op) -> fmt::Result {
    match op {
        Op::IConst(n) => write!(f, "iconst {n}"),
        Op::FConst(bits) => write!(f, "fconst {}", FloatBits(*bits)),
        Op::BConst(b) => write!(f, "bconst {b}"),
        Op::Null => write!(f, "null"),
        Op::StrConst(s) => write!(f, "str_const {s}"),
        Op::Unary(op, a) => write!(f, "{} {a}", op.word()),
        Op::Binary(op, a, b) => write!(f, "{} {a}, {b}", op.word()),
        Op::ICmp(cmp, a, b) => write!(f, "icmp {} {a}, {b}", cmp.word()),
        Op::FCmp(cmp, a, b) => write!(f, "fcmp {} {a}, {b}", cmp.word()),
        Op::RefEq(a, b) => write!(f, "ref_eq {a}, {b}"),
        Op::Select { cond, then, els } => write!(f, "select {cond}, {then}, {els}"),
        Op::New(c) => write!(f, "new {c}"),
        Op::NewArray(c, n) => write!(f, "new_array {c}, {n}"),
        Op::LoadField(field, o, null) => write!(f, "load {o}.{field}{}", null_word(*null)),
        Op::StoreField { field, object, value, null, barrier } => {
            write!(f, "store {object}.{field}, {value}{}{}", null_word(*null), barrier_word(*barrier))
        }
        Op::ArrayLen(a, null) => write!(f, "array_len {a}{}", null_word(*null)),
        Op::CheckBounds(a, i) => write!(f, "check_bounds {a}, {i}"),
        Op::CheckIndex { array, index, length } => write!(f, "check_index {array}, {index}, {length}"),
        Op::LoadElem(kind, a, i) => write!(f, "load_elem {} {a}[{i}]", kind.word()),
        Op::StoreElem(kind, a, i, v, barrier) => write!(f, "store_elem {} {a}[{i}], {v}{}", kind.word(), barrier_word(*barrier)),
        Op::NullCheck(v) => write!(f, "null_check {v}"),
        Op::InstanceOf(c, v) => write!(f, "instance_of {c}, {v}"),
        Op::HasClass(c, v) => write!(f, "has_class {c}, {v}"),
        Op::CheckCast(c, v) => write!(f, "check_cast {c}, {v}"),
        Op::LoadGlobal(g) => write!(f, "load_global {g}"),
        Op::StoreGlobal(g, v) => write!(f, "store_global {g}, {v}"),
        Op::Atomic(op, field, o, v) => {
            write!(f, "atomic_{} {o}.{field}", op.word())?;
            v.map_or(Ok(()), |v| write!(f, ", {v}"))
        }
        Op::AtomicCas(field, o, expected, new) => write!(f, "atomic_cas {o}.{field}, {expected}, {new}"),
        Op::Call { func, args, site } => write!(f, "call {func}({}) {site}", Commas(args)),
        Op::CallVirtual { selector, args, site } => write!(f, "call_virtual {selector}({}) {site}", Commas(args)),
        Op::CallBuiltin { builtin, args } => write!(f, "call_builtin {}({})", builtin.name(), Commas(args)),
        Op::Poll => write!(f, "poll"),
        Op::ExitPoll { exit, live } => write!(f, "exit_poll {exit}({})", Commas(live)),
        Op::WatchedPoll { exit } => write!(f, "watched_poll {exit}"),
        Op::Probe => write!(f, "probe"),
    }
}

fn null_word(null: Null) -> &'static str {
    match null {
        Null::Throws => "",
        Null::Never => " nonnull",
    }
}

fn barrier_word(barrier: Barrier) -> &'static str {
    match barrier {
        Barrier::Needed => "",
        Barrier::Elided => " nobarrier",
    }
}

fn print_terminator(f: &mut impl Write, terminator: &Terminator) -> fmt::Result {
    match terminator {
        Terminator::Jump(to) => write!(f, "jump {to}"),
        Terminator::Branch { cond, then, els } => write!(f, "branch {cond}, {then}, {els}"),
        Terminator::Switch { index, targets, default } => write!(f, "switch {index}, [{}], {default}", Commas(targets)),
        Terminator::Return(None) => write!(f, "return"),
        Terminator::Return(Some(v)) => write!(f, "return {v}"),
        Terminator::Throw(v) => write!(f, "throw {v}"),
        Terminator::Try { op, normal, unwind } => {
            write!(f, "try ")?;
            print_op(f, op)?;
            write!(f, " normal {normal} unwind {unwind}")
        }
        Terminator::Leave { exit, live } => write!(f, "leave {exit}({})", Commas(live)),
        Terminator::Unreachable => write!(f, "unreachable"),
    }
}

impl Display for BlockCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.args.is_empty() { write!(f, "{}", self.block) } else { write!(f, "{}({})", self.block, Commas(&self.args)) }
    }
}

impl Display for TypeDesc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            TypeDesc::Ref { class, nullable } => write!(f, "{class}{}", if *nullable { "?" } else { "" }),
            other => write!(f, "{}", other.ty().word()),
        }
    }
}

struct Commas<'a, T>(&'a [T]);

impl<T: Display> Display for Commas<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// In quotes, with `\" \\ \n \r \t \u{…}`.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' | '\n' | '\r' | '\t' => write!(f, "{}", c.escape_default())?,
                c if c.is_control() => write!(f, "{}", c.escape_unicode())?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// The shortest decimal that reads back as the same double; the bits of a NaN that is not the usual one.
struct FloatBits(u64);

impl Display for FloatBits {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let value = f64::from_bits(self.0);
        if value.is_nan() && self.0 != f64::NAN.to_bits() {
            return write!(f, "{:#018x}", self.0);
        }
        write!(f, "{value:?}")
    }
}
