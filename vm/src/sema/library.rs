//! The library's source files, compiled into the VM.
//!
//! What the compiler knows by name in them is in [`Known`](super::hir::Known): `class Object`, `Str`, `Bytes`, `Array<T>`, the error classes, `Range(start, end, inclusive)`
//! and so on; `class Int`, `Float` and `Bool` hold the methods of the primitives (which are no objects; the interfaces they list are the bounds they meet). Only here may a class and an `object` share a name, may functions be
//! `native` and may names begin with `__`. `__newArray<T>(n)` is the unchecked array of zeros. Order is the order of initialization.

/// Name and text.
pub const FILES: &[(&str, &str)] = &[
    ("core.lang", include_str!("../lib/core.lang")),
    ("error.lang", include_str!("../lib/error.lang")),
    ("text.lang", include_str!("../lib/text.lang")),
    ("math.lang", include_str!("../lib/math.lang")),
    ("io.lang", include_str!("../lib/io.lang")),
    ("list.lang", include_str!("../lib/list.lang")),
    ("map.lang", include_str!("../lib/map.lang")),
    ("set.lang", include_str!("../lib/set.lang")),
    ("random.lang", include_str!("../lib/random.lang")),
    ("thread.lang", include_str!("../lib/thread.lang")),
];
