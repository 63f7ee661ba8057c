//! What is known of local variables at a point of a body: the flow state, and how states meet.
//!
//! Invariant: a fact is a type below the variable's declared one; a state that cannot be reached yields to any that can.

use super::types::Ty;

/// A variable of the function being checked, closures included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct VarId(pub u32);

#[derive(Clone, Default, Debug)]
pub struct State {
    /// Narrowed variables, by id.
    facts: Vec<(VarId, Ty)>,
    /// Control does not get here.
    pub dead: bool,
}

impl State {
    pub fn unreachable() -> State {
        State { facts: Vec::new(), dead: true }
    }

    pub fn get(&self, var: VarId) -> Option<Ty> {
        self.facts.binary_search_by_key(&var, |f| f.0).ok().map(|i| self.facts[i].1)
    }

    pub fn set(&mut self, var: VarId, ty: Ty) {
        match self.facts.binary_search_by_key(&var, |f| f.0) {
            Ok(i) => self.facts[i].1 = ty,
            Err(i) => self.facts.insert(i, (var, ty)),
        }
    }

    pub fn forget(&mut self, var: VarId) {
        if let Ok(i) = self.facts.binary_search_by_key(&var, |f| f.0) {
            self.facts.remove(i);
        }
    }

    pub fn retain(&mut self, mut keep: impl FnMut(VarId) -> bool) {
        self.facts.retain(|&(var, _)| keep(var));
    }

    /// Where two ways meet: facts of both, `wider` giving the type that covers two different ones.
    pub fn join(self, other: State, mut wider: impl FnMut(Ty, Ty) -> Option<Ty>) -> State {
        // Code that cannot be reached is checked all the same: what was known before it still helps.
        if self.dead && other.dead {
            return if self.facts.len() >= other.facts.len() { self } else { other };
        }
        if self.dead {
            return other;
        }
        if other.dead {
            return self;
        }
        let facts = self.facts.into_iter().filter_map(|(var, a)| {
            let b = other.get(var)?;
            let ty = if a == b { a } else { wider(a, b)? };
            Some((var, ty))
        });
        State { facts: facts.collect(), dead: false }
    }
}
