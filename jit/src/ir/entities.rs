//! Typed indices of the SSA IR. The printed names (`v3`, `block1`, `class2`) are what the text form uses.

use cranelift_entity::entity_impl;
pub use profiler::ids::{CallSiteId, FuncId};

macro_rules! entities {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);
        entity_impl!($name, $prefix);
    )*};
}
entities! {
    /// A value of one function: a block parameter or an instruction's result.
    Value "v";
    /// An instruction of one function.
    Inst "inst";
    /// A basic block of one function.
    Block "block";
    /// A class, interface, closure, box or array type, fully instantiated.
    ClassId "class";
    /// A field, declared by one class and shared by its subclasses.
    FieldId "field";
    /// What a virtual call names: one method as first declared in a class or interface.
    SelectorId "sel";
    GlobalId "global";
    /// A string literal.
    StrId "str";
    /// A position inside of a callee that was inlined.
    InlinedId "in";
    /// A poll at which code that counts calls and code that does not lead to each other: one for all copies of it in any code of one engine.
    Exit "exit";
}

/// Exits of all code of one engine. Loops of further code are never left at exits.
pub const MAX_EXITS: usize = 1 << 16;

/// A position: in the source map of the front end (0 is "none"), or inside of a callee that was inlined, which [`super::Function::inlined`] describes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, PartialOrd, Ord)]
pub struct Loc(pub u32);

impl Loc {
    const INLINED: u32 = 1 << 31;

    pub fn in_callee(id: InlinedId) -> Loc {
        Loc(Loc::INLINED | id.as_u32())
    }

    /// `None` for a position of the function's own.
    pub fn inlined(self) -> Option<InlinedId> {
        (self.0 & Loc::INLINED != 0).then(|| InlinedId::from_u32(self.0 & !Loc::INLINED))
    }
}
