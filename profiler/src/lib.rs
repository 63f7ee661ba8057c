//! Call profiles: what calls what, how often, and in which context, from exact traces or from samples that cost next to nothing.
//!
//! The crate reproduces four systems and adds one of its own: adaptive bursting (X. Zhuang et al., PLDI 2006, "PLDI'06" below), k-calling-context forests (G. Ausiello et al., OOPSLA 2012, "OOPSLA'12"), the Call-Context Map
//! ("CC-Map"), the correction of sampling bias (TACO 2015, "TACO'15"), and an unbiased estimator from short bursts at random calls. It knows no compiler, no threads and no clock: whoever runs the program says what it does and when.
//!
//! # A first profile
//!
//! A toy interpreter whose functions only call each other. Each call and return goes to a calling context tree, which is exact, and to a sampler, which looks at about one call in a hundred; then the two are compared.
//!
//! ```
//! use profiler::event::Event;
//! use profiler::ids::{EdgeId, FuncId, ThreadId};
//! use profiler::metrics::Comparison;
//! use profiler::program::{CallSite, Edge, Function, Program};
//! use profiler::replay::{Options, Replay};
//! use profiler::samplers::{Mode, Parameters, Trigger};
//! use profiler::structures::{CallStructure, cct::Cct, dcg::Dcg};
//!
//! // The program: `main` calls `row` 1000 times, `row` calls `cell` 20 times and `flush` once.
//! let mut program = Program::default();
//! let mut function = |name: &str| program.functions.push(Function { name: name.into(), file: "toy".into(), line: 0 });
//! let (main, row, cell, flush) = (function("main"), function("row"), function("cell"), function("flush"));
//! let mut edge = |caller: Option<FuncId>, callee: FuncId| {
//!     let site = caller.map(|caller| program.sites.push(CallSite { caller, line: 0 }));
//!     program.edge(Edge { site: site.into(), callee })
//! };
//! let (start, to_row, to_cell, to_flush) = (edge(None, main), edge(Some(main), row), edge(Some(row), cell), edge(Some(row), flush));
//! let code = |callee: FuncId| -> Vec<(u32, EdgeId)> {
//!     if callee == main { vec![(1000, to_row)] } else if callee == row { vec![(20, to_cell), (1, to_flush)] } else { vec![] }
//! };
//!
//! // The interpreter: what it runs is told to `observe`.
//! fn run(edge: EdgeId, program: &Program, code: &dyn Fn(FuncId) -> Vec<(u32, EdgeId)>, observe: &mut dyn FnMut(Event)) {
//!     observe(Event::call(edge));
//!     for (times, next) in code(program.callee(edge)) {
//!         (0..times).for_each(|_| run(next, program, code, observe));
//!     }
//!     observe(Event::RETURN);
//! }
//!
//! let mut exact = Cct::new();
//! let mut at = exact.start();
//! let mut sampled = Dcg::new();
//! // A single call, about every 100 calls; defaults suit programs that make millions.
//! let every_100 = Parameters::new(Mode::Estimator { trigger: Trigger::Calls { mean: 100 }, burst: 1 });
//! let mut replay = Replay::new(Options::new(every_100, 1))?;
//! let mut sink = |sample: &profiler::sample::Sample| sampled.add(sample);
//! run(start, &program, &code, &mut |event| {
//!     exact.run(&mut at, &[event], 1.0, |edge| edge);
//!     replay.event(ThreadId::from_u32(0), event, 0, &mut sink);
//! });
//! let summary = replay.finish(&mut sink);
//!
//! assert_eq!(exact.total(), 22_001.0); // calls: main, 1000 rows, 20,000 cells, 1000 flushes
//! let hottest = exact.by_weight()[0];
//! assert_eq!(exact.path(hottest), [start, to_row, to_cell]);
//! let estimate = sampled.estimate(to_cell); // calls, with a standard error
//! assert!((estimate.weight - 20_000.0).abs() < 5.0 * estimate.standard_error.max(200.0));
//! let truth = exact.nodes().map(|node| (exact.label(node), exact.weight(node)));
//! assert!(Comparison::new(truth, sampled.by_weight()).overlap() > 90.0); // percent
//! assert!(summary.counters.samples < 400);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are, in the order in which data meets them
//!
//! - [`ids`], [`program`], [`event`]: functions, call sites and call edges; calls and returns. [`clock`]: what their times are counted in. [`trace`]: files that hold every event of a run.
//! - [`samplers`]: state machines that say at a call what to look at, with their knobs in [`tuning`] and what they count in [`counters`]; [`sample`]: what they bring home. [`replay`] runs them over a stream of events.
//! - [`structures`]: DCG, call tree, CCT, PCCT, CC-Map, k-SF, k-CCF. [`estimate`]: how sure their weights are. [`metrics`]: how good a profile is.
//! - [`collect`]: from samples to structures to [`profile`], a profile as a document; `export` (feature of that name): its formats; `report` (with it): a profile for people; [`diff`]: two of them compared.
//! - [`oracle`]: what a compiler should inline, without a profile and with one; [`plan`]: what it did, as a document. [`matching`]: functions and call sites of a document in the program of now.
//!
//! Weights are numbers of calls; times are nanoseconds or cycles, as each item says.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod clock;
pub mod collect;
pub mod counters;
pub mod diff;
pub mod estimate;
pub mod event;
#[cfg(feature = "export")]
pub mod export;
pub mod ids;
pub mod matching;
pub mod metrics;
mod names;
#[cfg(feature = "export")]
mod object;
pub mod oracle;
pub mod plan;
pub mod profile;
pub mod program;
pub mod replay;
#[cfg(feature = "export")]
pub mod report;
pub mod sample;
pub mod samplers;
pub mod structures;
pub mod trace;
pub mod tuning;
pub mod words;
