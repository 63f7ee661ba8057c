//! The map equals the reference on random traces of several threads, with removals and decay in between.

use super::reference::{Counts, Reference, counts, node};
use super::{call, config, function, site, start, without_edges};
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::Program;
use crate::structures::CallStructure;
use crate::structures::ccmap::{CcMap, Cursor, Limits};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

pub(super) const THREADS: usize = 3;
const METHODS: u32 = 4;
const SITES: u32 = 6;

/// What happens in a trace.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Call { thread: usize, edge: usize, weight: u32 },
    Return { thread: usize },
    RemoveCold { least: u32 },
    Halve,
}

pub(super) fn calls() -> impl Strategy<Value = Vec<Step>> {
    vec(call_or_return(), 0..120)
}

fn call_or_return() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..THREADS, 0..100usize, 0..4u32).prop_map(|(thread, edge, weight)| Step::Call { thread, edge, weight }),
        4 => (0..THREADS).prop_map(|thread| Step::Return { thread }),
    ]
}

fn with_upkeep() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        30 => call_or_return(),
        1 => (0..8u32).prop_map(|least| Step::RemoveCold { least }),
        1 => Just(Step::Halve),
    ];
    vec(step, 0..150)
}

/// A program with one start and two targets of each of its call sites.
pub(super) fn program() -> Program {
    let mut program = Program::default();
    let methods: Vec<FuncId> = (0..METHODS).map(|i| function(&mut program, &format!("f{i}"))).collect();
    start(&mut program, methods[0]);
    for i in 0..SITES {
        let site = site(&mut program, methods[(i % METHODS) as usize]);
        call(&mut program, site, methods[(i % 3) as usize]);
        call(&mut program, site, methods[((i + 1) % METHODS) as usize]);
    }
    program
}

pub(super) fn edge(program: &Program, index: usize) -> EdgeId {
    EdgeId::from_u32((index % program.edges().len()) as u32)
}

/// A map, the reference, and what threads do in both.
struct Pair<'p> {
    map: CcMap,
    cursors: Vec<Cursor>,
    slow: Reference<'p>,
}

impl<'p> Pair<'p> {
    fn new(program: &'p Program) -> Self {
        let mut map = CcMap::new(program, Limits::default()).unwrap();
        Pair { cursors: (0..THREADS).map(|_| map.start()).collect(), map, slow: Reference::new(program, THREADS) }
    }

    fn run(program: &'p Program, steps: &[Step]) -> Self {
        let mut pair = Pair::new(program);
        steps.iter().for_each(|step| pair.step(step));
        pair
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Call { thread, edge: index, weight } => {
                let edge = edge(self.slow.program, index);
                self.map.call(&mut self.cursors[thread], edge, f64::from(weight));
                self.slow.call(thread, edge, f64::from(weight));
            }
            Step::Return { thread } => {
                self.map.ret(&mut self.cursors[thread]);
                self.slow.ret(thread);
            }
            Step::RemoveCold { least } => {
                let before = counts(&self.map);
                let removed = self.map.remove_cold(f64::from(least), &mut self.cursors);
                self.slow.remove_cold(f64::from(least));
                let after = counts(&self.map);
                assert_eq!(removed.contexts as usize, before.paths.len() - after.paths.len());
                assert_eq!(removed.edges as usize, before.edges.len() - after.edges.len());
            }
            Step::Halve => {
                self.map.decay(0.5).unwrap();
                let halve = |pair: &mut (f64, f64)| *pair = (pair.0 / 2.0, pair.1 / 2.0);
                let counts = &mut self.slow.counts;
                counts.paths.values_mut().for_each(|count| *count /= 2.0);
                counts.edges.values_mut().for_each(halve);
                counts.methods.values_mut().for_each(halve);
                (counts.added, counts.removed) = (counts.added / 2.0, counts.removed / 2.0);
            }
        }
    }

    fn agree(&self) {
        self.map.check().unwrap();
        assert_eq!(counts(&self.map), self.slow.counts);
        for (cursor, stack) in self.cursors.iter().zip(&self.slow.stacks) {
            assert_eq!(cursor.depth() as usize, stack.len());
            assert_eq!(cursor.context().map_or(vec![], |node| self.map.path(node)), *stack);
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn calls_are_counted_in_general_and_in_context(steps in calls()) {
        let program = program();
        let pair = Pair::run(&program, &steps);
        pair.agree();
        prop_assert!(counts(&pair.map).edges.values().all(|edge| edge.1 == 0.0), "contexts account for all");
    }

    #[test]
    fn removal_and_decay_leave_the_map_consistent(steps in with_upkeep()) {
        let program = program();
        let mut pair = Pair::new(&program);
        for step in &steps {
            pair.step(step);
            if matches!(step, Step::RemoveCold { .. }) {
                pair.agree();
            }
        }
        pair.agree();
    }

    /// After a removal: what is left is what was, less what is cold; totals are as before.
    #[test]
    fn removal_takes_only_what_is_cold(steps in calls(), least in 0..8u32) {
        let program = program();
        let mut pair = Pair::run(&program, &steps);
        let before = counts(&pair.map);
        pair.map.remove_cold(f64::from(least), []);
        pair.map.check().unwrap();
        let after = counts(&pair.map);
        prop_assert_eq!(after.added, before.added);
        for (path, count) in &before.paths {
            match after.paths.get(path) {
                Some(left) => prop_assert_eq!(left, count),
                None => prop_assert!(*count < f64::from(least)),
            }
        }
        let removed: Vec<_> = before.edges.iter().filter(|(edge, _)| !after.edges.contains_key(edge)).collect();
        prop_assert!(removed.iter().all(|(_, count)| count.0 < f64::from(least)));
        prop_assert!(after.edges.iter().all(|(edge, count)| count.0 == before.edges[edge].0));
    }

    /// A cursor that a removal did not know of loses its context, and only that.
    #[test]
    fn forgotten_cursors_make_suffixes(steps in calls(), more in calls()) {
        let program = program();
        let mut pair = Pair::run(&program, &steps);
        if pair.map.remove_cold(100.0, []).contexts == 0 {
            return Ok(());
        }
        pair.slow.stacks.iter_mut().for_each(|stack| stack.clear());
        pair.slow.remove_cold(100.0);
        more.iter().for_each(|step| pair.step(step));
        pair.map.check().unwrap();
        prop_assert_eq!(counts(&pair.map), pair.slow.counts);
    }

    #[test]
    fn queries_answer_from_the_links(steps in calls(), path in vec(0..100usize, 0..4), chain in vec(0..SITES, 0..3), share in 0.05..1.0f64) {
        let program = program();
        let Pair { map, slow, .. } = Pair::run(&program, &steps);
        let path: Vec<_> = path.into_iter().map(|index| edge(&program, index)).collect();
        prop_assert_eq!(map.path_count(&path), slow.path_count(&path));
        let chain: Vec<_> = chain.into_iter().map(CallSiteId::from_u32).collect();
        for site in program.sites.keys() {
            let targets = map.targets_in(site, &chain);
            prop_assert!(targets.windows(2).all(|pair| pair[0].count >= pair[1].count));
            let found: BTreeMap<_, _> = targets.into_iter().map(|target| (target.edge, target.count)).collect();
            prop_assert_eq!(found, slow.targets_in(site, &chain));
            prop_assert_eq!(map.targets(site), map.targets_in(site, &[]));
        }
        for (path, &count) in &slow.counts.paths {
            let context = node(&map, path);
            prop_assert_eq!((map.path(context), map.count_in(context)), (path.clone(), count));
            prop_assert!(map.contexts(*path.last().unwrap()).any(|other| other == context));
            prop_assert!(map.children(context).all(|child| map.parent(child) == Some(context)));
        }
        let hottest = map.hottest_edges(usize::MAX);
        prop_assert!(hottest.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        prop_assert_eq!(hottest.len(), slow.counts.edges.len());
        let chains = map.hottest_chains(share, usize::MAX);
        prop_assert!(chains.windows(2).all(|pair| pair[0].count >= pair[1].count));
        let found = chains.iter().map(|chain| (chain.length as usize, map.path(chain.last), chain.count.to_string())).collect();
        prop_assert_eq!(slow.hottest_chains(share), found);
        prop_assert!(chains.iter().all(|chain| map.path(chain.last).ends_with(&map.chain_edges(chain))));
    }

    /// The path through an edge is as hot as was asked for, and cannot be longer at either end.
    #[test]
    fn chains_through_an_edge_end_where_they_must(steps in calls(), share in 0.05..1.0f64) {
        let program = program();
        let Pair { map, slow, .. } = Pair::run(&program, &steps);
        for (&edge, &(total, _)) in &slow.counts.edges {
            let Some(path) = map.chain_through(edge, share) else {
                prop_assert_eq!(total, 0.0);
                continue;
            };
            prop_assert!(path.edges.contains(&edge));
            prop_assert_eq!(path.count, slow.path_count(&path.edges));
            prop_assert!(path.count >= share * total || path.edges.len() == 1);
            for more in program.edges().keys() {
                let longer = [path.edges.as_slice(), &[more]].concat();
                let higher = [&[more], path.edges.as_slice()].concat();
                prop_assert!(map.path_count(&higher) < share * total || map.path_count(&higher) == 0.0);
                let extends_down = map.path_count(&longer) >= share * total && map.path_count(&longer) > 0.0;
                prop_assert!(!extends_down, "{path:?} can go on with {more}");
            }
        }
    }

    #[test]
    fn merged_maps_equal_one_map(first in with_upkeep(), second in with_upkeep()) {
        let mut program = program();
        let other = program.clone();
        let mut one = Pair::run(&program, &first).map;
        let two = Pair::run(&other, &second).map;
        let (a, b) = (counts(&one), counts(&two));
        one.merge(&two, &mut program).unwrap();
        one.check().unwrap();
        prop_assert_eq!(counts(&one), sum(a, &b));
    }

    /// Two runs number their edges in the order in which they see them.
    #[test]
    fn merging_matches_edges_by_what_they_are(first in calls(), second in calls()) {
        let ours = program();
        let mut theirs = without_edges(&ours);
        ours.edges().values().rev().for_each(|&edge| { theirs.edge(edge); });
        let mut program = without_edges(&ours);
        let mut merged = CcMap::new(&program, Limits::default()).unwrap();
        merged.merge(&Pair::run(&theirs, &first).map, &mut program).unwrap();
        merged.merge(&Pair::run(&ours, &second).map, &mut program).unwrap();
        merged.check().unwrap();
        let mut expected = Pair::run(&theirs, &first).map;
        expected.merge(&Pair::run(&ours, &second).map, &mut theirs).unwrap();
        let in_ours = |map: &CcMap, program: &Program| -> Vec<_> {
            let name = |edge: EdgeId| ours.find(program.edges()[edge]).unwrap();
            let mut paths: Vec<_> = map.refs().map(|node| (map.path(node).into_iter().map(name).collect::<Vec<_>>(), map.count_in(node))).collect();
            paths.sort_by(|a, b| a.0.cmp(&b.0));
            paths
        };
        prop_assert_eq!(in_ours(&merged, &program), in_ours(&expected, &theirs));
        prop_assert_eq!(merged.total(), expected.total());
    }
}

fn sum(mut a: Counts, b: &Counts) -> Counts {
    let plus = |to: &mut (f64, f64), from: &(f64, f64)| *to = (to.0 + from.0, to.1 + from.1);
    b.paths.iter().for_each(|(path, count)| *a.paths.entry(path.clone()).or_default() += count);
    b.edges.iter().for_each(|(edge, count)| plus(a.edges.entry(*edge).or_default(), count));
    b.methods.iter().for_each(|(method, count)| plus(a.methods.entry(*method).or_default(), count));
    (a.added, a.removed) = (a.added + b.added, a.removed + b.removed);
    a
}
