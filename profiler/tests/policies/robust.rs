//! Flip margins, stability, regret; and that only shares count.

use super::support::{by_hand, compile, facts, func, site, view, worlds};
use profiler::ids::FuncId;
use profiler::oracle::policy::Policy;
use profiler::oracle::robust::{flip_margin, regret, stability};
use profiler::oracle::{CallSiteFacts, Certainty, Form, Kind, Oracle, Refused, Seen, Verdict, VirtualCallFacts};
use proptest::prelude::*;
use std::sync::Arc;

const ASKING: [Kind; 4] = [Kind::Dynamic, Kind::WeakStatic, Kind::CostBenefit, Kind::Context];

fn policies() -> impl Strategy<Value = Kind> {
    prop::sample::select(&ASKING[..])
}

prop_compose! {
    fn any_facts()(
        size in 0u32..200, root_size in 0u32..1100, recursion in 0u32..3, own in any::<bool>(), constants in 0u32..3, fresh in 0u32..2,
        known in 0u32..3, is_cold in any::<bool>(), targets in 1u32..5,
    ) -> CallSiteFacts<'static> {
        let certainty = if targets == 1 { Certainty::Only } else { Certainty::Guarded { targets } };
        let root: FuncId = func(usize::from(own));
        CallSiteFacts {
            root, root_size, recursion, constant_args: constants, fresh_args: fresh, known_class_args: known, is_cold, certainty, ..facts(size)
        }
    }
}

prop_compose! {
    fn any_seen()(weight in 0.0..1e4f64, none in any::<bool>(), others in 0.0..1e5f64, rest in 1.0..1e6f64, context in 0u32..2) -> Seen {
        let weight = if none { 0.0 } else { weight };
        let (site_weight, total) = (weight + others, weight + others + rest);
        let samples = |calls: f64| Some((calls / 10.0).round() as u64);
        Seen {
            weight, error: None, samples: samples(weight), raw_weight: None, site_weight, site_samples: samples(site_weight), total,
            total_samples: samples(total), context, knows_caller: true,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn decisions_flip_at_the_margin_and_nowhere_else(kind in policies(), facts in any_facts(), seen in any_seen(), at in 0.0..1.0f64) {
        let policy = kind.policy().expect("asks a profile");
        let is_inlined = |share: f64| policy.judge(&facts, &seen.with_share(share)).verdict.is_inlined();
        match flip_margin(&*policy, &facts, &seen) {
            Some(margin) => {
                prop_assert!(is_inlined(margin.share) && !is_inlined(margin.share.next_down()));
                prop_assert_eq!(is_inlined(at), at >= margin.share);
                let near = margin.share * (0.5 + at);
                prop_assert_eq!(is_inlined(near), near >= margin.share);
            }
            None => prop_assert!(is_inlined(at) == is_inlined(0.0) && is_inlined(at) == is_inlined(1.0)),
        }
    }
}

proptest! {
    /// Powers of two, so that no rounding is in the way.
    #[test]
    fn more_of_everything_changes_nothing(
        world in worlds(), factors in prop::collection::vec(0.0..4.0f64, 1..20), exact in any::<bool>(), exponent in -10i32..11, kind in policies(),
    ) {
        let of = |scale: f64| kind.oracle(Arc::new(view(&world.profile(&factors, scale, exact))));
        let (once, scaled) = (of(1.0), of(2f64.powi(exponent)));
        for root in 0..world.0.len() {
            let told = |oracle: &dyn Oracle| -> Vec<_> {
                compile(&world, root, false, oracle).into_iter().map(|d| (d.site, d.chain, d.callee, d.verdict)).collect()
            };
            prop_assert_eq!(told(&*once), told(&*scaled));
        }
    }

    /// What a decision has kept is enough to ask again.
    #[test]
    fn evidence_leads_to_the_same_verdict(world in worlds(), factors in prop::collection::vec(0.0..4.0f64, 1..20), kind in policies()) {
        let policy = kind.policy().expect("asks a profile");
        let oracle = kind.oracle(Arc::new(view(&world.profile(&factors, 1.0, false))));
        for root in 0..world.0.len() {
            for decision in compile(&world, root, false, &*oracle) {
                let evidence = decision.evidence.as_ref().expect("a profile was asked");
                let facts = decision.facts().expect("kept");
                let again = policy.judge(&facts, &evidence.seen);
                prop_assert_eq!((again.verdict, again.cost, again.comparison), (decision.verdict, evidence.cost, evidence.comparison));
            }
        }
    }

    #[test]
    fn targets_are_candidates_each_once(world in worlds(), factors in prop::collection::vec(0.0..4.0f64, 1..20), kind in policies()) {
        let oracle = kind.oracle(Arc::new(view(&world.profile(&factors, 1.0, true))));
        for (chain, f, _) in world.contexts() {
            for (nth, callees) in world.0[f].sites.iter().enumerate() {
                let candidates: Vec<FuncId> = callees.iter().skip(1).map(|&(g, _)| func(g)).collect();
                let site = world.site(f, nth, false);
                let call = VirtualCallFacts { site, root: func(0), form: Form::Whole, chain: &chain, candidates: &candidates, suggested: &candidates };
                let targets = oracle.targets(&call);
                prop_assert!((targets.len() <= 3 || targets == candidates) && targets.iter().all(|target| candidates.contains(target)));
                prop_assert!((1..targets.len()).all(|i| !targets[..i].contains(&targets[i])));
            }
        }
    }
}

/// So many samples of one call among 10,000, and as large a callee that it is worth it at the share of 100.
fn borderline(samples: u64) -> (Box<dyn Policy>, CallSiteFacts<'static>, Seen) {
    let weight = 10.0 * samples as f64;
    let seen = Seen {
        weight,
        samples: Some(samples),
        site_weight: weight,
        site_samples: Some(samples),
        total: 100_000.0,
        total_samples: Some(10_000),
        ..Seen::default()
    };
    // Of a growth of 1000: a price of 1e-4, ten instructions saved.
    (Kind::CostBenefit.policy().expect("asks a profile"), CallSiteFacts { root_size: 0, ..facts(508) }, seen)
}

#[test]
fn stability_is_that_of_the_samples() {
    let of = |samples, error| {
        let (policy, facts, seen) = borderline(samples);
        stability(&*policy, &facts, &Seen { error, ..seen }, 2_000, 7).expect("numbers of samples are known")
    };
    let margin = {
        let (policy, facts, seen) = borderline(100);
        flip_margin(&*policy, &facts, &seen).expect("flips").share
    };
    assert!((margin - 0.005).abs() < 1e-9, "50 samples of 10,000");
    // A Poisson number around 50 is below 50 in 48 % of all cases, and around 72 in 0.3 %.
    assert!((0.47..0.57).contains(&of(50, None)), "{}", of(50, None));
    assert!((0.985..1.0).contains(&of(72, None)), "{}", of(72, None));
    assert_eq!(of(1_000, None), 1.0);
    assert_eq!(of(5, None), 1.0, "far below");
    // The same samples, but in bursts of nine: 8 independent ones, which are below 50/9 in 19 %.
    let bursts = of(72, Some(10.0 * 72.0 / 8f64.sqrt()));
    assert!((0.76..0.86).contains(&bursts), "{bursts}");
    assert_eq!(of(50, Some(0.0)), 1.0, "counted");
    // A copy's part of them is less than one.
    let (policy, facts, seen) = borderline(60);
    let copy = Seen { samples: Some(0), error: Some(600.0), ..seen };
    assert!(stability(&*policy, &facts, &copy, 2_000, 7).is_some_and(|part| (0.5..0.75).contains(&part)), "one independent: none in 37 %");
}

#[test]
fn stability_needs_numbers_of_samples() {
    let (policy, facts, seen) = borderline(50);
    assert_eq!(stability(&*policy, &facts, &Seen { samples: None, ..seen }, 10, 1), None);
    assert_eq!(stability(&*policy, &facts, &seen, 0, 1), None);
    let unseen = Seen { weight: 0.0, samples: Some(0), site_weight: 0.0, site_samples: Some(0), ..seen };
    assert_eq!(stability(&*policy, &facts, &unseen, 10, 1), Some(1.0), "three samples of 10,000 would not be enough");
    let little = Seen { total_samples: Some(500), ..unseen };
    assert_eq!(stability(&*policy, &facts, &little, 10, 1), None, "three of 500 would be");
    let nothing = Seen { total: 0.0, total_samples: Some(0), ..unseen };
    assert_eq!(stability(&*policy, &facts, &nothing, 10, 1), None);
    let of = |seen| flip_margin(&*policy, &facts, &seen).expect("flips").share;
    assert!((of(nothing) - of(unseen)).abs() < 1e-9, "decisions are about shares");
    assert_eq!(stability(&*policy, &facts, &Seen { error: Some(0.0), ..little }, 10, 1), Some(1.0), "counted");
}

#[test]
fn margins_are_told_in_standard_errors() {
    let (policy, facts, seen) = borderline(100);
    let errors = |error| flip_margin(&*policy, &facts, &Seen { error, ..seen }).expect("flips").errors;
    // The share of 1 % is half a percent above the margin.
    assert!((errors(Some(100.0)).expect("known") - 5.0).abs() < 1e-6);
    assert_eq!(errors(Some(0.0)), Some(f64::INFINITY));
    assert_eq!(errors(None), None);
    assert!(flip_margin(&*policy, &CallSiteFacts { callee_size: 3, ..facts }, &seen).is_none(), "tiny at any share");
}

#[test]
fn behind_a_class_test_the_margin_is_where_the_callee_gets_its_part_of_the_site() {
    let guarded = CallSiteFacts { certainty: Certainty::Guarded { targets: 2 }, ..facts(12) };
    let seen = Seen { weight: 10.0, site_weight: 9_010.0, total: 1e6, ..Seen::default() };
    for kind in ASKING {
        let policy = kind.policy().expect("asks a profile");
        // 1000 of 10,000 calls of the site are a tenth; 9000 go elsewhere.
        let margin = flip_margin(&*policy, &CallSiteFacts { callee_size: 12, ..guarded }, &seen).expect("flips");
        assert!((margin.share - 1e-3).abs() < 1e-9, "{kind:?}: {}", margin.share);
    }
}

#[test]
fn regret_is_the_weight_that_was_misjudged() {
    let calls = |own: f64| by_hand(&[0, 0], 3, &[(&[], 0, 1_000.0), (&[0], 1, own), (&[1], 2, 100_000.0)]).1;
    let (sampled, exhaustive) = (view(&calls(30.0)), view(&calls(20_000.0)));
    let policy = Kind::Dynamic.policy().expect("asks a profile");
    let of = |callee: usize| {
        let facts = CallSiteFacts { site: site(callee - 1), callee: func(callee), ..facts(100) };
        regret(&*policy, &facts, &policy.look(&sampled, &facts), policy.look(&exhaustive, &facts))
    };
    let missed = of(1);
    assert!(missed.verdict.is_inlined());
    assert_eq!(missed.calls, 20_000.0);
    assert!((missed.share_error - (30.0 / 101_030.0 - 20_000.0 / 121_000.0)).abs() < 1e-12);
    let right = of(2);
    assert_eq!((right.verdict.is_inlined(), right.calls), (true, 0.0));
    assert_ne!(right.verdict, Verdict::Call(Refused::NoSamples));
}
