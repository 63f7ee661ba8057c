//! The optimizer as an object that lives as long as its program and optimizes one root at a time, beside the running program; and on top of it, whole programs at once.
//!
//! In: a closed [`Module`] as lowered; roots, each with a policy. Out: [`Root`]s, [`Optimized`].
//!
//! What is known of the whole program is found out once. A function takes the form in which others inline it (its early form) when the first root needs it, after all that it can call, in the order of [`call_graph::bottom_up`]: so these
//! forms are the same whichever roots come first (but where functions call each other in cycles, the later ones of these may be done already), as long as policies agree on what is tiny.

use super::analysis::call_graph;
use super::osr;
use super::pipeline::{Options, Pipeline, Program, Timing};
use super::{Context, Pass};
use crate::ir::polls::loop_number;
use crate::ir::*;
use cranelift_entity::{EntitySet, SecondaryMap};
use profiler::oracle::{Form, InlineDecision, Oracle, TinyOnly};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where optimized code is entered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Entry {
    /// Where the function begins.
    Start,
    /// In the middle of a loop that runs, behind the poll in this block of the function as lowered (on-stack replacement). What lives there are the parameters.
    Loop(Block),
}

/// A function as it is to be compiled.
#[derive(Debug)]
pub struct Root {
    pub func: Function,
    /// What was decided about calls in it, in order; first those that were inlined in its early form.
    pub decisions: Vec<InlineDecision>,
}

#[derive(Debug)]
pub struct Optimized {
    pub module: Module,
    /// The functions that are still called: not those that are inlined wherever they were. Only these went through all passes.
    pub called: Vec<FuncId>,
    /// In the order in which they were made.
    pub decisions: Vec<InlineDecision>,
    /// So many of them, the first, were made in early forms: they hold wherever the function is inlined, too.
    pub early: usize,
    /// By [`Pass`], in the order of [`Pass::ALL`].
    pub timings: Vec<(Pass, Timing)>,
    pub inlining: Timing,
    pub total: Duration,
}

/// How many instructions for each of the program's all roots together may have before they take in nothing more but tiny callees, and how many in any case: keeps the time for a program linear in its length.
const GROWTH: usize = 10;
const GROWTH_BASE: usize = 50_000;

/// Optimizes a whole program.
pub fn optimize(module: Module, oracle: &dyn Oracle, options: &Options) -> Optimized {
    let start = Instant::now();
    let mut optimizer = Optimizer::new(module, options);
    let order = std::mem::take(&mut optimizer.order);
    order.iter().for_each(|&id| optimizer.make_early_form(id, oracle));
    let mut decisions: Vec<InlineDecision> = order.iter().flat_map(|&id| std::mem::take(&mut optimizer.early_decisions[id])).collect();
    let early = decisions.len();
    let roots = optimizer.all_roots(oracle);
    let Optimizer { mut module, pipeline: Pipeline { timings, inlining, .. }, .. } = optimizer;
    let mut called = Vec::with_capacity(roots.len());
    for (id, func, late) in roots {
        module.funcs[id] = func;
        called.push(id);
        decisions.extend(late);
    }
    called.sort_unstable();
    Optimized { module, called, decisions, early, timings, inlining, total: start.elapsed() }
}

fn instructions(func: &Function) -> usize {
    func.layout.iter().map(|&b| func.blocks[b].insts.len() + 1).sum()
}

/// Optimizes functions of one program.
pub struct Optimizer {
    lowered: Arc<Module>,
    /// Functions in their early forms, as far as they were needed; the others as lowered.
    module: Module,
    program: Program,
    /// Each function's place among all with bodies, callees first.
    place: SecondaryMap<FuncId, u32>,
    order: Vec<FuncId>,
    has_early_form: EntitySet<FuncId>,
    /// What is inlined in early forms.
    early_decisions: SecondaryMap<FuncId, Vec<InlineDecision>>,
    pipeline: Pipeline,
}

impl Optimizer {
    pub fn new(module: impl Into<Arc<Module>>, options: &Options) -> Optimizer {
        let lowered: Arc<Module> = module.into();
        let program = Program::new(&lowered, options.probes);
        let order = call_graph::bottom_up(&lowered, &program.hierarchy);
        let mut place = SecondaryMap::with_capacity(lowered.funcs.len());
        order.iter().zip(0..).for_each(|(&func, i)| place[func] = i);
        Optimizer {
            module: (*lowered).clone(),
            lowered,
            program,
            place,
            order,
            has_early_form: EntitySet::new(),
            early_decisions: SecondaryMap::new(),
            pipeline: Pipeline::new(options),
        }
    }

    /// The function with everything inside that the policy wants, as it is to be compiled; any number of times. `None` where it has no body, or its loop cannot be entered from outside.
    pub fn root(&mut self, id: FuncId, entry: Entry, oracle: &dyn Oracle) -> Option<Root> {
        if self.lowered.funcs[id].layout.is_empty() {
            return None;
        }
        let lowered = &self.lowered.funcs[id];
        let rest: Option<(Function, Form)> = match entry {
            Entry::Start => None,
            Entry::Loop(block) => Some((osr::enter_at(&self.lowered, lowered, block)?, Form::Loop(loop_number(lowered, block)))),
        };
        self.prepare(id, oracle);
        let (func, decisions) = match rest {
            None => self.whole(id, oracle),
            Some((rest, form)) => self.rest(id, rest, form, oracle),
        };
        Some(Root { func, decisions })
    }

    /// What asking policies and putting bodies in has taken so far.
    pub fn inlining(&self) -> Timing {
        self.pipeline.inlining
    }

    fn whole(&mut self, id: FuncId, oracle: &dyn Oracle) -> (Function, Vec<InlineDecision>) {
        let (func, late) = self.late(id, self.module.funcs[id].clone(), Form::Whole, oracle);
        (func, [&self.early_decisions[id][..], &late].concat())
    }

    /// `rest`: what is left to do of the function from some place on, as lowered.
    fn rest(&mut self, id: FuncId, mut rest: Function, form: Form, oracle: &dyn Oracle) -> (Function, Vec<InlineDecision>) {
        let early = self.pipeline.early(&mut rest, &self.program.context(&self.module, id, Form::Early), oracle);
        let (func, late) = self.late(id, rest, form, oracle);
        (func, [early, late].concat())
    }

    /// What was inlined in the form in which others inline the function; nothing as long as it has none.
    pub fn early_decisions(&self, id: FuncId) -> &[InlineDecision] {
        &self.early_decisions[id]
    }

    /// Makes all early forms that a root needs and that there are not yet; otherwise the root itself does.
    pub fn prepare(&mut self, root: FuncId, oracle: &dyn Oracle) {
        // What has an early form got it together with all below, whose bodies are not as lowered any more.
        let is_done = |func| self.has_early_form.contains(func);
        let mut needed = call_graph::reachable(&self.module, &self.program.hierarchy, root, is_done);
        needed.sort_unstable_by_key(|&func| self.place[func]);
        needed.into_iter().for_each(|func| self.make_early_form(func, oracle));
    }

    fn make_early_form(&mut self, id: FuncId, oracle: &dyn Oracle) {
        let mut func = self.module.funcs[id].clone();
        let cx = self.program.context(&self.module, id, Form::Early);
        self.early_decisions[id] = self.pipeline.early(&mut func, &cx, oracle);
        self.module.funcs[id] = func;
        self.has_early_form.insert(id);
    }

    fn late(&mut self, id: FuncId, mut func: Function, form: Form, oracle: &dyn Oracle) -> (Function, Vec<InlineDecision>) {
        let decisions = self.pipeline.late(&mut func, &self.program.context(&self.module, id, form), oracle);
        (func, decisions)
    }

    /// Every function that can still be called, from the program's entries on, as it is to be compiled, and what was decided about it. What was inlined wherever it was called is not among them. All have early forms.
    fn all_roots(&mut self, oracle: &dyn Oracle) -> Vec<(FuncId, Function, Vec<InlineDecision>)> {
        let mut seen: EntitySet<FuncId> = EntitySet::with_capacity(self.module.funcs.len());
        let mut work: Vec<FuncId> = self.module.entry.iter().flat_map(|e| [e.thread, e.main]).collect();
        let mut roots = Vec::new();
        let mut room = GROWTH_BASE + GROWTH * self.module.funcs.values().map(instructions).sum::<usize>();
        while let Some(id) = work.pop() {
            if self.module.funcs[id].layout.is_empty() || !seen.insert(id) {
                continue;
            }
            let (tiny, func) = (TinyOnly(oracle), self.module.funcs[id].clone());
            let (func, decisions) = self.late(id, func, Form::Whole, if room == 0 { &tiny } else { oracle });
            room = room.saturating_sub(instructions(&func));
            let Context { module, hierarchy, .. } = self.program.context(&self.module, id, Form::Whole);
            call_graph::for_each_op(&func, |op| work.extend(call_graph::callees(module, hierarchy, op)));
            roots.push((id, func, decisions));
        }
        roots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parser::parse;
    use profiler::oracle::{StaticOracle, Verdict};

    /// `main` calls `middle` in a loop, which calls `leaf`; `odd` and `even` call each other.
    const PROGRAM: &str = r#"class0 "Object"
entry main fn0 thread fn1
fn0 "main"() -> int {
block0():
  v0 = iconst 0
  v1 = iconst 9
  jump block1(v0, v0)
block1(v2: int, v3: int):
  v4 = icmp lt v2, v1
  branch v4, block2, block3
block2():
  poll
  v5 = call fn2(v2) site0
  v6 = iadd v3, v5
  v7 = iconst 1
  v8 = iadd v2, v7
  jump block1(v8, v6)
block3():
  v9 = call fn4(v3) site1
  return v9
}
fn1 "thread"(class0) {
block0(v0: ref):
  return
}
fn2 "middle"(int) -> int {
block0(v0: int):
  v1 = call fn3(v0) site2
  v2 = call fn3(v1) site3
  v3 = imul v1, v2
  v4 = call fn5(v3) site4
  return v4
}
fn3 "leaf"(int) -> int {
block0(v0: int):
  v1 = iconst 3
  v2 = iadd v0, v1
  return v2
}
fn4 "odd"(int) -> int {
block0(v0: int):
  v1 = call fn5(v0) site5
  v2 = call fn3(v1) site6
  return v2
}
fn5 "even"(int) -> int {
block0(v0: int):
  v1 = iconst 0
  v2 = icmp eq v0, v1
  branch v2, block1, block2
block1():
  return v1
block2():
  v3 = iconst 1
  v4 = isub v0, v3
  v5 = call fn4(v4) site7
  return v5
}
"#;

    fn optimizer() -> Optimizer {
        Optimizer::new(parse(PROGRAM).unwrap(), &Options { verify: true, ..Options::default() })
    }

    fn id(module: &Module, name: &str) -> FuncId {
        module.funcs.iter().find(|(_, f)| &*f.name == name).unwrap().0
    }

    #[test]
    fn roots_are_the_same_in_any_order_and_as_of_the_whole_program() {
        let oracle = StaticOracle::default();
        let whole = optimize(parse(PROGRAM).unwrap(), &oracle, &Options { verify: true, ..Options::default() });
        assert!(whole.called.contains(&id(&whole.module, "main")));
        let backwards: Vec<FuncId> = whole.called.iter().rev().copied().collect();
        let turned = [&whole.called[2..], &whole.called[..2]].concat();
        for ids in [whole.called.clone(), backwards, turned] {
            let mut optimizer = optimizer();
            // Twice: what was made for one root serves the others.
            for &root in ids.iter().chain(&ids) {
                let Root { func, decisions, .. } = optimizer.root(root, Entry::Start, &oracle).unwrap();
                assert_eq!(func, whole.module.funcs[root]);
                let expected: Vec<_> = whole.decisions.iter().filter(|d| d.root == root).cloned().collect();
                assert_eq!(decisions, expected);
            }
        }
    }

    /// Only what a root can reach gets an early form.
    #[test]
    fn early_forms_are_made_when_they_are_needed() {
        let mut optimizer = optimizer();
        let [odd, even, leaf, main] = ["odd", "even", "leaf", "main"].map(|name| id(&optimizer.lowered, name));
        optimizer.root(odd, Entry::Start, &StaticOracle::default()).unwrap();
        let done =
            |optimizer: &Optimizer| optimizer.module.funcs.keys().filter(|&f| optimizer.has_early_form.contains(f)).collect::<Vec<_>>();
        assert_eq!(done(&optimizer), [leaf, odd, even]);
        assert!(optimizer.early_decisions(odd).iter().any(|d| d.callee == leaf && matches!(d.verdict, Verdict::Inline(_))));
        optimizer.root(main, Entry::Start, &StaticOracle::default()).unwrap();
        assert_eq!(done(&optimizer).len(), 5, "all but `thread`");
    }

    /// Of a function that is entered elsewhere all is decided anew; entered at its beginning that makes no difference.
    #[test]
    fn a_rest_goes_the_way_of_a_root() {
        let oracle = StaticOracle::default();
        let mut optimizer = optimizer();
        for name in ["main", "middle"] {
            let root = id(&optimizer.lowered, name);
            let Root { func, decisions, .. } = optimizer.root(root, Entry::Start, &oracle).unwrap();
            let mut expected = decisions;
            expected.iter_mut().filter(|decision| decision.form == Form::Whole).for_each(|decision| decision.form = Form::Loop(7));
            let rest = optimizer.rest(root, optimizer.lowered.funcs[root].clone(), Form::Loop(7), &oracle);
            assert_eq!(rest, (func, expected));
        }
    }

    #[test]
    fn it_goes_to_a_thread_of_its_own() {
        fn is_send<T: Send>() {}
        is_send::<Optimizer>();
    }
}
