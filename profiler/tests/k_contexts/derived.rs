//! What is made of k-CCFs, and what limits leave of them, on random traces.

use crate::support::*;
use cranelift_entity::EntityRef;
use profiler::ids::{EdgeId, FuncId, ThreadId};
use profiler::sample::{Observed, Sample};
use profiler::structures::CallStructure;
use profiler::structures::forest::Forest;
use profiler::structures::kccf::pruned::PrunedKccf;
use profiler::structures::kccf::{ContextId, Kccf, UNBOUNDED};
use profiler::structures::ksf::slots::Slots;
use profiler::structures::ksf::{IndexedKsf, SiblingKsf};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Debug;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bounded_forests_say_what_they_dropped(trace in any_trace(), k in 1u32..5, limit in 0u32..40) {
        let slots = Slots::of_functions(&trace.program);
        let siblings = trace.feed(SiblingKsf::new(k, limit).unwrap(), true, trace.function());
        let indexed = trace.feed(IndexedKsf::indexed(k, slots, limit).unwrap(), true, trace.function());
        prop_assert!(siblings.len() <= limit as usize);
        prop_assert_eq!(siblings.dropped(), indexed.dropped());
        let full = trace.ksf(k);
        prop_assert_eq!(siblings.dropped().calls == 0, full.nodes().all(|node| full.weight(node) == 0.0 || node.index() <= limit as usize));
        let bounded = invert(&siblings, k);
        prop_assert_eq!(&bounded, &invert(&indexed, k));
        let counted: f64 = bounded.roots().map(|root| bounded.weight(root)).sum();
        prop_assert_eq!(counted + siblings.dropped().weight, trace.calls() as f64);
        prop_assert_eq!(counted as u64 + siblings.dropped().calls, trace.calls() as u64);
        let all = trace.reference(k);
        prop_assert!(paths(&bounded).iter().all(|(path, &count)| count <= all[path]));
    }

    #[test]
    fn bounded_kccfs_are_shallower_ones(trace in any_trace(), k in 0u32..8, limit in 0u32..200) {
        let (cct, all) = (trace.cct(), invert(&trace.cct(), k));
        let bounded = Kccf::invert(&cct, k, limit).unwrap();
        prop_assert!(bounded.len() <= limit as usize);
        prop_assert_eq!(bounded.cut() == 0, all.len() <= limit as usize);
        if bounded.cut() == 0 {
            prop_assert_eq!(&bounded, &all);
        } else if !bounded.is_empty() {
            prop_assert_eq!(&bounded, &invert(&cct, bounded.k()));
            prop_assert!(invert(&cct, bounded.k() + 1).len() > limit as usize);
        }
        let pruned = PrunedKccf::invert(&cct, k, NO_LIMIT).unwrap();
        prop_assert_eq!(pruned.reconstruct(limit), bounded);
    }

    #[test]
    fn smaller_k_is_the_front(trace in any_trace(), k in 0u32..8, smaller in 0u32..10) {
        let all = invert(&trace.cct(), k);
        prop_assert_eq!(all.truncated(smaller), invert(&trace.cct(), k.min(smaller)));
    }

    #[test]
    fn merging_is_profiling_both(a in any_trace(), b in any_trace(), k in 0u32..6, other in 0u32..6, limit in 0u32..300) {
        let (x, y) = (invert(&a.cct(), k), invert(&b.cct(), other));
        let sum = x.merged(&y, NO_LIMIT);
        prop_assert_eq!(sum.k(), k.min(other));
        prop_assert_eq!(&sum, &y.merged(&x, NO_LIMIT));
        let mut expected = a.reference(k.min(other));
        for (path, count) in b.reference(k.min(other)) {
            *expected.entry(path).or_default() += count;
        }
        prop_assert_eq!(paths(&sum), expected);
        let bounded = x.merged(&y, limit);
        prop_assert!(bounded.len() <= limit as usize);
        prop_assert_eq!(bounded.cut() == 0, sum.len() <= limit as usize);
        if !bounded.is_empty() {
            prop_assert_eq!(&bounded, &sum.truncated(bounded.k()));
        }
    }

    #[test]
    fn pruned_forests_can_be_reconstructed(trace in any_trace(), k in 0u32..8, is_plain in any::<bool>()) {
        let cct = trace.feed(Tree::default(), is_plain, trace.function());
        check_pruned(&cct, k);
        check_pruned(&cct, UNBOUNDED);
        let ksf = trace.feed(SiblingKsf::new(k.max(1), NO_LIMIT).unwrap(), is_plain, trace.function());
        check_pruned(&ksf, k);
    }

    #[test]
    fn similar_contexts_are_those_of_the_definition(trace in any_trace(), percent in 0u32..=100) {
        let percent = f64::from(percent);
        let similar = Kccf::similar(&trace.cct(), percent, UNBOUNDED, NO_LIMIT).unwrap();
        let all = invert(&trace.cct(), UNBOUNDED);
        let is_similar = |&node: &ContextId| {
            let root = std::iter::successors(Some(node), |&node| all.parent(node)).last().unwrap();
            all.weight(node) * 100.0 >= percent * all.weight(root)
        };
        let expected: Paths<FuncId> = all.nodes().filter(is_similar).map(|node| (all.context(node), all.weight(node))).collect();
        prop_assert_eq!(paths(&similar), expected);
    }

    #[test]
    fn samples_count_where_they_were_taken(trace in any_trace(), k in 1u32..5, open in 0usize..20) {
        let events = &trace.threads[0];
        let stack: Vec<EdgeId> = events.iter().filter_map(|event| event.edge()).take(open).collect();
        let sample = |observed| Sample { thread: ThreadId::new(0), stack: stack.clone(), observed, weight: 2.5, tick: 0, stands_for: 1.0 };
        let mut ksf = SiblingKsf::new(k, NO_LIMIT).unwrap();
        let mut reference = Reference { k: k as usize, paths: Paths::new() };
        for sample in [sample(Observed::Top), sample(Observed::burst(events.clone()))] {
            ksf.add(&sample, trace.function());
            reference.add(&sample, trace.function());
        }
        prop_assert_eq!(paths(&invert(&ksf, k)), reference.paths);
    }
}

/// Reconstruction is exact, and what is kept is what the definition keeps: the nodes that are no inner part of a chain of one weight to a leaf.
fn check_pruned<F: Forest<Label: Debug>>(forest: &F, k: u32) {
    if forest.reach().is_some_and(|reach| k > reach) {
        return;
    }
    let all = invert(forest, k);
    let pruned = PrunedKccf::invert(forest, k, NO_LIMIT).unwrap();
    assert_eq!(pruned.reconstruct(NO_LIMIT), all);
    let mut is_chain: HashMap<ContextId, bool> = HashMap::new();
    for node in (0..all.len()).rev().map(ContextId::new) {
        let children: Vec<ContextId> = all.children(node).collect();
        let chain = match children[..] {
            [] => true,
            [child] => is_chain[&child] && all.weight(child) == all.weight(node),
            _ => false,
        };
        is_chain.insert(node, chain);
    }
    let is_kept = |&node: &ContextId| all.parent(node).is_none_or(|parent| !is_chain[&parent]);
    let expected: Paths<F::Label> = all.nodes().filter(is_kept).map(|node| (all.context(node), all.weight(node))).collect();
    assert_eq!(paths(pruned.kept()), expected);
    for leaf in pruned.kept().leaves() {
        assert!(forest.label(pruned.origin(leaf)) == *pruned.kept().context(leaf).last().unwrap());
    }
}
