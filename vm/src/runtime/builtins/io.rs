//! The world outside: streams, files, arguments, time, the end of the program.
//!
//! Calls that may wait run while the thread counts as stopped, on copies of what they need.

use super::*;
use crate::runtime::input::ReadError;
use crate::runtime::output::{self, cause};
use crate::runtime::program::{End, ExitStatus};
use std::io::Read;
use std::time::Duration;

fn io_error(thread: &Thread, message: String) -> Failure {
    Failure::Error(thread.runtime.known.io_error, message)
}

pub fn print(thread: &Thread, a: Ref) -> Result<()> {
    write(thread, not_null(thread, a)?, b"")
}

pub fn print_line(thread: &Thread, a: Ref) -> Result<()> {
    write(thread, not_null(thread, a)?, b"\n")
}

fn write(thread: &Thread, a: Ref, end: &[u8]) -> Result<()> {
    let writers = &thread.runtime.writers;
    let result = if let Some(mut out) = writers.try_out() {
        if !out.push(&[view::bytes(a), end]) {
            return Ok(());
        }
        thread.blocked(|| out.flush())
    } else {
        // Somebody writes, perhaps slowly: wait as a stopped thread, with a copy.
        let text = [view::bytes(a), end].concat();
        thread.blocked(|| {
            let mut out = writers.out();
            if out.push(&[&text]) { out.flush() } else { Ok(()) }
        })
    };
    result.map_err(|e| output_failed(thread, &e))
}

/// A closed pipe ends the program; anything else is an error the program may catch.
fn output_failed(thread: &Thread, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        thread.runtime.finish_from(thread, output::CLOSED);
    }
    io_error(thread, format!("cannot write to the standard output: {}", cause(error)))
}

pub fn eprint_line(thread: &Thread, a: Ref) -> Result<()> {
    let text = format!("{}\n", view::text(not_null(thread, a)?));
    thread.blocked(|| thread.runtime.writers.error(&text)).map_err(|e| output_failed(thread, &e))
}

fn flush(thread: &Thread) -> Result<()> {
    thread.blocked(|| thread.runtime.writers.out().flush()).map_err(|e| output_failed(thread, &e))
}

pub fn read_line(thread: &Thread) -> Result<Ref> {
    // Whoever types the answer wants to see the question.
    flush(thread)?;
    let runtime = &thread.runtime;
    match thread.blocked(|| runtime.reader.line(runtime.heap.max())) {
        Ok(None) => Ok(Ref::NULL),
        Ok(Some(line)) => str_from(thread, &line),
        Err(ReadError::TooLong) => Err(Failure::OutOfMemory),
        Err(ReadError::NotUtf8) => Err(io_error(thread, "cannot read from the standard input: not UTF-8 text".into())),
        Err(ReadError::Io(e)) => Err(io_error(thread, format!("cannot read from the standard input: {}", cause(&e)))),
    }
}

pub fn read_file(thread: &Thread, path: Ref) -> Result<Ref> {
    let path = view::text(not_null(thread, path)?).to_string();
    let most = thread.runtime.heap.max() as u64;
    let bytes = thread.blocked(|| {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path)?;
        if file.metadata().is_ok_and(|m| m.is_file() && m.len() > most) {
            return Ok(None);
        }
        let read = file.take(most + 1).read_to_end(&mut bytes)?;
        Ok((read as u64 <= most).then_some(bytes))
    });
    let bytes = bytes.map_err(|e: std::io::Error| io_error(thread, format!("cannot read {path}: {}", cause(&e))))?;
    let bytes = bytes.ok_or(Failure::OutOfMemory)?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => str_from(thread, text),
        Err(e) => Err(io_error(thread, format!("cannot read {path}: not UTF-8 text (byte {})", e.valid_up_to()))),
    }
}

pub fn write_file(thread: &Thread, path: Ref, text: Ref) -> Result<()> {
    let path = view::text(not_null(thread, path)?).to_string();
    let bytes = view::bytes(not_null(thread, text)?).to_vec();
    let result = thread.blocked(|| std::fs::write(&path, bytes));
    result.map_err(|e| io_error(thread, format!("cannot write {path}: {}", cause(&e))))
}

pub fn args(thread: &Thread) -> Result<Ref> {
    let args = &thread.runtime.options.args;
    let scope = thread.scope();
    let array = scope.root(thread.alloc_array(thread.runtime.known.str_array, args.len())?);
    for (i, arg) in args.iter().enumerate() {
        let text = str_from(thread, arg)?;
        view::element(array.get(), i).store(text.0, std::sync::atomic::Ordering::Relaxed);
        view::barrier(thread, array.get());
    }
    Ok(array.get())
}

pub fn exit(thread: &Thread, code: i64) -> Result<()> {
    thread.runtime.finish_from(thread, ExitStatus { code: code as u8, end: End::Exit })
}

pub fn clock_nanos(thread: &Thread) -> i64 {
    thread.runtime.start.elapsed().as_nanos() as i64
}

pub fn sleep(thread: &Thread, millis: i64) -> Result<()> {
    let time = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    thread.blocked(|| std::thread::sleep(time));
    Ok(())
}
