//! Types as the user writes them, for messages.
//!
//! Invariant: what is printed is at most a few hundred characters, however large the type (types share parts, so one may be exponentially larger than its graph).

use super::decls::Checker;
use super::types::{Ty, TyKind};

const LIMIT: usize = 160;

/// "an `Int`", "a `Str?`", "`null`" of a type as shown.
pub fn article(shown: &str) -> String {
    let article = match shown.chars().next() {
        _ if shown == "null" => "",
        Some('A' | 'E' | 'I' | 'O') => "an ",
        _ => "a ",
    };
    format!("{article}`{shown}`")
}

/// "1 argument", "2 arguments"
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl Checker<'_> {
    /// `List<Int>?`; `_` for what is not known yet.
    pub fn show(&self, ty: Ty) -> String {
        let mut out = String::new();
        self.write_type(ty, &mut out);
        out
    }

    fn write_type(&self, ty: Ty, out: &mut String) {
        if out.len() > LIMIT {
            if !out.ends_with('…') {
                out.push('…');
            }
            return;
        }
        match self.kind(ty) {
            TyKind::Int => out.push_str("Int"),
            TyKind::Float => out.push_str("Float"),
            TyKind::Bool => out.push_str("Bool"),
            TyKind::Unit => out.push_str("Unit"),
            TyKind::Never => out.push_str("Never"),
            TyKind::Null => out.push_str("null"),
            TyKind::Param(p) => out.push_str(self.type_params[p.0 as usize].name),
            TyKind::Infer(_) | TyKind::Error => out.push('_'),
            TyKind::Class(class, args) => {
                out.push_str(&self.class(*class).name.text);
                if !args.is_empty() {
                    out.push('<');
                    self.write_list(args, out);
                    out.push_str(if out.ends_with('…') { "" } else { ">" });
                }
            }
            TyKind::Fun(params, ret) => {
                out.push('(');
                self.write_list(params, out);
                out.push_str(") -> ");
                self.write_type(*ret, out);
            }
            TyKind::Nullable(t) => {
                let is_fun = matches!(self.kind(*t), TyKind::Fun(..));
                out.push_str(if is_fun { "(" } else { "" });
                self.write_type(*t, out);
                out.push_str(if is_fun { ")?" } else { "?" });
            }
        }
    }

    fn write_list(&self, types: &[Ty], out: &mut String) {
        for (i, &ty) in types.iter().enumerate() {
            if out.len() > LIMIT {
                return self.write_type(ty, out);
            }
            if i > 0 {
                out.push_str(", ");
            }
            self.write_type(ty, out);
        }
    }
}
