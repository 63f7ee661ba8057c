//! How to tell the targets of one call apart, and which of them.
//!
//! In: the classes a receiver can be of, and where the call stands. Out: a [`Plan`]. Which targets are worth a test says the policy ([`Oracle::targets`](profiler::oracle::Oracle::targets)), once it has heard what the class hierarchy suggests: a direct call behind a
//! test is about as fast as a virtual one; what pays is the inlining that follows, so without a profile tests are suggested only where all targets are told apart and some are small enough for it.
//!
//! Invariants: a target's tests are passed by the classes it answers for and no others of the receiver's. A call gets tests that leave a virtual call behind them once: that call's later plans leave none (as
//! long as something of the direct calls can be seen: of a callee without any operation nothing is left).

use crate::ir::*;
use crate::opt::Context;
use crate::opt::analysis::arms::Arms;
use crate::opt::inline::{calls_around, size};
use profiler::oracle::VirtualCallFacts;

/// Targets of one call that are told apart without a profile.
const TARGETS: usize = 4;

/// Tests before one call without a profile, and of one target.
const TESTS: usize = 4;

/// Tests before one call.
const MOST_TESTS: usize = 8;

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
    /// Called if no test passes; `None`: what the virtual call finds.
    pub last: Option<FuncId>,
}

/// A virtual call, and what the receiver can be of there.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub func: &'a Function,
    pub arms: &'a Arms,
    pub selector: SelectorId,
    pub site: CallSiteId,
    pub loc: Loc,
    pub classes: &'a [ClassId],
}

/// A function, and the classes it answers for.
type Target = (FuncId, Vec<ClassId>);

pub(super) fn plan(cx: &Context<'_>, place: Place<'_>) -> Option<Plan> {
    let targets = cx.hierarchy.targets(cx.module, place.selector, place.classes)?;
    match targets.as_slice() {
        [] => None,
        [(func, _)] => Some(Plan { guarded: Vec::new(), last: Some(*func) }),
        _ => {
            let named = ask(cx, place, &targets);
            let plan = guard(cx.module, place.classes, targets, &named)?;
            let has_tests = !place.arms.of(place.site, place.loc).is_empty();
            (plan.last.is_some() || !has_tests).then_some(plan)
        }
    }
}

fn ask(cx: &Context<'_>, place: Place<'_>, targets: &[Target]) -> Vec<FuncId> {
    let candidates: Vec<FuncId> = targets.iter().map(|t| t.0).collect();
    cx.oracle.targets(&VirtualCallFacts {
        site: place.site,
        root: cx.func,
        form: cx.form,
        chain: &calls_around(place.func, place.loc),
        candidates: &candidates,
        suggested: &suggested(cx, place.classes, targets),
    })
}

/// All targets, those that are told by fewer tests first; none if they are many, or inlining will hardly follow.
fn suggested(cx: &Context<'_>, classes: &[ClassId], targets: &[Target]) -> Vec<FuncId> {
    let is_small = |func: FuncId| {
        let body = &cx.module.funcs[func];
        !body.layout.is_empty() && size::function(body) <= SMALL
    };
    if targets.len() > TARGETS {
        return Vec::new();
    }
    let small = targets.iter().filter(|t| is_small(t.0)).count();
    // With a large one at most, which then comes last or behind a test.
    if small == 0 || targets.len() - small > 1 {
        return Vec::new();
    }
    let mut order: Vec<(usize, FuncId)> = targets.iter().map(|(func, own)| (tests(cx.module, classes, own).len(), *func)).collect();
    order.sort_unstable();
    let (_, tested) = order.split_last().expect("several targets");
    match tested.iter().map(|t| t.0).sum::<usize>() <= TESTS {
        true => order.into_iter().map(|t| t.1).collect(),
        false => Vec::new(),
    }
}

/// Tests for those that are named, as far as they are few enough. If that leaves one target, it needs none: so one that many classes share comes last, where the others are told by few tests.
fn guard(module: &Module, classes: &[ClassId], targets: Vec<Target>, named: &[FuncId]) -> Option<Plan> {
    let mut guards = Guards { module, classes, guarded: Vec::new(), count: 0, left: targets };
    let mut refused = None;
    for &func in named {
        if !guards.add(func) {
            refused.get_or_insert(func);
        }
    }
    if let Some(last) = refused {
        guards.add_all_but(last);
    }
    let Guards { guarded, left, .. } = guards;
    let last = <[Target; 1]>::try_from(left).ok().map(|[(func, _)]| func);
    (!guarded.is_empty()).then_some(Plan { guarded, last })
}

struct Guards<'a> {
    module: &'a Module,
    classes: &'a [ClassId],
    guarded: Vec<(Vec<Test>, FuncId)>,
    /// Tests of all.
    count: usize,
    left: Vec<Target>,
}

impl Guards<'_> {
    /// Says no if it would take too many tests.
    fn add(&mut self, func: FuncId) -> bool {
        let Some(position) = self.left.iter().position(|t| t.0 == func).filter(|_| self.left.len() > 1) else { return true };
        let tests = tests(self.module, self.classes, &self.left[position].1);
        let fits = tests.len() <= TESTS && self.count + tests.len() <= MOST_TESTS;
        if fits {
            self.count += tests.len();
            self.guarded.push((tests, func));
            self.left.remove(position);
        }
        fits
    }

    fn add_all_but(&mut self, last: FuncId) {
        let others: Vec<&Target> = self.left.iter().filter(|t| t.0 != last).collect();
        let tests: usize = others.iter().map(|(_, own)| tests(self.module, self.classes, own).len()).sum();
        if tests <= TESTS {
            let others: Vec<FuncId> = others.into_iter().map(|t| t.0).collect();
            others.into_iter().for_each(|func| _ = self.add(func));
        }
    }
}

/// The cheapest tests that tell `own` among `classes`: for one class its identity; else whether the object is below a common class (a comparison of class numbers), if no other of `classes` is; else the identity of each.
fn tests(module: &Module, classes: &[ClassId], own: &[ClassId]) -> Vec<Test> {
    if let [class] = *own {
        return vec![Test::Exact(class)];
    }
    let above = std::iter::successors(module.classes[own[0]].superclass, |&c| module.classes[c].superclass);
    let common = std::iter::once(own[0]).chain(above).find(|&c| own.iter().all(|&o| module.is_subclass(o, c)));
    if let Some(common) = common
        && classes.iter().all(|&c| !module.is_subclass(c, common) || own.contains(&c))
    {
        return vec![Test::Below(common)];
    }
    own.iter().map(|&c| Test::Exact(c)).collect()
}
