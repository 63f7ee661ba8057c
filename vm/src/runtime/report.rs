//! Reports of what ended a program: an error that nothing caught, with its class, message, the source line it came from and the stack trace; a deadlock, with the traces of all threads.

use super::program::{End, ExitStatus};
use super::safepoint::Deadlock;
use super::thread::{Ref, Thread, ThreadId};
use super::trace::{self, Frame};
use super::view;
use std::fmt::Write;

/// Prints the report of an error; `thread` makes it, `of` ended by it (`None`: the main thread).
pub fn uncaught(thread: &Thread, of: Option<ThreadId>, error: Ref) {
    let text = text(thread, of, error);
    let result = thread.blocked(|| thread.runtime.writers.error(&text));
    if let Err(e) = result {
        let status = thread.runtime.unwritten(&e, ExitStatus { code: 1, end: End::Uncaught });
        thread.runtime.finish_from(thread, status);
    }
}

/// Reports the errors of threads that nobody joined; true if there were any.
pub fn unjoined(thread: &Thread) -> bool {
    let mut any = false;
    // One at a time: printing is a safepoint, and errors move.
    while let Some((id, error)) = thread.runtime.threads.next_unseen() {
        uncaught(thread, Some(id), error);
        any = true;
    }
    any
}

/// Where each thread waits for another, none of which goes on, and what ended others.
pub fn deadlock(deadlock: &Deadlock) -> String {
    /// More of them would say the same.
    const SHOWN: usize = 8;
    let mut report = String::new();
    let Some(any) = deadlock.threads().next() else { return report };
    while let Some((id, error)) = any.runtime.threads.next_unseen() {
        report += &text(any, Some(id), error);
    }
    report += "error: deadlock: no thread can go on\n";
    // The main one may have come to its end, and wait for the others.
    let traces = deadlock.threads().map(|thread| (thread.id, trace::current(thread)));
    let mut traces: Vec<(ThreadId, Vec<Frame>)> = traces.filter(|(_, frames)| !frames.is_empty()).collect();
    traces.sort_by_key(|(id, _)| id.0);
    for (id, frames) in traces.iter().take(SHOWN) {
        report += &if id.0 == 0 { "main waits\n".to_owned() } else { format!("thread {} waits\n", id.0) };
        report += &trace::text(any, frames);
    }
    if traces.len() > SHOWN {
        report += &format!("… and {} more\n", traces.len() - SHOWN);
    }
    report
}

fn text(thread: &Thread, of: Option<ThreadId>, error: Ref) -> String {
    let runtime = &thread.runtime;
    let class = &runtime.module.classes[view::class_of(thread, error)].name;
    let message = view::text(view::load_ref(error, runtime.layout.field_offset[runtime.known.error_message]));
    let frames = trace::recorded(thread, error);
    let mut text = match of {
        None => "error: ".to_string(),
        Some(id) => format!("error in thread {}: ", id.0),
    };
    text += class;
    if !message.is_empty() {
        text += ": ";
        text += message;
    }
    text.push('\n');
    text += &excerpt(thread, &frames).unwrap_or_default();
    text += &trace::text(thread, &frames);
    text
}

/// The source line of the innermost frame in the user's own code.
fn excerpt(thread: &Thread, frames: &[Frame]) -> Option<String> {
    let positions = frames.iter().filter_map(|f| match f {
        Frame::At(_, loc) => thread.runtime.symbols.position(*loc),
        Frame::Omitted(_) => None,
    });
    let at = { positions }.find(|p| !p.in_library)?;
    let number = at.line.to_string();
    let margin = " ".repeat(number.len());
    // The marker stands under the same characters, so tabs stay tabs.
    let indent: String = at.text.chars().take(at.col as usize - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let mut text = String::new();
    _ = writeln!(text, "{margin} --> {}:{}:{}", at.path, at.line, at.col);
    _ = writeln!(text, "{margin} |\n{number} | {}\n{margin} | {indent}^", at.text);
    Some(text)
}
