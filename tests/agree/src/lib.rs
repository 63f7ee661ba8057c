//! Whether a program runs alike on every tier, with and without a collection at every few allocations: same output, same errors with the same stack traces, same exit code.
//!
//! In: a program's text, or a seed of [`progen`]; passes of the optimizer to switch off, one at a time; whether every call is counted, too; a seed for random decisions of what is inlined, and one for what is compiled anew while the program runs. Out: the first difference from the reference interpreter, with a smaller program that shows it. The suite's smoke test, the `agree` command and the fuzz target all use it.

#[cfg(feature = "native")]
mod adapting;
mod adversary;
mod counts;

use adversary::Adversary;
pub use adversary::mix;
use counts::Counts;
use jit::ir::Module;
use jit::ir::verifier::verify;
use jit::layout::Layout;
#[cfg(feature = "native")]
use jit::native::{Exits, Level, Osr, Profiling};
#[cfg(feature = "native")]
use jit::opt::osr::enter_at;
use jit::opt::{self, Pass, PassSet, Probes};
use profiler::oracle::{Oracle, StaticOracle};
use profiler::program::Program;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use vm::diag::Diagnostics;
#[cfg(feature = "native")]
use vm::runtime::adaptive::Controller;
#[cfg(feature = "native")]
use vm::runtime::native::NativeEngine;
use vm::runtime::profiling::Profiler;
#[cfg(feature = "native")]
use vm::runtime::profiling::start_organizer;
use vm::runtime::{End, Engine, ExitStatus, InterpreterEngine, Output, Runtime, RuntimeOptions, names};
use vm::sema::{self, Scope};
use vm::source::SourceMap;

const STACK: u64 = 8 << 20;
/// Random programs end within a fraction of it, even under a collection at every few allocations; what the shrinker makes of them may not end at all.
const TIME_LIMIT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Tier {
    Interp,
    /// The interpreter on what the optimizer makes, verified after each pass.
    Optimized,
    /// The same with one pass switched off: others must not need it to be right.
    Without(Pass),
    #[cfg(feature = "native")]
    Baseline,
    /// Every loop is left at its first back-edge for code that does the rest.
    #[cfg(feature = "native")]
    Osr,
    /// Machine code of what the optimizer makes.
    #[cfg(feature = "native")]
    Opt,
    /// Functions and loops are compiled anew, by a policy that is another one each time, at yield points that follow from this seed; what was replaced is freed at others.
    #[cfg(feature = "native")]
    Adaptive(u64),
    /// The same, and in short windows threads run code that counts calls, for a profile that is for the compiler alone.
    #[cfg(feature = "native")]
    Guided(u64),
    /// The same, and optimized code counts calls, too, some of the time: its running loops go over to code that counts, and back.
    #[cfg(feature = "native")]
    Windowed(u64),
    /// The interpreter counts every call; the others must find the same.
    #[cfg(feature = "native")]
    ProfiledInterp,
    #[cfg(feature = "native")]
    ProfiledBaseline,
    #[cfg(feature = "native")]
    ProfiledOsr,
    /// The same with every call counted.
    #[cfg(feature = "native")]
    ProfiledAdaptive(u64),
    /// With probes for inlined calls.
    #[cfg(feature = "native")]
    ProfiledOpt,
}

impl Tier {
    /// The passes that run, if the program is optimized.
    fn passes(self) -> Option<PassSet> {
        match self {
            Tier::Interp => None,
            Tier::Optimized => Some(PassSet::ALL),
            Tier::Without(pass) => Some(PassSet::ALL.without(pass)),
            #[cfg(feature = "native")]
            Tier::Baseline | Tier::Osr | Tier::ProfiledInterp | Tier::ProfiledBaseline | Tier::ProfiledOsr => None,
            #[cfg(feature = "native")]
            Tier::Adaptive(_) | Tier::Guided(_) | Tier::Windowed(_) | Tier::ProfiledAdaptive(_) => None,
            #[cfg(feature = "native")]
            Tier::Opt | Tier::ProfiledOpt => Some(PassSet::ALL),
        }
    }

    #[cfg(feature = "native")]
    fn is_profiled(self) -> bool {
        matches!(self, Tier::ProfiledInterp | Tier::ProfiledBaseline | Tier::ProfiledOsr | Tier::ProfiledAdaptive(_) | Tier::ProfiledOpt)
    }

    #[cfg(not(feature = "native"))]
    fn is_profiled(self) -> bool {
        false
    }

    fn profiler(self, program: impl FnOnce() -> Program) -> Result<Option<Arc<Profiler>>, String> {
        match self {
            #[cfg(feature = "native")]
            Tier::Guided(_) => counts::guiding(program()).map(Some),
            #[cfg(feature = "native")]
            Tier::Windowed(_) => counts::windowed(program()).map(Some),
            _ => self.is_profiled().then(|| counts::profiler(program())).transpose(),
        }
    }

    /// That decides what is compiled anew, and when.
    #[cfg(feature = "native")]
    fn seed(self) -> Option<u64> {
        match self {
            Tier::Adaptive(seed) | Tier::Guided(seed) | Tier::Windowed(seed) | Tier::ProfiledAdaptive(seed) => Some(seed),
            _ => None,
        }
    }

    fn probes(self) -> Probes {
        #[cfg(feature = "native")]
        if matches!(self, Tier::ProfiledOpt | Tier::ProfiledAdaptive(_)) {
            return Probes::Inlined;
        }
        #[cfg(feature = "native")]
        if matches!(self, Tier::Windowed(_)) {
            return Probes::Sampled;
        }
        Probes::None
    }
}

const TIERS: &[Tier] = &[
    Tier::Interp,
    Tier::Optimized,
    #[cfg(feature = "native")]
    Tier::Baseline,
    #[cfg(feature = "native")]
    Tier::Osr,
    #[cfg(feature = "native")]
    Tier::Opt,
];

/// What is compiled anew while the program runs depends on the seed, and on whether there are collections.
#[cfg(feature = "native")]
fn adaptive(seed: u64) -> Vec<(Tier, u32)> {
    vec![
        (Tier::Adaptive(mix(seed, 0)), 0),
        (Tier::Adaptive(mix(seed, 1)), 7),
        (Tier::Guided(mix(seed, 3)), 0),
        (Tier::Guided(mix(seed, 4)), 7),
        (Tier::Windowed(mix(seed, 5)), 0),
        (Tier::Windowed(mix(seed, 6)), 7),
    ]
}

#[cfg(not(feature = "native"))]
fn adaptive(_: u64) -> Vec<(Tier, u32)> {
    Vec::new()
}

/// The interpreter first: its counts are the exact ones.
#[cfg(feature = "native")]
fn profiled(seed: u64) -> Vec<(Tier, u32)> {
    vec![
        (Tier::ProfiledInterp, 0),
        (Tier::ProfiledBaseline, 0),
        (Tier::ProfiledOsr, 0),
        (Tier::ProfiledOpt, 0),
        (Tier::ProfiledBaseline, 7),
        (Tier::ProfiledOpt, 7),
        (Tier::ProfiledAdaptive(mix(seed, 2)), 7),
    ]
}

#[cfg(not(feature = "native"))]
fn profiled(_: u64) -> Vec<(Tier, u32)> {
    Vec::new()
}

/// In what a program prints that overflows the stack, and in the text of one that expects to.
const OVERFLOW: &str = "StackOverflowError";
const EXPECTS_OVERFLOW: &str = "catch (e: StackOverflowError)";

/// Threads of the program wait for each other, and look whether it is time as often as it takes: then calls are counted, but not compared.
const WAITS: &[&str] = &["awaitTurn(", "takeTurn(", "spinUntil(", ".wait()"];

/// Two passes to switch off, so that consecutive numbers cover all of them.
pub fn passes_of(number: u64) -> Vec<Pass> {
    let count = Pass::ALL.len() as u64;
    let further = 1 + number / count % (count - 1);
    [number % count, (number + further) % count].map(|i| Pass::ALL[i as usize]).to_vec()
}

/// What is checked besides that every tier runs the program alike.
#[derive(Clone, Default, Debug)]
pub struct Checks {
    /// Passes of the optimizer without each of which alone it also runs.
    pub off: Vec<Pass>,
    /// Every call is counted on every edge and in every context, and the tiers must agree on that too. Programs that overflow the stack are left out: how deep it is, is a tier's own matter.
    pub profiled: bool,
    /// Of what is compiled anew while the program runs ([`Tier::Adaptive`]).
    pub adaptive: u64,
    /// Inlines and tests for classes at random ([`Adversary`]), not as the static policy does.
    pub oracle: Option<u64>,
}

#[derive(PartialEq, Debug)]
struct Outcome {
    output: String,
    errors: String,
    status: ExitStatus,
}

fn compile(text: &str) -> Result<(SourceMap, Module), String> {
    let mut map = SourceMap::new();
    let mut errors = Diagnostics::new();
    let units = sema::load_text(&mut map, Path::new("random.lang"), text.to_string(), &mut errors);
    let (program, found) = sema::check(&units, Scope::Reachable);
    errors.append(found);
    let module = program.filter(|_| errors.is_empty()).and_then(|mut p| vm::lower::lower(&mut p, &map, &mut errors));
    let Some(module) = module.filter(|_| errors.is_empty()) else { return Err(errors.render(&map, false)) };
    let problems: Vec<String> = verify(&module).iter().map(|p| format!("{p}\n")).collect();
    if problems.is_empty() { Ok((map, module)) } else { Err(format!("the verifier finds\n{}", problems.concat())) }
}

/// Verified after each pass.
fn optimize(module: &Module, oracle: &dyn Oracle, passes: PassSet, probes: Probes) -> Arc<Module> {
    let options = opt::Options { verify: true, passes, probes };
    Arc::new(opt::optimize(module.clone(), oracle, &options).module)
}

fn run(map: &Arc<SourceMap>, module: Arc<Module>, tier: Tier, gc_stress: u32) -> Result<(Outcome, Counts), String> {
    let profiler = tier.profiler(|| names::program(&module, map))?;
    let layout = Arc::new(Layout::new(&module));
    let ((output, printed), (errors, complained)) = (Output::buffer(), Output::buffer());
    #[cfg(feature = "native")]
    let adaptive = tier.seed().map(adapting::shared);
    let options = RuntimeOptions {
        #[cfg(feature = "native")]
        adaptive: adaptive.clone(),
        heap: Some(64 << 20),
        stack: STACK,
        gc_stress: NonZeroU32::new(gc_stress),
        verify_heap: gc_stress != 0,
        time_limit: Some(TIME_LIMIT),
        output,
        errors,
        profiler: profiler.clone(),
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(module, layout, Box::new(Arc::clone(map)), options).map_err(|e| e.to_string())?;
    let started = start(&runtime, tier, gc_stress)?;
    let status = runtime.run_main(started.engine).map_err(|e| e.to_string())?;
    #[cfg(feature = "native")]
    if let Some((adaptive, compiler)) = adaptive.zip(started.compiler) {
        adapting::end(&adaptive, compiler)?;
    }
    if started.organizer.is_some_and(|organizer| organizer.join().is_err()) {
        return Err("the organizer has failed".into());
    }
    // Random programs do nothing of that, and all tiers alike have the same runtime.
    match status.end {
        End::TimedOut => return Err(format!("still running after {} s", TIME_LIMIT.as_secs())),
        End::Panic => return Err("the virtual machine has failed".into()),
        End::Deadlock => return Err("its threads wait for each other for ever".into()),
        _ => {}
    }
    let text = |bytes: &std::sync::Mutex<Vec<u8>>| String::from_utf8_lossy(&bytes.lock().unwrap()).into_owned();
    let counts = profiler.filter(|_| tier.is_profiled()).map(|profiler| Counts::of(&profiler)).transpose()?.unwrap_or_default();
    Ok((Outcome { output: text(&printed), errors: text(&complained), status }, counts))
}

/// What runs a program.
struct Started {
    engine: Arc<dyn Engine>,
    /// Of the profile that is taken.
    organizer: Option<JoinHandle<()>>,
    #[cfg(feature = "native")]
    compiler: Option<Controller>,
}

impl Started {
    fn interpreter(runtime: &Runtime) -> Started {
        Started {
            engine: Arc::new(InterpreterEngine::new(&runtime.module, &runtime.layout, STACK as usize)),
            organizer: None,
            #[cfg(feature = "native")]
            compiler: None,
        }
    }
}

#[cfg(not(feature = "native"))]
fn start(runtime: &Arc<Runtime>, _: Tier, _: u32) -> Result<Started, String> {
    Ok(Started::interpreter(runtime))
}

#[cfg(feature = "native")]
fn start(runtime: &Arc<Runtime>, tier: Tier, gc_stress: u32) -> Result<Started, String> {
    if matches!(tier, Tier::Interp | Tier::Optimized | Tier::Without(_) | Tier::ProfiledInterp) {
        return Ok(Started::interpreter(runtime));
    }
    let profiling = match tier {
        Tier::ProfiledBaseline | Tier::ProfiledOsr | Tier::Guided(_) => Profiling::Calls,
        Tier::Windowed(_) | Tier::ProfiledOpt | Tier::ProfiledAdaptive(_) => Profiling::Inlined,
        _ => Profiling::Off,
    };
    let level = if tier.passes().is_some() { Level::Optimized } else { Level::Baseline };
    let osr = match tier {
        Tier::Osr | Tier::ProfiledOsr => Osr::Always(|module, func, block| enter_at(module, &module.funcs[func], block)),
        Tier::Adaptive(_) | Tier::Guided(_) | Tier::Windowed(_) | Tier::ProfiledAdaptive(_) => Osr::Installed,
        _ => Osr::Off,
    };
    // Optimized code finds no room in its buffer then, each time.
    let inline_alloc = gc_stress == 0 || level == Level::Optimized;
    let profile_optimized = !matches!(tier, Tier::Guided(_));
    // Who is in code of the wrong kind is late at once.
    let exits = if matches!(tier, Tier::Windowed(_)) { Exits::InLongLoops { patience: Duration::ZERO, looks: 1 } } else { Exits::Off };
    let defaults = jit::native::Options::default();
    // Whatever can stay in memory does.
    let loop_registers = if gc_stress == 0 { defaults.loop_registers } else { 0 };
    let options =
        jit::native::Options { inline_alloc, level, profiling, profile_optimized, osr, exits, loop_registers, verify: true, ..defaults };
    let engine = Arc::new(NativeEngine::new(runtime, options).map_err(|e| e.to_string())?);
    let organizer = runtime.options.profiler.as_ref().map(|profiler| start_organizer(profiler, &engine)).transpose();
    let compiler = tier.seed().map(|seed| adapting::start(runtime, &engine, seed, tier.probes())).transpose();
    Ok(Started { engine, organizer: organizer.map_err(|e| e.to_string())?, compiler: compiler.map_err(|e| e.to_string())? })
}

/// The first difference between the ways to run a program, or why it does not run at all.
pub fn difference(text: &str, checks: &Checks) -> Option<String> {
    check(text, checks).err()
}

/// Says whether profiles were compared.
///
/// # Errors
/// As [`difference`].
fn check(text: &str, checks: &Checks) -> Result<bool, String> {
    let (map, lowered) = compile(text).map(|(map, module)| (Arc::new(map), Arc::new(module)))?;
    let (reference, _) = run(&map, Arc::clone(&lowered), Tier::Interp, 0)?;
    let oracle: Box<dyn Oracle> = match checks.oracle {
        Some(seed) => Box::new(Adversary::new(seed, lowered.funcs.len())),
        None => Box::new(StaticOracle::default()),
    };
    let optimized = optimize(&lowered, &*oracle, PassSet::ALL, Probes::None);
    let code = |tier: Tier| match tier.passes() {
        None => Arc::clone(&lowered),
        Some(PassSet::ALL) if tier.probes() == Probes::None => Arc::clone(&optimized),
        Some(passes) => optimize(&lowered, &*oracle, passes, tier.probes()),
    };
    let whole = TIERS.iter().flat_map(|&tier| [(tier, 0), (tier, 7)]).filter(|&run| run != (Tier::Interp, 0));
    let partial = checks.off.iter().map(|&pass| (Tier::Without(pass), 0));
    let overflows = text.contains(EXPECTS_OVERFLOW) || [&reference.output, &reference.errors].iter().any(|text| text.contains(OVERFLOW));
    let profiled = if checks.profiled && !overflows { profiled(checks.adaptive) } else { Vec::new() };
    let adaptive = adaptive(checks.adaptive);
    let waits = WAITS.iter().any(|wait| text.contains(wait));
    let mut exact: Option<Counts> = None;
    for (tier, gc_stress) in whole.chain(adaptive).chain(partial).chain(profiled) {
        let how = format!("{tier:?}, a collection every {gc_stress} allocations");
        let (outcome, counts) = run(&map, code(tier), tier, gc_stress).map_err(|e| format!("{how}: {e}"))?;
        if outcome != reference {
            return Err(describe(&reference, &outcome, &how));
        }
        if !tier.is_profiled() || waits {
            continue;
        }
        if let Some(found) = exact.as_ref().and_then(|exact| exact.difference(&counts)) {
            return Err(format!("{how}: {found}"));
        }
        exact.get_or_insert(counts);
    }
    Ok(exact.is_some())
}

fn describe(a: &Outcome, b: &Outcome, how: &str) -> String {
    for (a, b, what) in [(&a.output, &b.output, "output"), (&a.errors, &b.errors, "errors")] {
        if let Some((i, (a, b))) =
            a.lines().map(Some).chain([None]).zip(b.lines().map(Some).chain([None])).enumerate().find(|(_, (a, b))| a != b)
        {
            return format!("{how}: line {} of the {what} is {b:?}, but {a:?} in the interpreter", i + 1);
        }
    }
    format!("{how}: ends with {:?}, but {:?} in the interpreter", b.status, a.status)
}

/// What two differences have in common that come from the same fault: then the smaller program shows it too.
fn kind(difference: &str) -> String {
    if difference.starts_with("error") {
        // Of a program that does not compile: the messages without what they say about names.
        let messages = difference.lines().filter(|l| l.starts_with("error"));
        return messages.map(|l| l.split('`').step_by(2).collect::<String>() + "\n").collect();
    }
    let first = difference.lines().next().unwrap_or_default();
    first.chars().filter(|c| !c.is_ascii_digit()).take(40).collect()
}

/// With a stack for programs of any depth.
pub fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|s| {
        let thread = std::thread::Builder::new().stack_size(256 << 20).spawn_scoped(s, work).unwrap();
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A seed whose program does not run alike everywhere.
#[derive(Debug)]
pub struct Disagreement {
    pub seed: u64,
    pub difference: String,
    /// A small program that shows it.
    pub text: String,
}

/// Checks the program of one seed, and makes it smaller where it shows a difference; `report` hears of the difference first, because that can take long. Says whether profiles were compared.
///
/// # Errors
/// It does not run alike everywhere.
pub fn check_seed(seed: u64, checks: &Checks, report: impl FnOnce(&str)) -> Result<bool, Disagreement> {
    let text = progen::generate(progen::Choices::from_seed(seed));
    let found = match check(&text, checks) {
        Ok(compared) => return Ok(compared),
        Err(found) => found,
    };
    report(&found);
    let text = progen::shrink(&text, |t| difference(t, checks).is_some_and(|d| kind(&d) == kind(&found)));
    let difference = difference(&text, checks).unwrap_or(found);
    Err(Disagreement { seed, difference, text })
}
