//! Numbers to text and back.

use super::*;

/// Digits of a number in a radix, with its sign, at the end of a buffer.
fn digits(value: i64, radix: u64, buffer: &mut [u8; 65]) -> &str {
    let mut left = value.unsigned_abs();
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b"0123456789abcdefghijklmnopqrstuvwxyz"[(left % radix) as usize];
        left /= radix;
        if left == 0 {
            break;
        }
    }
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    std::str::from_utf8(&buffer[at..]).unwrap_or_default()
}

pub fn int_to_str(thread: &Thread, value: i64) -> Result<Ref> {
    // A literal radix lets the division become a multiplication.
    str_from(thread, digits(value, 10, &mut [0; 65]))
}

pub fn int_to_radix(thread: &Thread, value: i64, radix: i64) -> Result<Ref> {
    if !(2..=36).contains(&radix) {
        return Err(argument_error(thread, format!("the base must be from 2 to 36, not {radix}")));
    }
    str_from(thread, digits(value, radix as u64, &mut [0; 65]))
}

pub fn float_to_str(thread: &Thread, value: f64) -> Result<Ref> {
    str_from(thread, &shortest(value))
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        return Some("NaN");
    }
    value.is_infinite().then_some(if value > 0.0 { "Infinity" } else { "-Infinity" })
}

/// The shortest decimal that reads back as the same number; with an exponent below 10⁻⁶ and from 10²¹ on.
fn shortest(value: f64) -> String {
    if let Some(text) = special(value) {
        return text.to_string();
    }
    if value != 0.0 && !(1e-6..1e21).contains(&value.abs()) {
        return format!("{value:e}");
    }
    let mut text = value.to_string();
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

pub fn float_format(thread: &Thread, value: f64, decimals: i64) -> Result<Ref> {
    if !(0..=100).contains(&decimals) {
        return Err(argument_error(thread, format!("the number of decimals must be from 0 to 100, not {decimals}")));
    }
    match special(value) {
        Some(text) => str_from(thread, text),
        None => str_from(thread, &format!("{value:.*}", decimals as usize)),
    }
}

fn int(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn float(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" | "+Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ if text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E')) => text.parse().ok(),
        _ => None,
    }
}

pub fn is_int(_: &Thread, a: Ref) -> bool {
    int(view::text(a)).is_some()
}

pub fn parse_int(_: &Thread, a: Ref) -> i64 {
    int(view::text(a)).unwrap_or(0)
}

pub fn is_float(_: &Thread, a: Ref) -> bool {
    float(view::text(a)).is_some()
}

pub fn parse_float(_: &Thread, a: Ref) -> f64 {
    float(view::text(a)).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_the_shortest_decimal() {
        let cases = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (100.0, "100.0"),
            (123456.789, "123456.789"),
            (1e20, "100000000000000000000.0"),
            (1e21, "1e21"),
            (1.5e300, "1.5e300"),
            (0.000001, "0.000001"),
            (1.25e-7, "1.25e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
            (0.1 + 0.2, "0.30000000000000004"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in cases {
            assert_eq!(shortest(value), text);
            let back = float(text).unwrap();
            assert!(back.to_bits() == value.to_bits() || value.is_nan() && back.is_nan(), "{text}");
        }
    }

    #[test]
    fn what_is_a_number() {
        assert_eq!([int("-5"), int("+5"), int("9223372036854775807")], [Some(-5), Some(5), Some(i64::MAX)]);
        for bad in ["", "-", "9223372036854775808", "1_000", " 1", "0x10", "1.0"] {
            assert_eq!(int(bad), None, "{bad:?}");
        }
        assert_eq!([float("1e3"), float("-.5"), float("7")], [Some(1000.0), Some(-0.5), Some(7.0)]);
        for bad in ["", ".", "inf", "nan", "infinity", "1e", "1,5", "1.0f"] {
            assert_eq!(float(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn radixes() {
        let mut buffer = [0; 65];
        assert_eq!(digits(i64::MIN, 2, &mut buffer), format!("-1{}", "0".repeat(63)));
        assert_eq!(digits(-255, 16, &mut buffer), "-ff");
        assert_eq!(digits(35, 36, &mut buffer), "z");
        assert_eq!(digits(0, 10, &mut buffer), "0");
    }
}
