//! Inlining policy: facts about a call site in, a decision with its reason out.
//!
//! The compiler's mechanism asks ([`Oracle::decide`]) once for each call it could inline and obeys; it records every answer as an [`InlineDecision`]. Which calls can be inlined is up to the policy, too: it names the targets of a virtual
//! call ([`Oracle::targets`]) that get direct calls behind tests of the receiver's class. A policy knows no code: only [`CallSiteFacts`] and [`VirtualCallFacts`], and what a profile says of the call.
//!
//! Here: the questions and answers, and the policies that need no profile. [`view`]: a profile as policies ask it. [`policy`]: policies that do, [`dynamic`] and [`cost_benefit`], and their names. [`evidence`]: what a decision was
//! made by. [`fallback`]: who decides where a profile knows nothing. [`question`]: what was asked, to be asked again. [`kept`]: who decides about what has optimized code already. [`robust`]: how near a decision was to the opposite. [`account`]: all that can be said of one. [`tree`]: decisions as trees of calls. [`crate::plan`]: decisions as a document, made again.
//!
//! Invariant: there is no decision without a reason.

pub mod account;
pub mod bounds;
pub mod cost_benefit;
pub mod dynamic;
pub mod evidence;
pub mod fallback;
pub mod kept;
pub mod policy;
pub mod question;
pub mod receivers;
pub mod robust;
pub mod tree;
pub mod view;

pub use evidence::{Comparison, Evidence, Quantity, Seen};
pub use fallback::Fallback;
pub use kept::{Kept, Version};
pub use policy::{Kind, ProfileOracle};
pub use question::{Question, Questions};
pub use view::ProfileView;

use crate::ids::{CallSiteId, FuncId};

/// Which code of a function a call is decided about in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub enum Form {
    /// That in which others inline it, and of the rest of it from a loop on what corresponds to that.
    Early,
    /// Its own, from its start on.
    #[default]
    Whole,
    /// Its own, from one of its loops on: the loop's number among those of the function.
    Loop(u32),
}

/// How sure it is that the call goes to the callee.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Certainty {
    /// The only function this call can reach.
    Only,
    /// One of `targets` functions; the code tests the receiver's class first.
    Guarded {
        /// Functions that the virtual call in its place can reach, this one included.
        targets: u32,
    },
}

/// What is known of a virtual call whose receiver's classes leave several functions to call.
#[derive(Clone, Copy, Debug)]
pub struct VirtualCallFacts<'a> {
    /// The call.
    pub site: CallSiteId,
    /// The function that is compiled.
    pub root: FuncId,
    /// Which code of it.
    pub form: Form,
    /// The calls that were inlined to get here, outermost first.
    pub chain: &'a [CallSiteId],
    /// The functions that it can reach.
    pub candidates: &'a [FuncId],
    /// All of them, where they are so few and small that tests are worth it even if nobody knows which it calls; else none.
    pub suggested: &'a [FuncId],
}

/// What is known of one call when it could be inlined. Sizes are about the machine instructions that do work: an operation of the IR counts one, constants and jumps nothing, a call a few.
#[derive(Clone, Debug)]
pub struct CallSiteFacts<'a> {
    /// The call.
    pub site: CallSiteId,
    /// The function that is compiled.
    pub root: FuncId,
    /// Which code of it.
    pub form: Form,
    /// The function it calls.
    pub callee: FuncId,
    /// The calls that were inlined to get here, outermost first; empty for a call of the root's own.
    pub chain: &'a [CallSiteId],
    /// Whether it stands behind a test of the receiver's class.
    pub certainty: Certainty,
    /// As the callee stands, before anything is inlined into it.
    pub callee_size: u32,
    /// The root with all that has been inlined so far.
    pub root_size: u32,
    /// How often the callee stands in the chain already (the root counts).
    pub recursion: u32,
    /// Loops of the root around the call.
    pub loop_depth: u32,
    /// By how many orders of magnitude the call is expected to run less often than the program's hottest code: a guess from loops and recursion.
    pub below_hottest: u32,
    /// Arguments that are constants.
    pub constant_args: u32,
    /// Arguments that are objects allocated in the root and used nowhere but here and in initializing them: they may vanish if the callee does not keep them.
    pub fresh_args: u32,
    /// Arguments that are constants and that the callee compares with constants or branches on; they are in `constant_args` too.
    pub deciding_args: u32,
    /// Arguments of one exact class (or null) on which the callee makes virtual calls, or whose class it tests; those in `closure_args` too.
    pub known_class_args: u32,
    /// Arguments that are closures or other objects allocated in the root, on which the callee makes virtual calls.
    pub closure_args: u32,
    /// Call sites in the whole program that can reach the callee.
    pub callers: u32,
    /// The call stands where control only goes to throw an error.
    pub is_cold: bool,
}

/// Why a call is inlined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Accepted {
    /// Not larger than the call.
    Tiny,
    /// Below the limit for all calls.
    Small,
    /// Below the higher limit for calls in loops.
    InLoop,
    /// Below the higher limit for calls that get constants or objects that may vanish.
    Specializes,
    /// Nobody else calls it.
    OnlyCall,
    /// Below the size of what is always inlined.
    Trivial,
    /// Below the limit that the profile's share of the call allows.
    Hot,
    /// The profile promises more than the copy costs.
    Benefit,
    /// As `Benefit`, for how often the call runs behind the calls that lead to it here.
    HotInContext,
    /// Against what was decided, to see what the decision was worth.
    Toggled,
}

impl Accepted {
    /// Code becomes no larger to speak of.
    pub fn keeps_size(self) -> bool {
        matches!(self, Accepted::Tiny | Accepted::Trivial)
    }
}

/// Why a call is not inlined.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Refused {
    /// The policy inlines nothing.
    Disabled,
    /// Above all limits that apply.
    CalleeTooLarge,
    /// The root has grown to its limit.
    RootTooLarge,
    /// So many calls have been inlined into each other already.
    TooDeep,
    /// The callee is in its own chain too often.
    Recursive,
    /// On the way to an error only.
    Cold,
    /// Other code runs so much more often that it does not matter.
    Rare,
    /// The profile knows the code around the call, and has not seen the call.
    ColdByProfile,
    /// The profile has not seen the call, nor enough of the code around it.
    NoSamples,
    /// The profile promises less than the copy costs.
    NotWorth,
    /// The profile promises what is enough elsewhere, but the root has grown so large that more is asked.
    BudgetSpent,
    /// The site's calls go to others too often.
    GuardShare,
    /// The plan that is replayed says nothing of it.
    NotInPlan,
    /// Against what was decided, to see what the decision was worth.
    Toggled,
}

/// Whether a call is inlined, and why.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The callee comes in.
    Inline(Accepted),
    /// It stays a call.
    Call(Refused),
}

impl Verdict {
    /// The callee comes in.
    pub fn is_inlined(self) -> bool {
        matches!(self, Verdict::Inline(_))
    }

    /// The reason in a word, and in a clause.
    pub fn reason(self) -> (&'static str, &'static str) {
        use Verdict::{Call, Inline};
        match self {
            Inline(Accepted::Tiny) => ("tiny", "not larger than the call"),
            Inline(Accepted::Small) => ("small", "below the limit for all calls"),
            Inline(Accepted::InLoop) => ("in-loop", "below the limit for calls in loops"),
            Inline(Accepted::Specializes) => ("specializes", "gets constants or objects that may vanish"),
            Inline(Accepted::OnlyCall) => ("only-call", "nobody else calls it"),
            Inline(Accepted::Trivial) => ("trivial", "below the size of what is always inlined"),
            Inline(Accepted::Hot) => ("hot", "below the limit that its share of the calls allows"),
            Inline(Accepted::Benefit) => ("benefit", "saves more than the copy costs"),
            Inline(Accepted::HotInContext) => ("hot-in-context", "saves more than the copy costs, called from here"),
            Inline(Accepted::Toggled) => ("toggled", "to see what it is worth that it stays a call"),
            Call(Refused::Disabled) => ("disabled", "nothing is inlined"),
            Call(Refused::CalleeTooLarge) => ("callee-too-large", "the callee is too large"),
            Call(Refused::RootTooLarge) => ("root-too-large", "the caller has grown too large"),
            Call(Refused::TooDeep) => ("too-deep", "too many calls deep"),
            Call(Refused::Recursive) => ("recursive", "the callee is in its own chain too often"),
            Call(Refused::Cold) => ("cold", "only on the way to an error"),
            Call(Refused::Rare) => ("rare", "runs far less often than the program's loops"),
            Call(Refused::ColdByProfile) => ("cold-by-profile", "never seen by a profile that knows its caller"),
            Call(Refused::NoSamples) => ("no-samples", "nothing is known of how often it runs"),
            Call(Refused::NotWorth) => ("not-worth", "saves less than the copy costs"),
            Call(Refused::BudgetSpent) => ("budget-spent", "saves too little for a caller that has grown so large"),
            Call(Refused::GuardShare) => ("guard-share", "the site's calls go elsewhere too often"),
            Call(Refused::NotInPlan) => ("not-in-plan", "the plan says nothing of it"),
            Call(Refused::Toggled) => ("toggled", "to see what it is worth that it is inlined"),
        }
    }

    /// All there are.
    pub const ALL: [Verdict; 24] = [
        Verdict::Inline(Accepted::Tiny),
        Verdict::Inline(Accepted::Small),
        Verdict::Inline(Accepted::InLoop),
        Verdict::Inline(Accepted::Specializes),
        Verdict::Inline(Accepted::OnlyCall),
        Verdict::Inline(Accepted::Trivial),
        Verdict::Inline(Accepted::Hot),
        Verdict::Inline(Accepted::Benefit),
        Verdict::Inline(Accepted::HotInContext),
        Verdict::Inline(Accepted::Toggled),
        Verdict::Call(Refused::Disabled),
        Verdict::Call(Refused::CalleeTooLarge),
        Verdict::Call(Refused::RootTooLarge),
        Verdict::Call(Refused::TooDeep),
        Verdict::Call(Refused::Recursive),
        Verdict::Call(Refused::Cold),
        Verdict::Call(Refused::Rare),
        Verdict::Call(Refused::ColdByProfile),
        Verdict::Call(Refused::NoSamples),
        Verdict::Call(Refused::NotWorth),
        Verdict::Call(Refused::BudgetSpent),
        Verdict::Call(Refused::GuardShare),
        Verdict::Call(Refused::NotInPlan),
        Verdict::Call(Refused::Toggled),
    ];
}

/// A verdict and what it was about.
#[derive(Clone, PartialEq, Debug)]
pub struct InlineDecision {
    /// The function that was compiled.
    pub root: FuncId,
    /// Which code of it.
    pub form: Form,
    /// The call.
    pub site: CallSiteId,
    /// The function that it calls.
    pub callee: FuncId,
    /// As in [`CallSiteFacts`].
    pub chain: Box<[CallSiteId]>,
    /// As in [`CallSiteFacts`].
    pub certainty: Certainty,
    /// As in [`CallSiteFacts`].
    pub callee_size: u32,
    /// As in [`CallSiteFacts`].
    pub root_size: u32,
    /// What was decided.
    pub verdict: Verdict,
    /// What it was decided by, if a profile was asked.
    pub evidence: Option<Box<Evidence>>,
}

impl InlineDecision {
    /// The answer to a question.
    pub fn new(facts: &CallSiteFacts<'_>, verdict: Verdict, evidence: Option<Box<Evidence>>) -> InlineDecision {
        let CallSiteFacts { root, form, site, callee, chain, certainty, callee_size, root_size, .. } = *facts;
        InlineDecision { root, form, site, callee, chain: chain.into(), certainty, callee_size, root_size, verdict, evidence }
    }
}

/// A policy.
pub trait Oracle: Send + Sync {
    /// Whether this call is inlined.
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict;

    /// Which targets of this virtual call get a test of the receiver's class and a direct call behind it, in this order; none: the call stays as it is. What is no candidate is passed over. If only one candidate is left
    /// untested, it needs no test, and what would take too many tests comes last so, if the others take few; else it is passed over, too, and the virtual call stays behind the tests. As it stands: as the class hierarchy suggests.
    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        call.suggested.to_vec()
    }

    /// What the verdict that was given on these facts rests on, if it is a profile.
    fn evidence(&self, _: &CallSiteFacts<'_>, _: Verdict) -> Option<Box<Evidence>> {
        None
    }
}

/// Inlines nothing.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoInlining;

impl Oracle for NoInlining {
    fn decide(&self, _: &CallSiteFacts<'_>) -> Verdict {
        Verdict::Call(Refused::Disabled)
    }
}

/// Of what another policy inlines, that which makes code no larger; no function into itself. Of the tests it wants, those that the class hierarchy suggests: what a profile says of a call holds in a context, and is asked for there.
pub struct TinyOnly<'a>(pub &'a dyn Oracle);

impl Oracle for TinyOnly<'_> {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        match self.0.decide(facts) {
            Verdict::Inline(_) if facts.recursion > 0 => Verdict::Call(Refused::Recursive),
            Verdict::Inline(accepted) if !accepted.keeps_size() => Verdict::Call(Refused::CalleeTooLarge),
            verdict => verdict,
        }
    }

    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let named = self.0.targets(call);
        if named == call.suggested { named } else { Vec::new() }
    }

    fn evidence(&self, facts: &CallSiteFacts<'_>, verdict: Verdict) -> Option<Box<Evidence>> {
        self.0.evidence(facts, verdict)
    }
}

/// Decides by size, loops and arguments alone, without a profile.
///
/// The limits stand between those of compilers that know how often a call runs: what C2 inlines if it is hot (325 bytes of bytecode, about 120 here) comes in where a loop makes it likely, what it inlines in any case
/// (35 bytes, about 15 here) always, and without a profile the rest up to `small` too, since a function may be called from somebody's loop. Jikes RVM, which has a profile, inlines up to 11 instructions always ("trivial", here `tiny`)
/// and up to 23 where nothing else is known (TACO'15 section 4.2, here `small`): see [`dynamic`].
#[derive(Clone, Copy, Debug)]
pub struct StaticOracle {
    /// Inlined wherever it is called.
    pub tiny: u32,
    /// Inlined unless the call is rare.
    pub small: u32,
    /// In loops.
    pub in_loop: u32,
    /// With constants or objects that may vanish.
    pub specializes: u32,
    /// Where nobody else calls it.
    pub only_call: u32,
    /// Of the root, after which nothing but tiny callees comes in.
    pub root_limit: u32,
    /// Calls that may have been inlined to get to a call.
    pub depth_limit: usize,
    /// How often a function comes into itself.
    pub recursion: RecursionLimits,
    /// Orders of magnitude: what runs by more less often than the program's hottest code takes in nothing but tiny callees.
    pub rare: u32,
}

/// Only a root takes in itself: elsewhere the first call of it that stays leads to code that does.
#[derive(Clone, Copy, Debug)]
pub struct RecursionLimits {
    /// How often a function may stand in its own chain.
    pub levels: u32,
    /// Of the function.
    pub size: u32,
    /// Of the root: each level multiplies it by the calls in the function.
    pub root_size: u32,
}

impl Default for StaticOracle {
    fn default() -> Self {
        StaticOracle {
            tiny: 8,
            small: 40,
            in_loop: 120,
            specializes: 150,
            only_call: 100,
            root_limit: 1000,
            depth_limit: 12,
            recursion: RecursionLimits { levels: 3, size: 40, root_size: 400 },
            rare: 2,
        }
    }
}

impl Oracle for StaticOracle {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        use Verdict::{Call, Inline};
        if facts.recursion > 0 && !self.allows_recursion(facts) {
            return Call(Refused::Recursive);
        }
        if facts.chain.len() >= self.depth_limit {
            return Call(Refused::TooDeep);
        }
        let size = facts.callee_size;
        if size <= self.tiny {
            return Inline(Accepted::Tiny);
        }
        if facts.is_cold {
            return Call(Refused::Cold);
        }
        if facts.below_hottest > self.rare {
            return Call(Refused::Rare);
        }
        let limits = [
            (true, self.small, Accepted::Small),
            (facts.loop_depth > 0, self.in_loop, Accepted::InLoop),
            (facts.constant_args + facts.fresh_args > 0, self.specializes, Accepted::Specializes),
            (facts.callers == 1, self.only_call, Accepted::OnlyCall),
        ];
        let reason = limits.into_iter().find(|&(applies, limit, _)| applies && size <= limit);
        let Some((.., reason)) = reason else { return Call(Refused::CalleeTooLarge) };
        if facts.root_size.saturating_add(size) > self.root_limit {
            return Call(Refused::RootTooLarge);
        }
        Inline(reason)
    }
}

impl StaticOracle {
    fn allows_recursion(&self, facts: &CallSiteFacts<'_>) -> bool {
        self.recursion_beyond(facts).is_none()
    }

    /// The first limit that a recursive call is above, if there is one.
    fn recursion_beyond(&self, facts: &CallSiteFacts<'_>) -> Option<Comparison> {
        let RecursionLimits { levels, size, root_size } = self.recursion;
        let levels = if facts.root == facts.callee { levels } else { 0 };
        let limits = [
            (Quantity::Recursion, facts.recursion, levels),
            (Quantity::CalleeSize, facts.callee_size, size),
            (Quantity::RootSize, facts.root_size.saturating_add(facts.callee_size), root_size),
        ];
        let (quantity, value, limit) = limits.into_iter().find(|(_, value, limit)| value > limit)?;
        Some(Comparison { quantity, value: value.into(), threshold: limit.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Call, Inline};

    fn root() -> FuncId {
        FuncId::from_u32(0)
    }

    /// A call outside of loops, of a function that others call too.
    fn facts(callee_size: u32) -> CallSiteFacts<'static> {
        CallSiteFacts {
            site: CallSiteId::from_u32(0),
            root: root(),
            form: Form::Whole,
            callee: FuncId::from_u32(1),
            chain: &[],
            certainty: Certainty::Only,
            callee_size,
            root_size: 100,
            recursion: 0,
            loop_depth: 0,
            below_hottest: 0,
            constant_args: 0,
            fresh_args: 0,
            deciding_args: 0,
            known_class_args: 0,
            closure_args: 0,
            callers: 2,
            is_cold: false,
        }
    }

    fn decide(facts: CallSiteFacts<'_>) -> Verdict {
        StaticOracle::default().decide(&facts)
    }

    #[test]
    fn size_decides() {
        assert_eq!(decide(facts(8)), Inline(Accepted::Tiny));
        assert_eq!(decide(facts(9)), Inline(Accepted::Small));
        assert_eq!(decide(facts(40)), Inline(Accepted::Small));
        assert_eq!(decide(facts(41)), Call(Refused::CalleeTooLarge));
    }

    #[test]
    fn what_promises_more_may_be_larger() {
        assert_eq!(decide(CallSiteFacts { loop_depth: 1, ..facts(120) }), Inline(Accepted::InLoop));
        assert_eq!(decide(CallSiteFacts { loop_depth: 3, ..facts(121) }), Call(Refused::CalleeTooLarge));
        assert_eq!(decide(CallSiteFacts { constant_args: 1, ..facts(150) }), Inline(Accepted::Specializes));
        assert_eq!(decide(CallSiteFacts { fresh_args: 1, ..facts(150) }), Inline(Accepted::Specializes));
        assert_eq!(decide(CallSiteFacts { fresh_args: 1, ..facts(151) }), Call(Refused::CalleeTooLarge));
        assert_eq!(decide(CallSiteFacts { callers: 1, ..facts(100) }), Inline(Accepted::OnlyCall));
        assert_eq!(decide(CallSiteFacts { callers: 1, ..facts(301) }), Call(Refused::CalleeTooLarge));
    }

    #[test]
    fn ways_to_errors_take_in_only_what_is_tiny() {
        assert_eq!(decide(CallSiteFacts { is_cold: true, ..facts(8) }), Inline(Accepted::Tiny));
        assert_eq!(decide(CallSiteFacts { is_cold: true, loop_depth: 1, callers: 1, ..facts(9) }), Call(Refused::Cold));
    }

    #[test]
    fn what_runs_rarely_takes_in_only_what_is_tiny() {
        assert_eq!(decide(CallSiteFacts { below_hottest: 2, ..facts(9) }), Inline(Accepted::Small));
        assert_eq!(decide(CallSiteFacts { below_hottest: 3, ..facts(8) }), Inline(Accepted::Tiny));
        assert_eq!(decide(CallSiteFacts { below_hottest: 3, loop_depth: 1, callers: 1, ..facts(9) }), Call(Refused::Rare));
    }

    #[test]
    fn roots_grow_up_to_a_limit() {
        assert_eq!(decide(CallSiteFacts { root_size: 980, ..facts(20) }), Inline(Accepted::Small));
        assert_eq!(decide(CallSiteFacts { root_size: 981, ..facts(20) }), Call(Refused::RootTooLarge));
        assert_eq!(decide(CallSiteFacts { root_size: u32::MAX, ..facts(20) }), Call(Refused::RootTooLarge));
        assert_eq!(decide(CallSiteFacts { root_size: u32::MAX, ..facts(8) }), Inline(Accepted::Tiny));
    }

    #[test]
    fn chains_end() {
        let chain = [CallSiteId::from_u32(3); 12];
        assert_eq!(decide(CallSiteFacts { chain: &chain[..11], ..facts(1) }), Inline(Accepted::Tiny));
        assert_eq!(decide(CallSiteFacts { chain: &chain, ..facts(1) }), Call(Refused::TooDeep));
    }

    #[test]
    fn a_root_takes_in_itself_a_few_times() {
        let own = |recursion, size| CallSiteFacts { callee: root(), recursion, ..facts(size) };
        assert_eq!(decide(own(3, 15)), Inline(Accepted::Small));
        assert_eq!(decide(own(4, 15)), Call(Refused::Recursive));
        assert_eq!(decide(own(1, 41)), Call(Refused::Recursive));
        assert_eq!(decide(CallSiteFacts { root_size: 390, ..own(1, 15) }), Call(Refused::Recursive));
        assert_eq!(decide(CallSiteFacts { recursion: 1, ..facts(15) }), Call(Refused::Recursive), "not a callee");
    }

    #[test]
    fn a_test_before_the_call_changes_nothing() {
        let guarded = |size| CallSiteFacts { certainty: Certainty::Guarded { targets: 9 }, ..facts(size) };
        assert_eq!(decide(guarded(40)), Inline(Accepted::Small));
        assert_eq!(decide(CallSiteFacts { callers: 1, ..guarded(100) }), Inline(Accepted::OnlyCall));
        assert_eq!(decide(guarded(101)), Call(Refused::CalleeTooLarge));
    }

    #[test]
    fn policies_can_be_narrowed() {
        assert_eq!(NoInlining.decide(&facts(1)), Call(Refused::Disabled));
        let oracle = StaticOracle::default();
        let tiny = TinyOnly(&oracle);
        assert_eq!(tiny.decide(&facts(8)), Inline(Accepted::Tiny));
        assert_eq!(tiny.decide(&facts(9)), Call(Refused::CalleeTooLarge));
        assert_eq!(tiny.decide(&CallSiteFacts { callee: root(), recursion: 1, ..facts(8) }), Call(Refused::Recursive));
    }
}
