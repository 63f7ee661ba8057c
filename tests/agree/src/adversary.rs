//! A policy without sense: what it inlines and which targets it tests for is random, so that the optimizer meets what no sensible policy asks for.
//!
//! In: a seed, and the facts. Out: decisions, for the same call in the same context always the same; half of the calls that stay are said never to be made.
//! Invariant: code grows no further than sensible policies let it; compile times stay bounded.

use profiler::ids::{CallSiteId, FuncId};
use profiler::oracle::{Accepted, CallSiteFacts, Oracle, Refused, Verdict, VirtualCallFacts};
use progen::Choices;

/// Of the root, after which nothing comes in.
const ROOT_LIMIT: u32 = 1500;
/// Calls that may have been inlined to get to one.
const DEPTH_LIMIT: usize = 10;
/// How often a function may stand in its own chain.
const RECURSION_LIMIT: u32 = 3;

pub struct Adversary {
    seed: u64,
    /// How many calls of 100 it inlines, and for how many virtual calls it names targets.
    inlines: usize,
    names: usize,
    /// Functions of the program.
    funcs: usize,
}

impl Adversary {
    pub fn new(seed: u64, funcs: usize) -> Adversary {
        let mut choices = Choices::from_seed(seed);
        Adversary { seed, inlines: 10 + choices.below(90), names: 30 + choices.below(70), funcs }
    }

    fn choices(&self, what: u64, site: CallSiteId, root: FuncId, chain: &[CallSiteId]) -> Choices<'static> {
        let numbers = [what, site.as_u32().into(), root.as_u32().into()].into_iter().chain(chain.iter().map(|s| s.as_u32().into()));
        Choices::from_seed(numbers.fold(self.seed, mix))
    }
}

impl Oracle for Adversary {
    fn decide(&self, facts: &CallSiteFacts<'_>) -> Verdict {
        if facts.recursion > RECURSION_LIMIT {
            return Verdict::Call(Refused::Recursive);
        }
        if facts.chain.len() >= DEPTH_LIMIT {
            return Verdict::Call(Refused::TooDeep);
        }
        if facts.root_size.saturating_add(facts.callee_size) > ROOT_LIMIT {
            return Verdict::Call(Refused::RootTooLarge);
        }
        let mut choices = self.choices(1 + u64::from(facts.callee.as_u32()), facts.site, facts.root, facts.chain);
        match choices.chance(self.inlines) {
            true => Verdict::Inline(Accepted::Small),
            false => Verdict::Call(if choices.chance(50) { Refused::ColdByProfile } else { Refused::CalleeTooLarge }),
        }
    }

    /// Some of the candidates in any order, some twice, and functions that are none.
    fn targets(&self, call: &VirtualCallFacts<'_>) -> Vec<FuncId> {
        let mut choices = self.choices(0, call.site, call.root, call.chain);
        if !choices.chance(self.names) {
            return call.suggested.to_vec();
        }
        let count = choices.below(2 + call.candidates.len());
        let mut name = || match choices.below(16) {
            0 => FuncId::from_u32(choices.below(self.funcs) as u32),
            _ => *choices.pick(call.candidates),
        };
        (0..count).map(|_| name()).collect()
    }
}

/// One number of two, each of whose bits depends on all of theirs: SplitMix64's last steps (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
pub fn mix(a: u64, b: u64) -> u64 {
    let z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b).wrapping_add(1);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
