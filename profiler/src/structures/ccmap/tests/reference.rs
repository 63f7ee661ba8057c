//! A CC-Map as maps from whole paths and from edges to counts, slow and obvious; and what two of them are compared by.

use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::Program;
use crate::structures::ccmap::{CalleeRef, CcMap, Count};
use std::collections::{BTreeMap, BTreeSet};

/// All counts of a map, in a form that does not depend on the order in which they came.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Counts {
    pub paths: BTreeMap<Vec<EdgeId>, f64>,
    /// Total, and the part without contexts.
    pub edges: BTreeMap<EdgeId, (f64, f64)>,
    /// Total, and the part without edges.
    pub methods: BTreeMap<FuncId, (f64, f64)>,
    pub added: f64,
    pub removed: f64,
}

pub(crate) fn counts(map: &CcMap) -> Counts {
    let pair = |count: Count| (count.total, count.unexplained);
    let paths: BTreeMap<_, _> = map.refs().map(|node| (map.path(node), map.count_in(node))).collect();
    assert_eq!(paths.len(), map.refs().count(), "each path has one node");
    Counts {
        paths,
        edges: map.edges().map(|(edge, _)| (edge, pair(map.edge(edge)))).collect(),
        methods: map.methods().map(|(method, _)| (method, pair(map.method(method)))).collect(),
        added: map.total(),
        removed: map.removed(),
    }
}

pub(crate) struct Reference<'p> {
    pub program: &'p Program,
    pub counts: Counts,
    /// The open calls of each thread.
    pub stacks: Vec<Vec<EdgeId>>,
}

impl<'p> Reference<'p> {
    pub fn new(program: &'p Program, threads: usize) -> Self {
        Reference { program, counts: Counts::default(), stacks: vec![Vec::new(); threads] }
    }

    pub fn call(&mut self, thread: usize, edge: EdgeId, weight: f64) {
        self.stacks[thread].push(edge);
        let counts = &mut self.counts;
        *counts.paths.entry(self.stacks[thread].clone()).or_default() += weight;
        counts.edges.entry(edge).or_default().0 += weight;
        counts.methods.entry(self.program.callee(edge)).or_default().0 += weight;
        if let Some(caller) = self.program.caller(edge) {
            counts.methods.entry(caller).or_default();
        }
        counts.added += weight;
    }

    pub fn ret(&mut self, thread: usize) {
        self.stacks[thread].pop();
    }

    pub fn remove_cold(&mut self, least: f64) {
        let old = self.counts.paths.clone();
        let is_open = |path: &[EdgeId]| self.stacks.iter().any(|stack| stack.starts_with(path));
        let stays = |path: &[EdgeId]| is_open(path) || old.iter().any(|(longer, &count)| longer.starts_with(path) && count >= least);
        let (kept, gone): (BTreeMap<_, _>, BTreeMap<_, _>) = old.clone().into_iter().partition(|(path, _)| stays(path));
        let counts = &mut self.counts;
        for (path, count) in gone {
            counts.edges.get_mut(path.last().unwrap()).unwrap().1 += count;
        }
        let in_context: BTreeSet<EdgeId> = kept.keys().map(|path| *path.last().unwrap()).collect();
        for (edge, (total, _)) in counts.edges.clone() {
            if total < least && !in_context.contains(&edge) {
                counts.edges.remove(&edge);
                counts.methods.get_mut(&self.program.callee(edge)).unwrap().1 += total;
            }
        }
        let ends = |&edge: &EdgeId| [Some(self.program.callee(edge)), self.program.caller(edge)];
        let linked: BTreeSet<FuncId> = counts.edges.keys().flat_map(ends).flatten().collect();
        for (method, (total, _)) in counts.methods.clone() {
            if (total < least || total == 0.0) && !linked.contains(&method) {
                counts.methods.remove(&method);
                counts.removed += total;
            }
        }
        counts.paths = kept;
    }

    pub fn path_count(&self, path: &[EdgeId]) -> f64 {
        self.counts.paths.iter().filter(|(longer, _)| !path.is_empty() && longer.ends_with(path)).map(|(_, count)| count).sum()
    }

    /// The targets of a site below a chain of sites, without their order.
    pub fn targets_in(&self, site: CallSiteId, chain: &[CallSiteId]) -> BTreeMap<EdgeId, f64> {
        let mut wanted: Vec<_> = chain.iter().map(|&site| Some(site)).collect();
        wanted.push(Some(site));
        let mut targets = BTreeMap::new();
        for (path, count) in &self.counts.paths {
            let sites: Vec<_> = path.iter().map(|&edge| self.program.edges()[edge].site.expand()).collect();
            if sites.ends_with(&wanted) {
                *targets.entry(*path.last().unwrap()).or_default() += count;
            }
        }
        targets
    }

    /// First and last path of each hot chain, with its count, without their order.
    pub fn hottest_chains(&self, share: f64) -> BTreeSet<(usize, Vec<EdgeId>, String)> {
        let paths = &self.counts.paths;
        let least = share * paths.values().copied().fold(0.0, f64::max);
        let is_hot = |path: &[EdgeId]| least > 0.0 && paths.get(path).is_some_and(|&count| count >= least);
        let is_last =
            |path: &[EdgeId]| !paths.keys().any(|longer| longer.len() == path.len() + 1 && longer.starts_with(path) && is_hot(longer));
        let chain = |path: &Vec<EdgeId>| {
            let hot: Vec<_> = (1..=path.len()).rev().map(|length| &path[..length]).take_while(|path| is_hot(path)).collect();
            let count = hot.iter().map(|&path| paths[path]).fold(f64::INFINITY, f64::min);
            (hot.len(), path.clone(), count.to_string())
        };
        paths.keys().filter(|path| is_hot(path) && is_last(path)).map(chain).collect()
    }
}

/// The node in a map that a path of a reference stands for.
pub(crate) fn node(map: &CcMap, path: &[EdgeId]) -> CalleeRef {
    map.find(path).unwrap_or_else(|| panic!("no node for {path:?}"))
}
