//! `--perf-map`: names of compiled functions, for tools from outside that see addresses: `perf report` asks such a map for code in anonymous memory, where ours lies.
//!
//! In: an engine whose program has ended. Out: `/tmp/perf-PID.map`, a line a function: address and length in hexadecimal, and the name (tools/perf/Documentation/jit-interface.txt of the Linux kernel).
//! Such a list knows no times: what was freed while the program ran is not in it, and where other code lies in its place, that is named. `--jitdump` tells them apart.

use super::text;
use crate::runtime::native::NativeEngine;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// What cannot be written is told on stderr; it does not harm the program's result.
pub fn write(engine: &NativeEngine) {
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let written = create(Path::new(&path)).and_then(|mut file| file.write_all(lines(engine).as_bytes()));
    if let Err(error) = written {
        text::complain(&format!("warning: cannot write {path}: {error}\n"));
    }
}

fn lines(engine: &NativeEngine) -> String {
    let engine = engine.inner();
    let mut lines = String::new();
    engine.each_code(|func, start, len| {
        let _ = writeln!(lines, "{start:x} {len:x} {}", shown(&engine.module().funcs[func].name));
    });
    lines
}

/// A function's name in one line.
pub fn shown(name: &str) -> String {
    name.replace(char::is_control, "?")
}

/// A file of this name in the place of what was there. Anyone may have put a link there, which is not followed.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}
