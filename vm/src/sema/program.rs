//! The checker's stages in order, and its tables turned into a [`Program`].

use super::Scope;
use super::decls::{BodyState, Checker, Owner, Slot, ValueName};
use super::hir::{self, ClassId, Field, FieldId, FunId, FunctionKind, GlobalId, Program};
use super::load::Unit;
use super::types::Ty;
use crate::diag::{Code, Diagnostic, Diagnostics};
use crate::sema::show::article;
use crate::source::Span;

pub fn check(units: &[Unit], scope: Scope) -> (Option<Program>, Diagnostics) {
    let mut checker = match Checker::collect(units, scope == Scope::Everything) {
        Ok(checker) => checker,
        Err(problems) => return (None, problems),
    };
    checker.close_hierarchy();
    checker.check_written_types();
    checker.reach_roots();
    for i in 0..checker.classes.len() {
        if checker.check_all || !checker.classes[i].library {
            checker.check_class_rules(ClassId(i as u32));
        }
    }
    checker.check_bodies();
    let main = checker.find_main(units);
    if !checker.sink.is_empty() {
        return (None, checker.sink);
    }
    match main.filter(|_| !checker.has_gaps) {
        Some(main) => (Some(checker.into_program(main)), Diagnostics::new()),
        None => (None, checker.sink),
    }
}

impl<'a> Checker<'a> {
    fn check_bodies(&mut self) {
        for i in 0..self.globals.len() {
            self.check_global(GlobalId(i as u32));
        }
        for i in 0..self.classes.len() {
            for f in 0..self.classes[i].fields.len() {
                self.field_ty(ClassId(i as u32), FieldId(f as u32));
            }
        }
        while let Some(fun) = self.queue.pop() {
            self.check_function(fun);
            // Whose result was inferred is known by now.
            self.ret_of(fun);
        }
        // Results of library functions that nobody calls are still part of their declarations.
        for i in 0..self.functions.len() {
            self.ret_of(FunId(i as u32));
        }
        while let Some(fun) = self.queue.pop() {
            self.check_function(fun);
        }
    }

    fn find_main(&mut self, units: &[Unit]) -> Option<FunId> {
        let found = match self.value_names.get("main") {
            Some(ValueName::Fun(fun)) if !self.fun(*fun).library => Some(*fun),
            _ => None,
        };
        let Some(main) = found else {
            if !self.has_gaps && units.iter().any(|u| u.origin == crate::source::Origin::User) {
                let problem = Diagnostic::new(Code::NoMain, Span::default(), "the program has no `fun main()`");
                self.report(problem.hint("a program starts at `fun main() { … }`"));
            }
            return None;
        };
        let (name, params, type_params) = (self.fun(main).name, self.fun(main).params.len(), self.fun(main).type_params.len());
        let ret = self.ret_of(main);
        if type_params > 0 {
            self.report(Diagnostic::new(Code::BadMain, name.span, "`main` takes no type parameters").hint("write `fun main()`"));
        } else if params > 0 {
            let problem = Diagnostic::new(Code::BadMain, name.span, "`main` takes no parameters");
            self.report(problem.hint("the program's arguments are in `args()`"));
        } else if !matches!(ret, Ty::UNIT | Ty::INT | Ty::ERROR | Ty::NEVER) {
            let shown = self.show(ret);
            let problem = Diagnostic::new(Code::BadMain, name.span, format!("`main` gives {a_shown}", a_shown = article(&shown)));
            self.report(problem.hint("it gives nothing, or an `Int`, the program's exit code"));
        }
        Some(main)
    }

    fn into_program(mut self, main: FunId) -> Program {
        let names: Vec<String> = (0..self.functions.len()).map(|i| self.full_name(FunId(i as u32))).collect();
        let global_names: Vec<String> = self.globals.iter().map(|g| self.global_name(g.owner, &g.decl.name.text)).collect();
        let classes = std::mem::take(&mut self.classes);
        let functions = std::mem::take(&mut self.functions);
        let globals = std::mem::take(&mut self.globals);
        Program {
            type_params: self.type_params.into_iter().map(|p| hir::TypeParam { name: p.name.into(), bounds: p.bounds }).collect(),
            classes: classes
                .into_iter()
                .map(|c| hir::Class {
                    name: c.name.text.clone(),
                    kind: c.kind,
                    type_params: c.type_params,
                    base: c.base,
                    interfaces: c.interfaces,
                    fields: c.fields.iter().map(|f| Field { name: f.name.text.clone(), ty: known(f.ty), mutable: f.mutable }).collect(),
                    methods: c.methods,
                    constructor: c.constructor,
                    span: c.name.span,
                })
                .collect(),
            functions: functions
                .into_iter()
                .zip(names)
                .map(|(f, name)| {
                    let kind = if f.is_native() {
                        FunctionKind::Native
                    } else if !f.has_body() {
                        FunctionKind::Abstract
                    } else {
                        match f.body {
                            Some(body) if f.state == BodyState::Checked => FunctionKind::Body(body),
                            _ => FunctionKind::Unused,
                        }
                    };
                    let owner = if let Owner::Class(class) = f.owner { Some(class) } else { None };
                    hir::Function {
                        name: name.into(),
                        owner,
                        type_params: f.type_params,
                        params: f.params,
                        ret: known(f.ret),
                        kind,
                        span: f.name.span,
                    }
                })
                .collect(),
            globals: globals
                .into_iter()
                .zip(global_names)
                .map(|(g, name)| hir::Global {
                    name: name.into(),
                    ty: known(g.ty),
                    mutable: g.decl.mutability == crate::syntax::ast::Mutability::Var,
                    init: g.init.unwrap_or(hir::Body {
                        locals: Vec::new(),
                        params: Vec::new(),
                        block: hir::Block { stmts: Vec::new(), value: None },
                    }),
                })
                .collect(),
            main,
            known: self.known,
            types: self.types,
        }
    }

    fn global_name(&self, owner: Option<super::decls::ObjectId>, name: &str) -> String {
        match owner {
            Some(object) => format!("{}.{name}", self.objects[object.0 as usize].name.text),
            None => name.to_string(),
        }
    }
}

fn known(slot: Slot) -> Ty {
    match slot {
        Slot::Known(ty) => ty,
        _ => Ty::ERROR,
    }
}
