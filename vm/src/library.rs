//! The library's source files (reference §9), written in the language and compiled with every program.
//!
//! What the compiler knows by name in them is listed in [`Known`](crate::sema::hir::Known); `class Int`, `Float` and `Bool` hold the methods of the primitives, and the interfaces
//! they list are the bounds they meet. Only here may functions be `native`, and may names begin with `__`.
//!
//! In: nothing. Out: [`FILES`], in the order in which their globals are initialized, before those of any program.

macro_rules! files {
    ($($name:literal)*) => {
        /// Name and text of each file.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("lib/", $name)))),*];
    };
}
files! {
    "core.lang" "error.lang" "list.lang" "map.lang" "set.lang" "text.lang" "math.lang" "random.lang" "io.lang" "thread.lang"
}
