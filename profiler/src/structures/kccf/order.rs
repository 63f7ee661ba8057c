//! Sorts the contexts of a forest as they read backwards, from the call outwards: then those that end alike stand side by side, and all of a k-CCF's nodes are intervals.
//!
//! In: a forest. Out: the order of its nodes, how many labels neighbours have in common, and the tree of the intervals with their weights. Time O(n log n log k), memory O(n log k) while it is built, whatever the depth: ranks
//! by the first label give, through the ancestor one call up, ranks by the first two labels, these ranks by the first four, and so on (prefix doubling, as for suffix arrays).

use crate::structures::Label;
use crate::structures::forest::Forest;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};

/// A node of the forest, by its place in the iteration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Flat(u32);
entity_impl!(Flat);

/// A place in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(u32);
entity_impl!(Place);

/// The forest, packed.
struct Up<L> {
    label: L,
    parent: PackedOption<Flat>,
    /// Labels on the path to the root.
    len: u32,
}

/// What is known of nodes by their first labels, 1, 2, 4 ... of them in the first, second, third ... of these.
struct Round {
    /// Equal where these labels are, or all if there are fewer; else in their order. From 1.
    rank: PrimaryMap<Flat, u32>,
    /// The ancestor so many calls up.
    ancestor: PrimaryMap<Flat, PackedOption<Flat>>,
}

/// The border between a place and the one before, and the largest interval that has it as its first border with the fewest labels in common: a node of a Cartesian tree.
#[derive(Clone, Copy)]
struct Border {
    /// Labels that all in the interval have in common.
    shared: u32,
    /// The first border in each part. A part without borders is a single place.
    left: PackedOption<Place>,
    right: PackedOption<Place>,
    weight: f64,
}

/// Neighbours in the order: from `start`, with the first of their inner borders that has the fewest labels in common; none if it is one node.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    start: Place,
    border: PackedOption<Place>,
    end: u32,
}

impl Interval {
    pub(super) fn is_single(self) -> bool {
        self.border.is_none()
    }
}

/// See the module.
pub(super) struct Order<L> {
    up: PrimaryMap<Flat, Up<L>>,
    weights: PrimaryMap<Flat, f64>,
    rounds: Vec<Round>,
    sorted: PrimaryMap<Place, Flat>,
    /// The first is of no use: nothing is before place 0.
    borders: PrimaryMap<Place, Border>,
    all: Option<Interval>,
}

impl<L: Label> Order<L> {
    /// Sorts by `labels` labels at least, and says which node of the forest each one is.
    pub(super) fn new<F: Forest<Label = L>>(forest: &F, labels: u32) -> (Self, PrimaryMap<Flat, F::Node>) {
        let mut nodes: PrimaryMap<Flat, F::Node> = PrimaryMap::new();
        let mut flat: SecondaryMap<F::Node, PackedOption<Flat>> = SecondaryMap::new();
        let mut up: PrimaryMap<Flat, Up<L>> = PrimaryMap::new();
        let mut weights = PrimaryMap::new();
        for node in forest.nodes() {
            let parent = forest.parent(node).and_then(|parent| flat[parent].expand());
            let len = parent.map_or(0, |parent| up[parent].len) + 1;
            flat[node] = nodes.push(node).into();
            up.push(Up { label: forest.label(node), parent: parent.into(), len });
            weights.push(forest.weight(node));
        }
        let mut order = Order { up, weights, rounds: Vec::new(), sorted: PrimaryMap::new(), borders: PrimaryMap::new(), all: None };
        order.sort(labels);
        order.find_intervals();
        (order, nodes)
    }

    fn sort(&mut self, labels: u32) {
        let keys = self.up.iter().map(|(node, up)| (up.label.index() as u64, node)).collect();
        let ancestor = self.up.values().map(|up| up.parent).collect();
        let (mut sorted, rank, mut ranks) = rank(keys);
        self.rounds.push(Round { rank, ancestor });
        let mut known = 1u32;
        while known < labels && ranks < sorted.len() && self.rounds[self.rounds.len() - 1].ancestor.values().any(|up| up.is_some()) {
            let last = &self.rounds[self.rounds.len() - 1];
            let key = |node| u64::from(last.rank[node]) << 32 | last.ancestor[node].expand().map_or(0, |up| u64::from(last.rank[up]));
            let keys = sorted.iter().map(|&node| (key(node), node)).collect();
            let ancestor = last.ancestor.values().map(|up| up.expand().map_or(None.into(), |up| last.ancestor[up])).collect();
            let rank;
            (sorted, rank, ranks) = self::rank(keys);
            self.rounds.push(Round { rank, ancestor });
            known = known.saturating_mul(2);
        }
        self.sorted = PrimaryMap::from(sorted);
    }

    /// Labels that two different nodes have in common, from the call outwards: all, or at least as many as were asked for.
    fn shared(&self, mut a: Flat, mut b: Flat) -> u32 {
        let mut shared = 0;
        for (number, round) in self.rounds.iter().enumerate().rev() {
            if round.rank[a] != round.rank[b] {
                continue;
            }
            shared += self.up[a].len.min(1 << number);
            let (Some(next_a), Some(next_b)) = (round.ancestor[a].expand(), round.ancestor[b].expand()) else { break };
            (a, b) = (next_a, next_b);
        }
        shared
    }

    /// The Cartesian tree of the borders: those with fewer labels in common are above, of equal ones the first.
    fn find_intervals(&mut self) {
        let mut open: Vec<Place> = Vec::new();
        for place in self.sorted.keys() {
            let shared = if place.index() == 0 { 0 } else { self.shared(self.sorted[Place::new(place.index() - 1)], self.sorted[place]) };
            self.borders.push(Border { shared, left: None.into(), right: None.into(), weight: 0.0 });
            if place.index() == 0 {
                continue;
            }
            let mut closed = PackedOption::default();
            while let Some(&above) = open.last()
                && self.borders[above].shared > shared
            {
                self.close(&mut open, &mut closed);
            }
            self.borders[place].left = closed;
            open.push(place);
        }
        let mut closed = PackedOption::default();
        while !open.is_empty() {
            self.close(&mut open, &mut closed);
        }
        let end = self.sorted.len() as u32;
        self.all = (end > 0).then(|| Interval { start: Place::new(0), border: closed, end });
    }

    /// The last open border has all that will be to its right: what was closed last.
    fn close(&mut self, open: &mut Vec<Place>, closed: &mut PackedOption<Place>) {
        let Some(place) = open.pop() else { return };
        let weight_of = |border: PackedOption<Place>, single: Place| match border.expand() {
            Some(border) => self.borders[border].weight,
            None => self.weights[self.sorted[single]],
        };
        let left = weight_of(self.borders[place].left, Place::new(place.index() - 1));
        let weight = left + weight_of(*closed, place);
        let border = &mut self.borders[place];
        border.right = *closed;
        border.weight = weight;
        *closed = place.into();
    }

    /// All nodes; `None` if there are none.
    pub(super) fn all(&self) -> Option<Interval> {
        self.all
    }

    pub(super) fn weight(&self, interval: Interval) -> f64 {
        match interval.border.expand() {
            Some(border) => self.borders[border].weight,
            None => self.weights[self.first(interval)],
        }
    }

    pub(super) fn first(&self, interval: Interval) -> Flat {
        self.sorted[interval.start]
    }

    pub(super) fn nodes(&self, interval: Interval) -> &[Flat] {
        &self.sorted.as_values_slice()[interval.start.index()..interval.end as usize]
    }

    /// Labels that all in the interval have in common.
    pub(super) fn common(&self, interval: Interval) -> u32 {
        match interval.border.expand() {
            Some(border) => self.borders[border].shared,
            None => self.len(self.first(interval)),
        }
    }

    /// The intervals whose nodes have one label more in common, or are one node.
    pub(super) fn split(&self, interval: Interval, mut part: impl FnMut(Interval)) {
        let Some(mut border) = interval.border.expand() else { return };
        let mut start = interval.start;
        loop {
            let Border { shared, left, right, .. } = self.borders[border];
            part(Interval { start, border: left, end: border.as_u32() });
            start = border;
            match right.expand() {
                Some(next) if self.borders[next].shared == shared => border = next,
                _ => return part(Interval { start, border: right, end: interval.end }),
            }
        }
    }

    pub(super) fn label(&self, node: Flat) -> L {
        self.up[node].label
    }

    pub(super) fn parent(&self, node: Flat) -> Option<Flat> {
        self.up[node].parent.expand()
    }

    /// Labels on the node's path to its root.
    pub(super) fn len(&self, node: Flat) -> u32 {
        self.up[node].len
    }

    /// The ancestor so many calls up. `None` if the path ends before.
    pub(super) fn ancestor(&self, node: Flat, calls: u32) -> Option<Flat> {
        let mut rounds = self.rounds.iter().enumerate().filter(|(number, _)| calls >> number & 1 == 1);
        rounds.try_fold(node, |node, (_, round)| round.ancestor[node].expand())
    }
}

/// The nodes by their keys, their ranks from 1, and how many ranks there are.
fn rank(mut keys: Vec<(u64, Flat)>) -> (Vec<Flat>, PrimaryMap<Flat, u32>, usize) {
    keys.sort_unstable();
    let mut ranks = PrimaryMap::from(vec![0; keys.len()]);
    let (mut rank, mut last) = (0, None);
    for &(key, node) in &keys {
        if last != Some(key) {
            (rank, last) = (rank + 1, Some(key));
        }
        ranks[node] = rank;
    }
    (keys.into_iter().map(|(_, node)| node).collect(), ranks, rank as usize)
}
