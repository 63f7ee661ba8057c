//! Profiles made by hand, and what they must show.

use profiler::clock::Clock;
use profiler::counters::Counters;
use profiler::ids::{CallSiteId, EdgeId, FuncId};
use profiler::profile::{Certainty, ContextId, Contexts, DcgEdge, Label, Labels, Meta, Profile, Seen, Structure};
use profiler::program::{CallSite, Edge, Function, Program};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

pub fn function(program: &mut Program, name: &str, file: &str, line: u32) -> FuncId {
    program.functions.push(Function { name: name.into(), file: file.into(), line })
}

pub fn site(program: &mut Program, caller: FuncId, line: u32) -> CallSiteId {
    program.sites.push(CallSite { caller, line })
}

pub fn edge(program: &mut Program, site: Option<CallSiteId>, callee: FuncId) -> EdgeId {
    program.edge(Edge { site: site.into(), callee })
}

/// Names that are hard on formats, in the order of their functions.
pub const NAMES: [&str; 7] = ["main", "Vec<[u8; 4]>::push \"x\" & 'y'", "größer\nals \\n", "same", "same", "", "lambda 3"];

/// A CC-Map of all of [`NAMES`]: main calls push twice from line 2 and once from line 3, the second function there too, and so on.
///
/// ```text
/// main 1
/// ├ push (line 2) 2.25        ├ push (line 3) 1.25
/// │ └ größer 3.5              ├ größer (line 3) 0.5
/// │   └ same a 4              │ └ same b 6
/// └ unnamed (line 9) 0
///   └ lambda 3 1.5
/// ```
pub fn cc_map() -> Profile {
    let mut p = Program::default();
    let places = [("main.x", 1), ("lib.x", 10), ("", 0), ("a.x", 5), ("b.x", 7), ("", 0), ("main.x", 20)];
    let f: Vec<FuncId> = NAMES.iter().zip(places).map(|(name, (file, line))| function(&mut p, name, file, line)).collect();
    let s = [(f[0], 2), (f[0], 3), (f[1], 11), (f[2], 0), (f[0], 9), (f[5], 0)].map(|(caller, line)| site(&mut p, caller, line));
    let start = edge(&mut p, None, f[0]);
    let push2 = edge(&mut p, Some(s[0]), f[1]);
    let push3 = edge(&mut p, Some(s[1]), f[1]);
    let greater3 = edge(&mut p, Some(s[1]), f[2]);
    let greater = edge(&mut p, Some(s[2]), f[2]);
    let same_a = edge(&mut p, Some(s[3]), f[3]);
    let same_b = edge(&mut p, Some(s[3]), f[4]);
    let unnamed = edge(&mut p, Some(s[4]), f[5]);
    let lambda = edge(&mut p, Some(s[5]), f[6]);

    let mut contexts = Contexts::new(Structure::CcMap, Labels::Edges);
    let mut push = |edge, parent: Option<ContextId>, weight| contexts.push(Label::Edge(edge), parent, weight).unwrap();
    let main = push(start, None, 1.0);
    let at2 = push(push2, Some(main), 2.25);
    let inner = push(greater, Some(at2), 3.5);
    push(same_a, Some(inner), 4.0);
    push(push3, Some(main), 1.25);
    let other = push(greater3, Some(main), 0.5);
    push(same_b, Some(other), 6.0);
    let nameless = push(unnamed, Some(main), 0.0);
    push(lambda, Some(nameless), 1.5);
    let seen = (0..9).map(|number| Seen {
        error: (number > 0).then_some(f64::from(number) / 8.0),
        share_error: (number > 1).then_some(f64::from(number) / 64.0),
        samples: 2 * number as u64,
    });
    let contexts = contexts.with_certainty(Certainty::Sampled(seen.collect())).unwrap();

    let weights = [1.0, 2.25, 1.25, 0.5, 3.5, 4.0, 6.0, 0.0, 1.5];
    let dcg = weights.iter().enumerate().filter(|&(_, &weight)| weight > 0.0).map(|(number, &weight)| DcgEdge {
        edge: EdgeId::from_u32(number as u32),
        weight,
        error: (number > 0).then_some(weight / 4.0),
        share_error: (number > 1).then_some(weight / 128.0),
        samples: 2 * number as u64,
    });
    Profile::builder(meta(), p).dcg(dcg).contexts(contexts).build().unwrap()
}

/// Edges alone, each of whose calls was counted.
pub fn exact() -> Profile {
    let profile = cc_map();
    let edges = profile.dcg().iter().map(|edge| {
        let calls = edge.weight.ceil();
        DcgEdge { weight: calls, error: Some(0.0), share_error: Some(0.0), samples: calls as u64, ..*edge }
    });
    Profile::builder(profile.meta().clone(), profile.program().clone()).dcg(edges).build().unwrap()
}

/// The same, but nobody knows how sure its shares are.
pub fn without_share_errors(profile: Profile) -> Profile {
    let contexts = profile.contexts().unwrap().clone();
    let Certainty::Sampled(seen) = contexts.certainty() else { panic!("{:?}", contexts.certainty()) };
    let seen = seen.values().map(|&seen| Seen { share_error: None, ..seen }).collect();
    let edges = profile.dcg().iter().map(|&edge| DcgEdge { share_error: None, ..edge });
    let builder = Profile::builder(profile.meta().clone(), profile.program().clone()).dcg(edges);
    builder.contexts(contexts.with_certainty(Certainty::Sampled(seen)).unwrap()).build().unwrap()
}

/// The same, but nobody knows how sure its contexts and shares are.
pub fn without_certainty(profile: Profile) -> Profile {
    let contexts = profile.contexts().unwrap().clone().with_certainty(Certainty::Unknown).unwrap();
    let builder = Profile::builder(profile.meta().clone(), profile.program().clone());
    let edges = profile.dcg().iter().map(|&edge| DcgEdge { share_error: None, ..edge });
    builder.dcg(edges).contexts(contexts).build().unwrap()
}

pub fn meta() -> Meta {
    Meta {
        program: "toy <1> & \"2\"".into(),
        mode: "static bursting".into(),
        parameters: vec![("interval".into(), "10 ms".into()), ("burst".into(), "0.2 ms".into())],
        seed: Some(u64::MAX),
        clock: Clock::Nanoseconds,
        duration: 1_500_000_000,
        counters: Counters { samples: 72, ticks: 150, bursts: 149, samples_dropped: 3, ..Counters::default() },
    }
}

/// The 2-CCF of OOPSLA'12 figure 2, labelled with functions.
pub fn kccf() -> Profile {
    let mut p = Program::default();
    let f = ["r", "a", "b", "c"].map(|name| function(&mut p, name, "fig2", 1));
    let [r, a, b, c] = f.map(Label::Function);
    let mut forest = Contexts::new(Structure::Kccf { k: NonZeroU32::new(2) }, Labels::Functions);
    let mut push = |label, parent, weight| Some(forest.push(label, parent, weight).unwrap());
    push(r, None, 1.0);
    let of_a = push(a, None, 2.0);
    push(r, of_a, 1.0);
    let ca = push(c, of_a, 1.0);
    push(r, ca, 1.0);
    let of_b = push(b, None, 3.0);
    let ab = push(a, of_b, 3.0);
    push(r, ab, 1.0);
    push(c, ab, 2.0);
    let of_c = push(c, None, 2.0);
    let ac = push(a, of_c, 1.0);
    push(r, ac, 1.0);
    push(r, of_c, 1.0);
    Profile::builder(Meta { program: "fig2".into(), mode: "exhaustive".into(), ..Meta::default() }, p).contexts(forest).build().unwrap()
}

/// Edges only: r calls a 3 times, a calls b 5 times.
pub fn dcg_only() -> Profile {
    let mut p = Program::default();
    let [r, a, b] = ["r", "a", "b"].map(|name| function(&mut p, name, "", 0));
    let (in_r, in_a) = (site(&mut p, r, 4), site(&mut p, a, 6));
    let edges = [(edge(&mut p, Some(in_r), a), 3.0), (edge(&mut p, Some(in_a), b), 5.0)];
    let dcg = edges.map(|(edge, weight)| DcgEdge { edge, weight, error: None, share_error: None, samples: 1 });
    Profile::builder(Meta { program: "pairs".into(), mode: "CBS".into(), ..Meta::default() }, p).dcg(dcg).build().unwrap()
}

/// A function that calls itself: the edge to its first call, and that from there on.
fn recursion() -> (Program, EdgeId, EdgeId) {
    let mut p = Program::default();
    let f = function(&mut p, "deep", "deep.x", 1);
    let s = site(&mut p, f, 2);
    let (start, again) = (edge(&mut p, None, f), edge(&mut p, Some(s), f));
    (p, start, again)
}

/// A chain of calls, each counted once, with callees above callers.
pub fn reversed_chain(depth: u32) -> Profile {
    let (p, _, again) = recursion();
    let mut contexts = Contexts::new(Structure::Kccf { k: None }, Labels::Edges);
    let mut top = None;
    for weight in (1..=depth).rev() {
        top = Some(contexts.push(Label::Edge(again), top, f64::from(weight)).unwrap());
    }
    Profile::builder(Meta::default(), p).contexts(contexts).build().unwrap()
}

/// A chain of calls, each counted once.
pub fn chain(depth: u32) -> Profile {
    let (p, start, again) = recursion();
    let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
    let mut top = contexts.push(Label::Edge(start), None, 1.0).unwrap();
    for _ in 1..depth {
        top = contexts.push(Label::Edge(again), Some(top), 1.0).unwrap();
    }
    Profile::builder(Meta::default(), p).contexts(contexts).dcg_from_contexts().build().unwrap()
}

/// Whole calls by stack, from the outermost function, as formats of whole numbers must have them. In the order of a walk the sums are 1, 4.5, 8, 12, 12.5, 18.5, 20, and what is a half is rounded up.
pub fn cc_map_stacks(names: [&str; 7]) -> BTreeMap<Vec<String>, u64> {
    let [main, push, greater, same_a, same_b, unnamed, lambda] = names;
    let stacks: [(&[&str], u64); 7] = [
        (&[main], 1),
        (&[main, push], 4),
        (&[main, push, greater], 3),
        (&[main, push, greater, same_a], 4),
        (&[main, greater], 1),
        (&[main, greater, same_b], 6),
        (&[main, unnamed, lambda], 1),
    ];
    let owned = |stack: &[&str]| stack.iter().map(|name| name.to_string()).collect();
    stacks.into_iter().map(|(stack, calls)| (owned(stack), calls)).collect()
}
