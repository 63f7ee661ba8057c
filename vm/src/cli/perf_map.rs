//! `--perf-map`: names of compiled functions, for tools from outside that see addresses. `perf report` asks such a map for anonymous memory only and so does not find our code, which lies in a memory file.
//!
//! In: an engine whose program has ended. Out: `/tmp/perf-PID.map`, a line a function: address and length in hexadecimal, and the name (tools/perf/Documentation/jit-interface.txt of the Linux kernel).
//! Code is never moved or freed while the program runs, so one list at its end is true for all of the run.

use super::text;
use crate::runtime::native::NativeEngine;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

/// What cannot be written is told on stderr; it does not harm the program's result.
pub fn write(engine: &NativeEngine) {
    let path = format!("/tmp/perf-{}.map", std::process::id());
    if let Err(error) = replace(&path, &lines(engine)) {
        text::complain(&format!("warning: cannot write {path}: {error}\n"));
    }
}

fn lines(engine: &NativeEngine) -> String {
    let engine = engine.inner();
    let mut lines = String::new();
    engine.each_code(|func, start, len| {
        let name = engine.module().funcs[func].name.replace(char::is_control, "?");
        let _ = writeln!(lines, "{start:x} {len:x} {name}");
    });
    lines
}

/// Anyone may have put a link under this name, which is not followed.
fn replace(path: &str, contents: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(contents.as_bytes())
}
