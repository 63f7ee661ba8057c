//! What a piece of generated code can see.

use crate::ty::Ty;

#[derive(Clone, Debug)]
pub struct Var {
    /// The text that reads it: `x3`, `this.f1`.
    pub name: String,
    pub ty: Ty,
    pub mutable: bool,
    /// A local that no closure assigns: flow analysis may narrow it.
    pub narrowable: bool,
    /// A variable on top of itself, with the type that flow analysis gives it here, although it may be assigned later: a closure does not see it so.
    pub until_assigned: bool,
}

/// Context of statements and expressions.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub vars: Vec<Var>,
    /// Result of the function or closure; `None`: Unit.
    pub ret: Option<Ty>,
    /// Loops that `break` and `continue` may leave from here.
    pub loops: usize,
    /// `return` is allowed here.
    pub may_return: bool,
    /// How many loops and blocks are around.
    pub depth: usize,
    /// Loops around, those outside of `finally` and closures included: multiplies the cost.
    pub nesting: usize,
    /// Functions below this number may be called.
    pub level: usize,
    /// Of methods: the class, and the number of its own methods that may be called.
    pub this: Option<(usize, usize)>,
    /// Inside a closure: outer variables kept narrowable are not assigned.
    pub in_closure: bool,
    /// Variables below this index are outside the closure.
    pub closure_base: usize,
}

impl Scope {
    /// Variables in sight: those not hidden by a later one of the same name.
    pub fn visible(&self) -> Vec<&Var> {
        let hidden = |i: usize, v: &Var| self.vars[i + 1..].iter().any(|later| later.name == v.name);
        self.vars.iter().enumerate().filter(|(i, v)| !hidden(*i, v)).map(|(_, v)| v).collect()
    }

    /// Variables that may be assigned here.
    pub fn assignable(&self) -> Vec<&Var> {
        let index_of = |v: &Var| self.vars.iter().rposition(|w| w.name == v.name).unwrap_or(0);
        let ok = |v: &&&Var| v.mutable && !(self.in_closure && v.narrowable && index_of(v) < self.closure_base);
        let visible = self.visible();
        visible.iter().filter(ok).copied().collect()
    }

    pub fn add(&mut self, name: &str, ty: Ty, mutable: bool, narrowable: bool) {
        self.vars.push(Var { name: name.to_string(), ty, mutable, narrowable, until_assigned: false });
    }

    /// `x` with another type, on top of itself; not assigned while that holds.
    pub fn narrow(&mut self, name: &str, ty: Ty) {
        let until_assigned = self.visible().iter().any(|v| v.name == name && (v.mutable || v.until_assigned));
        self.vars.push(Var { name: name.to_string(), ty, mutable: false, narrowable: true, until_assigned });
    }

    pub fn has_room(&self) -> bool {
        self.depth < 5
    }

    /// A loop more would not make the program slow.
    pub fn may_loop(&self) -> bool {
        self.nesting < 3 && self.has_room()
    }
}
