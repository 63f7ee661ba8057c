//! Numbers in sentences.

/// What makes a plural of the word behind this number.
pub(crate) fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A number with what is in the singular here.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", plural(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_in_the_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "call")), ["0 calls", "1 call", "2 calls"]);
    }
}
