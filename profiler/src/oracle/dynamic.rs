//! Jikes RVM's policy: static rules for calls that the profile has not seen, and a limit that grows with a call's share for those it has.
//!
//! In: sizes, what arguments promise, the share of the DCG's edge. Out: a judgement. The profile makes callees larger, it never refuses what is small.
//!
//! Sources: TACO'15 section 4 (sizes of 11 and 23 instructions; the weakened static heuristics, 17); Jikes RVM's default inline oracle for the rest: the limit goes linearly from twice that of unseen calls, at share 0, to
//! the largest, at 1 % of all calls. Its sizes are estimates of machine instructions, as those of [`CallSiteFacts`] are.
//!
//! What differs from that oracle:
//! - the limit rises at any weight above 0; there, only where the site's weight is above a seed multiplier;
//! - which receivers a virtual call is tested for say our [`GuardRules`]; there, each needs 40 % of the site's calls;
//! - a guard adds nothing to the size, the limit is the same at any depth up to that of [`Bounds`] (there it falls beyond depth 5), and shares are not scaled by the density of calls;
//! - constants all have one bonus; there, null and strings have twice that of integers;
//! - trivial is a size of at most 11 as the callee stands, behind a guard too; there, one below 11 after the bonuses, without a guard.

use super::bounds::Bounds;
use super::policy::{Judgement, Policy, growth, unseen};
use super::receivers::GuardRules;
use super::view::{ProfileView, Weighting};
use super::{Accepted, CallSiteFacts, Comparison, Quantity, Refused, Seen, Verdict};
use crate::tuning;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Dynamic {
    /// Callees up to this size are always inlined.
    pub trivial: u32,
    /// Callees up to this size are inlined where the profile has not seen the call.
    pub unseen: u32,
    /// The limit for a call that was seen, as its share goes to 0.
    pub seen: u32,
    /// The limit for hot calls.
    pub hot: u32,
    /// From this share of all calls on (0 to 1) a call is hot.
    pub hot_share: f64,
    /// For virtual calls.
    pub guards: GuardRules,
    /// Whatever the profile says.
    pub bounds: Bounds,
}

impl Default for Dynamic {
    fn default() -> Self {
        Dynamic {
            trivial: tuning::INLINE_TRIVIAL,
            unseen: tuning::INLINE_UNSEEN,
            seen: 2 * tuning::INLINE_UNSEEN,
            hot: tuning::INLINE_HOT_SIZE,
            hot_share: tuning::INLINE_HOT_SHARE,
            guards: GuardRules::default(),
            bounds: Bounds::default(),
        }
    }
}

impl Dynamic {
    /// Less comes in that the profile has not seen (TACO'15 section 4.2).
    pub fn weak_static() -> Self {
        Dynamic { unseen: tuning::INLINE_UNSEEN_WEAK, ..Dynamic::default() }
    }

    fn limit(&self, seen: &Seen) -> f64 {
        if seen.weight <= 0.0 {
            return self.unseen.into();
        }
        let heat = (seen.share() / self.hot_share).min(1.0);
        f64::from(self.seen) + heat * (f64::from(self.hot) - f64::from(self.seen))
    }
}

/// The callee as arguments make it: constants decide branches, and calls on objects of known classes become direct.
fn size(facts: &CallSiteFacts<'_>) -> f64 {
    let bonus = tuning::INLINE_CONSTANT_BONUS * f64::from(facts.constant_args)
        + tuning::INLINE_CLASS_BONUS * f64::from(facts.known_class_args.max(facts.fresh_args));
    f64::from(facts.callee_size) * (1.0 - bonus.min(tuning::INLINE_LARGEST_BONUS))
}

impl Policy for Dynamic {
    fn weighting(&self) -> Weighting {
        Weighting::Edges
    }

    /// The edge's share counts, however many copies of the call there are.
    fn look(&self, profile: &ProfileView, facts: &CallSiteFacts<'_>) -> Seen {
        profile.look_at_edge(facts.site, facts.callee)
    }

    fn judge(&self, facts: &CallSiteFacts<'_>, seen: &Seen) -> Judgement {
        if let Some(broken) = self.bounds.broken(facts) {
            return broken;
        }
        let by_size = |verdict, value, threshold| {
            let comparison = Comparison { quantity: Quantity::CalleeSize, value, threshold };
            Judgement { verdict, cost: growth(facts), comparison }
        };
        if facts.callee_size <= self.trivial {
            return by_size(Verdict::Inline(Accepted::Trivial), facts.callee_size.into(), self.trivial.into());
        }
        if let Some(broken) = self.guards.broken(facts, seen) {
            return broken;
        }
        let (size, limit) = (size(facts), self.limit(seen));
        let is_seen = seen.weight > 0.0;
        let refusal = match () {
            () if !is_seen && facts.is_cold => Some(Refused::Cold),
            () if size <= limit => None,
            () if is_seen => Some(Refused::CalleeTooLarge),
            () => Some(unseen(seen)),
        };
        if let Some(reason) = refusal {
            return by_size(Verdict::Call(reason), size, limit);
        }
        let reason = if size <= self.unseen.into() { Accepted::Small } else { Accepted::Hot };
        self.bounds.root_full(facts, Refused::RootTooLarge).unwrap_or(by_size(Verdict::Inline(reason), size, limit))
    }

    fn guards(&self) -> &GuardRules {
        &self.guards
    }
}
