//! Events a second: CCT and k-SF from memory, and straight from the compressed file.

use crate::process::thread_seconds;
use crate::stats::{Spread, spread};
use crate::traces::Traced;
use profiler::event::Event;
use profiler::ids::{EdgeId, FuncId};
use profiler::structures::cct::Cct;
use profiler::structures::ksf::arena::Arena;
use profiler::structures::ksf::slots::Slots;
use profiler::structures::ksf::{IndexedKsf, KSlabForest, SiblingKsf};
use profiler::structures::{CallStructure, Label};
use profiler::trace::{Limits, Trace, TraceReader};
use std::fs::File;

const K: u32 = 10;
pub const NO_LIMIT: u32 = u32::MAX;

/// Million events a second of one trace with one kind of label.
pub struct Rates {
    trace: &'static str,
    labels: &'static str,
    /// Of the CCT.
    pub nodes: u32,
    pub node_bytes: f64,
    pub cct: Spread,
    pub siblings: Spread,
    pub indexed: Spread,
    pub cct_file: Spread,
    siblings_file: Spread,
}

/// What takes in events in one piece.
trait Runs: CallStructure {
    fn run(&mut self, at: &mut Self::Cursor, events: &[Event], label: impl Fn(EdgeId) -> Self::Label);
}

impl<L: Label> Runs for Cct<L> {
    fn run(&mut self, at: &mut Self::Cursor, events: &[Event], label: impl Fn(EdgeId) -> L) {
        Cct::run(self, at, events, 1.0, label);
    }
}

impl<A: Arena> Runs for KSlabForest<A> {
    fn run(&mut self, at: &mut Self::Cursor, events: &[Event], label: impl Fn(EdgeId) -> A::Label) {
        KSlabForest::run(self, at, events, 1.0, label);
    }
}

pub fn header() {
    println!(
        "| trace | contexts of | CCT nodes | bytes a node | CCT | k-SF, siblings | k-SF, indexed | CCT from the file | k-SF from the file |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
}

impl Rates {
    pub fn print(&self) {
        let Rates { trace, labels, nodes, node_bytes, cct, siblings, indexed, cct_file, siblings_file } = self;
        println!(
            "| {trace} | {labels} | {nodes} | {node_bytes:.1} | {cct:.0} | {siblings:.0} | {indexed:.0} | {cct_file:.0} | {siblings_file:.0} |"
        );
    }
}

/// With functions as labels, and with call sites.
pub fn measure(traced: &'static Traced, trace: &Trace, events: u64, rounds: u32) -> Result<[Rates; 2], String> {
    let bench = Bench { traced, trace, passes: events.div_ceil(trace.events().max(1)), rounds };
    let callee = |edge| -> FuncId { trace.program.callee(edge) };
    Ok([
        bench.rates("functions", Slots::of_functions(&trace.program), callee)?,
        bench.rates("call sites", Slots::of_edges(&trace.program), |edge: EdgeId| edge)?,
    ])
}

struct Bench<'a> {
    traced: &'static Traced,
    trace: &'a Trace,
    passes: u64,
    rounds: u32,
}

impl Bench<'_> {
    fn rates<L: Label>(&self, labels: &'static str, slots: Slots<L>, label: impl Fn(EdgeId) -> L + Copy) -> Result<Rates, String> {
        let (cct, tree) = self.in_memory(Cct::new, label);
        let siblings = || SiblingKsf::new(K, NO_LIMIT).expect("k is not 0");
        let indexed = || IndexedKsf::indexed(K, slots.clone(), NO_LIMIT).expect("k is not 0");
        Ok(Rates {
            trace: self.traced.name,
            labels,
            nodes: tree.len(),
            // The hidden root is a node too.
            node_bytes: tree.bytes() as f64 / f64::from(tree.len() + 1),
            cct,
            siblings: self.in_memory(siblings, label).0,
            indexed: self.in_memory(indexed, label).0,
            cct_file: self.off_file(Cct::new, label)?,
            siblings_file: self.off_file(siblings, label)?,
        })
    }

    /// The rate, and what was built last.
    fn in_memory<S: Runs>(&self, new: impl Fn() -> S, label: impl Fn(EdgeId) -> S::Label + Copy) -> (Spread, S) {
        let mut last = new();
        let mut round = || {
            let mut structure = new();
            let start = thread_seconds();
            for _ in 0..self.passes {
                for thread in self.trace.threads.values() {
                    let mut at = structure.start();
                    structure.run(&mut at, &thread.events, label);
                }
            }
            let seconds = thread_seconds() - start;
            last = structure;
            self.millions() / seconds
        };
        let rates = (0..self.rounds).map(|_| round()).collect();
        (spread(rates), last)
    }

    /// The file is opened, checked and decompressed anew in each pass.
    fn off_file<S: Runs>(&self, new: impl Fn() -> S, label: impl Fn(EdgeId) -> S::Label + Copy) -> Result<Spread, String> {
        let path = self.traced.path()?;
        let pass = |structure: &mut S| -> Result<(), String> {
            let file = File::open(&path).map_err(|e| e.to_string())?;
            let mut reader = TraceReader::new(file, Limits::default()).map_err(|e| e.to_string())?;
            let mut threads: Vec<S::Cursor> = Vec::new();
            while let Some(block) = reader.next_block().map_err(|e| e.to_string())? {
                let thread = block.thread.as_u32() as usize;
                while threads.len() <= thread {
                    threads.push(structure.start());
                }
                structure.run(&mut threads[thread], block.events, label);
            }
            Ok(())
        };
        let mut rates = Vec::new();
        for _ in 0..self.rounds {
            let mut structure = new();
            let start = thread_seconds();
            for _ in 0..self.passes {
                pass(&mut structure)?;
            }
            rates.push(self.millions() / (thread_seconds() - start));
        }
        Ok(spread(rates))
    }

    fn millions(&self) -> f64 {
        (self.passes * self.trace.events()) as f64 / 1e6
    }
}
