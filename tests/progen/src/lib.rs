//! Random programs in the language, to find out whether all tiers run them alike.
//!
//! In: a seed, or bytes of a fuzzer ([`Choices`]). Out: the text of a well-typed program that ends by itself and prints what it computes, checksums and caught errors included; the same choices give the same text.
//! Covered: classes with inheritance, interfaces with defaults, generics, closures over mutable variables, all loops, `match`, exceptions with `finally`, nullable values, arrays in and out of bounds (loops over them at the limits of `Int`: `kernels.rs`), text, collections,
//! locks, threads, recursion to the end of the stack. [`shrink`] makes a program that shows a difference smaller.
//!
//! Invariants of the generated text:
//! - It ends: loops are bounded by small constants, by collections that do not grow past 50 elements, or by `break`; every function and block closure takes from a global store of fuel and throws when that is used up.
//! - It is deterministic: no identity hashes, clocks or stack depths are printed, no text or collection grows without bound; what threads print does not depend on their order.

mod choices;
mod classes;
mod expr;
mod kernels;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_program() {
        assert_eq!(generate(Choices::from_seed(7)), generate(Choices::from_seed(7)));
        assert_ne!(generate(Choices::from_seed(7)), generate(Choices::from_seed(8)));
    }

    /// Every construct shows up somewhere in a few hundred programs.
    #[test]
    fn programs_are_varied() {
        let all: String = (0..300).map(|seed| generate(Choices::from_seed(seed))).collect();
        let constructs = [
            "abstract class",
            "interface I",
            "override fun",
            "super.",
            "init {",
            " as? C",
            " as C",
            " is C",
            "!is C",
            "?.",
            "?:",
            "!!",
            "match ",
            "is C1 as v",
            "finally {",
            "throw e",
            "lock mutex",
            "break",
            "continue",
            "while true",
            "step -",
            "..<",
            ">>>=",
            "tabulate<",
            ".fold<",
            "=> {",
            "spawn(",
            "Bytes(",
            "StringBuilder",
            "=== ",
            "maybe<",
            "for e",
        ];
        let missing: Vec<_> = constructs.iter().filter(|c| !all.contains(**c)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn any_bytes_make_a_program() {
        for byte in 0..=255u8 {
            for length in [1, 20, 400] {
                assert!(generate(Choices::from_bytes(&vec![byte; length])).contains("fun main()"));
            }
        }
    }
}
