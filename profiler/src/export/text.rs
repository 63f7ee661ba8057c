//! Numbers and characters as the formats need them.

use crate::profile::Profile;
use crate::words::plural;

/// Turns weights into integers, one after the other, such that the sum of any run of them is less than one off and the sum of all is rounded right.
///
/// Weights in the order of a walk through a tree keep that for every subtree.
#[derive(Default)]
pub(super) struct Rounder {
    exact: f64,
    given: u64,
}

impl Rounder {
    pub fn next(&mut self, weight: f64) -> u64 {
        self.exact += weight;
        let upto = self.exact.round() as u64;
        let part = upto.saturating_sub(self.given);
        self.given += part;
        part
    }
}

/// With a comma after every three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number, grouped, of what is in the singular here.
pub(crate) fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), plural(number))
}

/// Whole calls, grouped.
pub(super) fn calls(weight: f64) -> String {
    grouped(weight.round() as u64)
}

/// A visible sign for a control character, since XML 1.0 and tools' labels have no place for them (U+2400 and following).
pub(super) fn control_picture(c: char) -> char {
    match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        0x80..0xa0 | 0xfffe | 0xffff => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

pub(super) fn without_controls(text: &str) -> String {
    text.chars().map(control_picture).collect()
}

/// What the profile's weights are, for titles: unit and structure.
pub(super) fn what(profile: &Profile) -> String {
    match profile.contexts() {
        Some(contexts) if contexts.dropped > 0 => {
            format!("calls by context ({}; {} without a node)", contexts.structure(), counted(contexts.dropped, "observation"))
        }
        Some(contexts) => format!("calls by context ({})", contexts.structure()),
        None => "calls by caller and callee (DCG)".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_sums() {
        let mut rounder = Rounder::default();
        let weights = [0.4, 0.4, 0.4, 2.0, 0.3, 0.0, 7.5];
        let rounded: Vec<u64> = weights.iter().map(|&weight| rounder.next(weight)).collect();
        assert_eq!(rounded, [0, 1, 0, 2, 1, 0, 7]);
        assert_eq!(rounded.iter().sum::<u64>(), 11);
        let mut whole = Rounder::default();
        assert_eq!([9e15, 1.0, 3.0].map(|weight| whole.next(weight)), [9_000_000_000_000_000, 1, 3]);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
