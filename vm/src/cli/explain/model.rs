//! An explanation as data. Serialized, it is the JSON that `docs/explain.md` describes.
//!
//! Shares are in percent. Invariants: a call's parent comes before it; ids are indices.

use serde::Serialize;

/// Of the format.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
pub struct Explanation {
    pub format: &'static str,
    pub version: u32,
    pub program: String,
    pub file: String,
    pub policy: &'static str,
    /// `None` where the policy asks none.
    pub profile: Option<ProfileLine>,
    /// Decisions were held against an exhaustive profile.
    pub checked: bool,
    /// Profiles that were drawn for each stability.
    pub resamples: u32,
    /// Of a --site, if that is all that is shown.
    pub site: Option<String>,
    pub notes: Vec<String>,
    /// The functions that are compiled, the one with the most calls in it first.
    pub functions: Vec<Function>,
    pub calls: Vec<Call>,
}

#[derive(Clone, Serialize)]
pub struct ProfileLine {
    pub description: String,
    /// In all.
    pub calls: f64,
    pub samples: Option<u64>,
}

#[derive(Serialize)]
pub struct Function {
    pub name: String,
    pub file: String,
    /// 0 where unknown.
    pub line: u32,
    /// Of the calls in it, in calls; `None` without a profile.
    pub weight: Option<f64>,
}

/// A call in a function that is compiled.
#[derive(Serialize)]
pub struct Call {
    pub id: usize,
    /// Index of the function that is compiled.
    pub function: usize,
    /// The call that it came in with; `None` for one of the function's own.
    pub parent: Option<usize>,
    /// The function in which it stands.
    pub caller: String,
    /// Where; the file is empty and numbers are 0 where that is unknown.
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub callee: String,
    pub callee_file: String,
    pub callee_line: u32,
    pub inlined: bool,
    pub reason: &'static str,
    pub clause: &'static str,
    /// The function in whose own form this was decided, for all its copies, if it is not the one that is compiled.
    pub decided_in: Option<String>,
    /// Decisions about it: the optimizer asks in rounds, and the last counts.
    pub asked: u32,
    /// In instructions.
    pub callee_size: u32,
    /// Without the callee, when it was asked.
    pub root_size: u32,
    /// Functions among which a test of the class decides; `None` for a call that has one target.
    pub targets: Option<u32>,
    /// It is one of the calls that were asked for, and not just on the way to one.
    pub selected: bool,
    pub evidence: Option<Evidence>,
    pub benefit: Option<Benefit>,
}

#[derive(Serialize)]
pub struct Evidence {
    /// In calls, where it stands.
    pub weight: f64,
    /// Standard error.
    pub error: Option<f64>,
    pub samples: Option<u64>,
    /// Of all calls.
    pub share: f64,
    pub share_error: Option<f64>,
    /// Calls around it that the weight is known for.
    pub context: u32,
    /// Of the edge in whatever context, as samples are weighted.
    pub edge_weight: f64,
    pub edge_error: Option<f64>,
    /// The same if each sample counted the same.
    pub edge_raw_weight: Option<f64>,
    /// Instructions by which the function grows.
    pub cost: f64,
    pub quantity: &'static str,
    pub value: f64,
    pub threshold: f64,
    /// From this share of all calls on, it is inlined; `None` where no share changes the decision.
    pub flip: Option<Flip>,
    /// Part of the drawn profiles that decide the same.
    pub stability: Option<f64>,
    /// Without a profile.
    pub by_size: Verdict,
    pub regret: Option<Regret>,
}

#[derive(Serialize)]
pub struct Flip {
    pub share: f64,
    /// From the call's share to that one, in standard errors; `None` where the error is unknown, or 0.
    pub errors: Option<f64>,
}

#[derive(Serialize)]
pub struct Verdict {
    pub inlined: bool,
    pub reason: &'static str,
}

/// Against the exhaustive profile.
#[derive(Serialize)]
pub struct Regret {
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The exact number of calls.
    pub weight: f64,
    pub share: f64,
    /// Calls for which it was decided wrongly; 0 if it was right.
    pub calls: f64,
}

/// What a decision is worth against its opposite.
#[derive(Serialize)]
pub struct Benefit {
    /// What changed: "here", or "everywhere" the caller is inlined.
    pub reach: &'static str,
    /// What the opposite is: "inlined", "called", or "virtual": no class is tested for before the call.
    pub otherwise: &'static str,
    /// Time with the opposite over time with the decision.
    pub speedup: f64,
    /// The 95 % confidence interval; `None` after a single round.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub verdict: String,
    pub rounds: usize,
    /// Which part of a run, and by which clock.
    pub phase: String,
    pub time: String,
    /// Made in a run.
    pub calls: Option<u64>,
    pub calls_otherwise: Option<u64>,
    pub code_bytes: Option<f64>,
    pub code_bytes_otherwise: Option<f64>,
    /// Other decisions that came out differently with the opposite.
    pub also_changed: Vec<String>,
}
