//! Accuracy and modelled cost of the samplers on generated programs: `cargo run --release --example accuracy [million calls]`.
//!
//! In: nothing but a seed; two random programs, one with few contexts and one with many, each with phases of other call densities. Out: a table of
//! cost, degree of overlap of DCG and CCT, hot-edge coverage of the CCT.

use cranelift_entity::EntityRef;
use profiler::event::Event;
use profiler::ids::{EdgeId, ThreadId};
use profiler::metrics::Comparison;
use profiler::replay::{Options, Replay, Summary};
use profiler::sample::{Observed, Sample};
use profiler::samplers::{Antibias, Correction, Mode, Parameters, Random, Start, Trigger};
use profiler::tuning;
use std::collections::HashMap;
use std::time::Duration;

/// A call site of a generated program: whom it calls, and how often each time its function runs, in the mean.
struct Site {
    callee: usize,
    edge: EdgeId,
    calls: f64,
}

/// A program: functions with call sites; sites call functions of higher numbers, and sometimes their own.
struct Program {
    functions: Vec<Vec<Site>>,
}

impl Program {
    fn generate(random: &mut Random, functions: usize, sites: u64) -> Program {
        let mut edges = 0;
        let mut function = |index: usize| {
            let later = (functions - index - 1) as u64;
            let count = if later == 0 { 0 } else { random.below(sites) + u64::from(index < functions / 4) };
            let site = |_| {
                let callee = index + 1 + random.below(later.min(40)) as usize;
                edges += 1;
                Site { callee, edge: EdgeId::new(edges - 1), calls: random.unit() * random.unit() * 4.0 }
            };
            (0..count).map(site).collect::<Vec<_>>()
        };
        Program { functions: (0..functions).map(&mut function).collect() }
    }

    /// Runs a main loop until so many calls are made; each phase begins elsewhere and has another density. Stamps are nanoseconds.
    fn run(&self, random: &mut Random, calls: u64, mut event: impl FnMut(Event, u64)) {
        let (mut made, mut now, mut density) = (0u64, 0, 10);
        let mut stack: Vec<(usize, usize)> = Vec::new();
        let (mut phase, mut phase_ends) = (0, 0);
        while made < calls {
            let depth = stack.len();
            let Some(&mut (function, ref mut site)) = stack.last_mut() else {
                // Phases are longer than the intervals of timers: else call densities would not differ from tick to tick.
                if made >= phase_ends {
                    phase_ends = made + 500_000 + random.below(4_000_000);
                    phase = random.below(self.functions.len() as u64 / 4) as usize;
                    density = 2 + random.below(30);
                }
                stack.push((phase, 0));
                continue;
            };
            let Some(next) = self.functions[function].get(*site) else {
                stack.pop();
                now += random.below(density);
                if !stack.is_empty() {
                    event(Event::RETURN, now);
                }
                continue;
            };
            if random.unit() < next.calls / (next.calls + 1.0) && depth < 60 {
                made += 1;
                now += random.below(density);
                event(Event::call(next.edge), now);
                stack.push((next.callee, 0));
            } else {
                *site += 1;
            }
        }
    }
}

/// Numbers for contexts, the same for all profiles.
#[derive(Default)]
struct Contexts {
    children: HashMap<(usize, EdgeId), usize>,
}

impl Contexts {
    fn child(&mut self, parent: usize, edge: EdgeId) -> usize {
        let next = self.children.len() + 1;
        *self.children.entry((parent, edge)).or_insert(next)
    }
}

/// Weights by edge and by context.
#[derive(Default)]
struct Profile {
    edges: Vec<f64>,
    contexts: Vec<f64>,
}

fn count(weights: &mut Vec<f64>, index: usize, weight: f64) {
    if weights.len() <= index {
        weights.resize(index + 1, 0.0);
    }
    weights[index] += weight;
}

impl Profile {
    fn call(&mut self, at: &mut Vec<usize>, edge: EdgeId, weight: f64, contexts: &mut Contexts) {
        let node = contexts.child(at.last().copied().unwrap_or(0), edge);
        at.push(node);
        count(&mut self.edges, edge.index(), weight);
        count(&mut self.contexts, node, weight);
    }

    fn add(&mut self, sample: &Sample, contexts: &mut Contexts) {
        let mut at = Vec::with_capacity(sample.stack.len());
        let passed = match sample.observed {
            Observed::Top => sample.stack.len() - 1,
            Observed::Burst(_) => sample.stack.len(),
        };
        sample.stack[..passed].iter().for_each(|&edge| self.call(&mut at, edge, 0.0, contexts));
        sample.stack[passed..].iter().for_each(|&edge| self.call(&mut at, edge, sample.weight, contexts));
        let Observed::Burst(events) = &sample.observed else { return };
        for event in events {
            match event.edge() {
                Some(edge) => self.call(&mut at, edge, sample.weight, contexts),
                None => drop(at.pop()),
            }
        }
    }
}

fn compare(a: &[f64], b: &[f64]) -> Comparison {
    let at = |weights: &[f64], index: usize| weights.get(index).copied().unwrap_or(0.0);
    Comparison::of_pairs((0..a.len().max(b.len())).map(|index| (at(a, index), at(b, index))))
}

/// The rows of the table.
fn samplers() -> Vec<(String, Parameters)> {
    let every = |parameters, us| Parameters { interval: Duration::from_micros(us), ..parameters };
    let cbs = |samples, stride, correction| Parameters::cbs(samples, stride, Antibias::with(correction));
    let timed = |burst| Parameters::new(Mode::Estimator { trigger: Trigger::Timer(Start::Random), burst });
    let counted = |mean, burst| Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean }, burst });
    let mut rows: Vec<(String, Parameters)> = vec![
        ("stack walk, 10 ms".into(), Parameters::stack_walk()),
        ("adaptive, 10 ms".into(), Parameters::adaptive_bursting()),
        ("adaptive, RR 5 %, 10 ms".into(), Parameters::adaptive_re_enable()),
        ("static bursts, 10 ms".into(), Parameters::static_bursting()),
        ("CBS(1,1), 4 ms".into(), cbs(1, 1, Correction::Off)),
        (format!("CBS({},{}), 4 ms", tuning::CBS_SAMPLES, tuning::CBS_STRIDE), cbs(8, 2, Correction::Off)),
        ("… density".into(), cbs(8, 2, Correction::Density)),
        ("… density and latency".into(), cbs(8, 2, Correction::DensityAndLatency)),
        ("timer 4 ms, burst of 512".into(), every(timed(512), 4000)),
        ("timer 1 ms, burst of 512".into(), every(timed(512), 1000)),
        ("timer 0.2 ms, burst of 8".into(), timed(8)),
    ];
    let trigger = |mean, burst| (format!("every {mean} calls, burst of {burst}"), counted(mean, burst));
    rows.extend([(10_000, 8), (20_000, 64), (1_000, 1)].map(|(mean, burst)| trigger(mean, burst)));
    rows
}

fn table(name: &str, program: &Program, calls: u64) -> Result<(), Box<dyn std::error::Error>> {
    let thread = ThreadId::new(0);
    let (mut contexts, mut exact, mut at) = (Contexts::default(), Profile::default(), Vec::new());
    let rows = samplers();
    let mut replays = Vec::new();
    for (_, parameters) in &rows {
        let options = Options { time: profiler::replay::Time::Stamps, ..Options::new(*parameters, 1) };
        replays.push((Replay::new(options)?, Profile::default()));
    }
    program.run(&mut Random::new(2), calls, |event, now| {
        match event.edge() {
            Some(edge) => exact.call(&mut at, edge, 1.0, &mut contexts),
            None => drop(at.pop()),
        }
        for (replay, profile) in &mut replays {
            replay.event(thread, event, now, &mut |sample: &Sample| profile.add(sample, &mut contexts));
        }
    });
    println!("\n{name}: {} edges, {} contexts", exact.edges.iter().filter(|weight| **weight > 0.0).count(), contexts.children.len());
    println!("{:32} {:>8} {:>8} {:>8} {:>8}", "sampler", "cost %", "DCG", "CCT", "hot CCT");
    for ((name, _), (replay, mut profile)) in rows.iter().zip(replays) {
        let summary: Summary = replay.finish(&mut |sample: &Sample| profile.add(sample, &mut contexts));
        let (dcg, cct) = (compare(&profile.edges, &exact.edges), compare(&profile.contexts, &exact.contexts));
        println!(
            "{name:32} {:8.3} {:8.1} {:8.1} {:8.1}",
            summary.share() * 100.0,
            dcg.overlap(),
            cct.overlap(),
            cct.hot_edge_coverage(0.1)
        );
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let millions: u64 = std::env::args().nth(1).map_or(Ok(50), |text| text.parse())?;
    for (name, functions, sites) in [("few contexts", 60, 4), ("many contexts", 2_000, 5)] {
        let program = Program::generate(&mut Random::new(7), functions, sites);
        table(name, &program, millions * 1_000_000)?;
    }
    Ok(())
}
