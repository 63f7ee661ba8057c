//! The optimizer: SSA in, better SSA out, for the tier that compiles hot code.
//!
//! In: a closed [`Module`](crate::ir::Module) as lowered, a policy for inlining, [`Options`]. Out: better bodies with every inlining decision and its reason: of one function at a time, with profiles while the program runs ([`Optimizer`]), or of the
//! whole program before it runs ([`Optimized`]), with the time spent in each pass.
//!
//! One file is one [`Pass`] over one function. A pass gets a function that the verifier accepts and leaves one; in debug builds and under [`Options::verify`] that is checked after each.
//! First, bottom-up, functions take the form in which others inline them: clean (`EARLY` of [`pipeline`]) and with nothing inside but callees not larger than their calls. So whether a callee comes in is decided by its own
//! code, not by what else was put into it. Then a root (a function that is to be compiled; of a whole program, each that is still called from its entries on) takes in what the policy says, and goes through its `LATE`.
//!
//! [`osr::enter_at`] makes a function of its own out of what is left of a call at a loop; it is optimized like any other.
//!
//! Two forms of an access: the front end's checks its object itself (`Null::Throws`, `CheckBounds`); [`null_checks`] splits these into a check and an access that never throws, which the later passes move and merge freely:
//! such an access stands on the check through its operand.
//!
//! Invariants that every pass keeps:
//! - What a program prints, the errors it throws and their traces stay the same. A throwing operation is neither added to a way, nor moved across an effect that can be seen (a store to memory that others reach, a call, another
//!   error), nor given another position; but for allocations, which [`escape`] drops, moves down and repeats, with the OutOfMemoryError that they may throw.
//! - A probe ([`Probes`]) runs once for each call that was inlined, also where an error ends the callee at once: it stays on every way it is on, on the same side of other probes, calls and, but for samples, what may throw. Memory accesses may pass it.
//! - Plain memory accesses of other threads need not be seen until the thread synchronizes: an atomic operation, a builtin or a call that may do so. A poll is not a synchronization.
//! - An operation with `Null::Never`, `LoadElem` or `StoreElem` executes only where its operands were checked: it is moved up at most to where the check's result is defined, or to where it would be executed anyway.
//! - That an object is there does not say that it has the field: behind a test of the class (`HasClass`, `InstanceOf`) an access may go on with the very value that was tested. It is moved above such a test only if
//!   [`analysis::types::Types::of`] that value has no class without the field.

pub mod analysis;
mod barriers;
mod branches;
mod dce;
mod devirtualize;
mod escape;
pub mod exits;
mod gvn;
mod inline;
mod licm;
mod loads;
pub mod loop_edges;
mod null_checks;
mod optimizer;
pub mod osr;
mod params;
mod pass_set;
mod pipeline;
mod ranges;
mod rotate;
mod simplify;
mod unroll;
mod version_test;
mod versions;

pub use inline::size::function as size;
pub use optimizer::{Entry, Optimized, Optimizer, Root, optimize};
pub use pass_set::{PassSet, UnknownPass};
pub use pipeline::{Context, Options, Probes, Timing, run_inlining, run_pass};

macro_rules! passes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $module:ident;)*) => {
        /// A transformation of one function. The name is what `--passes` and test files say.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Pass { $($(#[$doc])* $variant),* }

        impl Pass {
            pub const ALL: &'static [Pass] = &[$(Pass::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Pass::$variant => $name),* }
            }

            /// Whether a second run in a row finds nothing more, or hardly anything: it goes in rounds itself.
            fn is_exhaustive(self) -> bool {
                matches!(self, Pass::Simplify | Pass::Branches | Pass::Gvn | Pass::Dce)
            }

            /// Whether it changed anything.
            fn run(self, func: &mut crate::ir::Function, cx: &Context<'_>) -> bool {
                match self { $(Pass::$variant => $module::run(func, cx)),* }
            }
        }
    };
}

passes! {
    /// Splits accesses into checks and accesses that cannot fail; drops checks of what is not null by its origin.
    NullChecks "null-checks" null_checks;
    /// Constant folding, algebra, and other rewritings of one operation at a time.
    Simplify "simplify" simplify;
    /// Branches on constants and on what is known, jumps through blocks that decide nothing, straight lines joined, small diamonds made selects.
    Branches "branches" branches;
    /// Global value numbering: one of equal computations and checks where one dominates the other.
    Gvn "gvn" gvn;
    /// Drops what nobody uses and nobody sees.
    Dce "dce" dce;
    /// Virtual calls with one possible target become calls; those of which the policy names targets, tests of the class and calls.
    Devirtualize "devirtualize" devirtualize;
    /// Objects that never leave the function become values.
    Escape "escape" escape;
    /// Loops that test at the top get a test before the loop and one at the bottom.
    Rotate "rotate" rotate;
    /// Loads that must give what was stored or loaded before; stores that are overwritten unseen.
    Loads "loads" loads;
    /// Loop-invariant code, loads and checks included, moves before the loop.
    Licm "licm" licm;
    /// Bounds checks that conditions and induction variables prove, or that one test before the loop replaces.
    Ranges "ranges" ranges;
    /// Short loops of a known number of rounds become straight code.
    Unroll "unroll" unroll;
    /// Stores into objects that the collector knows are new need no barrier.
    Barriers "barriers" barriers;
}
