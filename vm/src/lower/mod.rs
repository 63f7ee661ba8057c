//! HIR to SSA: generics instantiated, classes laid out, expressions lowered.
