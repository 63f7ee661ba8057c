//! How to tell the targets of one call apart, and whether that pays.
//!
//! In: the classes a receiver can be of. Out: a [`Plan`]. A direct call behind a test is about as fast as a virtual one; what pays is the inlining that follows, so tests are planned only where some target is small enough for it.
//! Targets have weights, which a profile may give one day; without one all weigh the same.

use crate::ir::*;
use crate::opt::Context;
use crate::opt::inline::size;

/// Targets of one call that are told apart.
const TARGETS: usize = 4;

/// Tests before one call.
const TESTS: usize = 4;

/// Targets up to this size will probably be inlined ([`size::function`]).
const SMALL: u32 = 40;

/// A test of the receiver's class that one target passes and no other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Test {
    Exact(ClassId),
    Below(ClassId),
}

impl Test {
    pub fn op(self, receiver: Value) -> Op {
        match self {
            Test::Exact(class) => Op::HasClass(class, receiver),
            Test::Below(class) => Op::InstanceOf(class, receiver),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// In this order: any of the tests passes, and the function is called.
    pub guarded: Vec<(Vec<Test>, FuncId)>,
    /// Called if no test passes.
    pub last: FuncId,
}

struct Target {
    func: FuncId,
    weight: u32,
    tests: Vec<Test>,
}

pub(super) fn plan(cx: &Context<'_>, selector: SelectorId, classes: &[ClassId]) -> Option<Plan> {
    let targets = cx.hierarchy.targets(cx.module, selector, classes)?;
    match targets.as_slice() {
        [] => None,
        [(func, _)] => Some(Plan { guarded: Vec::new(), last: *func }),
        _ if targets.len() > TARGETS => None,
        _ => guard(targets.iter().map(|(func, own)| Target { func: *func, weight: 1, tests: tests(cx, classes, own) }).collect(), cx),
    }
}

/// The heaviest targets first, and of equal ones those that are told by fewer tests; the last needs none.
fn guard(mut targets: Vec<Target>, cx: &Context<'_>) -> Option<Plan> {
    let is_small = |t: &Target| {
        let body = &cx.module.funcs[t.func];
        !body.layout.is_empty() && size::function(body) <= SMALL
    };
    let small = targets.iter().filter(|t| is_small(t)).count();
    // With a large one at most, which then comes last or behind a test.
    if small == 0 || targets.len() - small > 1 {
        return None;
    }
    targets.sort_by_key(|t| (std::cmp::Reverse(t.weight), t.tests.len(), t.func));
    let last = targets.pop()?.func;
    let tests: usize = targets.iter().map(|t| t.tests.len()).sum();
    (tests <= TESTS).then(|| Plan { guarded: targets.into_iter().map(|t| (t.tests, t.func)).collect(), last })
}

/// Tests that tell `own` among `classes`: one of a common class, if no other of `classes` is below it, or one for each.
fn tests(cx: &Context<'_>, classes: &[ClassId], own: &[ClassId]) -> Vec<Test> {
    if let [class] = *own {
        return vec![Test::Exact(class)];
    }
    let above = std::iter::successors(cx.module.classes[own[0]].superclass, |&c| cx.module.classes[c].superclass);
    let common = std::iter::once(own[0]).chain(above).find(|&c| own.iter().all(|&o| cx.module.is_subclass(o, c)));
    if let Some(common) = common
        && classes.iter().all(|&c| !cx.module.is_subclass(c, common) || own.contains(&c))
    {
        return vec![Test::Below(common)];
    }
    own.iter().map(|&c| Test::Exact(c)).collect()
}
