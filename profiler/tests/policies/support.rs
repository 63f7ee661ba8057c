//! Small programs without cycles, profiles of them, and a compiler that does nothing but ask.

use cranelift_entity::EntityRef;
use profiler::ids::{CallSiteId, FuncId};
use profiler::oracle::{CallSiteFacts, Certainty, Form, InlineDecision, Oracle, ProfileView, Verdict, VirtualCallFacts};
use profiler::profile::{Contexts, DcgEdge, Label, Labels, Meta, Profile, Structure};
use profiler::program::{CallSite, Edge, Function, Program};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub fn func(number: usize) -> FuncId {
    FuncId::new(number)
}

pub fn site(number: usize) -> CallSiteId {
    CallSiteId::new(number)
}

/// A function: its size, and its call sites.
#[derive(Clone, Debug)]
pub struct Body {
    pub size: u32,
    /// What each can call, with the calls of one invocation of the function.
    pub sites: Vec<Vec<(usize, u32)>>,
}

/// Functions that call only those behind them; the first is the entry.
#[derive(Clone, Debug)]
pub struct World(pub Vec<Body>);

impl World {
    /// Functions are numbered as they stand here, sites in the order of their functions; or everything the other way round, with the same names.
    pub fn program(&self, reversed: bool) -> Program {
        let mut program = Program::default();
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        let mut sites = self.sites();
        if reversed {
            order.reverse();
            sites.reverse();
        }
        for &f in &order {
            program.functions.push(Function { name: format!("f{f}").into(), file: "w.x".into(), line: 1 + 100 * f as u32 });
        }
        for (f, nth) in sites {
            program.sites.push(CallSite { caller: func(self.number(f, reversed)), line: 2 + 100 * f as u32 + nth as u32 });
        }
        program
    }

    pub fn number(&self, f: usize, reversed: bool) -> usize {
        if reversed { self.0.len() - 1 - f } else { f }
    }

    /// All sites: function, and which of its.
    fn sites(&self) -> Vec<(usize, usize)> {
        let all = self.0.iter().enumerate();
        all.flat_map(|(f, body)| (0..body.sites.len()).map(move |nth| (f, nth))).collect()
    }

    pub fn site(&self, f: usize, nth: usize, reversed: bool) -> CallSiteId {
        let before: usize = self.0[..f].iter().map(|body| body.sites.len()).sum();
        let all: usize = self.0.iter().map(|body| body.sites.len()).sum();
        site(if reversed { all - 1 - before - nth } else { before + nth })
    }

    /// Every chain of calls: the sites that lead there from the entry, outermost first, and the function in which they end, with how often that runs in it.
    pub fn contexts(&self) -> Vec<(Vec<CallSiteId>, usize, f64)> {
        let mut contexts = vec![(Vec::new(), 0, 1.0)];
        let mut next = 0;
        while let Some((chain, f, runs)) = contexts.get(next).cloned() {
            next += 1;
            for (nth, callees) in self.0[f].sites.iter().enumerate() {
                let chain = [chain.as_slice(), &[self.site(f, nth, false)]].concat();
                contexts.extend(callees.iter().map(|&(g, calls)| (chain.clone(), g, runs * f64::from(calls))));
            }
        }
        contexts
    }

    /// The CCT in which every invocation of a function does the same, or, with factors, each context has its weight times the next of them.
    pub fn cct(&self, program: &mut Program, factors: &[f64]) -> Contexts {
        let mut cct = Contexts::new(Structure::Cct, Labels::Edges);
        let start = program.edge(Edge { site: None.into(), callee: func(0) });
        let mut factors = factors.iter().cycle();
        let mut next_factor = || factors.next().copied().unwrap_or(1.0);
        let root = cct.push(Label::Edge(start), None, next_factor()).expect("a root");
        let mut work = VecDeque::from([(root, 0, 1.0)]);
        while let Some((node, f, runs)) = work.pop_front() {
            for (nth, callees) in self.0[f].sites.iter().enumerate() {
                for &(g, calls) in callees {
                    let edge = program.edge(Edge { site: Some(self.site(f, nth, false)).into(), callee: func(g) });
                    let runs = runs * f64::from(calls);
                    let below = cct.push(Label::Edge(edge), Some(node), runs * next_factor()).expect("a node");
                    work.push_back((below, g, runs));
                }
            }
        }
        cct
    }

    /// Every call counted, or each sampled.
    pub fn profile(&self, factors: &[f64], scale: f64, exact: bool) -> Profile {
        let mut program = self.program(false);
        let cct = self.cct(&mut program, factors);
        let mut weights: BTreeMap<_, f64> = BTreeMap::new();
        cct.nodes().for_each(|(_, node)| *weights.entry(edge_of(node.label)).or_default() += node.weight);
        let mut scaled = Contexts::new(Structure::Cct, Labels::Edges);
        for (_, node) in cct.nodes() {
            scaled.push(node.label, node.parent.expand(), node.weight * scale).expect("a node");
        }
        let edges = weights.into_iter().map(|(edge, weight)| DcgEdge {
            edge,
            weight: weight * scale,
            error: Some(if exact { 0.0 } else { weight.sqrt() * scale }),
            share_error: None,
            samples: weight.ceil() as u64,
        });
        Profile::builder(Meta::default(), program).dcg(edges).contexts(scaled).build().expect("a good profile")
    }
}

fn edge_of(label: Label) -> profiler::ids::EdgeId {
    match label {
        Label::Edge(edge) => edge,
        Label::Function(_) => unreachable!("nodes are edges"),
    }
}

pub fn worlds() -> impl Strategy<Value = World> {
    let body = |f: usize, count: usize| {
        let callee = (f + 1..count.max(f + 2), 0u32..20);
        let sites = vec(vec(callee, 1..3), 0..3);
        (1u32..60, sites).prop_map(move |(size, mut sites)| {
            for callees in &mut sites {
                callees.sort_unstable();
                callees.dedup_by_key(|&mut (g, _)| g);
            }
            Body { size, sites: if f + 1 < count { sites } else { Vec::new() } }
        })
    };
    (2usize..7).prop_flat_map(move |count| (0..count).map(|f| body(f, count)).collect::<Vec<_>>()).prop_map(World)
}

pub fn facts(callee_size: u32) -> CallSiteFacts<'static> {
    CallSiteFacts {
        site: site(0),
        root: func(0),
        form: Form::Whole,
        callee: func(1),
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

/// Compiles a function as an optimizer does: asks in rounds about every call that stands in it, takes in what is accepted, and records what is new.
pub fn compile(world: &World, root: usize, reversed: bool, oracle: &dyn Oracle) -> Vec<InlineDecision> {
    let number = |f: usize| func(world.number(f, reversed));
    let mut open: Vec<(Vec<CallSiteId>, usize, usize)> = (0..world.0[root].sites.len()).map(|nth| (Vec::new(), root, nth)).collect();
    let (mut decisions, mut known, mut inside) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let mut root_size = world.0[root].size;
    for _ in 0..8 {
        let mut new = Vec::new();
        for (chain, f, nth) in &open {
            let site = world.site(*f, *nth, reversed);
            let callees: Vec<usize> = world.0[*f].sites[*nth].iter().map(|&(g, _)| g).collect();
            let candidates: Vec<FuncId> = callees.iter().map(|&g| number(g)).collect();
            let is_virtual = candidates.len() > 1;
            let asked = match is_virtual {
                true => {
                    let (root, form) = (number(root), Form::Whole);
                    oracle.targets(&VirtualCallFacts { site, root, form, chain, candidates: &candidates, suggested: &candidates })
                }
                false => candidates.clone(),
            };
            for callee in asked {
                let g = callees[candidates.iter().position(|&c| c == callee).expect("a candidate")];
                if inside.contains(&(chain.clone(), site, g)) {
                    continue;
                }
                let facts = CallSiteFacts {
                    site,
                    root: number(root),
                    callee,
                    chain,
                    certainty: if is_virtual { Certainty::Guarded { targets: candidates.len() as u32 } } else { Certainty::Only },
                    root_size,
                    ..facts(world.0[g].size)
                };
                let verdict = oracle.decide(&facts);
                if verdict.is_inlined() {
                    root_size += world.0[g].size;
                    inside.insert((chain.clone(), site, g));
                    let chain = [chain.as_slice(), &[site]].concat();
                    new.extend((0..world.0[g].sites.len()).map(|nth| (chain.clone(), g, nth)));
                }
                if known.insert((chain.clone(), site, callee, verdict)) {
                    decisions.push(InlineDecision::new(&facts, verdict, oracle.evidence(&facts, verdict)));
                }
            }
        }
        if new.is_empty() {
            return decisions;
        }
        open.extend(new);
    }
    decisions
}

/// A profile of two levels by hand: the function `caller` of each site, and calls by context as (sites outermost first, callee, weight). Every tenth call was sampled.
pub fn by_hand(callers: &[usize], functions: usize, calls: &[(&[usize], usize, f64)]) -> (Program, Profile) {
    let mut program = Program::default();
    for f in 0..functions {
        program.functions.push(Function { name: format!("f{f}").into(), file: "h.x".into(), line: 1 + 10 * f as u32 });
    }
    for (i, &caller) in callers.iter().enumerate() {
        program.sites.push(CallSite { caller: func(caller), line: 2 + 10 * caller as u32 + i as u32 });
    }
    let mut cct = Contexts::new(Structure::Cct, Labels::Edges);
    let mut nodes = BTreeMap::new();
    let mut weights: BTreeMap<_, f64> = BTreeMap::new();
    for &(path, callee, weight) in calls {
        let parent = (path.len() > 1).then(|| nodes[&(path[..path.len() - 1].to_vec(), callers[path[path.len() - 1]])]);
        let last = path.last().map(|&last| site(last));
        let edge = program.edge(Edge { site: last.into(), callee: func(callee) });
        nodes.insert((path.to_vec(), callee), cct.push(Label::Edge(edge), parent, weight).expect("a node"));
        *weights.entry(edge).or_default() += weight;
    }
    let edges = weights.into_iter().map(|(edge, weight)| {
        let samples = (weight / 10.0).round();
        DcgEdge { edge, weight, error: Some(10.0 * samples.sqrt()), share_error: None, samples: samples as u64 }
    });
    let profile = Profile::builder(Meta::default(), program.clone()).dcg(edges).contexts(cct).build().expect("a good profile");
    (program, profile)
}

pub fn view(profile: &Profile) -> ProfileView {
    ProfileView::new(profile, profile.program())
}

pub fn inlined(verdict: Verdict) -> bool {
    verdict.is_inlined()
}
