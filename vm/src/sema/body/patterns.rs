//! `match` patterns: constants, type patterns, and which values they cover.

use super::{Body, VarKind};
use crate::diag::{Code, Diagnostic};
use crate::sema::decls::ValueName;
use crate::sema::flow::VarId;
use crate::sema::hir::Pattern;
use crate::sema::show::article;
use crate::sema::types::Ty;
use crate::source::Span;
use crate::syntax::ast::{self, Mutability, PatternKind, StrPart};
use rustc_hash::FxHashSet;

/// What the arms so far take.
pub struct Coverage {
    nullable: bool,
    is_bool: bool,
    null: bool,
    yes: bool,
    no: bool,
    /// Every value but null, by a type pattern.
    values: bool,
    has_else: bool,
    seen: FxHashSet<String>,
}

impl Coverage {
    pub fn new(body: &mut Body<'_, '_>, subject: Ty) -> Self {
        let inner = body.non_null(subject);
        Coverage {
            nullable: inner.is_some(),
            is_bool: inner.unwrap_or(subject) == Ty::BOOL,
            null: false,
            yes: false,
            no: false,
            values: false,
            has_else: false,
            seen: FxHashSet::default(),
        }
    }

    pub fn complete(&self) -> bool {
        self.has_else || ((self.values || (self.yes && self.no)) && (self.null || !self.nullable))
    }

    /// Complete without an `else`.
    pub fn leaves_nothing(&self) -> bool {
        self.complete() && !self.has_else
    }

    /// An example of what is not covered.
    pub fn missing(&self) -> &'static str {
        match self {
            c if c.nullable && !c.null && (c.values || (c.yes && c.no)) => "`null`",
            c if c.is_bool && c.yes => "`false`",
            c if c.is_bool && c.no => "`true`",
            _ => "every value",
        }
    }
}

pub struct ArmPatterns {
    pub patterns: Vec<Pattern>,
    pub is_else: bool,
    pub takes_null: bool,
}

impl<'a> Body<'_, 'a> {
    pub fn arm_patterns(&mut self, arm: &'a ast::Arm, subject: Ty, var: Option<VarId>, coverage: &mut Coverage) -> ArmPatterns {
        if coverage.complete() {
            let problem = Diagnostic::new(Code::UnreachableArm, arm.span, "this arm is never reached: those before it take every value");
            self.report(problem);
        }
        let mut out = ArmPatterns { patterns: Vec::new(), is_else: false, takes_null: false };
        let mut narrowed = Vec::new();
        let mut names_null = false;
        let mut may_take_null = false;
        let alone = arm.patterns.len() == 1;
        for pattern in &arm.patterns {
            let found = self.pattern(pattern, subject, alone, coverage);
            match &found {
                Checked::Else => out.is_else = true,
                Checked::Pattern(Pattern::Null) => names_null = true,
                Checked::Pattern(Pattern::Is { ty, .. }) => {
                    out.takes_null |= self.non_null(*ty).is_some();
                    may_take_null |= self.without_null(*ty).is_some();
                    narrowed.push(Some(*ty));
                }
                Checked::Pattern(_) => narrowed.push(None),
                Checked::Nothing | Checked::Wrong => {}
            }
            if let Checked::Pattern(p) = found {
                out.patterns.push(p);
            }
        }
        out.takes_null |= names_null;
        if let Some(var) = var.filter(|_| !out.is_else && !names_null) {
            let mut state = std::mem::take(&mut self.state);
            match narrowed[..] {
                [Some(ty)] => self.narrow_to(&mut state, var, ty),
                [] => {}
                _ if may_take_null => {}
                _ => {
                    self.state = state.clone();
                    self.narrow_non_null(&mut state, var);
                }
            }
            self.state = state;
        }
        if out.is_else {
            out.patterns.clear();
            coverage.has_else = true;
        }
        out
    }

    fn pattern(&mut self, pattern: &'a ast::Pattern, subject: Ty, alone: bool, coverage: &mut Coverage) -> Checked {
        let inner = self.non_null(subject).unwrap_or(subject);
        match &pattern.kind {
            PatternKind::Else => Checked::Else,
            PatternKind::Value(e) => {
                if let Some(word) = self.wildcard(e) {
                    let problem = Diagnostic::new(Code::ForeignSyntax, e.span, format!("`{word}` is no pattern"));
                    self.report(problem.hint("write `else => …`"));
                    return Checked::Else;
                }
                self.value_pattern(e, inner, subject, coverage)
            }
            PatternKind::Range { start, end, inclusive } => self.range_pattern(start, end, *inclusive, inner, pattern.span),
            PatternKind::Is { ty: written, bind } => {
                let ty = self.ck.resolve_type(&self.ty_scope, written);
                if ty == Ty::ERROR || subject == Ty::ERROR {
                    if let Some(name) = bind {
                        self.declare(name, ty, VarKind::Bound);
                    }
                    return Checked::Wrong;
                }
                self.check_testable(subject, ty, written.span, "is");
                let bind = bind.as_ref().map(|name| {
                    if !alone {
                        let problem =
                            Diagnostic::new(Code::Duplicate, name.span, "a name is only bound where it is the arm's only pattern");
                        self.report(problem);
                    }
                    self.declare(name, ty, VarKind::Bound).1
                });
                if self.relate().assign(inner, ty) {
                    coverage.values = true;
                    coverage.null |= self.non_null(ty).is_some();
                }
                Checked::Pattern(Pattern::Is { ty, bind })
            }
        }
    }

    /// What stands for `else` in other languages, where no constant has that name.
    fn wildcard(&mut self, e: &'a ast::Expr) -> Option<&'a str> {
        let ast::ExprKind::Name(name) = &e.kind else { return None };
        let word = &*name.text;
        let foreign = match word {
            "_" => self.lookup_var(word).is_some() || self.find_name(word).is_none(),
            "default" | "otherwise" => self.lookup_var(word).is_none() && self.find_name(word).is_none(),
            _ => false,
        };
        foreign.then_some(word)
    }

    fn value_pattern(&mut self, e: &'a ast::Expr, inner: Ty, subject: Ty, coverage: &mut Coverage) -> Checked {
        let Some(pattern) = self.constant(e) else { return Checked::Wrong };
        let ty = match &pattern {
            Pattern::Int(_) | Pattern::IntRange(..) => Ty::INT,
            Pattern::Float(_) => Ty::FLOAT,
            Pattern::Bool(_) => Ty::BOOL,
            Pattern::Str(_) => self.str_ty(),
            Pattern::Null | Pattern::Is { .. } => inner,
        };
        if ty != inner && inner != Ty::ERROR {
            let (a, b) = (self.show_ty(ty), self.show_ty(subject));
            self.error(
                Code::TypeMismatch,
                e.span,
                format!("this is {a_a}, and the value that is matched {a_b}", a_a = article(&a), a_b = article(&b)),
            );
            return Checked::Wrong;
        }
        if matches!(pattern, Pattern::Null) && matches!(subject, Ty::INT | Ty::FLOAT | Ty::BOOL | Ty::UNIT) {
            let shown = self.show_ty(subject);
            self.error(Code::UselessSafe, e.span, format!("{a_shown} is never null", a_shown = article(&shown)));
        }
        match pattern {
            Pattern::Bool(true) => coverage.yes = true,
            Pattern::Bool(false) => coverage.no = true,
            Pattern::Null => coverage.null = true,
            _ => {}
        }
        if !coverage.seen.insert(format!("{pattern:?}")) {
            self.error(Code::UnreachableArm, e.span, "this value is taken by a pattern before");
        }
        Checked::Pattern(pattern)
    }

    fn range_pattern(&mut self, start: &'a ast::Expr, end: &'a ast::Expr, inclusive: bool, inner: Ty, span: Span) -> Checked {
        let (Some(a), Some(b)) = (self.int_constant(start), self.int_constant(end)) else { return Checked::Wrong };
        if inner != Ty::INT && inner != Ty::ERROR {
            let shown = self.show_ty(inner);
            self.error(Code::TypeMismatch, span, format!("ranges match `Int`s, and this is {a_shown}", a_shown = article(&shown)));
            return Checked::Wrong;
        }
        let last = if inclusive { Some(b) } else { b.checked_sub(1) };
        match last.filter(|&last| a <= last) {
            Some(last) => Checked::Pattern(Pattern::IntRange(a, last)),
            None => Checked::Nothing,
        }
    }

    fn int_constant(&mut self, e: &'a ast::Expr) -> Option<i64> {
        match self.constant(e)? {
            Pattern::Int(n) => Some(n),
            _ => {
                self.error(Code::TypeMismatch, e.span, "the ends of a range are `Int`s");
                None
            }
        }
    }

    /// The value of a literal or of a named constant; reports other expressions.
    pub fn constant(&mut self, e: &'a ast::Expr) -> Option<Pattern> {
        let named = match &e.kind {
            ast::ExprKind::Error => return None,
            ast::ExprKind::Name(name) if self.lookup_var(&name.text).is_none() => match self.resolve_name(name)? {
                super::members::Resolved::Value(value) => Some(value),
                _ => None,
            },
            ast::ExprKind::Field { object, name, safe: false } => self.namespace_member(object, name).flatten(),
            _ => None,
        };
        let value = match named {
            Some(ValueName::Global(global)) => {
                let decl = self.globals[global.index()].decl;
                if decl.mutability == Mutability::Let { literal(&decl.init) } else { None }
            }
            Some(_) => None,
            None => literal(e),
        };
        if value.is_none() {
            let problem = Diagnostic::new(Code::NotConstant, e.span, "this must be a constant");
            self.report(problem.hint("a constant is a literal, or the name of a global `let` whose initializer is one"));
        }
        value
    }
}

enum Checked {
    Pattern(Pattern),
    Else,
    /// An empty range.
    Nothing,
    Wrong,
}

fn literal(e: &ast::Expr) -> Option<Pattern> {
    Some(match &e.kind {
        ast::ExprKind::Int(n) => Pattern::Int(*n),
        ast::ExprKind::Char(c) => Pattern::Int(i64::from(u32::from(*c))),
        ast::ExprKind::Float(x) => Pattern::Float(*x),
        ast::ExprKind::Bool(b) => Pattern::Bool(*b),
        ast::ExprKind::Null => Pattern::Null,
        ast::ExprKind::Str(parts) => match &parts[..] {
            [] => Pattern::Str("".into()),
            [StrPart::Text(text)] => Pattern::Str(text.clone()),
            _ => return None,
        },
        ast::ExprKind::Unary { op: ast::UnaryOp::Neg, operand, .. } => match literal(operand)? {
            Pattern::Int(n) => Pattern::Int(n.wrapping_neg()),
            Pattern::Float(x) => Pattern::Float(-x),
            _ => return None,
        },
        _ => return None,
    })
}
