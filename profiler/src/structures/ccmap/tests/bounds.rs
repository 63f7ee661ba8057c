//! Limits, great depth, and memory.

use super::random::{Step, THREADS, calls, edge, program};
use super::reference::counts;
use super::{call, config, function, site, start};
use crate::metrics::ccmap::overlap;
use crate::program::Program;
use crate::structures::CallStructure;
use crate::structures::ccmap::{CcMap, CcMapError, Cursor, Inconsistency, Limits, Removed};
use proptest::prelude::*;

fn run(program: &Program, limits: Limits, steps: &[Step]) -> CcMap {
    let mut map = CcMap::new(program, limits).unwrap();
    let mut cursors: Vec<_> = (0..THREADS).map(|_| map.start()).collect();
    run_on(&mut map, &mut cursors, program, steps);
    map
}

fn run_on(map: &mut CcMap, cursors: &mut [Cursor], program: &Program, steps: &[Step]) {
    for step in steps {
        match *step {
            Step::Call { thread, edge: index, weight } => map.call(&mut cursors[thread], edge(program, index), f64::from(weight)),
            Step::Return { thread } => map.ret(&mut cursors[thread]),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// A limit takes contexts, never totals, and says how many.
    #[test]
    fn limits_drop_contexts_only(steps in calls(), nodes in 0..40u32) {
        let program = program();
        let whole = counts(&run(&program, Limits::default(), &steps));
        let map = run(&program, Limits { nodes, ..Limits::default() }, &steps);
        map.check().unwrap();
        prop_assert!(map.nodes() <= nodes);
        let bounded = counts(&map);
        prop_assert_eq!(&bounded.methods, &whole.methods);
        prop_assert!(bounded.edges.iter().map(|(edge, count)| (edge, count.0)).eq(whole.edges.iter().map(|(edge, count)| (edge, count.0))));
        prop_assert!(bounded.paths.iter().all(|(path, count)| *count <= whole.paths[path]));
        prop_assert_eq!(map.dropped().weight, bounded.edges.values().map(|count| count.1).sum::<f64>());
        prop_assert_eq!(map.dropped().weight, whole.added - bounded.paths.values().sum::<f64>());
        prop_assert!(map.dropped().calls > 0 || map.dropped().weight == 0.0);
        let made = steps.iter().filter(|step| matches!(step, Step::Call { .. })).count() as u64;
        prop_assert!(map.dropped().calls == made || nodes > 0, "without room all calls are dropped, those that were only passed too");
    }

    /// Room that a removal makes is used again, by cursors that were out of the map too.
    #[test]
    fn removal_makes_room(first in calls(), second in calls(), nodes in 0..40u32) {
        let program = program();
        let mut map = CcMap::new(&program, Limits { nodes, ..Limits::default() }).unwrap();
        let mut cursors: Vec<_> = (0..THREADS).map(|_| map.start()).collect();
        run_on(&mut map, &mut cursors, &program, &first);
        let depths: Vec<_> = cursors.iter().map(|at| (at.depth(), at.context().map(|node| map.path(node)))).collect();
        map.remove_cold(3.0, &mut cursors);
        map.check().unwrap();
        let after: Vec<_> = cursors.iter().map(|at| (at.depth(), at.context().map(|node| map.path(node)))).collect();
        prop_assert_eq!(depths, after, "cursors stay where they are");
        run_on(&mut map, &mut cursors, &program, &second);
        map.check().unwrap();
        prop_assert!(map.nodes() <= nodes);
        // Out of all calls, a cursor finds what room there is.
        let mut at = cursors[0];
        (0..at.depth()).for_each(|_| map.ret(&mut at));
        map.remove_cold(f64::INFINITY, []);
        prop_assert_eq!(map.nodes(), 0);
        map.call(&mut at, edge(&program, 0), 1.0);
        prop_assert_eq!(at.context().is_some(), nodes >= 2);
        map.check().unwrap();
    }

    #[test]
    fn merging_keeps_to_the_limit(first in calls(), second in calls(), nodes in 0..40u32) {
        let mut program = program();
        let mut map = run(&program, Limits { nodes, ..Limits::default() }, &first);
        let other = run(&program, Limits::default(), &second);
        let mut whole = run(&program, Limits::default(), &first);
        whole.merge(&other, &mut program).unwrap();
        map.merge(&other, &mut program).unwrap();
        map.check().unwrap();
        prop_assert!(map.nodes() <= nodes);
        let (bounded, whole) = (counts(&map), counts(&whole));
        prop_assert_eq!(&bounded.methods, &whole.methods);
        prop_assert!(bounded.edges.iter().all(|(edge, count)| count.0 == whole.edges[edge].0));
        prop_assert!(bounded.paths.iter().all(|(path, count)| whole.paths.get(path).is_some_and(|all| count <= all)));
    }
}

#[test]
fn a_million_frames_deep() {
    const DEPTH: u32 = 1_000_000;
    let mut program = Program::default();
    let method = function(&mut program, "f");
    let main = start(&mut program, method);
    let site = site(&mut program, method);
    let again = call(&mut program, site, method);
    let mut map = CcMap::new(&program, Limits::default()).unwrap();
    let mut at = map.start();
    map.call(&mut at, main, 1.0);
    (1..DEPTH).for_each(|_| map.call(&mut at, again, 1.0));
    assert_eq!((at.depth(), map.nodes()), (DEPTH, 2 * DEPTH));
    assert!(map.bytes() <= 52 * DEPTH as usize + 1000);
    map.check().unwrap();
    assert_eq!(map.path(at.context().unwrap()).len(), DEPTH as usize);
    let chains = map.hottest_chains(1.0, 5);
    assert_eq!(chains.iter().map(|chain| chain.length).collect::<Vec<_>>(), [DEPTH]);
    assert_eq!(map.targets_in(site, &[site; 3])[0].count, f64::from(DEPTH - 4));
    assert_eq!(overlap(&map, &map.clone()).round(), 100.0);
    let copy = map.clone();
    map.merge(&copy, &mut program).unwrap();
    assert_eq!(map.edge(again).total, 2.0 * f64::from(DEPTH - 1));
    assert_eq!(map.remove_cold(3.0, [&mut at]), Removed::default(), "all calls are open");
    (1..DEPTH).for_each(|_| map.ret(&mut at));
    assert_eq!(map.remove_cold(3.0, [&mut at]), Removed { contexts: DEPTH - 1, edges: 0, methods: 0 });
    assert_eq!(map.path(at.context().unwrap()), [main]);
    map.check().unwrap();
}

#[test]
fn maps_of_different_programs_do_not_merge() {
    let mut ours = Program::default();
    let (f, g) = (function(&mut ours, "f"), function(&mut ours, "g"));
    let mut theirs = ours.clone();
    let here = site(&mut ours, f);
    let there = site(&mut theirs, g);
    let edge = call(&mut theirs, there, f);
    let mut map = CcMap::new(&ours, Limits::default()).unwrap();
    let mut other = CcMap::new(&theirs, Limits::default()).unwrap();
    let mut at = other.start();
    other.call(&mut at, edge, 1.0);
    assert_eq!(map.merge(&other, &mut ours), Err(CcMapError::OtherCaller { site: here, here: Some(f), there: Some(g) }));
    assert_eq!((map.total(), ours.edges().len()), (0.0, 0));
}

/// Breaks a map in each way that its code could, by hand.
#[test]
fn the_check_finds_what_is_broken() {
    let mut program = Program::default();
    let f = function(&mut program, "f");
    let main = start(&mut program, f);
    let here = site(&mut program, f);
    let again = call(&mut program, here, f);
    let mut map = CcMap::new(&program, Limits::default()).unwrap();
    let mut at = map.start();
    [main, again, again].into_iter().for_each(|edge| map.call(&mut at, edge, 1.0));
    map.check().unwrap();
    let (top, last) = (map.find(&[main]).unwrap(), at.context().unwrap());
    let second = map.sites_of(top).next().unwrap();
    let broken = |break_it: &dyn Fn(&mut CcMap)| {
        let mut map = map.clone();
        break_it(&mut map);
        map.check().unwrap_err()
    };
    let count = |total, sum| Inconsistency::EdgeCount { edge: again, total, sum };
    assert_eq!(broken(&|map| map.callee_refs[last].count += 1.0), count(2.0, 3.0));
    assert_eq!(broken(&|map| map.callees[again].without_context = 1.0), count(2.0, 3.0));
    assert_eq!(broken(&|map| map.methods[f].total = 4.0), Inconsistency::MethodCount { method: f, total: 4.0, sum: 3.0 });
    assert_eq!(broken(&|map| map.removed = 1.0), Inconsistency::Total { total: 3.0, sum: 4.0 });
    assert_eq!(broken(&|map| map.callees[again].contexts = None.into()), Inconsistency::Contexts(again));
    assert_eq!(broken(&|map| map.callees[again].contexts = top.into()), Inconsistency::Contexts(again));
    assert_eq!(broken(&|map| map.sites[here].contexts = None.into()), Inconsistency::SiteContexts(here));
    assert_eq!(broken(&|map| map.methods[f].callers = None.into()), Inconsistency::General(main));
    assert_eq!(broken(&|map| map.methods[f].sites = None.into()), Inconsistency::General(again));
    assert_eq!(broken(&|map| map.callee_refs[last].parent = None.into()), Inconsistency::Tree(last));
    assert_eq!(broken(&|map| map.callee_refs[top].sites = None.into()), Inconsistency::SiteTree(second));
    assert_eq!(broken(&|map| map.limits.nodes = 1), Inconsistency::Nodes { nodes: 6, limit: 1 });
}
