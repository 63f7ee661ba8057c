//! A short run of the check that `cargo run --release -p agree -- FROM..TO` makes at length.

use agree::{Checks, check_seed, difference, on_large_stack, passes_of};
use jit::opt::Pass;
use std::ops::Range;

fn checks(seed: u64) -> Checks {
    Checks { off: passes_of(seed), profiled: true, oracle: None, adaptive: seed }
}

/// Some overflow the stack or wait for others, and then have no profiles that could be compared.
fn agree_mostly_with_profiles(seeds: Range<u64>, checks: fn(u64) -> Checks) {
    let count = seeds.end - seeds.start;
    let (compared, found): (Vec<_>, Vec<_>) =
        seeds.map(|seed| on_large_stack(|| check_seed(seed, &checks(seed), |_| ()))).partition(|checked| checked.is_ok());
    let found: Vec<_> = found.into_iter().filter_map(Result::err).collect();
    let texts: Vec<String> = found.iter().map(|d| format!("seed {}: {}\n{}", d.seed, d.difference, d.text)).collect();
    assert!(texts.is_empty(), "{}", texts.join("\n\n"));
    let compared = compared.into_iter().flatten().filter(|&compared| compared).count() as u64;
    assert!(!cfg!(feature = "native") || compared > count / 2, "profiles of {compared} of {count} programs");
}

#[test]
fn random_programs_agree() {
    agree_mostly_with_profiles(0..40, checks);
}

/// What is inlined, and which classes are tested for, changes nothing.
#[test]
fn random_decisions_agree() {
    agree_mostly_with_profiles(100..130, |seed| Checks { off: Vec::new(), profiled: true, oracle: Some(seed), adaptive: seed });
}

/// Receivers that no test is for, null, and errors behind the call.
#[test]
fn random_tests_of_classes_agree() {
    for seed in 0..16 {
        let checks = Checks { off: Vec::new(), profiled: true, oracle: Some(seed), adaptive: seed };
        assert_eq!(on_large_stack(|| difference(include_str!("polymorphic.lang"), &checks)), None, "oracle seed {seed}");
    }
}

/// Few bytes end in zeros, which mean the simplest choice every time: programs stay small and still make sense.
#[test]
fn bytes_make_programs_too() {
    for length in [0, 1, 7, 50, 300] {
        let bytes: Vec<u8> = (0..length).map(|i| (i * 37 + length) as u8).collect();
        let text = progen::generate(progen::Choices::from_bytes(&bytes));
        assert_eq!(on_large_stack(|| difference(&text, &checks(length))), None, "{length} bytes:\n{text}");
    }
}

#[test]
fn every_pass_gets_its_turn() {
    let count = Pass::ALL.len() as u64;
    for from in [0, 1000] {
        let off: std::collections::BTreeSet<Pass> = (from..from + count).flat_map(passes_of).collect();
        assert_eq!(off.len() as u64, count);
    }
    assert!((0..1000).map(passes_of).all(|off| off.len() == 2 && off[0] != off[1]));
}
