//! Functions on `Float`s, by the platform's mathematical library. Programs cannot tell NaNs apart, but `pow` and `hypot` of the library do: all are made the same first.

use super::Thread;

macro_rules! functions {
    ($($name:ident $method:ident ($x:ident $(, $y:ident)?);)*) => {$(
        pub fn $name(_: &Thread, $x: f64 $(, $y: f64)?) -> f64 {
            quiet($x).$method($(quiet($y))?)
        }
    )*};
}
fn quiet(x: f64) -> f64 {
    if x.is_nan() { f64::NAN } else { x }
}

functions! {
    sin sin(x);
    cos cos(x);
    tan tan(x);
    asin asin(x);
    acos acos(x);
    atan atan(x);
    atan2 atan2(y, x);
    exp exp(x);
    ln ln(x);
    log10 log10(x);
    powf powf(x, y);
    hypot hypot(x, y);
    round round(x);
}

/// The remainder with the dividend's sign.
pub fn rem(_: &Thread, x: f64, y: f64) -> f64 {
    x % y
}
