//! Checks that a module keeps the IR's rules, so that interpreter, optimizer and code generator need not.
//!
//! In: any module. Out: what is wrong with it, empty if nothing (at most [`MAX_PROBLEMS`]). Never panics, and takes about linear time.
//! The rules about classes stand here, those about code in `function`.

mod function;

use super::*;
use cranelift_entity::{EntityRef, SecondaryMap};
use std::fmt;

/// Where a list of problems is cut off.
pub const MAX_PROBLEMS: usize = 100;

#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    pub func: Option<FuncId>,
    pub block: Option<Block>,
    /// Text of the instruction or terminator.
    pub inst: Option<String>,
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.func.map_or(Ok(()), |func| write!(f, "{func} "))?;
        self.block.map_or(Ok(()), |block| write!(f, "{block} "))?;
        self.inst.as_ref().map_or(Ok(()), |inst| write!(f, "`{inst}` "))?;
        write!(f, "{}{}", if self.func.is_some() { "- " } else { "" }, self.message)
    }
}

/// All problems of a module and its functions.
pub fn verify(module: &Module) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut checker = ModuleChecker { module, problems: &mut problems };
    checker.check();
    if !problems.is_empty() {
        // Functions are checked against classes and signatures, which must make sense first.
        problems.truncate(MAX_PROBLEMS);
        return problems;
    }
    for (id, func) in module.funcs.iter() {
        if !func.layout.is_empty() {
            problems.extend(function::check(module, id, func));
        }
        if problems.len() >= MAX_PROBLEMS {
            break;
        }
    }
    problems.truncate(MAX_PROBLEMS);
    problems
}

/// Problems of one function, which need not stand in the (otherwise sound) module yet.
pub fn verify_function(module: &Module, id: FuncId, func: &Function) -> Vec<Problem> {
    function::check(module, id, func)
}

struct ModuleChecker<'a> {
    module: &'a Module,
    problems: &'a mut Vec<Problem>,
}

impl ModuleChecker<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.problems.push(Problem { func: None, block: None, inst: None, message: message.into() });
    }

    fn require(&mut self, ok: bool, message: impl FnOnce() -> String) {
        if !ok {
            self.report(message());
        }
    }

    /// Ids first, then what they lead to.
    fn check(&mut self) {
        self.ids();
        if !self.problems.is_empty() {
            return;
        }
        self.superclasses();
        if !self.problems.is_empty() {
            return;
        }
        self.module.classes.keys().for_each(|id| self.class(id));
        self.fields();
        self.selectors();
        self.understood();
        self.entry();
        self.known();
    }

    fn ids(&mut self) {
        let m = self.module;
        let mut bad = Vec::new();
        let class = |id: ClassId| m.classes.is_valid(id);
        let ty = |ty: &TypeDesc| !matches!(ty, TypeDesc::Ref { class, .. } if !m.classes.is_valid(*class));
        for (id, c) in m.classes.iter() {
            let ids_ok =
                c.superclass.is_none_or(class) && c.interfaces.iter().all(|&i| class(i)) && c.fields.iter().all(|&f| m.fields.is_valid(f));
            if !ids_ok || !c.methods.iter().all(|(&s, &f)| m.selectors.is_valid(s) && m.funcs.is_valid(f)) {
                bad.push(id.to_string());
            }
        }
        bad.extend(m.fields.iter().filter(|(_, f)| !class(f.class) || !ty(&f.ty)).map(|(id, _)| id.to_string()));
        bad.extend(m.globals.iter().filter(|(_, g)| !ty(&g.ty)).map(|(id, _)| id.to_string()));
        let signature = |params: &[TypeDesc], ret: &Option<TypeDesc>| params.iter().chain(ret).all(ty);
        bad.extend(m.selectors.iter().filter(|(_, s)| !class(s.class) || !signature(&s.params, &s.ret)).map(|(id, _)| id.to_string()));
        bad.extend(m.funcs.iter().filter(|(_, f)| !signature(&f.params, &f.ret)).map(|(id, _)| id.to_string()));
        bad.extend(m.call_sites.iter().filter(|(_, s)| !m.funcs.is_valid(s.caller)).map(|(id, _)| id.to_string()));
        if m.entry.is_some_and(|e| !m.funcs.is_valid(e.main) || !m.funcs.is_valid(e.thread)) {
            bad.push("entry".into());
        }
        let known = m.known.iter();
        let dangling = |k: &Known| k.classes().iter().any(|&(_, c)| !class(c)) || k.fields().iter().any(|&(_, f)| !m.fields.is_valid(f));
        bad.extend(known.filter(|k| dangling(k)).map(|_| "known".to_string()));
        bad.into_iter().for_each(|what| self.report(format!("{what} mentions an id that does not exist")));
    }

    /// The chains of superclasses end.
    fn superclasses(&mut self) {
        let classes = &self.module.classes;
        let mut ends: SecondaryMap<ClassId, bool> = SecondaryMap::with_capacity(classes.len());
        for start in classes.keys() {
            let chain = || std::iter::successors(Some(start), |&c| classes[c].superclass).take_while(|&c| !ends[c]);
            // A chain longer than there are classes goes round.
            let chain: Vec<ClassId> = chain().take(classes.len() + 1).collect();
            if chain.len() > classes.len() {
                return self.report(format!("{start} extends itself"));
            }
            chain.into_iter().for_each(|c| ends[c] = true);
        }
    }

    fn class(&mut self, id: ClassId) {
        let m = self.module;
        let class = &m.classes[id];
        let is_interface = |c: ClassId| m.classes[c].kind == ClassKind::Interface;
        self.require(class.interfaces.is_sorted_by(|a, b| a < b), || format!("the interfaces of {id} are not sorted"));
        self.require(class.interfaces.iter().all(|&i| is_interface(i)), || format!("{id} implements a class"));
        for &interface in &class.interfaces {
            let transitive = m.classes[interface].interfaces.iter().all(|i| class.interfaces.binary_search(i).is_ok());
            self.require(transitive, || format!("{id} implements {interface}, but not what that extends"));
        }
        let has_fields_of_its_own = class.fields.iter().any(|&f| m.fields[f].class == id);
        let may_have_fields = matches!(class.kind, ClassKind::Concrete | ClassKind::Abstract);
        self.require(may_have_fields || !has_fields_of_its_own, || format!("{id} has fields, but is an array or interface"));
        let inherited = class.superclass.map_or(&[][..], |s| &m.classes[s].fields);
        self.require(class.fields.starts_with(inherited), || format!("the fields of {id} do not begin with its superclass's"));
        let own = class.fields.get(inherited.len()..).unwrap_or_default();
        let own_ok = own.iter().all(|&f| m.fields[f].class == id);
        self.require(own_ok, || format!("{id} lists a field that another class declares"));
        if let Some(superclass) = class.superclass {
            let sup = &m.classes[superclass];
            self.require(!is_interface(superclass), || format!("{id} extends an interface"));
            let interfaces_ok = sup.interfaces.iter().all(|i| class.interfaces.binary_search(i).is_ok());
            self.require(interfaces_ok, || format!("{id} lacks an interface of its superclass"));
            let missing = sup.methods.keys().find(|s| !class.methods.contains_key(s)).copied();
            missing.into_iter().for_each(|s| self.report(format!("{id} does not understand {s}, which its superclass does")));
        }
        for (&selector, &func) in &class.methods {
            let (s, f) = (&m.selectors[selector], &m.funcs[func]);
            let same =
                s.params.iter().map(|p| p.ty()).eq(f.params.iter().map(|p| p.ty())) && s.ret.map(|t| t.ty()) == f.ret.map(|t| t.ty());
            self.require(same, || format!("{id} answers {selector} with {func}, whose signature differs"));
        }
    }

    /// Each field stands in its class's list, once.
    fn fields(&mut self) {
        let mut seen: SecondaryMap<FieldId, u32> = SecondaryMap::with_capacity(self.module.fields.len());
        for (id, class) in self.module.classes.iter() {
            class.fields.iter().filter(|&&f| self.module.fields[f].class == id).for_each(|&f| seen[f] += 1);
        }
        for field in self.module.fields.keys() {
            self.require(seen[field] == 1, || format!("{field} stands {} times in its class's list", seen[field]));
        }
    }

    fn selectors(&mut self) {
        for (id, selector) in self.module.selectors.iter() {
            let ok = selector.params.first().is_some_and(|p| p.ty() == Ty::Ref);
            self.require(ok, || format!("{id} has no receiver"));
        }
    }

    /// Every class with instances answers those of its superclasses' and interfaces' selectors that some code calls: a virtual call always finds a function.
    fn understood(&mut self) {
        let m = self.module;
        let called = called_selectors(m);
        let mut declared: SecondaryMap<ClassId, Vec<SelectorId>> = SecondaryMap::with_capacity(m.classes.len());
        m.selectors.iter().filter(|(id, _)| called[*id]).for_each(|(id, s)| declared[s.class].push(id));
        for (id, class) in m.classes.iter().filter(|(_, c)| matches!(c.kind, ClassKind::Concrete | ClassKind::Array(_))) {
            // What a superclass with instances answers, its subclasses do too.
            let has_instances = |c: ClassId| matches!(m.classes[c].kind, ClassKind::Concrete | ClassKind::Array(_));
            let chain = std::iter::successors(Some(id), |&c| m.classes[c].superclass.filter(|&s| !has_instances(s)));
            let missing = chain.chain(class.interfaces.iter().copied()).flat_map(|c| &declared[c]).find(|s| !class.methods.contains_key(s));
            missing.into_iter().for_each(|s| self.report(format!("{id} does not answer {s}")));
        }
    }

    /// A program that can start has code for all it may call.
    fn entry(&mut self) {
        let m = self.module;
        let Some(entry) = m.entry else { return };
        let main = &m.funcs[entry.main];
        self.require(main.params.is_empty() && matches!(main.ret, None | Some(TypeDesc::Int)), || "main has the wrong signature".into());
        let thread = &m.funcs[entry.thread];
        let thread_ok = thread.ret.is_none() && matches!(thread.params.as_slice(), [TypeDesc::Ref { .. }]);
        self.require(thread_ok, || "the thread function has the wrong signature".into());
        for func in m.funcs.keys() {
            self.require(!m.funcs[func].layout.is_empty(), || format!("{func} has no body"));
        }
    }

    fn known(&mut self) {
        let m = self.module;
        let Some(known) = &m.known else { return };
        let kinds = [
            ("str", known.str, ElemKind::Byte),
            ("bytes", known.bytes, ElemKind::Byte),
            ("str_array", known.str_array, ElemKind::Ref),
            ("int_array", known.int_array, ElemKind::Int),
        ];
        for (name, class, kind) in kinds {
            self.require(m.classes[class].kind == ClassKind::Array(kind), || format!("known {name} is the wrong kind of class"));
        }
        for (name, class) in known.classes().into_iter().filter(|(name, _)| name.ends_with("_error")) {
            self.require(m.is_subclass(class, known.error), || format!("known {name} is no subclass of error"));
            self.require(m.classes[class].kind == ClassKind::Concrete, || format!("known {name} cannot be allocated"));
        }
        for (name, field) in known.fields() {
            let wanted = if name.starts_with("mutex") { Ty::Int } else { Ty::Ref };
            self.require(m.fields[field].ty.ty() == wanted, || format!("known {name} has the wrong type"));
            let in_error = name.starts_with("mutex") || m.fields[field].class == known.error;
            self.require(in_error, || format!("known {name} is no field of error"));
        }
    }
}

fn called_selectors(module: &Module) -> SecondaryMap<SelectorId, bool> {
    let mut called = SecondaryMap::with_capacity(module.selectors.len());
    let mut visit = |op: &Op| match op {
        Op::CallVirtual { selector, .. } if exists(&module.selectors, *selector) => called[*selector] = true,
        _ => {}
    };
    for func in module.funcs.values() {
        func.insts.values().for_each(|inst| visit(&inst.op));
        for block in func.blocks.values() {
            if let Some(Terminator::Try { op, .. }) = &block.terminator {
                visit(op);
            }
        }
    }
    called
}

/// Whether `id` is one of a map's keys.
fn exists<K: EntityRef, V>(map: &cranelift_entity::PrimaryMap<K, V>, id: K) -> bool {
    map.is_valid(id)
}
