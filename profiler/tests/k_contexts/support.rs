//! Traces, a CCT as simple as can be, and the definitions to the letter.

use cranelift_entity::{EntityRef, entity_impl};
use profiler::event::Event;
use profiler::ids::{EdgeId, FuncId};
use profiler::program::{CallSite, Edge, Function, Program};
use profiler::structures::forest::Forest;
use profiler::structures::kccf::Kccf;
use profiler::structures::ksf::slots::Slots;
use profiler::structures::ksf::{IndexedKsf, SiblingKsf};
use profiler::structures::{CallStructure, Label};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

pub const NO_LIMIT: u32 = u32::MAX;

/// Functions of the random traces.
pub const FUNCTIONS: u8 = 6;

pub type Paths<L> = BTreeMap<Vec<L>, f64>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TreeNode(u32);
entity_impl!(TreeNode);

/// A CCT as simple as can be.
pub struct Tree<L> {
    pub nodes: Vec<(L, Option<TreeNode>, f64)>,
    children: HashMap<(Option<TreeNode>, L), TreeNode>,
}

impl<L> Default for Tree<L> {
    fn default() -> Self {
        Tree { nodes: Vec::new(), children: HashMap::new() }
    }
}

impl<L: Label> CallStructure for Tree<L> {
    type Label = L;
    type Cursor = Vec<TreeNode>;

    fn start(&mut self) -> Vec<TreeNode> {
        Vec::new()
    }

    fn call(&mut self, at: &mut Vec<TreeNode>, label: L, weight: f64) {
        let parent = at.last().copied();
        let nodes = &mut self.nodes;
        let child = *self.children.entry((parent, label)).or_insert_with(|| {
            nodes.push((label, parent, 0.0));
            TreeNode::new(nodes.len() - 1)
        });
        self.nodes[child.index()].2 += weight;
        at.push(child);
    }

    fn ret(&mut self, at: &mut Vec<TreeNode>) {
        at.pop();
    }
}

impl<L: Label> Forest for Tree<L> {
    type Label = L;
    type Node = TreeNode;

    fn nodes(&self) -> impl Iterator<Item = TreeNode> + '_ {
        (0..self.nodes.len()).map(TreeNode::new)
    }

    fn label(&self, node: TreeNode) -> L {
        self.nodes[node.index()].0
    }

    fn parent(&self, node: TreeNode) -> Option<TreeNode> {
        self.nodes[node.index()].1
    }

    fn weight(&self, node: TreeNode) -> f64 {
        self.nodes[node.index()].2
    }
}

/// Definition 3 to the letter, for every k up to the one given: each call adds to each of its paths.
pub struct Reference<L> {
    pub k: usize,
    pub paths: Paths<L>,
}

impl<L: Label> CallStructure for Reference<L> {
    type Label = L;
    type Cursor = Vec<L>;

    fn start(&mut self) -> Vec<L> {
        Vec::new()
    }

    fn call(&mut self, at: &mut Vec<L>, label: L, weight: f64) {
        at.push(label);
        for calls in 0..at.len().min(self.k.saturating_add(1)) {
            *self.paths.entry(at[at.len() - 1 - calls..].to_vec()).or_default() += weight;
        }
    }

    fn ret(&mut self, at: &mut Vec<L>) {
        at.pop();
    }
}

/// Fig. 7 to the letter, with paths for nodes. Then inv_k by the paper's note: top regions cleared but in the tree of `root`.
pub struct Fig7 {
    pub k: usize,
    pub counts: Paths<FuncId>,
}

impl Fig7 {
    pub fn inverse(&self, root: FuncId) -> Paths<FuncId> {
        let mut paths = Paths::new();
        for (path, &count) in &self.counts {
            let is_cleared = path.len() <= self.k && path[0] != root;
            for len in 1..=path.len().min(self.k + 1) {
                *paths.entry(path[path.len() - len..].to_vec()).or_default() += if is_cleared { 0.0 } else { count };
            }
        }
        paths
    }
}

impl CallStructure for Fig7 {
    type Label = FuncId;
    type Cursor = Vec<(Vec<FuncId>, Option<Vec<FuncId>>)>;

    fn start(&mut self) -> Self::Cursor {
        Vec::new()
    }

    fn call(&mut self, at: &mut Self::Cursor, label: FuncId, weight: f64) {
        let (mut top, mut bottom) = at.last().cloned().unwrap_or_default();
        if at.len() % self.k == 0 {
            bottom = Some(std::mem::take(&mut top)).filter(|path| !path.is_empty());
        }
        top.push(label);
        *self.counts.entry(top.clone()).or_default() += weight;
        if let Some(path) = &mut bottom {
            path.push(label);
            *self.counts.entry(path.clone()).or_default() += weight;
        }
        at.push((top, bottom));
    }

    fn ret(&mut self, at: &mut Self::Cursor) {
        at.pop();
    }
}

/// What some threads did.
#[derive(Debug)]
pub struct Trace {
    pub program: Program,
    pub threads: Vec<Vec<Event>>,
}

impl Trace {
    /// From functions called, `None` being a return. Even functions are called directly, odd ones from one indirect call site in each caller.
    pub fn new(threads: &[Vec<Option<u8>>]) -> Trace {
        let mut program = Program::default();
        let functions: Vec<FuncId> =
            (0..FUNCTIONS).map(|n| program.functions.push(Function { name: n.to_string().into(), file: "".into(), line: 0 })).collect();
        let mut sites = HashMap::new();
        let mut trace = Vec::new();
        for ops in threads {
            let (mut stack, mut events) = (Vec::new(), Vec::new());
            for op in ops {
                let Some(callee) = *op else {
                    stack.pop();
                    events.push(Event::RETURN);
                    continue;
                };
                let site = stack.last().map(|&caller: &u8| {
                    let key = (caller, if callee % 2 == 0 { callee } else { u8::MAX });
                    *sites.entry(key).or_insert_with(|| program.sites.push(CallSite { caller: functions[caller as usize], line: 0 }))
                });
                stack.push(callee);
                events.push(Event::call(program.edge(Edge { site: site.into(), callee: functions[callee as usize] })));
            }
            trace.push(events);
        }
        Trace { program, threads: trace }
    }

    /// The weights are 0, 1, and 2, and 1 only if `plain`.
    pub fn feed<S: CallStructure>(&self, mut structure: S, plain: bool, label: impl Fn(EdgeId) -> S::Label) -> S {
        for events in &self.threads {
            let mut at = structure.start();
            for (number, event) in events.iter().enumerate() {
                let weight = if plain { 1.0 } else { (number % 3) as f64 };
                match event.edge() {
                    Some(edge) => structure.call(&mut at, label(edge), weight),
                    None => structure.ret(&mut at),
                }
            }
        }
        structure
    }

    pub fn function(&self) -> impl Fn(EdgeId) -> FuncId + '_ {
        |edge| self.program.callee(edge)
    }

    pub fn cct(&self) -> Tree<FuncId> {
        self.feed(Tree::default(), true, self.function())
    }

    pub fn ksf(&self, k: u32) -> SiblingKsf<FuncId> {
        self.feed(SiblingKsf::new(k, NO_LIMIT).unwrap(), true, self.function())
    }

    pub fn indexed(&self, k: u32) -> IndexedKsf<FuncId> {
        let slots = Slots::of_functions(&self.program);
        self.feed(IndexedKsf::indexed(k, slots, NO_LIMIT).unwrap(), true, self.function())
    }

    pub fn reference(&self, k: u32) -> Paths<FuncId> {
        self.feed(Reference { k: k as usize, paths: Paths::new() }, true, self.function()).paths
    }

    pub fn calls(&self) -> usize {
        self.threads.iter().flatten().filter(|&&event| event != Event::RETURN).count()
    }
}

/// Threads with several first functions that others call too, recursion of all kinds, calls that never return.
pub fn any_trace() -> impl Strategy<Value = Trace> {
    let op = prop_oneof![3 => (0..FUNCTIONS).prop_map(Some), 2 => Just(None)];
    let thread = prop::collection::vec(op, 0..120);
    prop::collection::vec(thread, 1..4).prop_map(|threads| Trace::new(&threads))
}

/// One first function, which is called by no other.
pub fn rooted_trace() -> impl Strategy<Value = Trace> {
    let op = prop_oneof![3 => (1..FUNCTIONS).prop_map(Some), 2 => Just(None)];
    let thread = prop::collection::vec(op, 0..200).prop_map(|mut ops| {
        let mut depth = 0;
        for op in &mut ops {
            match op {
                Some(function) if depth == 0 => (*function, depth) = (0, 1),
                Some(_) => depth += 1,
                None => depth -= if depth == 0 { 0 } else { 1 },
            }
        }
        ops
    });
    prop::collection::vec(thread, 1..3).prop_map(|threads| Trace::new(&threads))
}

pub fn paths<L: Label>(kccf: &Kccf<L>) -> Paths<L> {
    kccf.nodes().map(|node| (kccf.context(node), kccf.weight(node))).collect()
}

pub fn invert<F: Forest>(forest: &F, k: u32) -> Kccf<F::Label> {
    Kccf::invert(forest, k, NO_LIMIT).unwrap()
}

pub fn f(name: char) -> FuncId {
    FuncId::new("rabcde".find(name).unwrap())
}

pub fn names(text: &str) -> Vec<FuncId> {
    text.chars().map(f).collect()
}

/// From letters for calls and dots for returns.
pub fn trace(text: &str) -> Trace {
    Trace::new(&[text.chars().map(|letter| (letter != '.').then(|| f(letter).as_u32() as u8)).collect()])
}

/// The trace of Fig. 2 of OOPSLA'12.
pub fn fig2() -> Trace {
    trace("rab.c..cab.b....")
}
