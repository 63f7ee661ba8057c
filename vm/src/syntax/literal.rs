//! The values of literals.
//!
//! In: a literal's text as the lexer cut it out. Out: its value, or what is wrong with it and where (byte offsets in that text).

use crate::diag::Code;
use std::ops::Range;

/// What is wrong with a literal.
#[derive(PartialEq, Eq, Debug)]
pub struct LiteralError {
    pub code: Code,
    pub at: Range<usize>,
    pub message: String,
    pub hint: Option<String>,
}

impl LiteralError {
    fn new(code: Code, at: Range<usize>, message: impl Into<String>, hint: &str) -> Self {
        let hint = (!hint.is_empty()).then(|| hint.to_string());
        LiteralError { code, at, message: message.into(), hint }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntValue {
    Value(i64),
    /// 2⁶³, legal only behind a minus.
    MinusOnly,
}

/// Value of an integer literal: decimal, `0x…` or `0b…`, with `_` between digits.
pub fn int(text: &str) -> Result<IntValue, LiteralError> {
    let whole = 0..text.len();
    let bytes = text.as_bytes();
    let (radix, digits) = match (bytes[0], bytes.get(1)) {
        (b'0', Some(b'x' | b'X')) => (16, &text[2..]),
        (b'0', Some(b'b' | b'B')) => (2, &text[2..]),
        (b'0', Some(b'o' | b'O')) => {
            return Err(LiteralError::new(Code::BadNumber, whole, "there are no octal numbers", "write it in decimal or as `0x…`"));
        }
        _ => (10, text),
    };
    let offset = text.len() - digits.len();
    if let Some(bad) = digits.find(|c: char| c != '_' && !c.is_digit(radix)) {
        return Err(bad_digit(text, offset + bad, radix));
    }
    check_underscores(text, digits, offset)?;
    if radix == 10 {
        check_first_digit(text)?;
    }
    let mut value: u64 = 0;
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        let next = value.checked_mul(u64::from(radix)).and_then(|v| v.checked_add(u64::from(digit)));
        value = next.ok_or_else(|| out_of_range(text, radix))?;
    }
    match value {
        _ if radix != 10 => Ok(IntValue::Value(value as i64)),
        0x8000_0000_0000_0000 => Ok(IntValue::MinusOnly),
        v => i64::try_from(v).map(IntValue::Value).map_err(|_| out_of_range(text, radix)),
    }
}

/// The error for a decimal 2⁶³ without a minus before it, and anything larger.
pub fn out_of_range(text: &str, radix: u32) -> LiteralError {
    let hint = match radix {
        10 => "the largest `Int` is 9223372036854775807, the smallest -9223372036854775808; a `Float` has a point: `1e20`",
        _ => "an `Int` has 64 bits",
    };
    LiteralError::new(Code::NumberRange, 0..text.len(), "this number is too large for an `Int`", hint)
}

fn bad_digit(text: &str, at: usize, radix: u32) -> LiteralError {
    let rest = &text[at..];
    let c = rest.chars().next().unwrap_or(' ');
    let hint = match rest {
        "L" | "l" | "u" | "U" | "UL" | "ul" | "n" => "every `Int` has 64 bits: leave the suffix out",
        "f" | "F" | "d" | "D" => "a `Float` has a point and no suffix: `1.0`",
        _ if c.is_ascii_digit() => "binary numbers have the digits 0 and 1",
        _ => "a name cannot begin with a digit, and numbers have no suffixes",
    };
    let kind = match radix {
        16 => "a hexadecimal number",
        2 => "a binary number",
        _ => "a number",
    };
    LiteralError::new(Code::BadNumber, at..text.len(), format!("`{c}` does not belong in {kind}"), hint)
}

fn check_underscores(text: &str, digits: &str, offset: usize) -> Result<(), LiteralError> {
    if digits.is_empty() {
        return Err(LiteralError::new(Code::BadNumber, 0..text.len(), "digits are missing", "for example `0xff` or `0b1010`"));
    }
    if digits.starts_with('_') || digits.ends_with('_') {
        let at = if digits.starts_with('_') { offset } else { text.len() - 1 };
        return Err(LiteralError::new(Code::BadNumber, at..at + 1, "`_` stands only between digits", ""));
    }
    Ok(())
}

/// `digits` are what a decimal number begins with.
fn check_first_digit(digits: &str) -> Result<(), LiteralError> {
    if digits.len() == 1 || !digits.starts_with('0') {
        return Ok(());
    }
    let hint = "leave the zero out; hexadecimal numbers begin with `0x`, binary ones with `0b`";
    Err(LiteralError::new(Code::BadNumber, 0..1, "a decimal number does not begin with 0", hint))
}

/// Value of a literal with a point or an exponent.
pub fn float(text: &str) -> Result<f64, LiteralError> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(i) => (&text[..i], Some((i + 1, text[i + 1..].trim_start_matches(['+', '-'])))),
        None => (text, None),
    };
    let mut parts: Vec<(usize, &str)> = mantissa.split_once('.').map_or(vec![(0, mantissa)], |(a, b)| vec![(0, a), (a.len() + 1, b)]);
    parts.extend(exponent.map(|(_, digits)| (text.len() - digits.len(), digits)));
    for (offset, digits) in parts {
        if let Some(bad) = digits.find(|c: char| c != '_' && !c.is_ascii_digit()) {
            return Err(bad_digit(text, offset + bad, 10));
        }
        if digits.is_empty() {
            let message = "the exponent's digits are missing";
            return Err(LiteralError::new(Code::BadNumber, 0..text.len(), message, "for example `1e9` or `2.5e-3`"));
        }
        check_underscores(&text[..offset + digits.len()], digits, offset)?;
    }
    check_first_digit(mantissa.split('.').next().unwrap_or(mantissa))?;
    let plain = text.replace('_', "");
    match plain.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => {
            let hint = "the largest `Float` is about 1.8e308; for infinity write `Float.INFINITY`";
            Err(LiteralError::new(Code::NumberRange, 0..text.len(), "this number is too large for a `Float`", hint))
        }
    }
}

/// Value of a character literal, quotes included.
pub fn character(text: &str) -> Result<char, LiteralError> {
    let content = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
    let mut chars = content.chars();
    let (value, length) = match chars.next() {
        None => {
            return Err(LiteralError::new(
                Code::BadChar,
                0..text.len(),
                "an empty character literal",
                "for example `'a'`, `'\\n'` or `'\\''`",
            ));
        }
        Some('\\') => escape(content, 0, 1)?,
        Some(c) => (c, c.len_utf8()),
    };
    if length == content.len() {
        return Ok(value);
    }
    let hint = if content.contains(['"', '\\']) {
        "texts stand in double quotes: `\"text\"`".to_string()
    } else {
        format!("texts stand in double quotes: `\"{}\"`", content.chars().take(40).collect::<String>())
    };
    Err(LiteralError::new(Code::BadChar, 0..text.len(), "a character literal holds one character", &hint))
}

/// The text that the inside of a string stands for. Errors are handed to `report`, each escape sequence on its own; it stands for nothing then.
pub fn unescape(text: &str, mut report: impl FnMut(LiteralError)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut i = 0;
    while let Some(next) = text[i..].find(['\\', '$']) {
        out.push_str(&text[i..i + next]);
        i += next;
        if text.as_bytes()[i] == b'$' {
            if let Some(error) = lone_dollar(text, i) {
                report(error);
            }
            out.push('$');
            i += 1;
            continue;
        }
        match escape(text, i, 0) {
            Ok((c, length)) => {
                out.push(c);
                i += length;
            }
            Err(error) => {
                i = error.at.end.max(i + 1);
                report(error);
            }
        }
    }
    out.push_str(&text[i..]);
    out
}

/// `$name` would be an interpolation in Kotlin; it is text nowhere.
fn lone_dollar(text: &str, at: usize) -> Option<LiteralError> {
    let rest = &text[at + 1..];
    if !rest.starts_with(|c: char| c == '_' || c.is_alphabetic()) {
        return None;
    }
    let name = &rest[..rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len())];
    let shown: String = name.chars().take(40).collect();
    let hint = format!("write `${{{shown}}}` for the value of `{shown}`, `\\$` for a dollar sign");
    Some(LiteralError::new(Code::BadInterpolation, at..at + 1 + name.len(), "this `$` begins no interpolation", &hint))
}

/// The character that the escape sequence at byte `i` of `text` stands for, and the sequence's length. `shift` is added to positions in errors.
fn escape(text: &str, i: usize, shift: usize) -> Result<(char, usize), LiteralError> {
    let rest = &text[i + 1..];
    let simple = match rest.chars().next() {
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('0') => '\0',
        Some(c @ ('\\' | '"' | '\'' | '$')) => c,
        Some('u') => return unicode_escape(rest, i, shift),
        other => {
            let length = 1 + other.map_or(0, char::len_utf8);
            let message = other.map_or("a `\\` at the end".to_string(), |c| format!("there is no escape sequence `\\{c}`"));
            let hint = "the escapes are \\n \\r \\t \\0 \\\\ \\\" \\' \\$ and \\u{1F600}; a backslash itself is `\\\\`";
            return Err(LiteralError::new(Code::BadEscape, shift + i..shift + i + length, message, hint));
        }
    };
    Ok((simple, 2))
}

/// `rest` begins with the `u`.
fn unicode_escape(rest: &str, i: usize, shift: usize) -> Result<(char, usize), LiteralError> {
    // No more than what a correct one can have is looked at: a text of a million `\u{` must not take a million times its length.
    let inside = rest[1..].strip_prefix('{').unwrap_or("");
    let count = inside.bytes().take(7).take_while(u8::is_ascii_hexdigit).count();
    let digits = &inside[..count];
    if inside.as_bytes().get(count) != Some(&b'}') || count == 0 {
        let hint = "a code point is written `\\u{1F600}`: one to six hexadecimal digits in braces";
        return Err(LiteralError::new(Code::BadEscape, shift + i..shift + i + 2, "`\\u` without its code point in braces", hint));
    }
    let length = 2 + digits.len() + 2;
    let value = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
    value.map(|c| (c, length)).ok_or_else(|| {
        let hint = "one to six hexadecimal digits, up to 10FFFF, without the surrogates D800 to DFFF";
        LiteralError::new(Code::BadEscape, shift + i..shift + i + length, "this is no Unicode code point", hint)
    })
}
