//! `cargo run --release -p agree -- FROM..TO [FOLDER] [--all-passes|--whole] [--profiled] [--oracle-seed=N]`: checks the random programs with these seeds on every tier, and with passes of the optimizer switched off: two that depend on the seed, each, or none; with `--profiled` also what they count when every call is profiled; with `--oracle-seed` what is inlined is random, another for each program, and so is what is compiled anew while it runs, which otherwise depends on the program's seed alone. What disagrees is made smaller, printed, and written to the folder (by default
//! `disagreements` in the current one); the exit code is then 1.

use jit::opt::Pass;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() -> ExitCode {
    let (mut flags, args): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    let profiled = flags.iter().any(|flag| flag == "--profiled");
    flags.retain(|flag| flag != "--profiled");
    let oracle: Option<Result<u64, _>> = flags.iter().find_map(|flag| flag.strip_prefix("--oracle-seed=")).map(str::parse);
    flags.retain(|flag| !flag.starts_with("--oracle-seed="));
    let off: Option<fn(u64) -> Vec<Pass>> = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(agree::passes_of),
        ["--all-passes"] => Some(|_| Pass::ALL.to_vec()),
        ["--whole"] => Some(|_| Vec::new()),
        _ => None,
    };
    let mut args = args.into_iter();
    let (Some(seeds), Some(off), Ok(oracle)) = (args.next().as_deref().and_then(parse), off, oracle.transpose()) else {
        eprintln!("usage: agree FROM..TO [FOLDER] [--all-passes|--whole] [--profiled] [--oracle-seed=N]");
        return ExitCode::from(2);
    };
    let folder = PathBuf::from(args.next().unwrap_or_else(|| "disagreements".into()));
    let (next, found, compared) = (AtomicU64::new(seeds.start), AtomicU64::new(0), AtomicU64::new(0));
    let worker = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let number = oracle.map(|n| agree::mix(n, seed));
            let checks = agree::Checks { off: off(seed), profiled, oracle: number, adaptive: number.unwrap_or(seed) };
            let report = |found: &str| eprintln!("seed {seed}, now being made smaller: {found}");
            match agree::on_large_stack(|| agree::check_seed(seed, &checks, report)) {
                Ok(profiles) => _ = compared.fetch_add(profiles.into(), Ordering::Relaxed),
                Err(disagreement) => {
                    found.fetch_add(1, Ordering::Relaxed);
                    println!("seed {seed}: {}\n{}", disagreement.difference, write(&folder, &disagreement));
                }
            }
            if (seed + 1 - seeds.start).is_multiple_of(1000) {
                eprintln!("{} programs", seed + 1 - seeds.start);
            }
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(worker))));
    let (count, found, compared) = (seeds.end - seeds.start, found.into_inner(), compared.into_inner());
    let profiles = if profiled { format!(", profiles of {compared} compared") } else { String::new() };
    println!("{count} programs{profiles}, {found} disagreements");
    ExitCode::from(u8::from(found > 0))
}

/// Where the program is.
fn write(folder: &Path, disagreement: &agree::Disagreement) -> String {
    let path = folder.join(format!("{}.lang", disagreement.seed));
    match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, &disagreement.text)) {
        Ok(()) => format!("see {}", path.display()),
        Err(e) => format!("cannot write {}: {e}", path.display()),
    }
}

fn parse(range: &str) -> Option<Range<u64>> {
    let (from, to) = range.split_once("..")?;
    let range = from.parse().ok()?..to.parse().ok()?;
    (range.start < range.end).then_some(range)
}
