//! How alike two CC-Maps are (CC-Map section 5): correlation of methods' totals, overlap over all nodes.
//!
//! In: two maps of the same program; nodes are matched by functions and call sites, for each run numbers its edges anew. Out: one number each.

use super::Comparison;
use crate::ids::FuncId;
use crate::structures::ccmap::{CalleeRef, CcMap};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// Pearson's correlation of the totals of all methods that are in one of the maps (0 where a method is not in the other), from -1 to 1. The paper prints it in percent.
/// `None` where it is not defined: fewer than two methods, or all totals of a map equal.
pub fn correlation(a: &CcMap, b: &CcMap) -> Option<f64> {
    Comparison::of_pairs(methods_of_either(a, b).map(|method| (a.method(method).total, b.method(method).total))).correlation()
}

/// Arnold and Ryder's overlap over all nodes with a counter, in percent: the sum of the smaller share of each, where a share is a node's count of the sum over all nodes
/// of its map. Methods, edges, and edges in context are such nodes; of the last, those with equal paths from the same root are the same.
/// 0 if a map has no counts.
pub fn overlap(a: &CcMap, b: &CcMap) -> f64 {
    let (sum_a, sum_b) = (sum_of_nodes(a), sum_of_nodes(b));
    if sum_a <= 0.0 || sum_b <= 0.0 {
        return 0.0;
    }
    let smaller = |x: f64, y: f64| (x / sum_a).min(y / sum_b);
    let methods: f64 = methods_of_either(a, b).map(|method| smaller(a.method(method).total, b.method(method).total)).sum();
    let there = b.by_identity();
    let counterpart = |edge| a.identity(edge).and_then(|identity| there.get(&identity)).copied();
    let edges: f64 = a.edges().filter_map(|(edge, count)| Some(smaller(count, b.edge(counterpart(edge)?).total))).sum();
    let mut matched: SecondaryMap<CalleeRef, PackedOption<CalleeRef>> = SecondaryMap::new();
    let mut contexts = 0.0;
    for node in a.refs() {
        let Some(edge) = counterpart(a.general(node)) else { continue };
        let parent = a.parent(node);
        let parent_there = parent.and_then(|parent| matched[parent].expand());
        if parent.is_some() != parent_there.is_some() {
            continue;
        }
        let Some(other) = b.find_below(parent_there, edge) else { continue };
        matched[node] = other.into();
        contexts += smaller(a.count_in(node), b.count_in(other));
    }
    (methods + edges + contexts) * 100.0
}

fn methods_of_either<'a>(a: &'a CcMap, b: &'a CcMap) -> impl Iterator<Item = FuncId> + 'a {
    let only_in_b = b.methods().map(|(method, _)| method).filter(|&method| !a.has_method(method));
    a.methods().map(|(method, _)| method).chain(only_in_b)
}

fn sum_of_nodes(map: &CcMap) -> f64 {
    let methods: f64 = map.methods().map(|(_, count)| count).sum();
    let edges: f64 = map.edges().map(|(_, count)| count).sum();
    methods + edges + map.refs().map(|node| map.count_in(node)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::EdgeId;
    use crate::program::Program;
    use crate::structures::CallStructure;
    use crate::structures::ccmap::Limits;
    use crate::structures::ccmap::tests::{call, config, function, site, start, without_edges};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// main calls f and g; f calls g.
    fn program() -> (Program, [EdgeId; 4]) {
        let mut program = Program::default();
        let [main, f, g] = ["main", "f", "g"].map(|name| function(&mut program, name));
        let [in_main, other_in_main, in_f] = [main, main, f].map(|caller| site(&mut program, caller));
        let edges =
            [start(&mut program, main), call(&mut program, in_main, f), call(&mut program, other_in_main, g), call(&mut program, in_f, g)];
        (program, edges)
    }

    fn map(program: &Program, paths: &[(&[EdgeId], f64)]) -> CcMap {
        let mut map = CcMap::new(program, Limits::default()).unwrap();
        for (path, count) in paths {
            let mut at = map.start();
            let (last, above) = path.split_last().unwrap();
            above.iter().for_each(|&edge| map.call(&mut at, edge, 0.0));
            map.call(&mut at, *last, *count);
        }
        map
    }

    /// 4 calls in each map. a: main 1, f 1, g from f 2. b: main 1, f 1, g from main 1, g from f 1. All sums over nodes are 12.
    /// Methods: main 1 and 1, f 1 and 1, g 2 and 2: 4 in common. Edges: 1, 1, 0, 1 in common: 3. Contexts the same: 3. Together 10 of 12.
    #[test]
    fn overlap_by_hand() {
        let (program, [main, f, g, fg]) = program();
        let a = map(&program, &[(&[main], 1.0), (&[main, f], 1.0), (&[main, f, fg], 2.0)]);
        let b = map(&program, &[(&[main], 1.0), (&[main, f], 1.0), (&[main, g], 1.0), (&[main, f, fg], 1.0)]);
        assert!((overlap(&a, &b) - 1000.0 / 12.0).abs() < 1e-9);
        assert!((overlap(&b, &a) - 1000.0 / 12.0).abs() < 1e-9);
        assert!((overlap(&a, &a) - 100.0).abs() < 1e-9);
        // The same call as a suffix is another context: methods 1 of g, edges 1 of f to g, no contexts; 8 calls there.
        let suffix = map(&program, &[(&[fg], 8.0)]);
        let expected = 100.0 * ((2.0f64 / 12.0).min(8.0 / 24.0) + (2.0f64 / 12.0).min(8.0 / 24.0));
        assert!((overlap(&a, &suffix) - expected).abs() < 1e-9);
        assert_eq!(overlap(&a, &map(&program, &[])), 0.0);
    }

    /// Totals of main, f, g: (1, 2, 3) and (1, 2, 6): deviations (-1, 0, 1) and (-2, -1, 3), so 5 / (√2 · √14).
    #[test]
    fn correlation_by_hand() {
        let (program, [main, f, g, fg]) = program();
        let a = map(&program, &[(&[main], 1.0), (&[main, f], 2.0), (&[main, f, fg], 3.0)]);
        let b = map(&program, &[(&[main], 1.0), (&[main, f], 2.0), (&[main, f, fg], 5.0), (&[main, g], 1.0)]);
        assert!((correlation(&a, &b).unwrap() - 5.0 / 28.0f64.sqrt()).abs() < 1e-12);
        assert!((correlation(&a, &a).unwrap() - 1.0).abs() < 1e-12);
        // A method that is in one map only counts 0 in the other: (1, 2, 3) and (2, 1, 0).
        let c = map(&program, &[(&[main], 2.0), (&[main, f], 1.0)]);
        assert!((correlation(&a, &c).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&c, &map(&program, &[])), None);
        assert_eq!(correlation(&map(&program, &[]), &map(&program, &[])), None);
    }

    /// All nodes of a map under names that do not depend on the run.
    fn nodes(map: &CcMap, program: &Program) -> BTreeMap<String, f64> {
        let edge = |edge: EdgeId| format!("{:?}", program.edges()[edge]);
        let methods = map.methods().map(|(method, count)| (format!("method {method}"), count));
        let edges = map.edges().map(|(id, count)| (format!("edge {}", edge(id)), count));
        let path = |node| map.path(node).into_iter().map(edge).collect::<Vec<_>>().join(" ");
        methods.chain(edges).chain(map.refs().map(|node| (format!("path {}", path(node)), map.count_in(node)))).collect()
    }

    fn slow_overlap(a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> f64 {
        let (sum_a, sum_b): (f64, f64) = (a.values().sum(), b.values().sum());
        100.0 * a.iter().filter_map(|(name, x)| Some((x / sum_a).min(b.get(name)? / sum_b))).sum::<f64>()
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn overlap_equals_its_definition(
            ours in proptest::collection::vec((proptest::collection::vec(0..4usize, 1..5), 1..9u32), 1..20),
            theirs in proptest::collection::vec((proptest::collection::vec(0..4usize, 1..5), 1..9u32), 1..20),
        ) {
            let (program, edges) = program();
            let mut other = without_edges(&program);
            let others: Vec<EdgeId> = edges.iter().rev().map(|&edge| other.edge(program.edges()[edge])).rev().collect();
            let fill = |program: &Program, edges: &[EdgeId], paths: &[(Vec<usize>, u32)]| {
                let paths: Vec<(Vec<EdgeId>, f64)> = paths.iter().map(|(path, count)| (path.iter().map(|&i| edges[i]).collect(), f64::from(*count))).collect();
                map(program, &paths.iter().map(|(path, count)| (path.as_slice(), *count)).collect::<Vec<_>>())
            };
            let (a, b) = (fill(&program, &edges, &ours), fill(&other, &others, &theirs));
            let expected = slow_overlap(&nodes(&a, &program), &nodes(&b, &other));
            prop_assert!((overlap(&a, &b) - expected).abs() < 1e-9);
            prop_assert!((overlap(&b, &a) - expected).abs() < 1e-9);
        }
    }
}
