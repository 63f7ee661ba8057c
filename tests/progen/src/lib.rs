//! Random programs in the language, to find out whether all tiers run them alike.
//!
//! In: a seed, or bytes of a fuzzer ([`Choices`]). Out: the text of a well-typed program that ends by itself and prints what it computes, checksums and caught errors included; the same choices give the same text.
//! Covered: classes with inheritance, interfaces with defaults, generics, closures over mutable variables, all loops, `match`, exceptions with `finally`, nullable values, arrays in and out of bounds, text, collections,
//! locks, threads, recursion to the end of the stack; where errors come from, exit codes, errors that nothing catches. [`mod@shrink`] makes a program that shows a difference smaller.
//! What chance alone seldom puts together has a part of its own, which some programs have: loops over arrays at the limits of `Int` (`kernels.rs`), objects that need not be (`objects.rs`), places that may be one (`memory.rs`), floats (`floats.rs`),
//! integers that can be simplified (`ints.rs`), many ways to choose from (`choosing.rs`), fields read before they have a value (`promises.rs`), calls with several targets (`calls.rs`), texts (`texts.rs`), references checked at one place and used at others (`nulls.rs`), what loops carry in memory (`carried.rs`), classes whose fields differ (`kinds.rs`), indices that are choices of many (`picks.rs`), calls among items and arguments (`items.rs`), recursion through more classes than tests are made for (`crowds.rs`), two threads that hand things over (`threads.rs`), functions beyond the limits of passes (`huge.rs`).
//!
//! Invariants of the generated text:
//! - It ends: loops are bounded by small constants, by collections that do not grow past 50 elements, by `break`, or by numbers that only grow up to an error; every function and block closure takes from a global store of fuel and throws when that is used up.
//! - It is deterministic: no identity hashes, clocks or stack depths (stack traces of overflows included) are printed, no text or collection grows without bound; what threads print does not depend on their order.

mod calls;
mod carried;
mod choices;
mod choosing;
mod classes;
mod crowds;
mod expr;
mod floats;
mod huge;
mod ints;
mod items;
mod kernels;
mod kinds;
mod memory;
mod nulls;
mod objects;
mod part;
mod picks;
mod program;
mod promises;
mod scope;
mod shrink;
mod stmt;
mod templates;
mod texts;
mod threads;
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
            "stackTrace()",
            "fail(trail",
            "fun main(): Int",
            "while l1",
            "throw Lost(",
            "f.other = ",
            ".copyInto(",
            "s.rows[",
            ".toBits()",
            ".fromBits(",
            "Float.NAN",
            " >>> 65",
            "Limit.FAR",
            "first.look(",
            "Holder<Shape>",
            "u.substring(",
            "other!!.n",
            "lastKnown()",
            "exchanged(tree",
            "else => throw AppError(",
            ", brittle(",
            "is Crowd1",
            "awaitTurn(d",
            "q.put(p)",
            "fun huge0",
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
