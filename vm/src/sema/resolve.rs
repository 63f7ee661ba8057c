//! Written types to [`Ty`]s.
//!
//! In: a type as written, the type parameters in scope. Out: its `Ty`, `Error` where it is wrong (reported). Whether arguments meet their bounds is checked
//! later, from [`Checker::written`](super::decls::Checker), when the hierarchy is known.

use super::decls::{Checker, TyScope, ValueName, WrittenType};
use super::show::count;
use super::types::{Ty, TyKind};
use crate::diag::{Code, Diagnostic};
use crate::syntax::ast::{Name, TypeExpr, TypeKind};

impl<'a> Checker<'a> {
    pub fn resolve_type(&mut self, scope: &TyScope<'a>, expr: &'a TypeExpr) -> Ty {
        let ty = self.resolve_result_type(scope, expr);
        if ty == Ty::NEVER {
            let problem = Diagnostic::new(Code::NotAType, expr.span, "`Never` is only the result of a function that does not return");
            self.report(problem);
            return Ty::ERROR;
        }
        ty
    }

    /// As [`Self::resolve_type`], where `Never` may stand.
    pub fn resolve_result_type(&mut self, scope: &TyScope<'a>, expr: &'a TypeExpr) -> Ty {
        match &expr.kind {
            TypeKind::Error => Ty::ERROR,
            TypeKind::Nullable(inner) => {
                let inner = self.resolve_type(scope, inner);
                self.types.nullable(inner)
            }
            TypeKind::Fun { params, ret } => {
                let params: Vec<Ty> = params.iter().map(|p| self.resolve_type(scope, p)).collect();
                let ret = self.resolve_result_type(scope, ret);
                self.types.fun(&params, ret)
            }
            TypeKind::Named { name, args } => self.resolve_named(scope, expr, name, args),
        }
    }

    fn resolve_named(&mut self, scope: &TyScope<'a>, expr: &'a TypeExpr, name: &'a Name, args: &'a [TypeExpr]) -> Ty {
        let text = &*name.text;
        let simple = match text {
            "Unit" => Some(Ty::UNIT),
            "Never" => Some(Ty::NEVER),
            _ => scope.params.iter().rev().find(|(n, _)| *n == text).map(|&(_, p)| self.types.intern(TyKind::Param(p))),
        };
        if let Some(ty) = simple {
            if !args.is_empty() {
                self.error(Code::TypeArgumentCount, expr.span, format!("`{text}` takes no type arguments"));
            }
            return ty;
        }
        let args_given: Vec<Ty> = args.iter().map(|a| self.resolve_type(scope, a)).collect();
        let Some(&class) = self.type_names.get(text).filter(|_| scope.library || !text.starts_with("__")) else {
            self.unknown_type(scope, name);
            return Ty::ERROR;
        };
        let wanted = self.class(class).type_params.len();
        if wanted != args_given.len() {
            self.wrong_type_arguments(expr, text, wanted, args_given.len());
            return Ty::ERROR;
        }
        if self.class(class).kind == super::hir::ClassKind::Primitive {
            return self.class(class).ty;
        }
        let ty = self.types.class(class, &args_given);
        if wanted > 0 {
            self.written.push(WrittenType { ty, span: expr.span });
        }
        ty
    }

    fn wrong_type_arguments(&mut self, expr: &TypeExpr, name: &str, wanted: usize, given: usize) {
        let problem = match (wanted, given) {
            (0, _) => Diagnostic::new(Code::TypeArgumentCount, expr.span, format!("`{name}` takes no type arguments")),
            (_, 0) => Diagnostic::new(Code::TypeArgumentCount, expr.span, format!("`{name}` needs {}", count(wanted, "type argument")))
                .hint(format!("write `{name}<{}>`", vec!["…"; wanted].join(", "))),
            _ => Diagnostic::new(
                Code::TypeArgumentCount,
                expr.span,
                format!("`{name}` needs {}, not {given}", count(wanted, "type argument")),
            ),
        };
        self.report(problem);
    }

    fn unknown_type(&mut self, scope: &TyScope<'a>, name: &'a Name) {
        let text = &*name.text;
        let what = match self.value_names.get(text) {
            Some(ValueName::Object(_)) => Some("an object, a namespace"),
            Some(ValueName::Fun(_)) => Some("a function"),
            Some(ValueName::Global(_)) => Some("a variable"),
            None => None,
        };
        if let Some(what) = what.filter(|_| scope.library || !text.starts_with("__")) {
            return self.error(Code::NotAType, name.span, format!("`{text}` is {what}, not a type"));
        }
        let known = self.type_names.keys().copied().filter(|n| scope.library || !n.starts_with("__"));
        let near = foreign(text)
            .or_else(|| self.near(text, known.chain(scope.params.iter().map(|(n, _)| *n)).chain(["Unit"])).map(str::to_string));
        let problem = Diagnostic::new(Code::UnknownType, name.span, format!("there is no type `{text}`"));
        self.report(problem.maybe_hint(near.map(|n| format!("did you mean `{n}`?"))));
    }
}

/// Types of other languages.
fn foreign(name: &str) -> Option<String> {
    let ours = match name {
        "String" | "string" | "str" => "Str",
        "int" | "Integer" | "Long" | "long" | "i64" | "i32" | "Int64" | "Int32" | "Short" | "Char" | "char" => "Int",
        "Double" | "double" | "float" | "f64" | "Number" => "Float",
        "bool" | "Boolean" | "boolean" => "Bool",
        "void" | "Void" => "Unit",
        "Any" | "AnyObject" => "Object",
        "ByteArray" => "Bytes",
        "Exception" | "Throwable" => "Error",
        "HashMap" | "Dictionary" | "Dict" => "Map",
        "HashSet" => "Set",
        "ArrayList" | "Vector" | "Vec" | "MutableList" => "List",
        _ => return None,
    };
    Some(ours.to_string())
}
