//! A short run of the check that `cargo run --release -p agree -- FROM..TO` makes at length.

use agree::{check_seed, difference, on_large_stack};

#[test]
fn random_programs_agree() {
    let found: Vec<_> = (0..40).filter_map(|seed| on_large_stack(|| check_seed(seed, |_| ()))).collect();
    let texts: Vec<String> = found.iter().map(|d| format!("seed {}: {}\n{}", d.seed, d.difference, d.text)).collect();
    assert!(texts.is_empty(), "{}", texts.join("\n\n"));
}

/// Few bytes end in zeros, which mean the simplest choice every time: programs stay small and still make sense.
#[test]
fn bytes_make_programs_too() {
    for length in [0, 1, 7, 50, 300] {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 37 + length) as u8).collect();
        let text = progen::generate(progen::Choices::from_bytes(&bytes));
        assert_eq!(on_large_stack(|| difference(&text)), None, "{length} bytes:\n{text}");
    }
}
