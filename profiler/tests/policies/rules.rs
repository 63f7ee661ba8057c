//! What each policy decides, on numbers by hand.

use super::support::{by_hand, facts, func, site, view};
use Verdict::{Call, Inline};
use profiler::oracle::policy::Policy;
use profiler::oracle::{Accepted, CallSiteFacts, Certainty, Form, Kind, ProfileView, Quantity, Refused, Seen, Verdict, VirtualCallFacts};
use std::sync::Arc;

fn seen(share: f64) -> Seen {
    Seen { site_weight: 0.0, total: 1e6, ..Seen::default() }.with_share(share)
}

fn judge(kind: Kind, facts: &CallSiteFacts<'_>, share: f64) -> Verdict {
    policy(kind).judge(facts, &seen(share)).verdict
}

fn policy(kind: Kind) -> Box<dyn Policy> {
    kind.policy().expect("asks a profile")
}

#[test]
fn dynamic_limits_grow_with_the_share() {
    let size = |size, share| judge(Kind::Dynamic, &facts(size), share);
    assert_eq!(size(11, 0.0), Inline(Accepted::Trivial));
    assert_eq!(size(23, 0.0), Inline(Accepted::Small));
    assert_eq!(size(24, 0.0), Call(Refused::NoSamples));
    assert_eq!(size(46, 1e-9), Inline(Accepted::Hot));
    assert_eq!(size(47, 1e-9), Call(Refused::CalleeTooLarge));
    // Half way from 46 to 119.
    assert_eq!(size(82, 0.005), Inline(Accepted::Hot));
    assert_eq!(size(83, 0.005), Call(Refused::CalleeTooLarge));
    assert_eq!(size(119, 0.01), Inline(Accepted::Hot));
    assert_eq!(size(120, 1.0), Call(Refused::CalleeTooLarge));
}

#[test]
fn weak_static_takes_in_less_of_what_was_not_seen_and_the_same_of_the_rest() {
    let weak = |size, share| judge(Kind::WeakStatic, &facts(size), share);
    assert_eq!((weak(17, 0.0), weak(18, 0.0)), (Inline(Accepted::Small), Call(Refused::NoSamples)));
    for (size, share) in [(5, 0.0), (11, 0.0), (46, 1e-9), (82, 0.005), (83, 0.005), (119, 0.02)] {
        assert_eq!(weak(size, share), judge(Kind::Dynamic, &facts(size), share));
    }
}

#[test]
fn arguments_make_callees_smaller_to_the_dynamic_policy() {
    let with = |constant_args, known_class_args, size| {
        judge(Kind::Dynamic, &CallSiteFacts { constant_args, known_class_args, ..facts(size) }, 0.0).is_inlined()
    };
    assert!(with(1, 0, 24) && !with(1, 0, 25));
    assert!(with(0, 1, 27) && !with(0, 1, 28));
    assert!(with(9, 9, 38) && !with(9, 9, 39), "two fifths at most");
}

#[test]
fn what_is_cold_or_unseen_says_why() {
    let unseen = |kind, facts: &CallSiteFacts<'_>, knows_caller| policy(kind).judge(facts, &Seen { knows_caller, ..seen(0.0) }).verdict;
    assert_eq!(unseen(Kind::Dynamic, &CallSiteFacts { is_cold: true, ..facts(12) }, true), Call(Refused::Cold));
    assert_eq!(judge(Kind::Dynamic, &CallSiteFacts { is_cold: true, ..facts(12) }, 0.1), Inline(Accepted::Small));
    for kind in [Kind::Dynamic, Kind::WeakStatic, Kind::CostBenefit, Kind::Context] {
        assert_eq!(unseen(kind, &facts(60), true), Call(Refused::ColdByProfile));
        assert_eq!(unseen(kind, &facts(60), false), Call(Refused::NoSamples));
    }
}

#[test]
fn benefit_is_weighed_against_growth() {
    let at = |facts: CallSiteFacts<'_>, share| judge(Kind::CostBenefit, &CallSiteFacts { root_size: 0, ..facts }, share);
    assert_eq!(at(facts(8), 0.0), Inline(Accepted::Tiny), "no growth");
    // 10 instructions saved in a ten-thousandth of the calls: ten of growth.
    assert_eq!(at(facts(18), 1.001e-4), Inline(Accepted::Benefit));
    assert_eq!(at(facts(18), 0.999e-4), Call(Refused::NotWorth));
    assert_eq!(at(facts(28), 2.001e-4), Inline(Accepted::Benefit));
    assert_eq!(at(facts(28), 1.999e-4), Call(Refused::NotWorth));
    for better in [
        CallSiteFacts { constant_args: 1, ..facts(19) },
        CallSiteFacts { constant_args: 1, deciding_args: 1, ..facts(22) },
        CallSiteFacts { known_class_args: 1, ..facts(22) },
        CallSiteFacts { known_class_args: 1, closure_args: 1, ..facts(32) },
        CallSiteFacts { fresh_args: 1, ..facts(32) },
    ] {
        let plain = facts(better.callee_size);
        assert_eq!((at(better, 1e-4), at(plain, 1e-4)), (Inline(Accepted::Benefit), Call(Refused::NotWorth)));
    }
}

#[test]
fn the_price_rises_as_the_budget_is_spent() {
    let at = |root_size, share| judge(Kind::CostBenefit, &CallSiteFacts { root_size, ..facts(18) }, share);
    for (root_size, share) in [(0, 1e-4), (200, 2e-4), (400, 4e-4), (800, 16e-4)] {
        assert_eq!(at(root_size, 1.001 * share), Inline(Accepted::Benefit), "{root_size}");
        let reason = if root_size == 0 { Refused::NotWorth } else { Refused::BudgetSpent };
        assert_eq!(at(root_size, 0.999 * share), Call(reason), "{root_size}");
    }
    assert_eq!(at(982, 0.9), Inline(Accepted::Benefit));
    assert_eq!(at(983, 0.9), Call(Refused::BudgetSpent));
    assert_eq!(judge(Kind::Dynamic, &CallSiteFacts { root_size: 983, ..facts(18) }, 0.9), Call(Refused::RootTooLarge));
}

#[test]
fn bounds_hold_however_hot_a_call_is() {
    let chain = [site(0); 12];
    for kind in [Kind::Dynamic, Kind::WeakStatic, Kind::CostBenefit, Kind::Context] {
        let at = |facts: CallSiteFacts<'_>| judge(kind, &facts, 1.0);
        assert_eq!(at(CallSiteFacts { recursion: 1, ..facts(5) }), Call(Refused::Recursive));
        assert!(at(CallSiteFacts { recursion: 3, root: func(1), ..facts(5) }).is_inlined());
        assert_eq!(at(CallSiteFacts { chain: &chain, ..facts(5) }), Call(Refused::TooDeep));
    }
}

#[test]
fn what_is_rare_behind_a_test_stays_out() {
    let guarded = CallSiteFacts { certainty: Certainty::Guarded { targets: 2 }, ..facts(40) };
    for kind in [Kind::Dynamic, Kind::CostBenefit] {
        let with = |site_weight| policy(kind).judge(&guarded, &Seen { site_weight, ..seen(0.05) });
        assert!(with(500_000.0).verdict.is_inlined());
        let refused = with(500_001.0);
        assert_eq!((refused.verdict, refused.comparison.quantity), (Call(Refused::GuardShare), Quantity::SiteShare));
    }
}

#[test]
fn where_nobody_knows_what_a_call_reaches_the_hierarchy_does() {
    // Site 0 went to f1 and hardly to f2; site 1 was never seen.
    let (_, profile) = by_hand(&[0, 0], 3, &[(&[], 0, 100.0), (&[0], 1, 9_000.0), (&[0], 2, 100.0)]);
    let view = Arc::new(view(&profile));
    let suggested = [func(2), func(1)];
    for kind in [Kind::Dynamic, Kind::CostBenefit, Kind::Context] {
        let oracle = kind.oracle(view.clone());
        let targets = |at| {
            oracle.targets(&VirtualCallFacts {
                site: site(at),
                root: func(0),
                form: Form::Whole,
                chain: &[],
                candidates: &suggested,
                suggested: &suggested,
            })
        };
        assert_eq!((targets(0), targets(1)), (vec![func(1)], suggested.to_vec()), "{kind:?}");
    }
}

#[test]
fn names_lead_to_policies() {
    let empty = Arc::new(ProfileView::default());
    let of = |kind: Kind, size| kind.oracle(empty.clone()).decide(&facts(size));
    assert_eq!(of(Kind::None, 1), Call(Refused::Disabled));
    assert_eq!(of(Kind::Static, 40), Inline(Accepted::Small));
    assert_eq!(of(Kind::Dynamic, 23), Inline(Accepted::Small));
    assert_eq!(of(Kind::WeakStatic, 18), Call(Refused::NoSamples));
    assert_eq!(of(Kind::CostBenefit, 8), Inline(Accepted::Tiny));
    assert_eq!(of(Kind::Context, 9), Call(Refused::NoSamples));
    let names: std::collections::BTreeSet<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
}

#[test]
fn edges_are_looked_up_in_the_profile() {
    // f0 calls f1, and f2 from another site; nobody was seen to call f3.
    let (_, profile) = by_hand(&[0, 0, 0], 4, &[(&[], 0, 1_000.0), (&[0], 1, 10.0), (&[1], 2, 98_990.0)]);
    let view = Arc::new(view(&profile));
    for kind in [Kind::Dynamic, Kind::CostBenefit, Kind::Context] {
        let of = |at, callee| kind.oracle(view.clone()).decide(&CallSiteFacts { site: site(at), callee: func(callee), ..facts(90) });
        assert!(of(1, 2).is_inlined());
        assert!(!of(0, 1).is_inlined());
        assert_eq!(of(2, 3), Call(Refused::ColdByProfile));
        assert_eq!(of(0, 2), Call(Refused::ColdByProfile), "not from there");
    }
}
