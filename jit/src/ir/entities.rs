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
}

/// A position in the source map of the front end; 0 is "none".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, PartialOrd, Ord)]
pub struct Loc(pub u32);
