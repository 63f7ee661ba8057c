//! Stack traces: recorded as numbers where an error is thrown, turned into text when somebody asks.
//!
//! A trace is an `Array<Int>` with two words a frame, function and position, innermost first. Deep ones keep both ends: a pair of -1 and a count stands for the frames left out.

use super::errors;
use super::thread::{Handle, Ref, Thread};
use super::{tuning, view};
use jit::ir::{FuncId, Loc};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// One line of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    At(FuncId, Loc),
    /// So many frames are not shown.
    Omitted(u64),
}

/// The thread's frames now, at most [`tuning::TRACE_INNER`] and [`tuning::TRACE_OUTER`].
pub fn current(thread: &Thread) -> Vec<Frame> {
    let mut inner = Vec::new();
    let mut outer = VecDeque::new();
    let mut omitted = 0;
    thread.runtime.engine().walk(thread, &mut |func, loc| {
        if inner.len() < tuning::TRACE_INNER {
            inner.push(Frame::At(func, loc));
        } else {
            if outer.len() == tuning::TRACE_OUTER {
                outer.pop_front();
                omitted += 1;
            }
            outer.push_back(Frame::At(func, loc));
        }
        ControlFlow::Continue(())
    });
    if omitted > 0 {
        inner.push(Frame::Omitted(omitted));
    }
    inner.extend(outer);
    inner
}

/// Records the trace in the error unless it has one, or there is no memory for it.
pub fn fill(thread: &Thread, error: Handle<'_>) {
    let runtime = &thread.runtime;
    let offset = runtime.layout.field_offset[runtime.known.error_trace];
    if errors::is_last_error(thread, error.get()) || !view::load_ref(error.get(), offset).is_null() {
        return;
    }
    let frames = current(thread);
    let (class, length) = (runtime.known.int_array, 2 * frames.len());
    let array = if view::class_of(thread, error.get()) == runtime.known.out_of_memory_error {
        thread.alloc_array_reserved(class, length)
    } else {
        thread.alloc_array(class, length)
    };
    let Ok(array) = array else { return };
    for (i, frame) in frames.iter().enumerate() {
        let (first, second) = match *frame {
            Frame::At(func, loc) => (u64::from(func.as_u32()), u64::from(loc.0)),
            Frame::Omitted(n) => (u64::MAX, n),
        };
        view::element(array, 2 * i).store(first, std::sync::atomic::Ordering::Relaxed);
        view::element(array, 2 * i + 1).store(second, std::sync::atomic::Ordering::Relaxed);
    }
    view::store_ref(thread, error.get(), offset, array);
}

/// The frames recorded in an error.
pub fn recorded(thread: &Thread, error: Ref) -> Vec<Frame> {
    let runtime = &thread.runtime;
    let array = view::load_ref(error, runtime.layout.field_offset[runtime.known.error_trace]);
    if array.is_null() {
        return Vec::new();
    }
    let word = |i| view::element(array, i).load(std::sync::atomic::Ordering::Relaxed);
    (0..view::len(array) / 2)
        .map(|i| match word(2 * i) {
            u64::MAX => Frame::Omitted(word(2 * i + 1)),
            func => Frame::At(FuncId::from_u32(func as u32), Loc(word(2 * i + 1) as u32)),
        })
        .collect()
}

/// One line a frame, `  at List<Int>.get (list.lang:12)`; deep traces are shortened to [`tuning::PRINTED_INNER`] and [`tuning::PRINTED_OUTER`] frames.
pub fn text(thread: &Thread, frames: &[Frame]) -> String {
    let position = |loc| thread.runtime.symbols.position(loc);
    // Code that stands in no file is the VM's own: what calls `main`.
    let written = frames.iter().copied().filter(|f| !matches!(f, Frame::At(_, loc) if position(*loc).is_none()));
    let mut text = String::new();
    for frame in shorten(&written.collect::<Vec<_>>()) {
        match frame {
            Frame::At(func, loc) => {
                text += "  at ";
                text += thread.runtime.module.funcs.get(func).map_or("?", |f| &f.name);
                if let Some(at) = position(loc) {
                    text += &format!(" ({}:{})", at.path, at.line);
                }
            }
            Frame::Omitted(1) => text += "  … 1 more frame",
            Frame::Omitted(n) => text += &format!("  … {n} more frames"),
        }
        text.push('\n');
    }
    text
}

fn shorten(frames: &[Frame]) -> Vec<Frame> {
    let (first, last) = (tuning::PRINTED_INNER, tuning::PRINTED_OUTER);
    if frames.len() <= first + last + 1 {
        return frames.to_vec();
    }
    let middle = &frames[first..frames.len() - last];
    let count = middle.iter().map(|f| if let Frame::Omitted(n) = f { *n } else { 1 }).sum();
    let mut shown = frames[..first].to_vec();
    shown.push(Frame::Omitted(count));
    shown.extend(&frames[frames.len() - last..]);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_traces_count_every_frame() {
        let at = |i| Frame::At(FuncId::from_u32(i), Loc(i));
        let mut frames: Vec<Frame> = (0..40).map(at).collect();
        assert_eq!(shorten(&frames[..31]), frames[..31]);
        let shown = shorten(&frames);
        assert_eq!((shown[20], shown.len()), (Frame::Omitted(10), 31));
        frames[25] = Frame::Omitted(1000);
        assert_eq!(shorten(&frames)[20], Frame::Omitted(1009));
        assert_eq!(shorten(&frames)[30], at(39));
    }
}
