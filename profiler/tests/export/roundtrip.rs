//! What is written is read back equal: `.json` in everything, `.folded` in stacks and their calls.

use crate::formats::{rendered, text};
use crate::sample;
use profiler::clock::Clock;
use profiler::counters::Counters;
use profiler::export::{self, Format};
use profiler::ids::{CallSiteId, EdgeId, FuncId};
use profiler::profile::{Certainty, ContextId, Contexts, DcgEdge, Label, Labels, Meta, Profile, Seen, Structure};
use profiler::program::{CallSite, Edge, Function, Program};
use proptest::prelude::*;
use proptest::sample::Index;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Any text, and the characters that formats trip over more often than chance would have it.
fn name() -> impl Strategy<Value = Box<str>> {
    let hard = prop::sample::select(vec![
        ';', ' ', '\\', '"', '<', '&', '#', '\n', '\r', '\t', '\0', '{', '3', '.', 'ß', '\u{3000}', '\u{feff}', '\u{e000}',
    ]);
    prop::collection::vec(prop_oneof![hard, any::<char>()], 0..6).prop_map(|chars| chars.into_iter().collect::<String>().into())
}

fn calls() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        (0..1000_u32).prop_map(f64::from),
        0.0..1e6,
        any::<f64>().prop_map(|x| x.abs() % 1e12).prop_filter("a number", |x| x.is_finite())
    ]
}

fn program() -> impl Strategy<Value = Program> {
    let functions = prop::collection::vec((name(), name(), any::<u32>()), 1..6);
    let sites = prop::collection::vec((any::<Index>(), any::<u32>()), 0..6);
    let edges = prop::collection::vec((prop::option::of(any::<Index>()), any::<Index>()), 1..12);
    (functions, sites, edges).prop_map(|(functions, sites, edges)| {
        let mut program = Program::default();
        for (name, file, line) in functions {
            program.functions.push(Function { name, file, line });
        }
        let functions = program.functions.len();
        for (caller, line) in sites {
            program.sites.push(CallSite { caller: FuncId::from_u32(caller.index(functions) as u32), line });
        }
        for (site, callee) in edges {
            let site = site.filter(|_| !program.sites.is_empty()).map(|site| CallSiteId::from_u32(site.index(program.sites.len()) as u32));
            program.edge(Edge { site: site.into(), callee: FuncId::from_u32(callee.index(functions) as u32) });
        }
        program
    })
}

fn structure() -> impl Strategy<Value = Structure> {
    let k = (1..=u32::MAX).prop_map(|k| NonZeroU32::new(k).unwrap());
    prop_oneof![
        prop::sample::select(vec![Structure::CallTree, Structure::Cct, Structure::Pcct, Structure::CcMap, Structure::Kccf { k: None }]),
        k.clone().prop_map(|k| Structure::Ksf { k }),
        k.prop_map(|k| Structure::Kccf { k: Some(k) }),
        (0.0..=100.0).prop_map(|percent| Structure::SimilarCcf { percent }),
    ]
}

fn meta() -> impl Strategy<Value = Meta> {
    let clock = prop_oneof![Just(Clock::Nanoseconds), Just(Clock::Steps), any::<u64>().prop_map(Clock::cycles),];
    let counters = any::<[u64; 4]>().prop_map(|[calls, samples, samples_dropped, repetitions]| Counters {
        calls,
        samples,
        samples_dropped,
        repetitions,
        ..Counters::default()
    });
    let parameters = prop::collection::btree_map(name(), name(), 0..3);
    (name(), name(), parameters, any::<Option<u64>>(), clock, any::<u64>(), counters).prop_map(
        |(program, mode, parameters, seed, clock, duration, counters)| Meta {
            program,
            mode,
            parameters: parameters.into_iter().collect(),
            seed,
            clock,
            duration,
            counters,
        },
    )
}

/// Nodes with random parents; weights are raised where they must include children's.
fn contexts(structure: Structure, by_edge: bool, program: &Program, nodes: Vec<(Option<Index>, Index, f64)>) -> Contexts {
    let mut weights: Vec<f64> = nodes.iter().map(|node| node.2).collect();
    let parents: Vec<Option<usize>> =
        nodes.iter().enumerate().map(|(at, node)| node.0.filter(|_| at > 0).map(|parent| parent.index(at))).collect();
    if structure.is_reversed() {
        for at in (0..nodes.len()).rev() {
            if let Some(parent) = parents[at] {
                weights[parent] += weights[at];
            }
        }
    }
    let mut contexts = Contexts::new(structure, if by_edge { Labels::Edges } else { Labels::Functions });
    for (at, (_, label, _)) in nodes.iter().enumerate() {
        let label = match by_edge {
            true => Label::Edge(EdgeId::from_u32(label.index(program.edges().len()) as u32)),
            false => Label::Function(FuncId::from_u32(label.index(program.functions.len()) as u32)),
        };
        contexts.push(label, parents[at].map(|parent| ContextId::from_u32(parent as u32)), weights[at]).unwrap();
    }
    contexts.dropped = nodes.len() as u64;
    contexts.with_certainty(certainty(&weights)).unwrap()
}

/// One of the three, with any numbers.
fn certainty(weights: &[f64]) -> Certainty {
    let seen = weights.iter().map(|&weight| Seen {
        error: (weight as u64).is_multiple_of(2).then_some(weight / 3.0),
        share_error: (weight as u64).is_multiple_of(3).then_some(1.0 / (weight + 2.0)),
        samples: weight as u64,
    });
    match weights.len() % 3 {
        0 => Certainty::Unknown,
        1 => Certainty::Exact,
        _ => Certainty::Sampled(seen.collect()),
    }
}

pub fn profile() -> impl Strategy<Value = Profile> {
    let weights = prop::collection::vec((calls(), prop::option::of(calls()), prop::option::of(0.0..1.0f64), any::<u64>()), 12);
    let nodes = prop::collection::vec((prop::option::of(any::<Index>()), any::<Index>(), calls()), 0..12);
    (meta(), program(), weights, prop::option::of((structure(), any::<bool>(), nodes))).prop_map(|(meta, program, weights, forest)| {
        let forest = forest.map(|(structure, by_edge, nodes)| contexts(structure, by_edge, &program, nodes));
        let dcg = program.edges().keys().zip(weights).map(|(edge, (weight, error, share_error, samples))| DcgEdge {
            edge,
            weight,
            error,
            share_error,
            samples,
        });
        let dcg: Vec<DcgEdge> = dcg.filter(|edge| edge.samples % 4 != 0).collect();
        let builder = Profile::builder(meta, program).dcg(dcg);
        forest.into_iter().fold(builder, |builder, forest| builder.contexts(forest)).build().unwrap()
    })
}

/// Folded stacks of a tree of whole calls, the slow and obvious way.
fn stacks(profile: &Profile) -> BTreeMap<Vec<String>, f64> {
    let contexts = profile.contexts().unwrap();
    let mut stacks = BTreeMap::new();
    for (id, node) in contexts.nodes().filter(|(_, node)| node.weight > 0.0) {
        let chain = std::iter::successors(Some(id), |&id| contexts.node(id).parent.expand());
        let name = |id| profile.program().functions[profile.function(contexts.node(id).label)].name.to_string();
        let mut names: Vec<String> = chain.map(name).collect();
        names.reverse();
        *stacks.entry(names).or_default() += node.weight;
    }
    stacks
}

fn tree() -> impl Strategy<Value = Profile> {
    let names = prop::collection::hash_set(name().prop_filter("named", |name| !name.is_empty()), 1..6);
    let nodes = prop::collection::vec((prop::option::of(any::<Index>()), any::<Index>(), (0..100_u32).prop_map(f64::from)), 0..20);
    (names, nodes).prop_map(|(names, nodes)| {
        let mut program = Program::default();
        for name in names {
            program.functions.push(Function { name, file: "".into(), line: 0 });
        }
        let contexts = contexts(Structure::Cct, false, &program, nodes);
        Profile::builder(Meta::default(), program).contexts(contexts).build().unwrap()
    })
}

proptest! {
    #[test]
    fn json_keeps_everything(profile in profile()) {
        let json = rendered(&profile, Format::Json);
        let again = export::parse(Format::Json, &json).unwrap();
        prop_assert_eq!(&again, &profile);
        prop_assert_eq!(rendered(&again, Format::Json), json);
    }

    #[test]
    fn folded_keeps_stacks(profile in tree()) {
        let folded = rendered(&profile, Format::Folded);
        let again = export::parse(Format::Folded, &folded).unwrap();
        prop_assert_eq!(stacks(&again), stacks(&profile));
        prop_assert_eq!(again.dcg_total(), profile.contexts().unwrap().total());
        prop_assert_eq!(rendered(&again, Format::Folded), folded);
    }

    /// Whatever the names and numbers, the total is there to a call, where formats have whole calls.
    #[test]
    fn no_format_loses_the_total(profile in profile()) {
        let total = profile.contexts().map_or_else(|| profile.dcg_total(), Contexts::total);
        let off = |found: f64| (found - total).abs() <= 0.5 + total * 1e-9;
        let folded: u64 = text(&profile, Format::Folded).lines().filter(|line| !line.starts_with("# ")).map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        prop_assert!(off(folded as f64), "folded {} of {}", folded, total);
        let pprof: i64 = crate::formats::pprof(&profile).sample.iter().map(|sample| sample.value[0]).sum();
        prop_assert!(off(pprof as f64), "pprof {} of {}", pprof, total);
        let speedscope: serde_json::Value = serde_json::from_slice(&rendered(&profile, Format::Speedscope)).unwrap();
        prop_assert!(off(speedscope["profiles"][0]["endValue"].as_f64().unwrap()));
        match export::check(&profile, Format::Svg) {
            Ok(()) => {
                let frames = crate::readers::svg_frames(&text(&profile, Format::Svg));
                // Only the frame of all calls has no decimals.
                let all: f64 = frames.lines().find(|line| line.ends_with(" calls, 100%)")).unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
                prop_assert!(off(all), "svg {} of {}\n{}", all, total, frames);
            }
            Err(_) => prop_assert!(total < 0.5),
        }
        // No reader, but no panic either.
        rendered(&profile, Format::Firefox);
        let _ = export::render(&profile, Format::Dot, &mut Vec::new());
    }
}

#[test]
fn the_sample_survives() {
    for profile in [sample::cc_map(), sample::kccf(), sample::dcg_only()] {
        assert_eq!(export::parse(Format::Json, &rendered(&profile, Format::Json)).unwrap(), profile);
    }
}

#[test]
fn the_documented_example_is_valid() {
    let page = include_str!("../../../docs/profile-format.md");
    let (_, example) = page.split_once("```json").unwrap();
    let profile = export::parse(Format::Json, example.split_once("```").unwrap().0.as_bytes()).unwrap();
    assert_eq!(profile.meta().to_string(), "toy: CBS (stride 2 calls, seed 7), 4 samples");
    assert_eq!((profile.dcg_total(), profile.contexts().unwrap().total()), (10.0, 10.0));
    for (counter, _) in Counters::default().all() {
        assert!(page.contains(&format!("`{}`", counter.name)), "{} is not documented", counter.name);
    }
}
