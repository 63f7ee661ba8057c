//! Numbers and texts in a block: LEB128 and UTF-8.
//!
//! In: bytes of any origin. Out: values, or a [`Problem`]. Invariant: nothing is read beyond the block, and a text is no longer than [`MAX_TEXT`].

use super::error::Problem;

/// Bytes of a name; a longer one is cut when it is written.
pub(super) const MAX_TEXT: usize = u16::MAX as usize;

pub(super) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// The part of a block that is not read yet.
pub(super) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> Result<u8, Problem> {
        let (&byte, rest) = self.0.split_first().ok_or(Problem::Malformed("a block ends too early"))?;
        self.0 = rest;
        Ok(byte)
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Problem::Malformed("a block ends too early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    pub fn number(&mut self) -> Result<u64, Problem> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u64::from(first));
        }
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Problem::Malformed("a number is too large for 64 bits"))
    }

    /// Hands out the next `count` numbers.
    pub fn numbers(&mut self, count: usize, mut take: impl FnMut(u64) -> Result<(), Problem>) -> Result<(), Problem> {
        const LONG: u64 = 0x8080_8080_8080_8080;
        let mut left = count;
        while left > 0 {
            // Most are of one byte, so eight are looked at together.
            if left >= 8
                && let Some((eight, rest)) = self.0.split_first_chunk::<8>()
                && u64::from_le_bytes(*eight) & LONG == 0
            {
                eight.iter().try_for_each(|&byte| take(u64::from(byte)))?;
                self.0 = rest;
                left -= 8;
                continue;
            }
            take(self.number()?)?;
            left -= 1;
        }
        Ok(())
    }

    /// A number of 32 bits.
    pub fn short(&mut self) -> Result<u32, Problem> {
        u32::try_from(self.number()?).map_err(|_| Problem::Malformed("a number is too large for 32 bits"))
    }

    pub fn text(&mut self) -> Result<&'a str, Problem> {
        let length = self.number()?;
        if length > MAX_TEXT as u64 {
            return Err(Problem::Malformed("a name is too long"));
        }
        std::str::from_utf8(self.take(length as usize)?).map_err(|_| Problem::Malformed("a name is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, number);
            let mut cursor = Cursor(&bytes);
            assert_eq!(cursor.number().unwrap(), number);
            assert!(cursor.is_empty());
        }
    }

    #[test]
    fn many_numbers_are_the_same_as_one_by_one() {
        let numbers: Vec<u64> = (0..100).map(|number| if number % 23 == 22 { number * 1000 } else { number }).collect();
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| put_number(&mut bytes, number));
        for count in [0, 1, 7, 8, 9, 22, 100] {
            let (mut found, mut cursor) = (Vec::new(), Cursor(&bytes));
            let taken = cursor.numbers(count, |number| {
                found.push(number);
                Ok(())
            });
            assert!(taken.is_ok() && found == numbers[..count]);
            assert_eq!(cursor.number().ok(), numbers.get(count).copied());
        }
        assert!(Cursor(&bytes).numbers(101, |_| Ok(())).is_err());
    }

    #[test]
    fn too_large_or_unfinished_numbers_are_errors() {
        let two_to_64 = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2];
        assert!(Cursor(&two_to_64).number().is_err());
        assert!(Cursor(&[0xff; 11]).number().is_err());
        assert!(Cursor(&[0x80, 0x80]).number().is_err());
        assert!(Cursor(&[0x80, 0x80, 0x80, 0x80, 0x10]).short().is_err());
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let mut bytes = Vec::new();
        put_text(&mut bytes, &"ä".repeat(40_000));
        assert_eq!(Cursor(&bytes).text().unwrap().chars().count(), MAX_TEXT / 2);
    }
}
