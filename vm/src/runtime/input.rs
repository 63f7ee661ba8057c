//! What a program reads from its standard input, line by line.

use std::io::{self, BufRead};
use std::sync::Mutex;

/// Where the standard input comes from.
#[derive(Clone, Debug)]
pub enum Input {
    Stdin,
    Bytes(Vec<u8>),
}

/// Why there is no line.
#[derive(Debug)]
pub enum ReadError {
    Io(io::Error),
    NotUtf8,
    /// Longer than the heap could hold.
    TooLong,
}

pub struct Reader {
    /// And whether it stands in a line that was too long.
    source: Mutex<(Source, bool)>,
}

enum Source {
    Stdin,
    Bytes(io::Cursor<Vec<u8>>),
}

impl Reader {
    pub fn new(input: &Input) -> Reader {
        let source = match input {
            Input::Stdin => Source::Stdin,
            Input::Bytes(bytes) => Source::Bytes(io::Cursor::new(bytes.clone())),
        };
        Reader { source: Mutex::new((source, false)) }
    }

    /// The next line without its end (`\n` or `\r\n`); `None` at the end of the input. The caller is Blocked.
    pub fn line(&self, most: usize) -> Result<Option<String>, ReadError> {
        let mut source = self.source.lock().unwrap_or_else(|e| e.into_inner());
        let (source, is_long) = &mut *source;
        let bytes = match source {
            Source::Stdin => read_line(&mut io::stdin().lock(), most, is_long)?,
            Source::Bytes(bytes) => read_line(bytes, most, is_long)?,
        };
        bytes.map(|b| String::from_utf8(b).map_err(|_| ReadError::NotUtf8)).transpose()
    }
}

/// `is_long`: the rest of a line comes first that was too long, and is no line of its own.
fn read_line(from: &mut dyn BufRead, most: usize, is_long: &mut bool) -> Result<Option<Vec<u8>>, ReadError> {
    let mut line = Vec::new();
    loop {
        let available = match from.fill_buf() {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(ReadError::Io(e)),
        };
        if available.is_empty() {
            return Ok((!line.is_empty()).then_some(line));
        }
        let end = available.iter().position(|&b| b == b'\n');
        let taken = end.unwrap_or(available.len());
        if *is_long {
            *is_long = end.is_none();
            from.consume(end.map_or(taken, |e| e + 1));
            continue;
        }
        if line.len() + taken > most {
            *is_long = true;
            return Err(ReadError::TooLong);
        }
        line.extend_from_slice(&available[..taken]);
        from.consume(end.map_or(taken, |e| e + 1));
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        let reader = Reader::new(&Input::Bytes(text.into()));
        std::iter::from_fn(|| reader.line(1 << 20).unwrap()).collect()
    }

    #[test]
    fn line_ends() {
        assert_eq!(lines("a\nb\r\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(lines(""), [""; 0]);
        assert_eq!(lines("\n"), [""]);
        assert_eq!(lines("a\rb\n"), ["a\rb"]);
    }

    #[test]
    fn bad_input_spoils_only_its_line() {
        let reader = Reader::new(&Input::Bytes(b"\xff\xfe\nok\n".to_vec()));
        assert!(matches!(reader.line(100), Err(ReadError::NotUtf8)));
        assert_eq!(reader.line(100).unwrap().as_deref(), Some("ok"));
        let reader = Reader::new(&Input::Bytes(b"abcdef\nok\nabcd".to_vec()));
        assert!(matches!(reader.line(3), Err(ReadError::TooLong)));
        assert_eq!(reader.line(3).unwrap().as_deref(), Some("ok"));
        assert!(matches!(reader.line(3), Err(ReadError::TooLong)), "without an end, too");
        assert_eq!(reader.line(3).unwrap(), None);
    }
}
