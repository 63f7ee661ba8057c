//! Machine code: lowering to Cranelift, code memory, stubs, traps and stack walks.
