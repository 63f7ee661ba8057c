//! One plan against another, measured as `vm bench --compare plan=A,B` does.
//!
//! In: a program, two plans as files. Out: [`Compared`]: the time of the other over that of the one, so above 1 the one is faster.

use super::axis::{Axis, Comparison};
use super::options::{Effort, Setup, memory};
use super::outcome::{ProgramResult, Speedup, Verdict};
use super::phases::{Phase, Time};
use super::programs::Program;
use super::rounds;
use crate::cli::args::{MemoryArgs, TierArg};
use std::path::Path;

pub struct PlanPair<'a> {
    pub file: &'a Path,
    /// Of the program.
    pub args: &'a [String],
    pub one: &'a Path,
    pub other: &'a Path,
    /// Of the optimizer, as `--passes` has them.
    pub passes: Option<String>,
    pub memory: &'a MemoryArgs,
    pub effort: &'a Effort,
    pub seed: u64,
}

/// What the one plan is worth.
pub struct Compared {
    pub phase: Phase,
    pub time: Time,
    pub speedup: Speedup,
    pub verdict: Verdict,
    pub rounds: usize,
    pub seconds: f64,
    /// That were made with the one and with the other.
    pub calls: [Option<u64>; 2],
    /// Of machine code.
    pub code_bytes: [Option<f64>; 2],
}

impl PlanPair<'_> {
    pub fn compare(&self) -> Result<Compared, String> {
        let PlanPair { file, args, one, other, passes, effort, .. } = self;
        let value = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is no text in UTF-8", path.display()));
        let comparison = Comparison { axis: Axis::Plan, values: vec![value(other)?, value(one)?] };
        let mut flags = vec![Axis::Tier.argument(&super::axis::name_of(&TierArg::Opt))];
        flags.extend(passes.as_ref().map(|passes| format!("--passes={passes}")));
        let memory = memory(self.memory);
        flags.extend_from_slice(&memory);
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let program = Program { name, file: file.to_path_buf(), args: args.to_vec() };
        let setup = Setup {
            programs: vec![program.clone()],
            comparison,
            baseline: 0,
            flags,
            memory,
            tier: TierArg::Opt,
            inline: None,
            goal: effort.goal(),
            iterations: effort.iterations,
            time: effort.time,
            slices: effort.slices,
            seed: self.seed,
        };
        let measured = rounds::measure(&setup, &program)?;
        let result = ProgramResult::new(&setup, &program, &measured);
        let [other, one] = &result.values[..] else { return Err("two plans have two results; this is a bug".into()) };
        let phase = setup.phase();
        let speedup = one.time(phase, setup.time).and_then(|time| time.speedup).zip(one.verdict);
        let (speedup, verdict) =
            speedup.ok_or("the system does not tell this time, or its clock is too coarse for it; choose another with --time")?;
        Ok(Compared {
            phase,
            time: setup.time,
            speedup,
            verdict,
            rounds: result.rounds,
            seconds: result.seconds,
            calls: [one.calls, other.calls],
            code_bytes: [one.code_bytes, other.code_bytes],
        })
    }
}
