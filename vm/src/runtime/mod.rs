//! The running program: heap, threads, safepoints, builtins, errors.
