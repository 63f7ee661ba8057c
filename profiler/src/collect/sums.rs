//! Standard errors of sums of edges: of a function's calls from wherever, of a call site's to whatever.
//!
//! In: what each tick contributed to each edge. Out: sums over ticks of the squared sums. Edges that one tick sees together are not independent of each other, so errors of single edges say nothing about their sum.
//!
//! The work is done once a tick and edge, not for each call; memory: 8 bytes an edge, 32 a function and call site.

use super::spread::{self, Errors, Scale};
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::Program;
use crate::structures::dcg::{Contribution, Dcg};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// See the [module](self).
#[derive(Clone, Default)]
pub(super) struct Sums {
    edges: PrimaryMap<EdgeId, (FuncId, PackedOption<CallSiteId>)>,
    functions: Squares<FuncId>,
    sites: Squares<CallSiteId>,
}

/// Over ticks, of what edges with one thing in common contributed together.
#[derive(Clone)]
struct Squares<K: EntityRef> {
    squares: SecondaryMap<K, spread::Squares>,
    /// Of the tick that is being added; empty in between.
    parts: FxHashMap<K, f64>,
}

/// Standard errors of sums of edges.
#[derive(Clone, Default, Debug)]
pub struct SumErrors {
    /// Of the calls of a function.
    pub functions: SecondaryMap<FuncId, Errors>,
    /// Of the calls that a site makes.
    pub sites: SecondaryMap<CallSiteId, Errors>,
}

impl<K: EntityRef + Hash> Default for Squares<K> {
    fn default() -> Self {
        Squares { squares: SecondaryMap::new(), parts: FxHashMap::default() }
    }
}

impl<K: EntityRef + Hash> Squares<K> {
    fn add(&mut self, parts: impl Iterator<Item = (K, f64)>, total: f64, stands_for: f64) {
        parts.for_each(|(key, weight)| *self.parts.entry(key).or_default() += weight);
        for (key, weight) in self.parts.drain() {
            self.squares[key].add(spread::Squares::of(weight, total, stands_for, 0));
        }
    }

    fn errors(&self, weights: impl Iterator<Item = (K, f64)>, scale: Scale) -> SecondaryMap<K, Errors> {
        let mut sums: SecondaryMap<K, f64> = SecondaryMap::new();
        weights.for_each(|(key, weight)| sums[key] += weight);
        let mut errors = SecondaryMap::new();
        sums.iter().for_each(|(key, &sum)| errors[key] = scale.errors_of(sum, self.squares[key]));
        errors
    }
}

impl Sums {
    pub fn learn(&mut self, program: &Program) {
        let known = self.edges.len();
        self.edges.extend(program.edges().values().skip(known).map(|edge| (edge.callee, edge.site)));
    }

    /// A tick is over.
    pub fn close(&mut self, Contribution { edges: tick, total, stands_for }: Contribution<'_>) {
        let Sums { edges, functions, sites } = self;
        let known = || tick.iter().filter_map(|(&edge, &weight)| edges.get(edge).map(|&of| (of, weight)));
        functions.add(known().map(|((function, _), weight)| (function, weight)), total, stands_for);
        sites.add(known().filter_map(|((_, site), weight)| Some((site.expand()?, weight))), total, stands_for);
    }

    /// `dcg`: all ticks; its open ones are added here.
    pub fn errors(&self, dcg: &Dcg, scale: Scale) -> SumErrors {
        let mut ended = self.clone();
        dcg.open_ticks().for_each(|tick| ended.close(tick));
        let edges = dcg.by_weight();
        let known = || edges.iter().filter_map(|&(edge, weight)| ended.edges.get(edge).map(|&of| (of, weight)));
        SumErrors {
            functions: ended.functions.errors(known().map(|((function, _), weight)| (function, weight)), scale),
            sites: ended.sites.errors(known().filter_map(|((_, site), weight)| Some((site.expand()?, weight))), scale),
        }
    }

    pub fn bytes(&self) -> usize {
        self.edges.len() * size_of::<(FuncId, PackedOption<CallSiteId>)>()
            + (self.functions.squares.capacity() + self.sites.squares.capacity()) * size_of::<spread::Squares>()
    }
}
