//! Any bytes as a profile, in JSON or as folded stacks: they are refused, or every format shows the profile or says why not, JSON gives it back unchanged, and it overlaps fully with itself.
#![no_main]

use profiler::diff::{DiffOptions, diff};
use profiler::export::{Format, parse, render};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let format = if bytes.first() == Some(&b'{') { Format::Json } else { Format::Folded };
    let Ok(profile) = parse(format, bytes) else { return };
    for format in Format::ALL {
        let mut file = Vec::new();
        let written = render(&profile, format, &mut file);
        if format == Format::Json {
            written.expect("it shows everything");
            assert_eq!(parse(format, &file).expect("it was written by the program itself"), profile);
        }
    }
    let own = diff(&profile, &profile, &DiffOptions::default());
    for overlap in [own.overlap, own.context_overlap].into_iter().flatten() {
        assert!((overlap - 100.0).abs() < 1e-6, "{overlap} % with itself");
    }
    assert!(own.changes.is_empty());
});
