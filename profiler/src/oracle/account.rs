//! All that can be said of one decision: what the profile knows of the call, what decided, and how sure that is.
//!
//! In: a policy, its profile, perhaps an exhaustive profile; the facts of a call. Out: [`Account`]. Nothing here knows a policy's rules: it is asked again with other numbers ([`robust`](super::robust)).

use super::policy::Policy;
use super::robust::{FlipMargin, Regret, flip_margin, regret, stability};
use super::view::{Calls, ProfileView};
use super::{CallSiteFacts, Comparison, Oracle, Seen, StaticOracle, Verdict};
use crate::ids::{CallSiteId, FuncId};

/// What is said of one call.
#[derive(Clone, PartialEq, Debug)]
pub struct Account {
    /// By the profile, of the call where it stands.
    pub seen: Seen,
    /// The calls over the edge, in whatever context.
    pub edge: Calls,
    /// What the policy says.
    pub verdict: Verdict,
    /// Instructions by which the root would grow.
    pub cost: f64,
    /// What decided.
    pub comparison: Comparison,
    /// Where the decision flips; `None` where no share flips it.
    pub flip: Option<FlipMargin>,
    /// The part of resampled profiles that decide the same; `None` where the numbers of samples are unknown.
    pub stability: Option<f64>,
    /// Against the exhaustive profile, if there is one.
    pub regret: Option<Regret>,
    /// What would be decided without a profile.
    pub by_size: Verdict,
}

/// Who gives accounts.
pub struct Accountant<'a> {
    /// That decided.
    pub policy: &'a dyn Policy,
    /// That it asked.
    pub profile: &'a ProfileView,
    /// Of the same program.
    pub exhaustive: Option<&'a ProfileView>,
    /// How many profiles are drawn for the stability.
    pub resamples: u32,
    /// Of the drawing.
    pub seed: u64,
}

impl Accountant<'_> {
    /// Of a call that was asked about with these facts, in the function `root` behind the calls `chain`: where an early form that was decided about has come to stand, the call runs as often as it does there.
    pub fn account(&self, facts: &CallSiteFacts<'_>, root: FuncId, chain: &[CallSiteId]) -> Account {
        let Accountant { policy, profile, exhaustive, resamples, seed } = *self;
        let copy = CallSiteFacts { root, chain, ..facts.clone() };
        let seen = policy.look(profile, &copy);
        let judgement = policy.judge(facts, &seen);
        Account {
            seen,
            edge: profile.edge(facts.site, facts.callee),
            verdict: judgement.verdict,
            cost: judgement.cost,
            comparison: judgement.comparison,
            flip: flip_margin(policy, facts, &seen),
            stability: stability(policy, facts, &seen, resamples, seed),
            regret: exhaustive.map(|exhaustive| regret(policy, facts, &seen, policy.look(exhaustive, &copy))),
            by_size: StaticOracle::default().decide(facts),
        }
    }
}
