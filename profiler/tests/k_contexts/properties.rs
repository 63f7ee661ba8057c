//! k-SF and k-CCF on random traces: against the reference, and what OOPSLA'12 proves of them.

use crate::support::*;
use profiler::ids::FuncId;
use profiler::structures::CallStructure;
use profiler::structures::cct::Cct;
use profiler::structures::forest::Forest;
use profiler::structures::kccf::UNBOUNDED;
use profiler::structures::ksf::arena::Arena;
use profiler::structures::ksf::slots::Slots;
use profiler::structures::ksf::{IndexedKsf, KSlabForest, SiblingKsf};
use proptest::prelude::*;
use std::collections::HashSet;
use std::fmt::Debug;

/// Each call once, and nothing but what was asked for: checks a k-SF of any layout against the CCT and the reference.
fn check_inverse<A: Arena<Label: Debug>>(ksf: &KSlabForest<A>, cct: &Tree<A::Label>, expected: &Paths<A::Label>) {
    let from_ksf = invert(ksf, ksf.k());
    assert_eq!(&paths(&from_ksf), expected);
    assert_eq!(from_ksf, invert(cct, ksf.k()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn kccf_from_ksf_and_from_cct_is_the_reference(trace in any_trace(), k in 1u32..9) {
        let function = trace.function();
        let cct = trace.feed(Tree::default(), false, &function);
        let expected = trace.feed(Reference { k: k as usize, paths: Paths::new() }, false, &function).paths;
        prop_assert_eq!(paths(&invert(&trace.feed(Cct::new(), false, &function), k)), expected.clone());
        let siblings = trace.feed(SiblingKsf::new(k, NO_LIMIT).unwrap(), false, &function);
        check_inverse(&siblings, &cct, &expected);
        for slots in [Slots::of_functions(&trace.program), Slots::default()] {
            check_inverse(&trace.feed(IndexedKsf::indexed(k, slots, NO_LIMIT).unwrap(), false, &function), &cct, &expected);
        }
    }

    #[test]
    fn with_call_sites_too(trace in any_trace(), k in 1u32..6) {
        let cct = trace.feed(Tree::default(), false, |edge| edge);
        let expected = trace.feed(Reference { k: k as usize, paths: Paths::new() }, false, |edge| edge).paths;
        check_inverse(&trace.feed(SiblingKsf::new(k, NO_LIMIT).unwrap(), false, |edge| edge), &cct, &expected);
        let slots = Slots::of_edges(&trace.program);
        check_inverse(&trace.feed(IndexedKsf::indexed(k, slots, NO_LIMIT).unwrap(), false, |edge| edge), &cct, &expected);
    }

    #[test]
    fn vertex_profiles_and_unbounded_ones(trace in any_trace()) {
        prop_assert_eq!(paths(&invert(&trace.cct(), 0)), trace.reference(0));
        prop_assert_eq!(paths(&invert(&trace.cct(), UNBOUNDED)), trace.reference(UNBOUNDED));
        prop_assert_eq!(paths(&invert(&trace.ksf(3), 2)), trace.reference(2));
    }

    #[test]
    fn fig7_with_cleared_counters_is_the_same(trace in rooted_trace(), k in 1u32..6) {
        let fig7 = trace.feed(Fig7 { k: k as usize, counts: Paths::new() }, true, trace.function());
        prop_assert_eq!(trace.ksf(k).len(), fig7.counts.len());
        prop_assert_eq!(fig7.inverse(f('r')), paths(&invert(&trace.ksf(k), k)));
    }

    /// Section 4.1, for one first function that is called by no other.
    #[test]
    fn properties_of_the_kccf(trace in rooted_trace(), k in 1u32..8) {
        let kccf = invert(&trace.ksf(k), k);
        let called: HashSet<FuncId> = trace.threads.iter().flatten().filter_map(|event| event.edge()).map(trace.function()).collect();
        let roots: HashSet<FuncId> = kccf.roots().map(|root| kccf.label(root)).collect();
        prop_assert_eq!(&roots, &called, "2: a tree for each function");
        prop_assert_eq!(kccf.roots().count(), roots.len());
        prop_assert!(kccf.depth() <= k as usize, "2: of depth at most k");
        prop_assert_eq!(paths(&kccf), trace.reference(k), "1, 3: a node for each path");
        for node in kccf.nodes() {
            prop_assert!(kccf.children(node).all(|child| kccf.weight(node) >= kccf.weight(child)), "(a)");
            if kccf.children(node).next().is_some() {
                prop_assert_eq!(kccf.own_weight(node), 0.0, "(b)");
            }
        }
        prop_assert_eq!(kccf.leaves().map(|leaf| kccf.weight(leaf)).sum::<f64>(), trace.calls() as f64, "(c)");
        let shorter = invert(&trace.ksf(k), k - 1);
        prop_assert!(paths(&shorter).iter().all(|(path, &count)| kccf.find(path).is_some_and(|node| kccf.weight(node) == count)), "4");
    }

    #[test]
    fn properties_of_the_unbounded_ccf(trace in rooted_trace()) {
        let cct = trace.cct();
        let all = invert(&cct, UNBOUNDED);
        let depth = cct.nodes().map(|node| std::iter::successors(cct.parent(node), |&node| cct.parent(node)).count()).max().unwrap_or(0);
        prop_assert_eq!(all.depth(), depth);
        prop_assert_eq!(&all, &invert(&cct, depth as u32), "5");
        prop_assert_eq!(&all, &invert(&cct, depth as u32 + 3), "5");
        for leaf in all.leaves() {
            prop_assert_eq!(all.label(leaf), f('r'), "6");
        }
        prop_assert_eq!(all.leaves().count(), cct.nodes.len(), "7");
        let path = |node| {
            let mut path: Vec<FuncId> = std::iter::successors(Some(node), |&node| cct.parent(node)).map(|node| cct.label(node)).collect();
            path.reverse();
            path
        };
        let contexts: HashSet<Vec<FuncId>> = all.leaves().map(|leaf| all.context(leaf)).collect();
        prop_assert_eq!(contexts, cct.nodes().map(path).collect(), "7");
    }

    /// Whatever the first functions are, the weights that nodes do not share with their children are those of all calls.
    #[test]
    fn own_weights_are_all_calls(trace in any_trace(), k in 1u32..6) {
        let kccf = invert(&trace.ksf(k), k);
        prop_assert_eq!(kccf.nodes().map(|node| kccf.own_weight(node)).sum::<f64>(), trace.calls() as f64);
        for root in kccf.roots() {
            let contexts = kccf.contexts(kccf.label(root));
            prop_assert_eq!(contexts.iter().map(|(_, weight)| weight).sum::<f64>(), kccf.weight(root));
        }
    }

    #[test]
    fn sizes_are_bounded(trace in any_trace(), k in 1u32..8) {
        let (cct, ksf) = (trace.cct(), trace.ksf(k));
        let n = cct.nodes.len();
        let calls_above = |node| std::iter::successors(cct.parent(node), |&node| cct.parent(node)).count();
        let depth = cct.nodes().map(calls_above).max().unwrap_or(0);
        prop_assert!(invert(&cct, k).len() <= (depth.min(k as usize) + 1) * n, "Theorem 1");
        prop_assert!(ksf.len() <= 2 * n, "Lemma 2");
        if k as usize > depth {
            prop_assert_eq!(ksf.len(), n, "the k-SF is the CCT");
        }
        let levels = ksf.nodes().map(|node| std::iter::successors(ksf.parent(node), |&node| ksf.parent(node)).count());
        prop_assert!(levels.max().unwrap_or(0) < 2 * k as usize);
        let roots: Vec<FuncId> = ksf.nodes().filter(|&node| ksf.parent(node).is_none()).map(|node| ksf.label(node)).collect();
        let at_boundaries: HashSet<FuncId> =
            cct.nodes().filter(|&node| calls_above(node) % k as usize == 0).map(|node| cct.label(node)).collect();
        prop_assert_eq!(roots.len(), at_boundaries.len(), "a tree for each label at a slab boundary");
        prop_assert_eq!(trace.indexed(k).len(), ksf.len());
    }

    #[test]
    fn runs_are_calls_and_returns(trace in any_trace(), k in 1u32..6, pieces in 1usize..50) {
        let mut ksf = SiblingKsf::new(k, NO_LIMIT).unwrap();
        for events in &trace.threads {
            let mut at = ksf.start();
            for piece in events.chunks(pieces) {
                ksf.run(&mut at, piece, 1.0, trace.function());
            }
            let depth = events.iter().fold(0usize, |depth, event| if event.edge().is_some() { depth + 1 } else { depth.saturating_sub(1) });
            prop_assert_eq!(at.depth(), depth);
        }
        prop_assert_eq!(invert(&ksf, k), invert(&trace.ksf(k), k));
    }
}
