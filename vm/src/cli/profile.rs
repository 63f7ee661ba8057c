//! `vm profile FILE`: a profiled run, and what there is to see in it.
//!
//! In: a program. Out: its own output, then the report on stdout, beginning with a line of its own; the profile as a file where that is asked for. The exit code is the program's.

use super::args::{ProfileArgs, RunArgs};
use super::live::{self, Counting, LiveArgs, Profiled};
use super::notes;
use super::run::{Finished, Refused, Shown, execute};
use super::sampling::ModeArg;
use super::text;
use crate::runtime::End;
use profiler::diff::{DiffOptions, diff};
use profiler::profile::Profile;
use profiler::report::Report;

pub fn run(mut args: ProfileArgs) -> u8 {
    let mode = args.run.live.sampling.profile.get_or_insert(ModeArg::Adaptive);
    if *mode == ModeArg::Off {
        return text::fail("vm profile needs a --profile other than off; vm run runs a program without");
    }
    let shown = if args.quiet { Shown::Errors } else { Shown::All };
    match execute(&args.run, shown, args.top) {
        Ok(finished) => report(&args, finished),
        Err(refused) => refused.tell(),
    }
}

/// Gives the exit code: the program's own if that says something.
fn report(args: &ProfileArgs, finished: Finished) -> u8 {
    let recorded = finished.write_record(&args.run, 0);
    let Finished { code, end, stats, profiled, is_in_line, earlier, .. } = finished;
    let Some(Profiled { profile, mut report }) = profiled else { return if code == 0 { recorded } else { code } };
    if args.run.stats {
        text::complain(&stats);
    }
    report.diff = earlier.map(|earlier| diff(&earlier, &profile, &DiffOptions { changes: args.top, ..DiffOptions::default() }));
    let checked = match end {
        End::Interrupted if args.check => {
            report.notes.push("not checked: the program was interrupted".into());
            Ok(())
        }
        _ if args.check => check(&args.run, code, &mut report, &profile),
        _ => Ok(()),
    };
    let start = if is_in_line { "\n" } else { "" };
    let printed = if args.json { text::print(&format!("{start}{}\n", report.to_json())) } else { text::print(&format!("{start}{report}")) };
    let checked = checked.map_or_else(Refused::tell, |()| 0);
    let written = args.run.live.profile_out.as_ref().map_or(0, |path| live::write(&profile, path, 0));
    [code, printed, checked, written, recorded].into_iter().find(|&code| code != 0).unwrap_or(0)
}

/// Compares with a run in which each call is counted, and where calls were inlined and not counted, tells how many.
fn check(args: &RunArgs, code: u8, report: &mut Report, profile: &Profile) -> Result<(), Refused> {
    let sees_inlined = args.live.counting(args.tier)? != Counting::Calls;
    let exact = exhaustive(args, sees_inlined, code, report)?;
    notes::compare(report, profile, &exact)?;
    if args.tier.inlines() && !sees_inlined {
        let all = exhaustive(args, true, code, report)?.dcg_total();
        report.unseen = (all > 0.0).then(|| 100.0 * (1.0 - exact.dcg_total() / all).max(0.0));
    }
    Ok(())
}

/// The exact profile of another run.
fn exhaustive(args: &RunArgs, profile_inlined: bool, code: u8, report: &mut Report) -> Result<Profile, Refused> {
    let live = LiveArgs { profile_inlined, ..args.live.exhaustive() };
    let args = quiet(RunArgs { live, ..args.clone() });
    let finished = execute(&args, Shown::Nothing, 0)?;
    if finished.end == End::Interrupted {
        return Err(Refused::Interrupted(finished.code));
    }
    if finished.code != code {
        report.notes.push(format!("the run that it was checked against ended with exit code {}, this one with {code}", finished.code));
    }
    finished.profiled.map(|profiled| profiled.profile).ok_or_else(|| Refused::Because("the check was not profiled; this is a bug".into()))
}

/// Without what a run tells about itself.
fn quiet(mut args: RunArgs) -> RunArgs {
    args.gc_log = false;
    #[cfg(feature = "native")]
    {
        args.opt.time_passes = false;
        // The files are of the first run's code.
        args.opt.plan_out = None;
        args.perf_map = false;
        args.jitdump = None;
    }
    args
}
