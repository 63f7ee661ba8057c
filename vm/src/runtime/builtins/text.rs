//! `Str`: immutable UTF-8 text in a byte array.

use super::*;
use memchr::memmem;
use std::sync::atomic::Ordering::Relaxed;

fn join<const N: usize>(thread: &Thread, parts: [Ref; N]) -> Result<Ref> {
    let mut length = 0;
    for part in parts {
        length += view::len(not_null(thread, part)?);
    }
    new_str_of(thread, length, parts, |parts, mut to| {
        for part in parts {
            let from = view::bytes(part);
            let (now, rest) = std::mem::take(&mut to).split_at_mut(from.len());
            now.copy_from_slice(from);
            to = rest;
        }
    })
}

pub fn concat(thread: &Thread, a: Ref, b: Ref) -> Result<Ref> {
    join(thread, [a, b])
}

pub fn concat3(thread: &Thread, a: Ref, b: Ref, c: Ref) -> Result<Ref> {
    join(thread, [a, b, c])
}

pub fn concat_all(thread: &Thread, parts: Ref) -> Result<Ref> {
    let count = view::len(not_null(thread, parts)?);
    let part = |parts, i| Ref(view::element(parts, i).load(Relaxed));
    let mut length = 0usize;
    for i in 0..count {
        // The same text may stand there any number of times.
        length = length.checked_add(view::len(not_null(thread, part(parts, i))?)).ok_or(Failure::OutOfMemory)?;
    }
    new_str_of(thread, length, [parts], |[parts], to| {
        let mut at = 0;
        for i in 0..count {
            let from = view::bytes(part(parts, i));
            // Another thread may have put longer texts into the array meanwhile.
            let Some(to) = to.get_mut(at..at + from.len()) else { break };
            to.copy_from_slice(from);
            at += from.len();
        }
    })
}

/// The first eight bytes, zeros behind a shorter text; as numbers they are ordered as the bytes are. Most texts differ there.
fn first_word(a: Ref) -> u64 {
    view::words(a).first().map_or(0, |word| u64::from_be_bytes(word.to_ne_bytes()))
}

pub fn eq(_: &Thread, a: Ref, b: Ref) -> bool {
    a == b || !a.is_null() && !b.is_null() && is_same(a, b)
}

fn is_same(a: Ref, b: Ref) -> bool {
    let length = view::len(a);
    length == view::len(b) && first_word(a) == first_word(b) && (length <= 8 || view::bytes(a) == view::bytes(b))
}

pub fn cmp(_: &Thread, a: Ref, b: Ref) -> i64 {
    let first = first_word(a).cmp(&first_word(b));
    let order = if first.is_ne() { first } else { view::bytes(a).cmp(view::bytes(b)) };
    order as i64
}

/// Eight bytes at a time, each mixed by a multiplication; the same on every machine.
pub fn hash(_: &Thread, a: Ref) -> i64 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = view::bytes(a).len() as u64;
    for word in view::words(a) {
        hash = (hash ^ u64::from_le_bytes(word.to_ne_bytes())).wrapping_mul(MULTIPLIER);
        hash ^= hash >> 29;
    }
    hash as i64
}

pub fn substring(thread: &Thread, a: Ref, from: i64, to: i64) -> Result<Ref> {
    let text = view::text(not_null(thread, a)?);
    let (from, to) = check_range(thread, from, to, text.len())?;
    if let Some(inside) = [from, to].into_iter().find(|&i| !text.is_char_boundary(i)) {
        return Err(argument_error(thread, format!("index {inside} is inside a character")));
    }
    slice(thread, a, from, to)
}

/// A part of a text, at character boundaries.
fn slice(thread: &Thread, a: Ref, from: usize, to: usize) -> Result<Ref> {
    if from == 0 && to == view::len(a) {
        return Ok(a);
    }
    new_str_of(thread, to - from, [a], |[a], b| b.copy_from_slice(&view::bytes(a)[from..to]))
}

/// A text only occurs at character boundaries of another, so `from` may be any index.
pub fn index_of(_: &Thread, a: Ref, part: Ref, from: i64) -> i64 {
    let (text, part) = (view::text(a), view::text(part));
    let Some(mut from) = usize::try_from(from.max(0)).ok().filter(|&f| f <= text.len()) else { return -1 };
    while !text.is_char_boundary(from) {
        from += 1;
    }
    memmem::find(&text.as_bytes()[from..], part.as_bytes()).map_or(-1, |i| (from + i) as i64)
}

pub fn trim(thread: &Thread, a: Ref) -> Result<Ref> {
    let text = view::text(not_null(thread, a)?);
    let from = text.len() - text.trim_start().len();
    slice(thread, a, from, from + text.trim().len())
}

pub fn to_upper(thread: &Thread, a: Ref) -> Result<Ref> {
    str_from(thread, &view::text(not_null(thread, a)?).to_uppercase())
}

pub fn to_lower(thread: &Thread, a: Ref) -> Result<Ref> {
    str_from(thread, &view::text(not_null(thread, a)?).to_lowercase())
}

pub fn replace(thread: &Thread, a: Ref, from: Ref, to: Ref) -> Result<Ref> {
    let text = view::text(not_null(thread, a)?);
    let (pattern, by) = (view::text(not_null(thread, from)?), view::text(not_null(thread, to)?));
    let count = text.matches(pattern).count();
    if count == 0 {
        return Ok(a);
    }
    let kept = text.len() - count * pattern.len();
    let length = count.checked_mul(by.len()).and_then(|l| l.checked_add(kept)).ok_or(Failure::OutOfMemory)?;
    new_str_of(thread, length, [a, from, to], |[a, from, to], out| {
        let (text, pattern, by) = (view::text(a), view::text(from), view::bytes(to));
        let (mut done, mut at) = (0, 0);
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        for (i, _) in text.match_indices(pattern) {
            put(&text.as_bytes()[done..i]);
            put(by);
            done = i + pattern.len();
        }
        put(&text.as_bytes()[done..]);
    })
}

pub fn repeat(thread: &Thread, a: Ref, count: i64) -> Result<Ref> {
    let length = view::len(not_null(thread, a)?);
    let count = usize::try_from(count).map_err(|_| argument_error(thread, format!("cannot repeat a text {count} times")))?;
    let total = length.checked_mul(count).ok_or(Failure::OutOfMemory)?;
    new_str_of(thread, total, [a], |[a], out| {
        if total > 0 {
            let unit = view::bytes(a);
            out.chunks_exact_mut(length).for_each(|c| c.copy_from_slice(unit));
        }
    })
}

pub fn code_points(thread: &Thread, a: Ref) -> Result<Ref> {
    let count = view::text(not_null(thread, a)?).chars().count();
    let scope = thread.scope();
    let a = scope.root(a);
    let array = thread.alloc_array(thread.runtime.known.int_array, count)?;
    for (i, c) in view::text(a.get()).chars().enumerate() {
        view::element(array, i).store(u64::from(u32::from(c)), Relaxed);
    }
    Ok(array)
}

pub fn to_bytes(thread: &Thread, a: Ref) -> Result<Ref> {
    let length = view::len(not_null(thread, a)?);
    let scope = thread.scope();
    let a = scope.root(a);
    let array = thread.alloc_array(thread.runtime.known.bytes, length)?;
    view::bytes_mut(array, |b| b.copy_from_slice(view::bytes(a.get())));
    Ok(array)
}

pub fn from_bytes(thread: &Thread, bytes: Ref, from: i64, to: i64) -> Result<Ref> {
    let (from, to) = check_range(thread, from, to, view::len(not_null(thread, bytes)?))?;
    let str = new_str_of(thread, to - from, [bytes], |[bytes], b| b.copy_from_slice(&view::bytes(bytes)[from..to]))?;
    // The copy is tested, not the array, which another thread may be changing.
    match std::str::from_utf8(view::bytes(str)) {
        Ok(_) => Ok(str),
        Err(e) => {
            let at = from + e.valid_up_to();
            Err(argument_error(thread, format!("the bytes are not UTF-8 text: wrong at index {at}")))
        }
    }
}

/// All of the text's bytes, or none if they do not fit.
pub fn copy_into(_: &Thread, a: Ref, bytes: Ref, at: i64) {
    let (from, to_len) = (view::bytes(a), if bytes.is_null() { 0 } else { view::len(bytes) });
    let Some(at) = usize::try_from(at).ok().filter(|&at| at <= to_len && from.len() <= to_len - at) else { return };
    if !from.is_empty() {
        view::copy_bytes(from, bytes, at);
    }
}

pub fn from_char(thread: &Thread, code: i64) -> Result<Ref> {
    let Some(c) = u32::try_from(code).ok().and_then(char::from_u32) else {
        return Err(argument_error(thread, format!("{code} is not a code point")));
    };
    str_from(thread, c.encode_utf8(&mut [0; 4]))
}
