//! How fast traces are written and read: `cargo run --release -p profiler --example trace_events [FILE.trace]`.
//!
//! Without a file: writes synthetic traces into memory (programs of few and of many edges; no stamps, and one for every event), and reads each back in all three ways. Prints events a second
//! and bytes an event. With a file: reads that one until 100 million events have been read.

use profiler::event::Event;
use profiler::ids::EdgeId;
use profiler::program::{CallSite, Edge, Function, Program};
use profiler::trace::{Clock, Limits, Trace, TraceReader, TraceWriter};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const EVENTS: u64 = 50_000_000;
const PASSES: u64 = 3;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    if let Some(path) = std::env::args().nth(1) {
        let file = std::fs::read(&path)?;
        let events = Trace::load(file.as_slice(), Limits::default())?.events();
        return read(&path, &file, events, (100_000_000 / events.max(1)).max(1));
    }
    for (functions, every) in [(20, None), (20, Some(1)), (2_000, None), (2_000, Some(1))] {
        let name = format!("{functions} functions, {}", if every.is_some() { "a stamp an event" } else { "no stamps" });
        let start = Instant::now();
        let file = write(functions, every)?;
        println!("{name}: written, {:.0} M events/s with the making of them", EVENTS as f64 / start.elapsed().as_secs_f64() / 1e6);
        read(&name, &file, EVENTS, PASSES)?;
    }
    Ok(())
}

/// A walk at random over a program in which each function calls up to four others.
fn write(functions: u32, every: Option<u64>) -> Result<Vec<u8>> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut program = Program::default();
    for number in 0..functions {
        program.functions.push(Function { name: format!("function{number}").into(), file: "synthetic".into(), line: number });
    }
    let mut calls: Vec<[EdgeId; 4]> = Vec::new();
    for caller in program.functions.keys() {
        calls.push([(); 4].map(|()| {
            let site = program.sites.push(CallSite { caller, line: 1 });
            let callee = program.functions.keys().nth(rng.random_range(0..functions as usize)).expect("a function");
            program.edge(Edge { site: Some(site).into(), callee })
        }));
    }
    let mut writer = TraceWriter::new(Vec::new(), Clock::STEPS, &program)?;
    let thread = writer.start_thread("main", 0)?;
    let mut stack = Vec::new();
    for event in 0..EVENTS {
        if every.is_some_and(|every| event % every == 0) {
            writer.time(thread, event * 40 + rng.random_range(0..40))?;
        }
        // Callees are chosen unevenly, as programs do.
        let choice: u32 = rng.random();
        let calls_on = stack.len() < 40 && (choice & 1 == 0 || stack.is_empty());
        if calls_on {
            let at = stack.last().map_or(0, |&edge| program.callee(edge).as_u32() as usize);
            let edge = calls[at][(choice >> 8 & choice >> 16 & 3) as usize];
            stack.push(edge);
            writer.call_edge(thread, edge)?;
        } else {
            stack.pop();
            writer.ret(thread)?;
        }
    }
    Ok(writer.finish()?)
}

fn read(name: &str, file: &[u8], events: u64, passes: u64) -> Result<()> {
    let rate = |what: &str, start: Instant| {
        let rate = (events * passes) as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("{name}: {what} {rate:.0} M events/s");
    };
    println!("{name}: {events} events in {} bytes, {:.3} bytes an event", file.len(), file.len() as f64 / events as f64);

    let start = Instant::now();
    for _ in 0..passes {
        let mut reader = TraceReader::new(file, Limits::default())?;
        while let Some(block) = reader.next_block()? {
            black_box(block.events);
        }
    }
    rate("by blocks", start);

    let start = Instant::now();
    for _ in 0..passes {
        let mut reader = TraceReader::new(file, Limits::default())?;
        let (mut depth, mut deepest) = (0_u64, 0);
        while let Some(block) = reader.next_block()? {
            for &event in block.events {
                depth = if event == Event::RETURN { depth.saturating_sub(1) } else { depth + 1 };
                deepest = deepest.max(depth);
            }
        }
        black_box(deepest);
    }
    rate("by blocks, following the depth,", start);

    let start = Instant::now();
    for _ in 0..passes {
        black_box(TraceReader::new(file, Limits::default())?.records().filter(std::result::Result::is_ok).count());
    }
    rate("by records", start);

    let start = Instant::now();
    for _ in 0..passes {
        black_box(Trace::load(file, Limits::default())?.events());
    }
    rate("loaded", start);
    Ok(())
}
