//! The tree against by-hand traces and the slow reference.

use super::*;
use crate::ids::FuncId;
use crate::sample::{Observed, Sample};
use crate::structures::reference::{any_events, any_samples, contexts, edge, events, path, sample, trace};
use cranelift_entity::EntityRef;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Path = Vec<EdgeId>;

/// The trace of OOPSLA'12 figure 2, with r, a, b, c as a, b, c, d.
const WORKED: &str = "a b c . d . . d b c . c . . . .";

fn tree(text: &str) -> Cct<EdgeId> {
    let mut tree = Cct::new();
    let mut at = tree.start();
    tree.run(&mut at, &events(text), 1.0, |edge| edge);
    tree
}

fn weights(tree: &Cct<EdgeId>) -> BTreeMap<Path, f64> {
    tree.nodes().map(|node| (tree.path(node), tree.weight(node))).collect()
}

fn at(tree: &Cct<EdgeId>, text: &str) -> NodeId {
    tree.find(&path(text)).unwrap_or_else(|| panic!("no context {text}"))
}

#[test]
fn the_worked_example() {
    let tree = tree(WORKED);
    let expected = [("a", 1.0), ("ab", 1.0), ("abc", 1.0), ("abd", 1.0), ("ad", 1.0), ("adb", 1.0), ("adbc", 2.0)];
    assert_eq!(weights(&tree), expected.map(|(text, weight)| (path(text), weight)).into());
    assert_eq!(tree.inclusive_weight(at(&tree, "ad")), 4.0);
    assert_eq!(tree.inclusive_weight(at(&tree, "abd")), 1.0);
    assert_eq!(tree.by_weight()[0], at(&tree, "adbc"));
    assert_eq!(tree.depth(at(&tree, "adbc")), 3);
    assert_eq!(tree.parent(at(&tree, "adbc")), tree.find(&path("adb")));
    assert_eq!(tree.parent(at(&tree, "a")), None);
    assert_eq!(tree.label(at(&tree, "adb")), edge(1));
    assert_eq!(tree.find(&path("ac")), None);
    assert_eq!(tree.find(&[]), None);
    let mut children: Vec<NodeId> = tree.children(at(&tree, "a")).collect();
    children.sort();
    assert_eq!(children, [at(&tree, "ab"), at(&tree, "ad")]);
    let walked: Vec<_> = tree.subtree(at(&tree, "ad")).collect();
    assert_eq!(walked, [(at(&tree, "ad"), 0), (at(&tree, "adb"), 1), (at(&tree, "adbc"), 2)]);
    let summary = tree.summary();
    assert_eq!((summary.contexts, summary.weight, summary.height), (7, 8.0, 4));
    assert_eq!(summary.bytes, 8 * 24, "the hidden root counts");
}

#[test]
fn siblings_stand_in_the_order_of_the_calls() {
    // The search begins at the child that was called last. A new child stands behind it, an old one stays where it is.
    let siblings = |text| tree(text).roots().map(|node| tree(text).label(node).as_u32()).collect::<Vec<u32>>();
    assert_eq!(siblings("a . b . c ."), [2, 0, 1]);
    assert_eq!(siblings("a . b . c . a ."), [0, 1, 2]);
    assert_eq!(siblings("a . b . c . a . d ."), [3, 1, 2, 0]);
}

#[test]
fn an_empty_tree() {
    let tree = tree(". .");
    assert!(tree.is_empty());
    assert_eq!((tree.total(), tree.walk().count(), tree.roots().count()), (0.0, 0, 0));
    assert_eq!(tree, Cct::default());
}

#[test]
fn functions_merge_what_call_sites_tell_apart() {
    // Edges 1 and 2 are two call sites of one function.
    let callees = [0, 1, 1].map(FuncId::from_u32);
    let mut tree = Cct::new();
    let mut at = tree.start();
    tree.run(&mut at, &events("a b . c ."), 1.0, |edge| callees[edge.index()]);
    assert_eq!(tree.len(), 2);
    assert_eq!(tree.weight(tree.find(&callees[..2]).unwrap()), 2.0);
    assert_eq!(tree.context(&at), tree.find(&callees[..1]));
}

#[test]
fn threads_have_their_own_first_functions() {
    let mut tree = Cct::new();
    let (mut one, mut other) = (tree.start(), tree.start());
    let mut call = |at: &mut Cursor, text: &str| tree.run(at, &events(text), 1.0, |edge| edge);
    call(&mut one, "a");
    call(&mut other, "b");
    call(&mut one, "c");
    call(&mut other, "c .");
    assert_eq!(tree.roots().count(), 2);
    assert_eq!(tree.context(&one), tree.find(&path("ac")));
    assert_eq!(tree.context(&other), tree.find(&path("b")));
    assert_eq!(tree.weight(at(&tree, "bc")), 1.0);
}

#[test]
fn a_stack_walk_counts_its_top() {
    let mut tree = Cct::new();
    tree.add(&sample("abc", Observed::Top), |edge| edge);
    tree.add(&sample("", Observed::Top), |edge| edge);
    tree.add(&sample("ab", Observed::burst(events(". d"))), |edge| edge);
    assert_eq!(weights(&tree), [("a", 0.0), ("ab", 0.0), ("abc", 1.0), ("ad", 1.0)].map(|(text, weight)| (path(text), weight)).into());
}

#[test]
fn what_is_over_the_limit_is_counted() {
    let mut tree = Cct::with_limit(3);
    let mut at = tree.start();
    tree.run(&mut at, &events("a b . c . d"), 2.0, |edge| edge);
    assert_eq!(tree.dropped(), Dropped { calls: 1, weight: 2.0 });
    assert_eq!(tree.context(&at), None);
    // Known functions too, as long as the caller has no node; after its return all is as before.
    tree.run(&mut at, &events("b . b . . b"), 2.0, |edge| edge);
    assert_eq!(tree.dropped(), Dropped { calls: 3, weight: 6.0 });
    assert_eq!(tree.context(&at), tree.find(&path("ab")));
    assert_eq!(tree.len(), 3);
    assert_eq!(tree.total(), 8.0);
    assert_eq!(tree.dropped().to_string(), "3 observations of weight 6 dropped: the limit is reached, a higher one keeps them");

    let mut none = Cct::with_limit(0);
    none.merge(&tree);
    assert_eq!(none.dropped(), Dropped { calls: 6, weight: 14.0 });
}

#[test]
fn many_children_are_all_found() {
    let mut tree = Cct::new();
    let mut at = tree.start();
    for round in 0..3 {
        for number in 0..200 {
            tree.call(&mut at, edge(if round == 1 { 199 - number } else { number }), 1.0);
            tree.ret(&mut at);
        }
    }
    assert_eq!(tree.len(), 200);
    assert_eq!(tree.roots().count(), 200);
    assert!(tree.nodes().all(|node| tree.weight(node) == 3.0 && tree.find(&tree.path(node)) == Some(node)));
    assert_eq!(tree.many.len(), 200);
    assert_eq!(tree.clone(), tree);
}

#[test]
fn recursion_a_million_deep() {
    const DEPTH: u32 = 1_000_000;
    let mut tree = Cct::with_limit(DEPTH);
    let mut at = tree.start();
    let calls = vec![Event::call(edge(0)); DEPTH as usize];
    tree.run(&mut at, &calls, 1.0, |edge| edge);
    let deepest = tree.context(&at).unwrap();
    assert_eq!(tree.depth(deepest), DEPTH - 1);
    assert_eq!(tree.path(deepest).len(), DEPTH as usize);
    assert_eq!(tree.inclusive_weight(tree.roots().next().unwrap()), f64::from(DEPTH));
    assert_eq!(tree.summary().height, DEPTH);
    assert_eq!(tree.find(&tree.path(deepest)), Some(deepest));

    // As deep again, without room.
    tree.run(&mut at, &calls, 1.0, |edge| edge);
    assert_eq!(tree.dropped().calls, u64::from(DEPTH));
    tree.run(&mut at, &vec![Event::RETURN; DEPTH as usize], 1.0, |edge| edge);
    assert_eq!(tree.context(&at), Some(deepest));

    let mut merged = tree.clone();
    merged.merge(&tree);
    assert_eq!(merged.len(), tree.len());
    assert_ne!(merged, tree);
    assert_eq!(merged.clone(), merged);
}

/// A tree of at most `limit` contexts, the slow way: for each thread its open calls, of which those from `known` on have no node.
#[derive(Default)]
struct Slow {
    weights: BTreeMap<Path, f64>,
    dropped: u64,
    threads: [(Path, usize); 3],
}

impl Slow {
    fn step(&mut self, thread: usize, event: Event, limit: usize) {
        let (stack, known) = &mut self.threads[thread];
        let Some(edge) = event.edge() else {
            stack.pop();
            *known = stack.len().min(*known);
            return;
        };
        let all_known = *known == stack.len();
        stack.push(edge);
        if all_known && (self.weights.contains_key(stack) || self.weights.len() < limit) {
            *self.weights.entry(stack.clone()).or_default() += 1.0;
            *known = stack.len();
        } else {
            self.dropped += 1;
        }
    }
}

proptest! {
    #[test]
    fn traces_of_threads_under_a_limit(turns in prop::collection::vec((0..3usize, any_events()), 0..8), limit in 0..120u32) {
        let mut tree = Cct::with_limit(limit);
        let mut slow = Slow::default();
        let mut cursors = [tree.start(), tree.start(), tree.start()];
        for (thread, events) in turns {
            tree.run(&mut cursors[thread], &events, 1.0, |edge| edge);
            events.iter().for_each(|&event| slow.step(thread, event, limit as usize));
            let (stack, known) = &slow.threads[thread];
            let context = if *known == stack.len() { tree.find(stack) } else { None };
            prop_assert_eq!(tree.context(&cursors[thread]), context);
        }
        prop_assert_eq!(weights(&tree), slow.weights);
        prop_assert_eq!(tree.dropped(), Dropped { calls: slow.dropped, weight: slow.dropped as f64 });
    }

    #[test]
    fn samples(samples in any_samples()) {
        let mut tree = Cct::new();
        samples.iter().for_each(|sample| tree.add(sample, |edge| edge));
        prop_assert_eq!(weights(&tree), contexts(&samples));
    }

    #[test]
    fn one_by_one_as_in_a_run(trace in any_events()) {
        let mut ran = Cct::new();
        let mut at = ran.start();
        ran.run(&mut at, &trace, 1.0, |edge| edge);
        let mut stepped = Cct::new();
        let mut at = stepped.start();
        for event in trace {
            match event.edge() {
                Some(edge) => stepped.call(&mut at, edge, 1.0),
                None => stepped.ret(&mut at),
            }
        }
        prop_assert_eq!(ran, stepped);
    }

    /// Every query against the paths alone.
    #[test]
    fn queries(events in any_events()) {
        let all = contexts(&[trace(events.clone())]);
        let mut tree = Cct::new();
        let mut at = tree.start();
        tree.run(&mut at, &events, 1.0, |edge| edge);
        let inclusive = tree.inclusive_weights();
        for node in tree.nodes() {
            let path = tree.path(node);
            let below: f64 = all.iter().filter(|(other, _)| other.starts_with(&path)).map(|(_, weight)| weight).sum();
            prop_assert_eq!((inclusive[node], tree.inclusive_weight(node)), (below, below));
            prop_assert_eq!(tree.find(&path), Some(node));
            prop_assert_eq!(tree.depth(node) as usize, path.len() - 1);
            prop_assert_eq!(tree.parent(node), tree.find(&path[..path.len() - 1]));
            prop_assert!(tree.children(node).all(|child| tree.parent(child) == Some(node)));
        }
        prop_assert_eq!(tree.total(), all.values().sum::<f64>());
        let walked: BTreeMap<Path, usize> = tree.walk().map(|(node, depth)| (tree.path(node), depth as usize + 1)).collect();
        prop_assert_eq!(walked, all.keys().map(|path| (path.clone(), path.len())).collect());
        prop_assert_eq!(tree.walk().count(), all.len());
        prop_assert!(tree.by_weight().windows(2).all(|pair| tree.weight(pair[0]) >= tree.weight(pair[1])));
        prop_assert_eq!(tree.by_weight().len(), all.len());
    }

    #[test]
    fn merged_trees_are_the_tree_of_both(one in any_samples(), other in any_samples()) {
        let tree = |samples: &[Sample]| {
            let mut tree = Cct::new();
            samples.iter().for_each(|sample| tree.add(sample, |edge| edge));
            tree
        };
        let (mut forth, mut back) = (tree(&one), tree(&other));
        let (one_alone, other_alone) = (forth.clone(), back.clone());
        forth.merge(&other_alone);
        back.merge(&one_alone);
        let both = [one, other].concat();
        prop_assert_eq!(weights(&forth), contexts(&both));
        prop_assert_eq!(&forth, &tree(&both));
        prop_assert_eq!(forth, back, "whatever the order of children");
        prop_assert_eq!(one_alone == other_alone, weights(&one_alone) == weights(&other_alone));
    }

    /// Each context counted for by its path.
    #[test]
    fn paths(samples in any_samples()) {
        let all = contexts(&samples);
        let mut tree = Cct::new();
        all.iter().for_each(|(path, &weight)| tree.count(path.iter().copied(), weight));
        prop_assert_eq!(weights(&tree), all);
    }
}
