//! Who decides while a profile grows, and what of what was decided a later profile would decide otherwise.

use crate::support::*;
use profiler::oracle::{
    Accepted, CallSiteFacts, Certainty, Fallback, Form, Kind, Oracle, ProfileView, Question, Questions, Refused, StaticOracle, Verdict,
    VirtualCallFacts,
};
use profiler::profile::Profile;
use profiler::tuning;
use std::time::Duration;

fn fallback(kind: Kind, view: ProfileView) -> Fallback {
    Fallback::new(kind, view, None).expect("it asks a profile")
}

/// `f0` calls `f1` (site 0), which calls `f2` or `f3` so often from site 1, and `f4` from site 2.
fn phase(first: f64, second: f64, other: f64) -> Profile {
    by_hand(&[0, 1, 1], 5, &[(&[0], 1, 1000.0), (&[0, 1], 2, first), (&[0, 1], 3, second), (&[0, 2], 4, other)]).1
}

fn of_site(number: usize, callee: usize, callee_size: u32) -> CallSiteFacts<'static> {
    CallSiteFacts { site: site(number), root: func(1), callee: func(callee), ..facts(callee_size) }
}

fn asks_for_targets(oracle: &dyn Oracle) -> Vec<usize> {
    let candidates = [func(2), func(3)];
    let call = VirtualCallFacts { site: site(1), root: func(1), form: Form::Whole, chain: &[], candidates: &candidates, suggested: &[] };
    oracle.targets(&call).iter().map(|target| target.as_u32() as usize).collect()
}

#[test]
fn the_profile_decides_what_it_inlines_and_the_static_policy_the_rest() {
    let profile = phase(100_000.0, 0.0, 0.0);
    for kind in [Kind::Dynamic, Kind::WeakStatic, Kind::CostBenefit, Kind::Context] {
        let oracle = fallback(kind, ProfileView::of_own(&profile));
        let hot = of_site(1, 2, 60);
        let verdict = oracle.decide(&hot);
        assert!(verdict.is_inlined() && verdict != StaticOracle::default().decide(&hot), "{kind:?}: {verdict:?}");
        assert!(oracle.evidence(&hot, verdict).is_some_and(|evidence| evidence.seen.weight == 100_000.0), "{kind:?}");
        // Nobody has entered `f4`, so nothing is known of what it calls; of `f1` it is known that it has not called `f4` so far.
        let (unknown, cold) = (CallSiteFacts { site: site(7), root: func(4), ..of_site(7, 0, 30) }, of_site(2, 4, 30));
        for call in [unknown.clone(), cold] {
            assert_eq!(oracle.decide(&call), Verdict::Inline(Accepted::Small), "{kind:?}");
            assert_eq!(oracle.evidence(&call, oracle.decide(&call)), None, "{kind:?}: no profile has decided that");
        }
        // Where both refuse, the profile's reason says more.
        let (large, unknown) = (of_site(2, 4, 500), CallSiteFacts { callee_size: 500, ..unknown });
        assert_eq!(oracle.decide(&large), Verdict::Call(Refused::ColdByProfile), "{kind:?}");
        assert!(oracle.evidence(&large, oracle.decide(&large)).is_some_and(|evidence| evidence.seen.knows_caller), "{kind:?}");
        assert_eq!(oracle.decide(&unknown), Verdict::Call(Refused::CalleeTooLarge), "{kind:?}");
        assert_eq!(oracle.evidence(&unknown, oracle.decide(&unknown)), None, "{kind:?}");
    }
}

/// The same share of all calls is little time where calls are rare.
#[test]
fn what_is_seldom_called_in_a_second_must_be_a_larger_share_of_all_calls() {
    let inlines = |size, rate: Option<f64>| {
        let view = ProfileView::of_own(&phase(100_000.0, 0.0, 0.0));
        let time = rate.map(|rate| Duration::from_secs_f64(view.total().weight / rate));
        let oracle = Fallback::new(Kind::CostBenefit, view, time).expect("it asks a profile");
        oracle.decide(&of_site(1, 2, size)).is_inlined()
    };
    assert!([None, Some(1e9), Some(tuning::INLINE_CALL_RATE)].map(|rate| inlines(800, rate)) == [true; 3]);
    assert!(!inlines(800, Some(tuning::INLINE_CALL_RATE / 4.0)) && inlines(300, Some(tuning::INLINE_CALL_RATE / 4.0)));
}

#[test]
fn few_samples_in_all_decide_nothing() {
    for (profile, knows) in [(phase(8_000.0, 0.0, 0.0), false), (phase(9_000.0, 0.0, 0.0), true)] {
        let oracle = fallback(Kind::CostBenefit, ProfileView::of_own(&profile));
        let hot = of_site(1, 2, 60);
        assert_eq!(oracle.knows_enough(), knows);
        assert_eq!(oracle.decide(&hot) == StaticOracle::default().decide(&hot), !knows);
        assert_eq!(oracle.evidence(&hot, oracle.decide(&hot)).is_some(), knows);
        assert_eq!(asks_for_targets(&oracle), if knows { vec![2] } else { vec![] });
    }
    assert!(!fallback(Kind::Dynamic, ProfileView::default()).knows_enough());
}

/// The questions that an optimizer asks of `f1`.
fn asked(oracle: &dyn Oracle) -> Vec<Question> {
    let questions = Questions::new(oracle, func(1));
    for target in asks_for_targets(&questions) {
        questions.decide(&CallSiteFacts { certainty: Certainty::Guarded { targets: 2 }, ..of_site(1, target, 20) });
    }
    questions.decide(&of_site(2, 4, 60));
    // Early forms of others are no part of it.
    questions.decide(&CallSiteFacts { root: func(0), ..of_site(0, 1, 500) });
    questions.into_list()
}

fn gain(asked: &[Question], now: &Profile) -> f64 {
    let oracle = fallback(Kind::CostBenefit, ProfileView::of_own(now));
    asked.iter().map(|question| oracle.gain(question)).sum()
}

#[test]
fn a_change_of_phase_is_worth_its_calls() {
    let (one, two) = (phase(100_000.0, 0.0, 0.0), phase(0.0, 80_000.0, 0.0));
    let both = phase(50_000.0, 50_000.0, 0.0);
    let first = asked(&fallback(Kind::CostBenefit, ProfileView::of_own(&one)));
    assert_eq!(first.len(), 2, "{first:?}");
    let near = |gain: f64, calls: f64| assert!((gain - calls).abs() < 1e-6, "{gain}, not {calls}");
    assert_eq!(gain(&first, &one), 0.0);
    near(gain(&first, &two), 80_000.0);
    near(gain(&first, &both), 50_000.0);
    let second = asked(&fallback(Kind::CostBenefit, ProfileView::of_own(&two)));
    assert_eq!(gain(&second, &two), 0.0);
    near(gain(&second, &one), 100_000.0);
    // Before the profile knew anything.
    let before = asked(&fallback(Kind::CostBenefit, ProfileView::default()));
    assert_eq!(gain(&before, &phase(10.0, 0.0, 0.0)), 0.0);
    near(gain(&before, &both), 100_000.0);
}

/// `f0` and `f4` call `f1` (sites 0 and 3), which calls `f2` from site 1.
#[test]
fn a_copy_is_worth_its_own_calls_though_the_policy_goes_by_the_edge() {
    let calls: [(&[usize], usize, f64); 4] = [(&[0], 1, 1000.0), (&[0, 1], 2, 25_000.0), (&[3], 1, 3000.0), (&[3, 1], 2, 75_000.0)];
    let (_, profile) = by_hand(&[0, 1, 1, 4], 5, &calls);
    let chain = [site(0)];
    let copy = CallSiteFacts { root: func(0), chain: &chain, ..of_site(1, 2, 60) };
    for kind in [Kind::Dynamic, Kind::CostBenefit, Kind::Context] {
        let before = fallback(kind, ProfileView::default());
        let questions = Questions::new(&before, func(0));
        assert!(!questions.decide(&copy).is_inlined());
        let now = fallback(kind, ProfileView::of_own(&profile));
        let gain: f64 = questions.into_list().iter().map(|question| now.gain(question)).sum();
        assert!((gain - 25_000.0).abs() < 1e-6, "{kind:?}: {gain}");
    }
}

#[test]
fn a_call_that_got_hot_is_worth_its_calls_and_chance_is_worth_nothing() {
    let first = asked(&fallback(Kind::CostBenefit, ProfileView::of_own(&phase(100_000.0, 0.0, 1.0))));
    assert_eq!(gain(&first, &phase(100_000.0, 0.0, 30_000.0)), 30_000.0);
    // 52 instructions of growth in a root of 100 need 2.2 % of all calls: 2280 of them. One sample is 10.
    assert_eq!(gain(&first, &phase(100_000.0, 0.0, 2_000.0)), 0.0, "not worth it");
    assert_eq!(gain(&first, &phase(100_000.0, 0.0, 2_400.0)), 0.0, "worth it, but perhaps by chance");
    assert_eq!(gain(&first, &phase(100_000.0, 0.0, 4_000.0)), 4_000.0);
    // Code was made as if nobody made the call.
    let unseen = asked(&fallback(Kind::CostBenefit, ProfileView::of_own(&phase(100_000.0, 0.0, 0.0))));
    assert_eq!(gain(&unseen, &phase(100_000.0, 0.0, 30_000.0)), 30_000.0);
    assert_eq!(gain(&unseen, &phase(100_000.0, 0.0, 2_000.0)), 2_000.0);
    assert_eq!(gain(&unseen, &phase(100_000.0, 0.0, 10.0)), 0.0, "perhaps by chance");
    // A second receiver a little above the share that makes it one of few.
    assert_eq!(gain(&first, &phase(89_000.0, 10_010.0, 0.0)), 0.0);
}
