//! Declarations of all files: names first, then everything that types are written in.
//!
//! In: parsed files. Out: a [`Checker`] whose tables hold every class, function, object and global with resolved types; supertypes as written (see `hierarchy`).
//! Invariant: a name that is declared twice keeps its first meaning, and the second is reported; both are still checked.

use super::decls::*;
use super::hir::{ClassId, ClassKind, FieldId, FunId, GlobalId, Known};
use super::load::Unit;
use super::types::{Ty, TyKind, TypeParamId, Types};
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::source::{Origin, Span};
use crate::syntax::ast::{self, Item, Name};
use rustc_hash::{FxHashMap, FxHashSet};

/// Parameters of a function, of a constructor, or of a closure: compiled code has a limit, with those that it adds.
const MAX_PARAMS: usize = 4000;

const NO_CLASS: ClassId = ClassId(u32::MAX);

impl<'a> Checker<'a> {
    /// `None` where the library lacks something that the compiler refers to (reported).
    pub fn collect(units: &'a [Unit], check_all: bool) -> Result<Checker<'a>, Diagnostics> {
        let mut checker = Checker {
            types: Types::default(),
            type_params: Vec::new(),
            classes: Vec::new(),
            objects: Vec::new(),
            functions: Vec::new(),
            globals: Vec::new(),
            type_names: FxHashMap::default(),
            value_names: FxHashMap::default(),
            known: no_known(),
            sink: Diagnostics::new(),
            written: Vec::new(),
            queue: Vec::new(),
            called: FxHashSet::default(),
            depth: 0,
            check_all,
            has_gaps: units.iter().any(|unit| unit.broken),
        };
        for unit in units {
            let library = unit.origin == Origin::Library;
            unit.ast.items.iter().for_each(|item| checker.declare(item, library));
        }
        checker.find_known();
        if !checker.sink.is_empty() && checker.known.object == NO_CLASS {
            return Err(checker.sink);
        }
        for i in 0..checker.classes.len() {
            checker.class_header(ClassId(i as u32));
        }
        for i in 0..checker.classes.len() {
            checker.class_members(ClassId(i as u32));
        }
        for i in 0..checker.functions.len() {
            checker.fun_signature(FunId(i as u32));
        }
        for i in 0..checker.globals.len() {
            let (library, decl) = (checker.globals[i].library, checker.globals[i].decl);
            if let Some(ty) = &decl.ty {
                let ty = checker.resolve_type(&TyScope { params: Vec::new(), library }, ty);
                checker.globals[i].ty = Slot::Known(ty);
            }
        }
        Ok(checker)
    }

    fn declare(&mut self, item: &'a Item, library: bool) {
        match item {
            Item::Fun(decl) => {
                let fun = self.add_fun(&decl.name, FunSource::Decl(decl), Owner::None, library);
                self.declare_value(&decl.name, ValueName::Fun(fun), library);
            }
            Item::Global(decl) => {
                let global = self.add_global(decl, None, library);
                self.declare_value(&decl.name, ValueName::Global(global), library);
            }
            Item::Object(decl) => self.declare_object(decl, library),
            Item::Class(decl) => {
                let kind = ClassKind::Class { is_abstract: decl.modifiers.is_abstract.is_some() };
                self.declare_class(&decl.name, ClassSource::Class(decl), kind, library);
            }
            Item::Interface(decl) => self.declare_class(&decl.name, ClassSource::Interface(decl), ClassKind::Interface, library),
        }
    }

    fn add_fun(&mut self, name: &'a Name, source: FunSource<'a>, owner: Owner, library: bool) -> FunId {
        let id = FunId(self.functions.len() as u32);
        self.functions.push(FunInfo {
            name,
            library,
            owner,
            source,
            type_params: Vec::new(),
            params: Vec::new(),
            ret: Slot::Unknown,
            state: BodyState::Idle,
            body: None,
        });
        if let FunSource::Decl(decl) = source
            && let Some(span) = decl.modifiers.is_native
            && !library
        {
            self.error(Code::Reserved, span, "only the library may declare `native` functions");
        }
        id
    }

    fn add_global(&mut self, decl: &'a ast::VarDecl, owner: Option<ObjectId>, library: bool) -> GlobalId {
        let id = GlobalId(self.globals.len() as u32);
        self.globals.push(GlobalInfo { owner, library, decl, ty: Slot::Unknown, init: None });
        id
    }

    fn declare_object(&mut self, decl: &'a ast::ObjectDecl, library: bool) {
        let id = ObjectId(self.objects.len() as u32);
        self.objects.push(ObjectInfo { name: &decl.name, library, members: FxHashMap::default() });
        self.declare_value(&decl.name, ValueName::Object(id), library);
        let mut spans: FxHashMap<&str, Span> = FxHashMap::default();
        for global in &decl.globals {
            let value = ValueName::Global(self.add_global(global, Some(id), library));
            self.declare_in_object(id, &global.name, value, &mut spans, library);
        }
        for fun in &decl.funs {
            let value = ValueName::Fun(self.add_fun(&fun.name, FunSource::Decl(fun), Owner::Object(id), library));
            self.declare_in_object(id, &fun.name, value, &mut spans, library);
        }
    }

    fn declare_in_object(
        &mut self,
        object: ObjectId,
        name: &'a Name,
        value: ValueName,
        spans: &mut FxHashMap<&'a str, Span>,
        library: bool,
    ) {
        self.check_reserved(name, library);
        if let Some(&first) = spans.get(&*name.text) {
            return self.report_duplicate(name, first);
        }
        spans.insert(&name.text, name.span);
        self.objects[object.0 as usize].members.insert(&name.text, value);
    }

    fn declare_class(&mut self, name: &'a Name, source: ClassSource<'a>, kind: ClassKind, library: bool) {
        self.check_reserved(name, library);
        let id = ClassId(self.classes.len() as u32);
        let kind = if library && matches!(&*name.text, "Int" | "Float" | "Bool") { ClassKind::Primitive } else { kind };
        self.classes.push(ClassInfo {
            name,
            library,
            kind,
            source,
            type_params: Vec::new(),
            ty: Ty::ERROR,
            base: None,
            interfaces: Vec::new(),
            above: Box::default(),
            half_known: false,
            fields: Vec::new(),
            methods: Vec::new(),
            members: FxHashMap::default(),
            constructor: None,
            live: false,
        });
        let taken = self.type_names.get(&*name.text).map(|&c| (self.class(c).name.span, self.class(c).library));
        let taken = taken.or_else(|| self.value_names.get(&*name.text).map(|&v| self.value_place(v)));
        match taken {
            Some((first, in_library)) if !self.is_object_only(&name.text) => self.report_taken(name, first, in_library),
            _ if matches!(&*name.text, "Unit" | "Never") => {
                self.error(Code::Duplicate, name.span, format!("`{}` is a type of the language", name.text))
            }
            _ => {
                self.type_names.insert(&name.text, id);
            }
        }
    }

    /// Whether the name is so far only an object's, which a class may share.
    fn is_object_only(&self, name: &str) -> bool {
        !self.type_names.contains_key(name) && matches!(self.value_names.get(name), Some(ValueName::Object(_)))
    }

    fn declare_value(&mut self, name: &'a Name, value: ValueName, library: bool) {
        self.check_reserved(name, library);
        if let Some(&first) = self.value_names.get(&*name.text) {
            let (span, in_library) = self.value_place(first);
            return self.report_taken(name, span, in_library);
        }
        if let Some(&class) = self.type_names.get(&*name.text) {
            let (span, in_library) = (self.class(class).name.span, self.class(class).library);
            if !matches!(value, ValueName::Object(_)) {
                return self.report_taken(name, span, in_library);
            }
        }
        self.value_names.insert(&name.text, value);
    }

    fn value_place(&self, value: ValueName) -> (Span, bool) {
        match value {
            ValueName::Fun(f) => (self.fun(f).name.span, self.fun(f).library),
            ValueName::Global(g) => (self.globals[g.index()].decl.name.span, self.globals[g.index()].library),
            ValueName::Object(o) => (self.objects[o.0 as usize].name.span, self.objects[o.0 as usize].library),
        }
    }

    fn report_taken(&mut self, name: &Name, first: Span, in_library: bool) {
        if !in_library {
            return self.report_duplicate(name, first);
        }
        let problem = Diagnostic::new(Code::Duplicate, name.span, format!("`{}` is already declared in the library", name.text));
        self.report(problem.hint("all files and the library share one namespace: choose another name"));
    }

    pub fn report_duplicate(&mut self, name: &Name, first: Span) {
        let problem = Diagnostic::new(Code::Duplicate, name.span, format!("`{}` is declared twice", name.text));
        self.report(problem.secondary(first, "first declared here"));
    }

    pub fn check_reserved(&mut self, name: &Name, library: bool) {
        if !library && name.text.starts_with("__") {
            let problem =
                Diagnostic::new(Code::Reserved, name.span, format!("`{}`: names that begin with `__` belong to the library", name.text));
            self.report(problem);
        }
    }

    fn find_known(&mut self) {
        let mut known = no_known();
        let mut missing = Vec::new();
        {
            let mut find = |name: &'static str, place: &mut ClassId| match self.type_names.get(name) {
                Some(&class) if self.classes[class.index()].library => *place = class,
                _ => missing.push(name),
            };
            find("Object", &mut known.object);
            find("Str", &mut known.str);
            find("Bytes", &mut known.bytes);
            find("Array", &mut known.array);
            find("Int", &mut known.int);
            find("Float", &mut known.float);
            find("Bool", &mut known.bool);
            find("Range", &mut known.range);
            find("Iterable", &mut known.iterable);
            find("Iterator", &mut known.iterator);
            find("Comparable", &mut known.comparable);
            find("Mutex", &mut known.mutex);
            find("Error", &mut known.error);
            find("NullError", &mut known.null_error);
            find("BoundsError", &mut known.bounds_error);
            find("DivisionError", &mut known.division_error);
            find("CastError", &mut known.cast_error);
            find("StackOverflowError", &mut known.stack_overflow_error);
            find("OutOfMemoryError", &mut known.out_of_memory_error);
            find("ArgumentError", &mut known.argument_error);
            find("StateError", &mut known.state_error);
            find("IoError", &mut known.io_error);
        }
        if missing.is_empty() {
            self.known = known;
            return;
        }
        let problem = Diagnostic::new(Code::BrokenLibrary, Span::default(), format!("the library does not declare {}", missing.join(", ")));
        self.report(problem.hint("this is a fault of the VM's build, not of the program"));
    }

    /// Type parameters and supertypes' places; the type of `this`.
    fn class_header(&mut self, id: ClassId) {
        let (source, library, kind) = (self.class(id).source, self.class(id).library, self.class(id).kind);
        let params = match source {
            ClassSource::Class(decl) => &decl.type_params,
            ClassSource::Interface(decl) => &decl.type_params,
        };
        let ids = self.add_type_params(params, &[], library);
        let ty = match kind {
            ClassKind::Primitive if id == self.known.int => Ty::INT,
            ClassKind::Primitive if id == self.known.float => Ty::FLOAT,
            ClassKind::Primitive => Ty::BOOL,
            _ => {
                let args: Vec<Ty> = ids.iter().map(|&p| self.types.intern(TyKind::Param(p))).collect();
                self.types.class(id, &args)
            }
        };
        let class = &mut self.classes[id.index()];
        class.type_params = ids;
        class.ty = ty;
    }

    fn add_type_params(&mut self, params: &'a [ast::TypeParam], outer: &[(&'a str, TypeParamId)], library: bool) -> Vec<TypeParamId> {
        let mut ids = Vec::new();
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for param in params {
            let id = TypeParamId(self.type_params.len() as u32);
            self.type_params.push(TypeParamInfo { name: &param.name.text, bounds: Vec::new() });
            self.check_reserved(&param.name, library);
            if let Some(&first) = seen.get(&*param.name.text) {
                self.report_duplicate(&param.name, first);
            } else if outer.iter().any(|(name, _)| **name == *param.name.text) {
                self.error(Code::Duplicate, param.name.span, format!("`{}` is already a type parameter of the class", param.name.text));
            }
            seen.insert(&param.name.text, param.name.span);
            ids.push(id);
        }
        ids
    }

    /// Bounds of the parameters (which may mention all of them).
    fn type_param_bounds(&mut self, params: &'a [ast::TypeParam], ids: &[TypeParamId], scope: &TyScope<'a>) {
        for (param, id) in params.iter().zip(ids) {
            let mut bounds = Vec::new();
            for expr in &param.bounds {
                let ty = self.resolve_type(scope, expr);
                match self.kind(ty) {
                    TyKind::Class(..) => bounds.push(ty),
                    TyKind::Error => {}
                    _ => {
                        let shown = self.show(ty);
                        self.error(Code::BadBase, expr.span, format!("`{shown}` cannot be a bound: only classes and interfaces can"));
                    }
                }
            }
            let classes = bounds
                .iter()
                .filter(|&&b| matches!(self.kind(b), TyKind::Class(c, _) if self.class(*c).kind != ClassKind::Interface))
                .count();
            if classes > 1 {
                self.error(Code::BadBase, param.name.span, format!("`{}` has more than one class as a bound", param.name.text));
            }
            self.type_params[id.0 as usize].bounds = bounds;
        }
    }

    /// Fields, methods and the constructor; supertypes are resolved by `hierarchy` right after.
    fn class_members(&mut self, id: ClassId) {
        let scope = TyScope { params: self.type_params_of(id), library: self.class(id).library };
        let ids = self.class(id).type_params.clone();
        match self.class(id).source {
            ClassSource::Class(decl) => {
                self.type_param_bounds(&decl.type_params, &ids, &scope);
                self.class_decl_members(id, decl, &scope);
            }
            ClassSource::Interface(decl) => {
                self.type_param_bounds(&decl.type_params, &ids, &scope);
                decl.funs.iter().for_each(|fun| self.add_method(id, fun));
            }
        }
        self.resolve_supers(id, &scope);
    }

    fn class_decl_members(&mut self, id: ClassId, decl: &'a ast::ClassDecl, scope: &TyScope<'a>) {
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for param in &decl.params {
            self.check_reserved(&param.name, scope.library);
            if let Some(first) = seen.insert(&param.name.text, param.name.span) {
                self.report_duplicate(&param.name, first);
            }
            if let Some(mutability) = param.field {
                let ty = self.resolve_type(scope, &param.ty);
                self.add_field(id, &param.name, Slot::Known(ty), mutability == ast::Mutability::Var, None);
            }
        }
        for member in &decl.members {
            match member {
                ast::Member::Field(var) => {
                    let ty = match &var.ty {
                        Some(ty) => Slot::Known(self.resolve_type(scope, ty)),
                        None => Slot::Unknown,
                    };
                    self.add_field(id, &var.name, ty, var.mutability == ast::Mutability::Var, Some(var));
                }
                ast::Member::Fun(fun) => self.add_method(id, fun),
                ast::Member::Init(_) => {}
            }
        }
        let layout_is_built_in = self.is_builtin(id);
        if layout_is_built_in && !self.class(id).fields.is_empty() {
            self.error(Code::BrokenLibrary, decl.name.span, "a built-in class cannot have fields");
        }
        if !layout_is_built_in {
            let constructor = self.add_fun(&decl.name, FunSource::Constructor(decl), Owner::Class(id), scope.library);
            self.classes[id.index()].constructor = Some(constructor);
        }
    }

    fn add_field(&mut self, class: ClassId, name: &'a Name, ty: Slot, mutable: bool, init: Option<&'a ast::VarDecl>) {
        let field = FieldId(self.class(class).fields.len() as u32);
        self.classes[class.index()].fields.push(FieldInfo { name, ty, mutable, init });
        self.add_member(class, name, Member::Field(field));
    }

    fn add_method(&mut self, class: ClassId, decl: &'a ast::FunDecl) {
        let library = self.class(class).library;
        let fun = self.add_fun(&decl.name, FunSource::Decl(decl), Owner::Class(class), library);
        self.classes[class.index()].methods.push(fun);
        self.add_member(class, &decl.name, Member::Method(fun));
    }

    fn add_member(&mut self, class: ClassId, name: &'a Name, member: Member) {
        self.check_reserved(name, self.class(class).library);
        if let Some(&first) = self.class(class).members.get(&*name.text) {
            let span = self.member_span(class, first);
            if span != name.span {
                let problem = Diagnostic::new(
                    Code::Duplicate,
                    name.span,
                    format!("`{}` is declared twice in `{}`", name.text, self.class(class).name.text),
                );
                self.report(problem.secondary(span, "first declared here").hint("there is no overloading: one name, one member"));
            }
            return;
        }
        self.classes[class.index()].members.insert(&name.text, member);
    }

    pub fn member_span(&self, class: ClassId, member: Member) -> Span {
        match member {
            Member::Field(f) => self.class(class).fields[f.index()].name.span,
            Member::Method(f) => self.fun(f).name.span,
        }
    }

    fn fun_signature(&mut self, id: FunId) {
        let library = self.fun(id).library;
        let mut scope = TyScope { params: Vec::new(), library };
        if let Owner::Class(class) = self.fun(id).owner {
            scope.params = self.type_params_of(class);
        }
        match self.fun(id).source {
            FunSource::Constructor(decl) => {
                self.check_param_count(decl.params.iter().map(|p| &p.name));
                let params = decl.params.iter().map(|p| self.resolve_type(&scope, &p.ty)).collect();
                let info = &mut self.functions[id.index()];
                info.params = params;
                info.ret = Slot::Known(Ty::UNIT);
            }
            FunSource::Decl(decl) => {
                let ids = self.add_type_params(&decl.type_params, &scope.params, library);
                scope.params.extend(decl.type_params.iter().map(|p| &*p.name.text).zip(ids.iter().copied()));
                self.type_param_bounds(&decl.type_params, &ids, &scope);
                self.check_param_names(decl, library);
                self.check_param_count(decl.params.iter().map(|p| &p.name));
                let params = decl.params.iter().map(|p| self.resolve_type(&scope, &p.ty)).collect();
                let ret = match (&decl.ret, &decl.body) {
                    (Some(ty), _) => Slot::Known(self.resolve_result_type(&scope, ty)),
                    (None, ast::FunBody::Expr(_)) => Slot::Unknown,
                    (None, _) => Slot::Known(Ty::UNIT),
                };
                let info = &mut self.functions[id.index()];
                (info.type_params, info.params, info.ret) = (ids, params, ret);
            }
        }
    }

    /// `names`: of a function's, a constructor's or a closure's parameters.
    pub fn check_param_count<'n>(&mut self, names: impl IntoIterator<Item = &'n Name>) {
        let Some(first_beyond) = names.into_iter().nth(MAX_PARAMS) else { return };
        let problem = Diagnostic::new(Code::TooManyThings, first_beyond.span, format!("there are more than {MAX_PARAMS} parameters"));
        self.report(problem.label("the first of them too many").hint("pass a list, an array or an object of a class that holds them"));
    }

    fn check_param_names(&mut self, decl: &'a ast::FunDecl, library: bool) {
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for param in &decl.params {
            self.check_reserved(&param.name, library);
            if let Some(first) = seen.insert(&param.name.text, param.name.span) {
                self.report_duplicate(&param.name, first);
            }
        }
    }
}

fn no_known() -> Known {
    Known {
        object: NO_CLASS,
        str: NO_CLASS,
        bytes: NO_CLASS,
        array: NO_CLASS,
        int: NO_CLASS,
        float: NO_CLASS,
        bool: NO_CLASS,
        range: NO_CLASS,
        iterable: NO_CLASS,
        iterator: NO_CLASS,
        comparable: NO_CLASS,
        mutex: NO_CLASS,
        error: NO_CLASS,
        null_error: NO_CLASS,
        bounds_error: NO_CLASS,
        division_error: NO_CLASS,
        cast_error: NO_CLASS,
        stack_overflow_error: NO_CLASS,
        out_of_memory_error: NO_CLASS,
        argument_error: NO_CLASS,
        state_error: NO_CLASS,
        io_error: NO_CLASS,
    }
}
