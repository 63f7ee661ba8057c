//! Arrays as a whole, identities, errors.

use super::*;
use crate::runtime::trace;
use jit::layout::Shape;

pub fn array_copy(thread: &Thread, source: Ref, from: i64, target: Ref, at: i64, count: i64) -> Result<()> {
    let (source, target) = (not_null(thread, source)?, not_null(thread, target)?);
    let classes = &thread.runtime.classes;
    let desc = classes.desc(view::class_of(thread, source));
    if desc.id != view::class_of(thread, target).as_u32() || desc.shape == Shape::Object {
        return Err(argument_error(thread, "elements can only be copied between arrays of one class".into()));
    }
    if count < 0 {
        return Err(argument_error(thread, format!("cannot copy {count} elements")));
    }
    let (from, end) = check_range(thread, from, from.saturating_add(count), view::len(source))?;
    let (at, _) = check_range(thread, at, at.saturating_add(count), view::len(target))?;
    view::copy_elements(desc.shape, source, from, target, at, end - from);
    if desc.shape == Shape::RefArray {
        view::barrier(thread, target);
    }
    Ok(())
}

pub fn identity_hash(thread: &Thread, object: Ref) -> i64 {
    if object.is_null() {
        return 0;
    }
    // SAFETY: a live object of a running thread.
    unsafe { thread.runtime.heap.identity_hash(object.0 as usize) as i64 }
}

pub fn class_name(thread: &Thread, object: Ref) -> Result<Ref> {
    let class = view::class_of(thread, not_null(thread, object)?);
    str_from(thread, &thread.runtime.module.classes[class].name)
}

pub fn fill_trace(thread: &Thread, error: Ref) -> Result<()> {
    let scope = thread.scope();
    trace::fill(thread, scope.root(not_null(thread, error)?));
    Ok(())
}

pub fn trace_text(thread: &Thread, error: Ref) -> Result<Ref> {
    let frames = trace::recorded(thread, not_null(thread, error)?);
    str_from(thread, &trace::text(thread, &frames))
}
