//! How many events a second a k-SF takes in from memory, in both layouts, and how long its inversion takes.
//!
//! `cargo run --release -p profiler --example ksf_events [k]`
//!
//! Two traces, the same in every run, of random programs whose functions mostly do what they did before: one with few contexts and one with half a million, repeated to at least 100 million events. Printed are contexts, events, and for each layout
//! millions of events (calls and returns) a second, nodes, and memory; then the time for k-CCFs from a CCT of a million nodes.

use profiler::event::Event;
use profiler::ids::{EdgeId, FuncId};
use profiler::program::{CallSite, Edge, Function, Program};
use profiler::structures::CallStructure;
use profiler::structures::kccf::pruned::PrunedKccf;
use profiler::structures::kccf::{Kccf, UNBOUNDED};
use profiler::structures::ksf::arena::Arena;
use profiler::structures::ksf::slots::Slots;
use profiler::structures::ksf::{IndexedKsf, KSlabForest, SiblingKsf};
use std::time::Instant;

const EVENTS: usize = 100_000_000;
const ROUNDS: usize = 3;
const NO_LIMIT: u32 = u32::MAX;

/// What the program looks like.
struct Shape {
    functions: u64,
    max_depth: usize,
    /// One call in so many takes a function's second way, and one in the square of it its third.
    rarity: u64,
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

/// The calls that a function makes, in order, on each of its ways.
type Body = [Vec<EdgeId>; 3];

/// A function that runs: the way it takes, and how far it is.
struct Frame {
    function: FuncId,
    way: usize,
    next: usize,
}

/// Runs the program until there are that many events, and that many contexts. All calls have returned at the end.
fn generate(shape: &Shape, min_events: usize, min_contexts: usize) -> Trace {
    let mut random = Random(42);
    let (mut program, bodies) = write_program(shape, &mut random);
    let mut cct = SiblingKsf::<FuncId>::new(UNBOUNDED, NO_LIMIT).expect("k is not 0");
    let mut at = cct.start();
    let mut events = Vec::new();
    let mut stack: Vec<Frame> = Vec::new();
    let start = program.edge(Edge { site: None.into(), callee: FuncId::from_u32(0) });
    let mut call = Some(start);
    loop {
        if let Some(edge) = call {
            let function = program.callee(edge);
            events.push(Event::call(edge));
            cct.call(&mut at, function, 1.0);
            let is_rare = |random: &mut Random| random.below(shape.rarity) == 0;
            let way = if !is_rare(&mut random) { 0 } else { 1 + usize::from(is_rare(&mut random)) };
            stack.push(Frame { function, way, next: 0 });
        }
        let is_done = events.len() >= min_events && cct.len() >= min_contexts;
        let is_leaf = stack.len() >= shape.max_depth;
        let Some(frame) = stack.last_mut() else { break };
        let way = &bodies[frame.function.as_u32() as usize][frame.way];
        call = way.get(frame.next).copied().filter(|_| !is_done && !is_leaf);
        frame.next += 1;
        if call.is_none() {
            stack.pop();
            events.push(Event::RETURN);
            cct.ret(&mut at);
            if stack.is_empty() && !is_done {
                call = Some(start);
            }
        }
    }
    Trace { program, events, contexts: cct.len() }
}

/// The program, and what its functions do: calls in a row, some of them in short loops.
fn write_program(shape: &Shape, random: &mut Random) -> (Program, Vec<Body>) {
    let mut program = Program::default();
    let functions: Vec<FuncId> =
        (0..shape.functions).map(|n| program.functions.push(Function { name: format!("f{n}").into(), file: "".into(), line: 0 })).collect();
    let mut bodies = Vec::new();
    for &caller in &functions {
        bodies.push(std::array::from_fn(|_| {
            let mut way = Vec::new();
            for _ in 0..[0, 1, 1, 2, 2, 3][random.below(6) as usize] {
                let callee = functions[1 + random.below(shape.functions - 1) as usize];
                let site = program.sites.push(CallSite { caller, line: 0 });
                let edge = program.edge(Edge { site: site.into(), callee });
                let rounds = [1, 1, 1, 3][random.below(4) as usize];
                way.extend(std::iter::repeat_n(edge, rounds));
            }
            way
        }));
    }
    (program, bodies)
}

/// Seconds of processor time of this thread where the system tells, else of the clock: other programs then do not count.
fn seconds(start: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.as_deref().and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

/// The best of some rounds, each with a new forest.
fn measure<A: Arena<Label = FuncId>>(layout: &str, trace: &Trace, new: impl Fn() -> KSlabForest<A>) {
    let repeats = EVENTS.div_ceil(trace.events.len());
    let epoch = Instant::now();
    let mut best = f64::INFINITY;
    let mut last = String::new();
    for _ in 0..ROUNDS {
        let mut forest = new();
        let mut at = forest.start();
        let start = seconds(epoch);
        for _ in 0..repeats {
            forest.run(&mut at, &trace.events, 1.0, |edge| trace.program.callee(edge));
        }
        best = best.min(seconds(epoch) - start);
        last = format!("{} nodes, {:.0} kB", forest.len(), forest.bytes() as f64 / 1e3);
    }
    let rate = (repeats * trace.events.len()) as f64 / best / 1e6;
    println!("  {layout:<24} {rate:6.0} M events/s   {last}");
}

fn invert(trace: &Trace) {
    let mut cct = SiblingKsf::<FuncId>::new(UNBOUNDED, NO_LIMIT).expect("k is not 0");
    let mut at = cct.start();
    cct.run(&mut at, &trace.events, 1.0, |edge| trace.program.callee(edge));
    println!("k-CCF from a CCT of {} nodes:", cct.len());
    let epoch = Instant::now();
    let timed = |what: &str, build: &dyn Fn() -> (usize, usize)| {
        let start = seconds(epoch);
        let (nodes, bytes) = build();
        println!("  {what:<24} {:6.2} s   {nodes} nodes, {:.1} MB", seconds(epoch) - start, bytes as f64 / 1e6);
    };
    let kccf = |k| Kccf::invert(&cct, k, NO_LIMIT).expect("a CCT has all contexts");
    for k in [1, 2, 5, 10, 20] {
        timed(&format!("k = {k}"), &|| {
            let kccf = kccf(k);
            (kccf.len(), kccf.bytes())
        });
    }
    timed("all k from 1 to 20", &|| {
        let longest = kccf(20);
        let all = (1..=20).map(|k| longest.truncated(k));
        all.fold((0, 0), |(nodes, bytes), kccf| (nodes + kccf.len(), bytes + kccf.bytes()))
    });
    for (name, k) in [("pruned, k = 20", 20), ("pruned, k unbounded", UNBOUNDED)] {
        timed(name, &|| {
            let pruned = PrunedKccf::invert(&cct, k, NO_LIMIT).expect("a CCT has all contexts");
            (pruned.kept().len(), pruned.bytes())
        });
    }
    timed("10 %-similar, unbounded", &|| {
        let similar = Kccf::similar(&cct, 10.0, UNBOUNDED, NO_LIMIT).expect("a CCT has all contexts, and 10 is a percentage");
        (similar.len(), similar.bytes())
    });
}

fn main() {
    let k = std::env::args().nth(1).map_or(Ok(10), |k| k.parse());
    let Ok(k @ 1..) = k else {
        eprintln!("usage: ksf_events [k]; k is a number from 1, 10 if left out");
        std::process::exit(2);
    };
    let few = Shape { functions: 20, max_depth: 12, rarity: 200 };
    let many = Shape { functions: 2000, max_depth: 40, rarity: 10 };
    for (name, trace) in [("few", generate(&few, 1_000_000, 0)), ("many", generate(&many, 0, 500_000))] {
        println!("{name}: {} contexts, {} events, repeated to {} million", trace.contexts, trace.events.len(), EVENTS / 1_000_000);
        let slots = Slots::of_functions(&trace.program);
        measure(&format!("k = {k}, siblings"), &trace, || SiblingKsf::new(k, NO_LIMIT).expect("k is not 0"));
        measure(&format!("k = {k}, indexed"), &trace, || IndexedKsf::indexed(k, slots.clone(), NO_LIMIT).expect("k is not 0"));
        measure("CCT (k unbounded)", &trace, || SiblingKsf::new(UNBOUNDED, NO_LIMIT).expect("k is not 0"));
    }
    invert(&generate(&many, 0, 1_000_000));
}
