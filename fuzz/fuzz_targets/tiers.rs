//! Bytes as the choices of a program: all tiers run it alike.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = progen::generate(progen::Choices::from_bytes(bytes));
    let sum = bytes.iter().map(|&b| u64::from(b)).sum();
    let checks = agree::Checks { off: agree::passes_of(sum), profiled: true, oracle: (sum % 2 == 1).then_some(sum), adaptive: sum };
    if let Some(found) = agree::on_large_stack(|| agree::difference(&text, &checks)) {
        panic!("{found}\n{text}");
    }
});
