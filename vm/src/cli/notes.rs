//! What a reader of a report has to know, be its profile of a running program or of a recorded one.
//!
//! In: a profile and what was counted for it. Out: sentences, each only where it holds. Invariant: no number is told of what cannot be compared.

use super::text::counted;
use profiler::collect::StructureKind;
use profiler::counters::Counters;
use profiler::diff::DiffOptions;
use profiler::profile::{Profile, Structure};
use profiler::replay::{Options, Time};
use profiler::report::{Accuracy, Report};
use profiler::samplers::Mode;
use profiler::tuning;

/// Part of the calls from which it is worth a word that samples stand for more or fewer.
const MUCH: f64 = 0.05;

/// Nothing was observed of a program that called. `hint`: what to do about it.
pub fn no_sample(counters: &Counters, nanoseconds: f64, hint: &str) -> Option<String> {
    let is_blind = counters.samples == 0 && counters.calls > 0;
    is_blind.then(|| format!("no sample was taken in {:.6} s: {hint}", nanoseconds / 1e9))
}

/// Stack walks of a trace take threads that wait for such that run: it says when events were, and not who ran in between.
pub fn waiting(options: &Options, threads: usize) -> Option<String> {
    let walks = matches!(options.parameters.mode, Mode::StackWalk { .. }) && options.time == Time::Stamps;
    (walks && threads > 1).then(|| {
        format!(
            "the trace has {} and does not say when one waits for another: who waits is sampled like who runs",
            counted(threads as u64, "thread")
        )
    })
}

/// Contexts that are shorter than what was asked for.
pub fn shorter(profile: &Profile, kind: StructureKind) -> Option<String> {
    let (StructureKind::Kccf(k), Some(found)) = (kind, reach(profile)) else { return None };
    (found < k.get()).then(|| {
        format!("contexts reach back {}, not {k}: more would not fit; a higher --max-nodes keeps them", counted(found.into(), "call"))
    })
}

/// Of a k-CCF.
fn reach(profile: &Profile) -> Option<u32> {
    match profile.contexts()?.structure() {
        Structure::Kccf { k } => Some(k?.get()),
        _ => None,
    }
}

/// Where samples stand for many more or fewer calls than there were: very deep stacks are rarely looked at, some threads end before their first burst, and of the calls in between it is only known how many there were; few bursts may by
/// chance be close to each other.
pub fn unsampled(counters: &Counters, sampled: f64) -> Option<String> {
    if counters.calls == 0 || sampled <= 0.0 {
        return None;
    }
    let missing = 1.0 - sampled / counters.calls as f64;
    let how = if counters.windows > 0 { "reckoned from the windows" } else { "that were counted" };
    let total = format!("{} {how}", counted(counters.calls, "call"));
    if missing > MUCH {
        return Some(format!(
            "no sample stands for {:.1} % of the {total}, as where stacks are very deep, threads end early or samples are few: numbers of calls and their errors are those of the others (--profile exhaustive looks at all)",
            100.0 * missing
        ));
    }
    (missing < -MUCH).then(|| {
        format!(
            "samples stand for {:.1} % more than the {total}, as where there are few of them: all numbers of calls may be too high by as much, which their errors tell and those of shares do not",
            -100.0 * missing
        )
    })
}

/// Decisions in context that are none, since the structure was full.
pub fn without_context(profile: &Profile) -> Option<String> {
    let dropped = profile.contexts()?.dropped;
    (dropped > 0).then(|| {
        format!(
            "{} found no place among the contexts: a call of which more than {:.0} % have none is decided about by its edges (a higher --max-nodes keeps them)",
            counted(dropped, "observation"),
            100.0 * (1.0 - tuning::INLINE_CONTEXTS_KNOWN)
        )
    })
}

/// Tells how far the profile agrees with the exact one of the same run, or of the same program.
pub fn compare(report: &mut Report, profile: &Profile, exact: &Profile) -> Result<(), String> {
    let accuracy = Accuracy::new(profile, exact, &DiffOptions::default().thresholds).map_err(|error| error.to_string())?;
    report.notes.extend(incomparable(profile, exact));
    report.accuracy = Some(accuracy);
    Ok(())
}

/// Why contexts of the two are not compared.
fn incomparable(profile: &Profile, exact: &Profile) -> Option<String> {
    let dropped = exact.contexts()?.dropped;
    if dropped > 0 {
        let (observed, have) = (counted(dropped, "observation"), if dropped == 1 { "has" } else { "have" });
        return Some(format!("contexts are not compared: in the exact profile {observed} {have} no place either"));
    }
    let (ours, theirs) = (reach(profile)?, reach(exact)?);
    (ours != theirs).then(|| {
        format!("contexts are not compared: those of the exact profile reach back {}, these {ours}", counted(theirs.into(), "call"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use profiler::profile::{Contexts, DcgEdge, Label, Labels, Meta};
    use profiler::program::{Edge, Function, Program};
    use std::num::NonZeroU32;

    #[test]
    fn samples_that_stand_for_more_or_fewer_calls_are_told() {
        let told = |windows, sampled| unsampled(&Counters { windows, calls: 1000, ..Counters::default() }, sampled);
        assert!(told(3, 400.0).is_some_and(|note| note.starts_with("no sample stands for 60.0 % of the 1000 calls reckoned")));
        assert!(told(0, 400.0).is_some_and(|note| note.starts_with("no sample stands for 60.0 % of the 1000 calls that were counted")));
        assert!(told(0, 1300.0).is_some_and(|note| note.starts_with("samples stand for 30.0 % more than the 1000 calls")));
        assert_eq!((told(3, 980.0), told(3, 1020.0), told(3, 0.0)), (None, None, None), "few, no samples at all");
    }

    /// One call in one context, and so many calls without a place.
    fn profile(structure: Structure, dropped: u64) -> Profile {
        let mut program = Program::default();
        let main = program.functions.push(Function { name: "main".into(), file: "".into(), line: 0 });
        let edge = program.edge(Edge { site: None.into(), callee: main });
        let mut contexts = Contexts::new(structure, Labels::Edges);
        contexts.push(Label::Edge(edge), None, 1.0).expect("a good node");
        contexts.dropped = dropped;
        let edge = DcgEdge { edge, weight: 1.0, error: Some(0.0), share_error: Some(0.0), samples: 1 };
        Profile::builder(Meta::default(), program).dcg([edge]).contexts(contexts).build().expect("a good profile")
    }

    fn compared(ours: &Profile, exact: &Profile) -> (bool, Vec<String>) {
        let mut report = Report::default();
        compare(&mut report, ours, exact).expect("good profiles");
        (report.accuracy.is_some_and(|accuracy| accuracy.contexts.is_some()), report.notes)
    }

    #[test]
    fn no_number_is_told_of_contexts_that_cannot_be_compared() {
        let full = profile(Structure::Cct, 3);
        assert_eq!(compared(&full, &profile(Structure::Cct, 0)), (true, vec![]), "what the profile lacks is in the number");
        let (has_number, notes) = compared(&full, &full);
        assert!(!has_number && notes[0].contains("in the exact profile 3 observations have no place either"), "{notes:?}");
        let kccf = |k| profile(Structure::Kccf { k: NonZeroU32::new(k) }, 0);
        let (has_number, notes) = compared(&kccf(1), &kccf(10));
        assert!(!has_number && notes[0].contains("reach back 10 calls, these 1"), "{notes:?}");
    }

    #[test]
    fn decisions_without_contexts_are_told() {
        assert_eq!(without_context(&profile(Structure::Cct, 0)), None);
        assert!(
            without_context(&profile(Structure::Cct, 3))
                .is_some_and(|note| note.contains("3 observations found no place") && note.contains("more than 10 %"))
        );
    }

    #[test]
    fn shorter_contexts_are_told() {
        let kccf = profile(Structure::Kccf { k: NonZeroU32::new(1) }, 0);
        let asked = |k| StructureKind::Kccf(NonZeroU32::new(k).expect("above 0"));
        assert!(shorter(&kccf, asked(10)).is_some_and(|note| note.starts_with("contexts reach back 1 call, not 10")));
        assert_eq!((shorter(&kccf, asked(1)), shorter(&kccf, StructureKind::Cct)), (None, None));
    }
}
