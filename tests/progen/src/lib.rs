//! Random programs in the language, to find out whether all tiers run them alike.
//!
//! In: a seed, or bytes of a fuzzer ([`Choices`]). Out: the text of a well-typed program that ends by itself and prints what it computes, checksums and caught errors included; the same choices give the same text.
//! Covered: classes with inheritance, interfaces with defaults, generics, closures over mutable variables, all loops, `match`, exceptions with `finally`, nullable values, arrays in and out of bounds, text, collections,
//! locks, threads, recursion to the end of the stack. [`shrink`] makes a program that shows a difference smaller.
//!
//! Invariants of the generated text:
//! - It ends: loops are bounded by small constants, by collections that do not grow past 50 elements, or by `break`; every function and block closure takes from a global store of fuel and throws when that is used up.
//! - It is deterministic: no identity hashes, clocks or stack depths are printed, no text or collection grows without bound; what threads print does not depend on their order.

mod choices;
mod classes;
mod expr;
mod program;
mod scope;
mod shrink;
mod stmt;
mod templates;
mod ty;

pub use choices::Choices;
pub use shrink::shrink;

/// The program that the choices lead to.
pub fn generate(choices: Choices<'_>) -> String {
    program::Generator::new(choices).program()
}
