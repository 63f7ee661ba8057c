//! An organizer that does not come to work: threads go on, what finds no room is counted as dropped, and every call is counted all the same.
//!
//! Whoever holds the ledger stops the organizer at its next packet.
#![cfg(feature = "native")]

use jit::layout::Layout;
use jit::native::Profiling;
use profiler::collect::StructureKind;
use profiler::samplers::{Mode, Parameters, Trigger};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use vm::diag::Diagnostics;
use vm::runtime::native::NativeEngine;
use vm::runtime::profiling::{Counting, ProfileOptions, Profiler, Reader, Time, start_organizer};
use vm::runtime::{End, Output, Runtime, RuntimeOptions, names};
use vm::sema::{self, Scope};
use vm::source::SourceMap;

/// Only a program that hangs takes so long.
const LIMIT: Duration = Duration::from_secs(200);

/// More samples than the queue has room for; the last word comes when all threads have ended.
const PROGRAM: &str = "
fun leaf(n: Int): Int = n * 3 % 7
fun work(n: Int): Int {
    var sum = 0
    for i in 0..<n { sum += leaf(i) }
    return sum
}
fun main() {
    let threads = List<Thread<Int>>()
    for t in 0..<8 { threads.add(spawn(() => work(4_000_000))) }
    var sum = 0
    for thread in threads { sum += thread.join() }
    println(\"done\")
}
";

struct Run {
    profiler: Arc<Profiler>,
    printed: Arc<Mutex<Vec<u8>>>,
    main: std::thread::JoinHandle<End>,
}

/// Runs the program on baseline code.
fn start(parameters: Parameters) -> Run {
    let (mut map, mut errors) = (SourceMap::new(), Diagnostics::new());
    let units = sema::load_text(&mut map, Path::new("stall.lang"), PROGRAM.to_string(), &mut errors);
    let (program, _) = sema::check(&units, Scope::Reachable);
    let module = program.and_then(|mut program| vm::lower::lower(&mut program, &map, &mut errors));
    let module = Arc::new(module.unwrap_or_else(|| panic!("{}", errors.render(&map, false))));
    let options = ProfileOptions {
        reader: Reader::Document,
        parameters,
        structure: StructureKind::Cct,
        max_nodes: 1000,
        time: Time::Real,
        counting: Counting::Always,
        longest_burst: None,
        rest: None,
        seed: 1,
    };
    let profiler = Arc::new(Profiler::new(options, names::program(&module, &map)).unwrap());
    let (output, printed) = Output::buffer();
    let layout = Arc::new(Layout::new(&module));
    let options = RuntimeOptions { output, profiler: Some(profiler.clone()), ..RuntimeOptions::default() };
    let runtime = Runtime::new(module, layout, Box::new(map), options).unwrap();
    let native = jit::native::Options { profiling: Profiling::Calls, ..jit::native::Options::default() };
    let engine = Arc::new(NativeEngine::new(&runtime, native).unwrap());
    let organizer = start_organizer(&profiler, &engine).unwrap();
    let main = std::thread::spawn(move || {
        let status = runtime.run_main(engine).unwrap();
        organizer.join().unwrap();
        status.end
    });
    Run { profiler, printed, main }
}

#[test]
fn a_stalled_organizer_stops_no_thread() {
    // As many samples as what walks cost allows, about one in a thousand calls.
    let parameters = Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean: 100 }, burst: 8 });
    let free = start(parameters);
    assert_eq!(free.main.join().unwrap(), End::Finished);
    let calls = free.profiler.counters().calls;
    assert!(calls >= 32_000_000);

    let Run { profiler, printed, main } = start(parameters);
    let stalled = profiler.ledger();
    let began = Instant::now();
    while printed.lock().unwrap().is_empty() {
        assert!(began.elapsed() < LIMIT, "threads wait for the organizer");
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = stalled.collector.dcg().total();
    drop(stalled);
    assert_eq!(main.join().unwrap(), End::Finished);
    let counters = profiler.counters();
    assert_eq!(counters.calls, calls);
    assert!(counters.samples_dropped > 0 && counters.samples_dropped < counters.samples, "{counters:?}");
    assert!(profiler.ledger().collector.dcg().total() > seen, "what had room is taken over after the stall");
    assert_eq!(profiler.ledger().lost, 0);
}
