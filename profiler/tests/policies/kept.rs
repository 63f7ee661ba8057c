//! What comes into a function again that has been compiled before.

use crate::support::*;
use profiler::ids::FuncId;
use profiler::oracle::{
    Accepted, CallSiteFacts, Fallback, Form, InlineDecision, Kept, Kind, NoInlining, Oracle, ProfileView, Questions, Refused, Verdict,
    Version, VirtualCallFacts,
};
use profiler::tuning;

/// By a profile in which `f0` calls `f1` (site 0), which makes 100,000 calls of these functions from site 1, in equal parts.
fn oracle(callees: &[usize]) -> Fallback {
    let calls = 100_000.0 / callees.len() as f64;
    let paths: Vec<(&[usize], usize, f64)> = callees.iter().map(|&callee| (&[0, 1][..], callee, calls)).collect();
    let (_, profile) = by_hand(&[0, 1, 1], 8, &[&[(&[0][..], 1, 1000.0)], &paths[..]].concat());
    Fallback::new(Kind::CostBenefit, ProfileView::of_own(&profile), None).expect("it asks a profile")
}

fn targets(oracle: &dyn Oracle, root: FuncId) -> Vec<usize> {
    targets_of(oracle, root, &[2, 3, 4, 5, 6, 7])
}

fn targets_of(oracle: &dyn Oracle, root: FuncId, candidates: &[usize]) -> Vec<usize> {
    let candidates: Vec<FuncId> = candidates.iter().copied().map(func).collect();
    let call = VirtualCallFacts { site: site(1), root, form: Form::Whole, chain: &[], candidates: &candidates, suggested: &[] };
    oracle.targets(&call).iter().map(|target| target.as_u32() as usize).collect()
}

fn call(root: usize, callee: usize) -> CallSiteFacts<'static> {
    CallSiteFacts { site: site(1), root: func(root), callee: func(callee), ..facts(60) }
}

/// `f1` as it is compiled by a policy.
fn version(oracle: &dyn Oracle) -> Version {
    let questions = Questions::new(oracle, func(1));
    let inlined = targets(&questions, func(1)).into_iter().filter_map(|target| {
        let facts = call(1, target);
        let verdict = questions.decide(&facts);
        verdict.is_inlined().then(|| InlineDecision::new(&facts, verdict, questions.evidence(&facts, verdict)))
    });
    let inlined = inlined.collect();
    Version { asked: questions.into_list(), inlined }
}

#[test]
fn what_came_in_comes_in_again_though_the_profile_does_not_see_it_any_more() {
    let first = version(&oracle(&[2]));
    assert_eq!(first.inlined.len(), 1);
    // Now it sees only what has missed the test.
    let now = oracle(&[3]);
    assert_eq!((targets(&now, func(1)), now.decide(&call(1, 2)).is_inlined()), (vec![3], false));
    let kept = Kept::new(&now, func(1), [&first]);
    assert_eq!(targets(&kept, func(1)), [2, 3]);
    for (callee, weight) in [(2, 100_000.0), (3, 100_000.0)] {
        let verdict = kept.decide(&call(1, callee));
        assert_eq!(verdict, Verdict::Inline(Accepted::Benefit));
        assert_eq!(kept.evidence(&call(1, callee), verdict).map(|evidence| evidence.seen.weight), Some(weight));
    }
    assert_eq!(kept.decide(&call(1, 4)), Verdict::Call(Refused::ColdByProfile), "it never came in");
    // So it goes on.
    let second = version(&kept);
    let kept = Kept::new(&NoInlining, func(1), [&second]);
    assert_eq!(
        (targets(&kept, func(1)), [2, 3, 4].map(|callee| kept.decide(&call(1, callee)).is_inlined())),
        (vec![2, 3], [true, true, false])
    );
}

#[test]
fn other_roots_and_other_chains_know_nothing_of_it() {
    let (first, now) = (version(&oracle(&[2])), oracle(&[3]));
    let kept = Kept::new(&now, func(1), [&first]);
    assert_eq!((targets(&kept, func(5)), kept.decide(&call(5, 2)).is_inlined()), (vec![3], false));
    let copy = CallSiteFacts { chain: &[site(2)], ..call(1, 2) };
    assert!(!kept.decide(&copy).is_inlined());
}

#[test]
fn new_targets_take_the_places_of_old_ones() {
    let most = tuning::INLINE_GUARD_MOST as usize;
    let first = version(&oracle(&[2, 3, 4]));
    assert_eq!((targets(&oracle(&[2, 3, 4]), func(1)), most), (vec![2, 3, 4], 3));
    let after = |callees: &[usize]| targets(&Kept::new(&oracle(callees), func(1), [&first]), func(1));
    assert_eq!(after(&[3]), [2, 3, 4], "in their order");
    assert_eq!(after(&[5]), [2, 3, 5]);
    assert_eq!(after(&[3, 5]), [2, 3, 5]);
    assert_eq!(after(&[4, 5]), [2, 4, 5], "what is still named stays");
    assert_eq!(after(&[5, 6, 7]), [5, 6, 7]);
}

/// More is known of the receiver's class in one version than in another.
#[test]
fn a_call_that_reaches_fewer_functions_than_before_is_tested_for_those_alone() {
    let first = version(&oracle(&[2, 3, 4]));
    let after = |callees: &[usize]| targets_of(&Kept::new(&oracle(callees), func(1), [&first]), func(1), &[2, 4, 5]);
    assert_eq!(after(&[3]), [2, 4]);
    assert_eq!(after(&[5]), [2, 4, 5]);
}

#[test]
fn of_several_versions_the_first_says_what_counts_and_a_full_root_takes_in_no_more() {
    let versions = [version(&oracle(&[2, 3])), version(&oracle(&[4]))];
    let kept = Kept::new(&NoInlining, func(1), &versions);
    assert_eq!(targets(&kept, func(1)), [2, 3], "no version tested for three");
    assert!([2, 3, 4].iter().all(|&callee| kept.decide(&call(1, callee)).is_inlined()));
    // Whatever the policy's reason is.
    let of_root = |root_size| kept.decide(&CallSiteFacts { root_size, ..call(1, 2) });
    assert_eq!((of_root(940).is_inlined(), of_root(941)), (true, Verdict::Call(Refused::Disabled)));
    let again = CallSiteFacts { recursion: 1, ..call(1, 2) };
    assert!(!kept.decide(&again).is_inlined());
}
