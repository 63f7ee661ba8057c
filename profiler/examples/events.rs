//! How many events (calls and returns) a second the online structures take from memory, and how large their nodes are.
//!
//! `cargo run --release -p profiler --example events [EVENTS]`: EVENTS is how many events each structure gets, by default 100 million.
//!
//! Two programs are made up from fixed seeds and traced once; the trace is repeated until enough events are seen. The first has few contexts, the second about half a million, most of which are rare, since its sites are
//! taken with very different probabilities. Each structure is built three times from nothing; the line shows the fastest, and the slowest in brackets. To add a structure, implement [`Subject`] and add a line to `main`.

use cranelift_entity::{EntityRef, PrimaryMap};
use profiler::event::Event;
use profiler::ids::{EdgeId, FuncId};
use profiler::program::{CallSite, Edge, Function, Program};
use profiler::structures::cct::{Cct, Cursor};
use profiler::structures::{CallStructure, Label};
use std::time::Instant;

const ROUNDS: usize = 3;

fn main() {
    let events: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000_000);
    for trace in [few_contexts(), many_contexts()] {
        println!("{}: {} events, {} edges", trace.name, trace.events.len(), trace.callees.len());
        let callees = &trace.callees;
        measure("CCT of functions", &trace, events, || OneThread::new(|edge| callees[edge]));
        measure("CCT of call sites", &trace, events, || OneThread::new(|edge| edge));
    }
}

/// Time on the CPU where Linux tells it, so that others on the machine disturb less; else time.
enum Clock {
    OnCpu(f64),
    Any(Instant),
}

impl Clock {
    fn now() -> Clock {
        Clock::on_cpu().map_or_else(|| Clock::Any(Instant::now()), Clock::OnCpu)
    }

    /// Since it was made.
    fn seconds(&self) -> f64 {
        match self {
            Clock::OnCpu(start) => Clock::on_cpu().map_or(f64::NAN, |end| end - start),
            Clock::Any(start) => start.elapsed().as_secs_f64(),
        }
    }

    fn on_cpu() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
        Some(nanoseconds / 1e9)
    }
}

/// A structure that is measured.
trait Subject {
    fn run(&mut self, events: &[Event]);
    fn nodes(&self) -> u32;
    fn bytes(&self) -> usize;
}

fn measure<S: Subject>(name: &str, trace: &Trace, events: usize, new: impl Fn() -> S) {
    let passes = events.div_ceil(trace.events.len());
    let round = || {
        let mut subject = new();
        let start = Clock::now();
        (0..passes).for_each(|_| subject.run(&trace.events));
        let seconds = start.seconds();
        ((passes * trace.events.len()) as f64 / seconds / 1e6, subject)
    };
    let mut rounds: Vec<(f64, S)> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let ((fastest, subject), (slowest, _)) = (&rounds[0], &rounds[ROUNDS - 1]);
    let bytes = subject.bytes() as f64 / f64::from(subject.nodes());
    println!("  {name:<20} {fastest:5.0} million events/s ({slowest:.0}), {:7} nodes, {bytes:.1} bytes a node", subject.nodes());
}

/// A CCT that one thread fills.
struct OneThread<L, F> {
    tree: Cct<L>,
    at: Cursor,
    label: F,
}

impl<L: Label, F: Fn(EdgeId) -> L> OneThread<L, F> {
    fn new(label: F) -> Self {
        let mut tree = Cct::new();
        OneThread { at: tree.start(), tree, label }
    }
}

impl<L: Label, F: Fn(EdgeId) -> L> Subject for OneThread<L, F> {
    fn run(&mut self, events: &[Event]) {
        self.tree.run(&mut self.at, events, 1.0, &self.label);
    }

    fn nodes(&self) -> u32 {
        self.tree.len()
    }

    fn bytes(&self) -> usize {
        self.tree.bytes()
    }
}

/// What one run of a program does; all calls return, so that it can be repeated.
struct Trace {
    name: &'static str,
    events: Vec<Event>,
    callees: PrimaryMap<EdgeId, FuncId>,
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// What each function of a made-up program does at one of its call sites.
#[derive(Clone, Copy)]
struct Shape {
    /// Of 1000 invocations of the function, so many come by here.
    taken: usize,
    /// In a loop: calls each time.
    calls: usize,
    /// Functions it can call; mostly it is the first.
    receivers: usize,
}

/// Layers of functions that call functions of the next layer.
struct Layers {
    layers: usize,
    /// Functions of a layer.
    width: usize,
    sites: &'static [Shape],
    /// So many times the first function does the same, as a program does that looks at each of its inputs more than once.
    repeated: usize,
}

/// A made-up program while it runs.
struct Code {
    program: Program,
    /// The edges over which each function's sites call.
    functions: PrimaryMap<FuncId, Vec<(Shape, Vec<EdgeId>)>>,
    random: Random,
    events: Vec<Event>,
}

impl Layers {
    /// The trace of one run, in which the first function goes on until there are so many events.
    fn run(&self, name: &'static str, events: usize) -> Trace {
        let mut code = self.code();
        let main = FuncId::from_u32(0);
        let start = code.program.edge(Edge { site: None.into(), callee: main });
        code.events.push(Event::call(start));
        while code.events.len() < events {
            let Random(state) = code.random;
            for _ in 0..self.repeated {
                code.random = Random(state);
                code.body(main);
            }
        }
        code.events.push(Event::RETURN);
        Trace { name, events: code.events, callees: code.program.edges().values().map(|edge| edge.callee).collect() }
    }

    fn code(&self) -> Code {
        let mut code =
            Code { program: Program::default(), functions: PrimaryMap::new(), random: Random(self.layers as u64), events: Vec::new() };
        for number in 0..=self.layers * self.width {
            let function = code.program.functions.push(Function { name: format!("f{number}").into(), file: "".into(), line: 0 });
            // Function 0 calls the first layer; those of the last call nobody.
            let layer = number.div_ceil(self.width);
            let sites = if layer < self.layers { self.sites } else { &[] };
            let callees = 1 + layer * self.width;
            let sites = sites.iter().map(|&shape| (shape, code.edges(function, shape, callees, self.width))).collect();
            code.functions.push(sites);
        }
        code
    }
}

impl Code {
    fn edges(&mut self, caller: FuncId, shape: Shape, callees: usize, width: usize) -> Vec<EdgeId> {
        let site = self.program.sites.push(CallSite { caller, line: 0 });
        let mut edge = || {
            let callee = FuncId::new(callees + self.random.below(width));
            self.program.edge(Edge { site: site.into(), callee })
        };
        (0..shape.receivers).map(|_| edge()).collect()
    }

    /// Recurses over layers only.
    fn body(&mut self, function: FuncId) {
        for site in 0..self.functions[function].len() {
            let shape = self.functions[function][site].0;
            let calls = if self.random.below(1000) < shape.taken { shape.calls } else { 0 };
            for _ in 0..calls {
                let receiver = if self.random.below(8) == 0 { self.random.below(shape.receivers) } else { 0 };
                let edge = self.functions[function][site].1[receiver];
                self.events.push(Event::call(edge));
                self.body(self.program.callee(edge));
                self.events.push(Event::RETURN);
            }
        }
    }
}

/// All sites are taken, one of them in a loop, and with two receivers.
fn few_contexts() -> Trace {
    const SITES: &[Shape] = &[Shape { taken: 1000, calls: 1, receivers: 1 }, Shape { taken: 1000, calls: 3, receivers: 2 }];
    Layers { layers: 6, width: 8, sites: SITES, repeated: 1 }.run("few contexts", 1_000_000)
}

/// Two calls that are always made, and one that hardly ever is: most contexts lie below a rare call or two.
fn many_contexts() -> Trace {
    const ALWAYS: Shape = Shape { taken: 1000, calls: 1, receivers: 1 };
    const SITES: &[Shape] = &[ALWAYS, Shape { taken: 90, calls: 2, receivers: 2 }, ALWAYS];
    Layers { layers: 13, width: 150, sites: SITES, repeated: 3 }.run("many contexts", 20_000_000)
}
