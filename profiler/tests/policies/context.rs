//! Decisions in context against decisions by edges.

use super::support::{by_hand, compile, facts, func, inlined, site, view, worlds};
use profiler::oracle::view::Weighting;
use profiler::oracle::{Accepted, CallSiteFacts, Certainty, Form, Kind, Oracle, ProfileView, Refused, Verdict, VirtualCallFacts};
use profiler::profile::Certainty::Sampled;
use profiler::profile::{DcgEdge, Meta, Profile, Seen};
use proptest::prelude::*;
use std::sync::Arc;

/// `map` (f3) calls its argument at site 4: from f1 always f5, from f2 always f6. f1 and f2 are called by f0, f7 calls `map` too, and `map` spreads its calls evenly over f5 and f6, f8 and f9 there.
fn library() -> Arc<ProfileView> {
    let calls: &[(&[usize], usize, f64)] = &[
        (&[], 0, 0.0),
        (&[0], 1, 100.0),
        (&[0, 2], 3, 1_000.0),
        (&[0, 2, 4], 5, 20_000.0),
        (&[1], 2, 100.0),
        (&[1, 3], 3, 1_000.0),
        (&[1, 3, 4], 6, 20_000.0),
        (&[5], 7, 1_000.0),
        (&[5, 6], 3, 1_000.0),
        (&[5, 6, 4], 8, 20_000.0),
        (&[5, 6, 4], 9, 20_000.0),
    ];
    Arc::new(view(&by_hand(&[0, 0, 1, 2, 3, 0, 7], 10, calls).1))
}

const CANDIDATES: [usize; 4] = [5, 6, 8, 9];

fn targets(oracle: &dyn Oracle, root: usize, chain: &[usize]) -> Vec<u32> {
    let chain: Vec<_> = chain.iter().map(|&id| site(id)).collect();
    let candidates = CANDIDATES.map(func);
    let call =
        VirtualCallFacts { site: site(4), root: func(root), form: Form::Whole, chain: &chain, candidates: &candidates, suggested: &[] };
    oracle.targets(&call).into_iter().map(|id| id.as_u32()).collect()
}

fn decide(oracle: &dyn Oracle, root: usize, chain: &[usize], callee: usize) -> Verdict {
    let chain: Vec<_> = chain.iter().map(|&id| site(id)).collect();
    let certainty = Certainty::Guarded { targets: 2 };
    oracle.decide(&CallSiteFacts { site: site(4), root: func(root), chain: &chain, callee: func(callee), certainty, ..facts(60) })
}

#[test]
fn a_callback_is_monomorphic_in_each_context_and_polymorphic_overall() {
    let (edges, context) = (Kind::CostBenefit.oracle(library()), Kind::Context.oracle(library()));
    for oracle in [&edges, &context] {
        assert_eq!(targets(&**oracle, 3, &[]), [0; 0], "alone, `map` calls four functions alike");
    }
    assert_eq!(targets(&*edges, 1, &[2]), [0; 0]);
    assert_eq!(targets(&*context, 1, &[2]), [5]);
    assert_eq!(targets(&*context, 2, &[3]), [6]);
    assert_eq!(targets(&*context, 0, &[1, 3]), [6], "from further out too");
    assert_eq!(targets(&*context, 7, &[6]), [8, 9]);
    // In f1's copy f5 takes all calls, by the edges alone a third of a quarter; and f6, which seems as good by the edges, is never called there.
    assert_eq!(decide(&*context, 1, &[2], 5), Verdict::Inline(Accepted::HotInContext));
    assert_eq!(decide(&*context, 1, &[2], 6), Verdict::Call(Refused::GuardShare));
    assert_eq!(decide(&*edges, 1, &[2], 5), decide(&*edges, 1, &[2], 6));
}

#[test]
fn evidence_says_where_the_weight_is_from() {
    let (edges, context) = (Kind::CostBenefit.oracle(library()), Kind::Context.oracle(library()));
    let chain = [site(2)];
    let asked = CallSiteFacts { site: site(4), root: func(1), chain: &chain, callee: func(5), ..facts(60) };
    let seen = |oracle: &dyn Oracle| oracle.evidence(&asked, oracle.decide(&asked)).expect("of its own verdict").seen;
    let (by_edges, in_context) = (seen(&*edges), seen(&*context));
    assert!(in_context.is_in_context() && !by_edges.is_in_context());
    assert_eq!((in_context.weight, in_context.site_share()), (20_000.0, 1.0));
    assert!((by_edges.weight - 20_000.0 / 3.0).abs() < 1e-9, "a third of the calls of `map`");
    assert_eq!((by_edges.site_share(), in_context.samples), (0.25, Some(2_000)));
    assert!(edges.evidence(&asked, Verdict::Call(Refused::Disabled)).is_none(), "somebody else's verdict");
}

/// A structure that was full when `map` was first called from f1.
#[test]
fn contexts_without_a_place_are_not_taken_for_calls_never_made() {
    let context = |known_part: f64| {
        let (program, profile) = by_hand(
            &[0, 1, 2, 3],
            6,
            &[
                (&[0], 1, 1_000.0),
                (&[0, 1], 3, 20_000.0),
                (&[0, 1, 3], 4, 20_000.0 * known_part),
                (&[2], 3, 1_000.0),
                (&[2, 3], 5, 20_000.0),
            ],
        );
        let edges = profile.dcg().iter().map(|edge| match program.edges()[edge.edge].callee == func(4) {
            true => DcgEdge { weight: 20_000.0, samples: 2_000, ..*edge },
            false => *edge,
        });
        let contexts = profile.contexts().expect("has some").clone();
        let profile = Profile::builder(Meta::default(), program.clone()).dcg(edges).contexts(contexts).build().expect("a good profile");
        view(&profile).local(&[site(1)], site(3), Weighting::Contexts)
    };
    let callees = |known_part| context(known_part).receivers.iter().map(|receiver| receiver.callee).collect::<Vec<_>>();
    assert_eq!((context(1.0).context, callees(1.0)), (1, vec![func(4)]));
    assert_eq!((context(0.85).context, callees(0.85)), (1, vec![func(4)]));
    assert_eq!((context(0.7).context, callees(0.7)), (0, vec![func(4), func(5)]));
    assert_eq!((context(0.0).context, callees(0.0)), (0, vec![func(4), func(5)]), "and not none");
}

/// All that was seen behind one call may be one burst's.
#[test]
fn errors_in_context_are_no_less_than_those_of_contexts() {
    let (program, profile) = by_hand(&[0, 1, 1], 4, &[(&[0], 1, 100.0), (&[0, 1], 2, 1_000.0), (&[0, 2], 2, 1_000.0), (&[0, 1], 3, 500.0)]);
    let error = |of: f64| {
        let contexts = profile.contexts().expect("has some").clone();
        let seen = contexts.nodes().map(|_| Seen { error: Some(of), share_error: None, samples: 10 }).collect();
        let contexts = contexts.with_certainty(Sampled(seen)).expect("good errors");
        let again = Profile::builder(Meta::default(), program.clone()).dcg(profile.dcg().to_vec()).contexts(contexts).build();
        let seen = view(&again.expect("a good profile")).look(&[site(0)], site(1), func(2), Weighting::Contexts);
        assert_eq!((seen.weight, seen.context), (1_000.0, 1));
        seen.error.expect("known")
    };
    // Every tenth call was seen.
    assert!((error(1.0) - 100.0).abs() < 1e-9, "{}", error(1.0));
    assert_eq!(error(170.0), 170.0);
}

proptest! {
    #[test]
    fn where_contexts_agree_so_do_the_policies(world in worlds()) {
        let view = Arc::new(view(&world.profile(&[], 1.0, true)));
        let (edges, context) = (Kind::CostBenefit.oracle(view.clone()), Kind::Context.oracle(view));
        for root in 0..world.0.len() {
            let told = |oracle: &dyn Oracle| -> Vec<_> {
                let decisions = compile(&world, root, false, oracle);
                decisions.into_iter().map(|d| (d.site, d.chain, d.callee, inlined(d.verdict))).collect()
            };
            prop_assert_eq!(told(&*edges), told(&*context));
        }
    }
}
