//! The adaptive tier as the command line drives it: who decides what is inlined while the program runs, and the plan of what was decided.
//!
//! In: flags, the lowered module, the run's profiler. Out: a compile thread for as long as the program runs; what it has compiled, and the plan as a file.

use super::args::{RunArgs, TierArg};
use super::live;
use super::optimize::Job;
use super::run::Tier;
use super::run_stats::OptimizerStats;
use crate::runtime::adaptive::{self, Adaptive, Controller, Guide, Pace, Summary};
use crate::runtime::profiling::Profiler;
use crate::runtime::{Runtime, names};
use jit::ir::Module;
use jit::opt;
use profiler::oracle::{Fallback, Kind, NoInlining, Oracle};
use profiler::plan::{About, Plan};
use profiler::program::Program;
use std::path::PathBuf;
use std::sync::Arc;

/// The policy that decides by the run's own profile; `None` where none does.
pub fn live_policy(args: &RunArgs) -> Option<Kind> {
    let is_live = args.tier == TierArg::Adaptive && args.adapt_stress.is_none();
    is_live.then(|| args.opt.live_policy()).flatten()
}

/// What the adaptive tier's threads share.
pub fn shared(args: &RunArgs) -> Result<Option<Arc<Adaptive>>, String> {
    let shared = match args.adapt_stress {
        Some(_) if args.tier != TierArg::Adaptive => return Err("--adapt-stress goes with --tier adaptive".into()),
        Some(seed) => Adaptive::forced(Pace { seed, gap: 64, times: 400 }),
        None => Adaptive::default(),
    };
    Ok((args.tier == TierArg::Adaptive).then(|| Arc::new(shared)))
}

/// What the compile thread needs.
pub struct Adapting {
    policy: Box<dyn adaptive::Policy>,
    options: opt::Options,
    plan: Option<PlanFile>,
}

/// Where a plan goes, and what it speaks of.
struct PlanFile {
    path: PathBuf,
    about: About,
    program: Program,
}

impl Adapting {
    /// `profiler`: of the run.
    pub fn new(args: &RunArgs, job: &Job<'_>, module: &Module, profiler: Option<&Arc<Profiler>>) -> Result<Adapting, String> {
        let (policy, name) = policy(args, job, module, profiler)?;
        let plan = args.opt.plan_out.clone().map(|path| {
            let program = names::program(module, job.map);
            PlanFile { path, about: job.about(name), program }
        });
        Ok(Adapting { policy, options: job.options(), plan })
    }

    pub fn start(self, runtime: &Runtime, tier: &Tier) -> Result<Running, String> {
        let Adapting { policy, options, plan } = self;
        let (Some(shared), Tier::Native(engine)) = (&runtime.options.adaptive, tier) else {
            return Err("the adaptive tier makes machine code; this is a bug".into());
        };
        let started = adaptive::start(shared.clone(), engine.clone(), runtime, options, policy, plan.is_some());
        let controller = started.map_err(|error| format!("cannot start the compile thread: {error}"))?;
        Ok(Running { controller, plan })
    }
}

/// Who decides, and what plans call that.
fn policy(
    args: &RunArgs,
    job: &Job<'_>,
    module: &Module,
    profiler: Option<&Arc<Profiler>>,
) -> Result<(Box<dyn adaptive::Policy>, Box<str>), String> {
    if let (Some(kind), Some(profiler)) = (live_policy(args), profiler) {
        let earlier = job.profile.map(|profile| super::policy::view(profile, &names::program(module, job.map), job.warn));
        if let Some(earlier) = earlier.as_ref().filter(|earlier| job.warn && !Fallback::would_ask(earlier)) {
            super::policy::warn_of_few_samples(earlier);
        }
        let guide = Guide::new(kind, profiler.clone(), earlier.unwrap_or_default()).ok_or("the policy asks no profile; this is a bug")?;
        return Ok((Box::new(guide), kind.name().into()));
    }
    let (oracle, name) = job.oracle(module)?;
    let mut turn = 0;
    let other: Arc<dyn Oracle> = Arc::new(NoInlining);
    let is_forced = args.adapt_stress.is_some();
    let policy = move || {
        // Where everything is compiled again and again, not always alike.
        turn += usize::from(is_forced);
        if turn % 3 == 1 { Arc::clone(&other) } else { Arc::clone(&oracle) }
    };
    Ok((Box::new(policy), name))
}

/// A compile thread beside the program.
pub struct Running {
    controller: Controller,
    plan: Option<PlanFile>,
}

/// A program that has ended.
pub struct Compiled {
    pub summary: Summary,
    plan: Option<PlanFile>,
}

impl Running {
    /// The program has ended.
    pub fn finish(self, runtime: &Runtime) -> Result<Compiled, String> {
        runtime.options.adaptive.iter().for_each(|adaptive| adaptive.close());
        let summary = self.controller.summary();
        if self.controller.has_failed() {
            return Err("the compile thread has failed; this is a bug".into());
        }
        Ok(Compiled { summary, plan: self.plan })
    }
}

impl Compiled {
    pub fn optimizer_stats(&self) -> OptimizerStats {
        let Summary { optimizing, inlining, decisions, .. } = &self.summary;
        OptimizerStats::new(*optimizing, *inlining, decisions.iter())
    }

    /// Writes the plan, if one is wanted. Gives the exit code: the program's own if that says something.
    pub fn write_plan(&self, code: u8) -> u8 {
        let (Some(PlanFile { path, about, program }), Some(answers)) = (&self.plan, &self.summary.answers) else { return code };
        let plan = Plan::from_answers(about.clone(), program, &answers.all()).map_err(|error| error.to_string());
        let written = plan.and_then(|plan| profiler::plan::write(&plan, path).map_err(|error| error.to_string()));
        let hint = "hint: the program has run all the same; choose another file with --plan-out";
        written.map_or_else(|error| live::failed(format!("{error}\n{hint}"), code), |()| code)
    }
}
