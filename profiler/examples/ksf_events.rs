//! How many events a second a k-SF takes in from memory, in both layouts, and how long its inversion takes.
//!
//! `cargo run --release -p profiler --example ksf_events [k]`
//!
//! Two traces, the same in every run: random walks over random call graphs, one with few contexts and one with half a million, repeated to at least 100 million events. Printed are contexts, events, and for each layout
//! millions of events (calls and returns) a second, nodes, and memory; then the k-CCFs for all k up to 20 from a CCT of a million nodes.

use profiler::event::Event;
use profiler::ids::FuncId;
use profiler::program::{CallSite, Edge, Function, Program};
use profiler::structures::CallStructure;
use profiler::structures::kccf::{Kccf, UNBOUNDED};
use profiler::structures::ksf::arena::Arena;
use profiler::structures::ksf::slots::Slots;
use profiler::structures::ksf::{IndexedKsf, KSlabForest, SiblingKsf};
use std::time::Instant;

const EVENTS: usize = 100_000_000;
const ROUNDS: usize = 3;
const NO_LIMIT: u32 = u32::MAX;

/// A call graph, and how a program walks over it.
struct Shape {
    functions: u64,
    /// Callees of a function, at most; the first are called most.
    callees: u64,
    max_depth: usize,
    /// In percent, that a function calls (once more) rather than returns.
    calls: u64,
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }
}

struct Trace {
    program: Program,
    events: Vec<Event>,
    contexts: usize,
}

/// Walks until there are that many events, and that many contexts. All calls have returned at the end.
fn generate(shape: &Shape, min_events: usize, min_contexts: usize) -> Trace {
    let mut random = Random(42);
    let (mut program, graph) = call_graph(shape, &mut random);
    let mut cct = SiblingKsf::<FuncId>::new(UNBOUNDED, NO_LIMIT).expect("k is not 0");
    let mut at = cct.start();
    let mut events = Vec::new();
    let main = FuncId::from_u32(0);
    events.push(Event::call(program.edge(Edge { site: None.into(), callee: main })));
    cct.call(&mut at, main, 1.0);
    let mut stack = vec![main];
    while events.len() < min_events || cct.len() < min_contexts {
        let caller = stack[stack.len() - 1];
        let edges = &graph[caller.as_u32() as usize];
        let is_leaf = edges.is_empty() || stack.len() == shape.max_depth;
        if stack.len() > 1 && (is_leaf || random.below(100) >= shape.calls) {
            stack.pop();
            events.push(Event::RETURN);
            cct.ret(&mut at);
            continue;
        }
        let mut choice = 0;
        while choice + 1 < edges.len() && random.below(3) == 0 {
            choice += 1;
        }
        let callee = program.callee(edges[choice]);
        stack.push(callee);
        events.push(Event::call(edges[choice]));
        cct.call(&mut at, callee, 1.0);
    }
    events.extend(stack.iter().map(|_| Event::RETURN));
    Trace { program, events, contexts: cct.len() }
}

/// The program, and for each function its calls.
fn call_graph(shape: &Shape, random: &mut Random) -> (Program, Vec<Vec<profiler::ids::EdgeId>>) {
    let mut program = Program::default();
    let functions: Vec<FuncId> =
        (0..shape.functions).map(|n| program.functions.push(Function { name: format!("f{n}").into(), file: "".into(), line: 0 })).collect();
    let mut graph = Vec::new();
    for &caller in &functions {
        let callees = 1 + random.below(shape.callees);
        let mut edges = Vec::new();
        for _ in 0..callees {
            let callee = functions[1 + random.below(shape.functions - 1) as usize];
            let site = program.sites.push(CallSite { caller, line: 0 });
            edges.push(program.edge(Edge { site: site.into(), callee }));
        }
        graph.push(edges);
    }
    (program, graph)
}

/// The best of some rounds, each with a new forest.
fn measure<A: Arena<Label = FuncId>>(layout: &str, trace: &Trace, new: impl Fn() -> KSlabForest<A>) {
    let repeats = EVENTS.div_ceil(trace.events.len());
    let mut best = f64::INFINITY;
    let mut last = String::new();
    for _ in 0..ROUNDS {
        let mut forest = new();
        let mut at = forest.start();
        let start = Instant::now();
        for _ in 0..repeats {
            forest.run(&mut at, &trace.events, 1.0, |edge| trace.program.callee(edge));
        }
        best = best.min(start.elapsed().as_secs_f64());
        last = format!("{} nodes, {:.1} MB", forest.len(), forest.bytes() as f64 / 1e6);
    }
    let rate = (repeats * trace.events.len()) as f64 / best / 1e6;
    println!("  {layout:<24} {rate:6.0} M events/s   {last}");
}

fn invert(trace: &Trace) {
    let mut cct = SiblingKsf::<FuncId>::new(UNBOUNDED, NO_LIMIT).expect("k is not 0");
    let mut at = cct.start();
    cct.run(&mut at, &trace.events, 1.0, |edge| trace.program.callee(edge));
    println!("k-CCF from a CCT of {} nodes:", cct.len());
    let all = Instant::now();
    for k in 1..=20 {
        let start = Instant::now();
        let kccf = Kccf::invert(&cct, k, NO_LIMIT).expect("a CCT has all contexts");
        let seconds = start.elapsed().as_secs_f64();
        if [1, 2, 5, 10, 20].contains(&k) {
            println!("  k = {k:<20} {seconds:6.2} s   {} nodes, {:.1} MB", kccf.len(), kccf.bytes() as f64 / 1e6);
        }
    }
    println!("  {:<24} {:6.2} s", "all k from 1 to 20", all.elapsed().as_secs_f64());
    let start = Instant::now();
    let similar = Kccf::similar(&cct, 10.0, UNBOUNDED, NO_LIMIT).expect("a CCT has all contexts");
    println!("  {:<24} {:6.2} s   {} nodes", "10 %-similar", start.elapsed().as_secs_f64(), similar.len());
}

fn main() {
    let k = std::env::args().nth(1).map_or(Ok(10), |k| k.parse());
    let Ok(k @ 1..) = k else {
        eprintln!("usage: ksf_events [k]; k is a number from 1, 10 if left out");
        std::process::exit(2);
    };
    let few = Shape { functions: 24, callees: 2, max_depth: 14, calls: 50 };
    let many = Shape { functions: 2000, callees: 5, max_depth: 40, calls: 52 };
    for (name, trace) in [("few", generate(&few, 1_000_000, 0)), ("many", generate(&many, 0, 500_000))] {
        println!("{name}: {} contexts, {} events, repeated to {} million", trace.contexts, trace.events.len(), EVENTS / 1_000_000);
        let slots = Slots::of_functions(&trace.program);
        measure(&format!("k = {k}, siblings"), &trace, || SiblingKsf::new(k, NO_LIMIT).expect("k is not 0"));
        measure(&format!("k = {k}, indexed"), &trace, || IndexedKsf::indexed(k, slots.clone(), NO_LIMIT).expect("k is not 0"));
        measure("CCT (k unbounded)", &trace, || SiblingKsf::new(UNBOUNDED, NO_LIMIT).expect("k is not 0"));
    }
    invert(&generate(&many, 0, 1_000_000));
}
