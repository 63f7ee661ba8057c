//! Machine code against the interpreter, on a small runtime whose collector moves every object whenever it can.
#![cfg(feature = "native")]

mod mock;

mod arith;
mod calls;
mod checks;
mod cold;
mod exceptions;
mod exits;
mod homes;
mod inlined;
mod listener;
mod objects;
mod osr;
mod profiling;
mod roots;
mod stack;
mod threads;
mod versions;
