//! Types that generated programs use.

/// A type; user classes and interfaces by their number.
#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    Int,
    Float,
    Bool,
    Str,
    /// Never of an `Opt`.
    Opt(Box<Ty>),
    /// Never empty.
    Array(Box<Ty>),
    List(Box<Ty>),
    Map(Box<Ty>, Box<Ty>),
    Set(Box<Ty>),
    Pair(Box<Ty>, Box<Ty>),
    /// The generic class that every program has.
    Cell(Box<Ty>),
    Fun(Vec<Ty>, Box<Ty>),
    Class(usize),
    Interface(usize),
}

use Ty::*;

pub fn opt(ty: Ty) -> Ty {
    Opt(Box::new(ty))
}

pub fn array(ty: Ty) -> Ty {
    Array(Box::new(ty))
}

pub fn list(ty: Ty) -> Ty {
    List(Box::new(ty))
}

pub fn fun(params: Vec<Ty>, ret: Ty) -> Ty {
    Fun(params, Box::new(ret))
}

impl std::fmt::Display for Ty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Int => write!(f, "Int"),
            Float => write!(f, "Float"),
            Bool => write!(f, "Bool"),
            Str => write!(f, "Str"),
            Opt(t) if matches!(**t, Fun(..)) => write!(f, "({t})?"),
            Opt(t) => write!(f, "{t}?"),
            Array(t) => write!(f, "Array<{t}>"),
            List(t) => write!(f, "List<{t}>"),
            Map(k, v) => write!(f, "Map<{k}, {v}>"),
            Set(t) => write!(f, "Set<{t}>"),
            Pair(a, b) => write!(f, "Pair<{a}, {b}>"),
            Cell(t) => write!(f, "Cell<{t}>"),
            Fun(params, ret) => {
                let params: Vec<String> = params.iter().map(Ty::to_string).collect();
                write!(f, "({}) -> {ret}", params.join(", "))
            }
            Class(n) => write!(f, "C{n}"),
            Interface(n) => write!(f, "I{n}"),
        }
    }
}

impl Ty {
    /// Whether a value's text is the same in every run and short.
    pub fn is_printable(&self) -> bool {
        match self {
            Int | Float | Bool | Str => true,
            Opt(t) | List(t) | Set(t) | Cell(t) | Array(t) => t.is_printable(),
            Pair(a, b) | Map(a, b) => a.is_printable() && b.is_printable(),
            Class(_) | Interface(_) => true,
            Fun(..) => false,
        }
    }
}
