//! Parts that make no profile are refused, with the reason.

use crate::sample::{edge, function, site};
use profiler::ids::{CallSiteId, EdgeId, FuncId};
use profiler::profile::{Contexts, DcgEdge, Label, Labels, MAX_CALLS, Meta, Profile, ProfileBuilder, ProfileError, Structure};
use profiler::program::{CallSite, Edge, Program};
use std::num::NonZeroU32;

/// Two functions and the edges ⟨start, 0⟩ and ⟨0, 1⟩.
fn program() -> Program {
    let mut p = Program::default();
    let (f, g) = (function(&mut p, "f", "", 0), function(&mut p, "g", "", 0));
    let s = site(&mut p, f, 1);
    edge(&mut p, None, f);
    edge(&mut p, Some(s), g);
    p
}

fn builder() -> ProfileBuilder {
    Profile::builder(Meta::default(), program())
}

fn weight(edge: u32, weight: f64) -> DcgEdge {
    DcgEdge { edge: EdgeId::from_u32(edge), weight, error: None, share_error: None, samples: 0 }
}

fn labels(number: u32) -> Label {
    Label::Edge(EdgeId::from_u32(number))
}

const KCCF: Structure = Structure::Kccf { k: NonZeroU32::new(2) };

#[test]
fn indices_lead_somewhere() {
    let error = builder().dcg([weight(2, 1.0)]).build().unwrap_err();
    assert_eq!(error, ProfileError::NoSuch { what: "edge", index: 2, len: 2 });
    assert_eq!(error.to_string(), "there is no edge 2: there are 2, numbered from 0");
    let mut p = program();
    p.sites.push(CallSite { caller: FuncId::from_u32(7), line: 0 });
    assert_eq!(Profile::builder(Meta::default(), p).build().unwrap_err(), ProfileError::NoSuch { what: "function", index: 7, len: 2 });
    let mut p = program();
    p.edge(Edge { site: Some(CallSiteId::from_u32(1)).into(), callee: FuncId::from_u32(0) });
    assert_eq!(Profile::builder(Meta::default(), p).build().unwrap_err(), ProfileError::NoSuch { what: "site", index: 1, len: 1 });
    let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
    contexts.push(labels(9), None, 1.0).unwrap();
    assert_eq!(
        builder().contexts(contexts).dcg_from_contexts().build().unwrap_err(),
        ProfileError::NoSuch { what: "edge", index: 9, len: 2 }
    );
}

#[test]
fn weights_are_numbers_of_calls() {
    for bad in [-1.0, f64::NAN, f64::INFINITY, 2.0 * MAX_CALLS] {
        assert!(matches!(builder().dcg([weight(0, bad)]).build(), Err(ProfileError::BadWeight(_))), "{bad}");
        assert!(
            matches!(Contexts::new(Structure::Cct, Labels::Edges).push(labels(0), None, bad), Err(ProfileError::BadWeight(_))),
            "{bad}"
        );
        let error = DcgEdge { error: Some(bad), ..weight(0, 1.0) };
        assert!(matches!(builder().dcg([error]).build(), Err(ProfileError::BadWeight(_))), "{bad}");
    }
    for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        let error = DcgEdge { share_error: Some(bad), ..weight(0, 1.0) };
        assert!(matches!(builder().dcg([error]).build(), Err(ProfileError::BadShareError(_))), "{bad}");
    }
    assert!(builder().dcg([weight(0, MAX_CALLS)]).build().is_ok());
    let total = builder().dcg([weight(0, MAX_CALLS), weight(1, MAX_CALLS)]).build();
    assert!(matches!(total, Err(ProfileError::BadWeight(_))));
}

#[test]
fn an_edge_has_one_weight() {
    let twice = builder().dcg([weight(1, 1.0), weight(0, 1.0), weight(1, 2.0)]).build();
    assert_eq!(twice.unwrap_err(), ProfileError::RepeatedEdge(EdgeId::from_u32(1)));
    let meta = Meta { parameters: vec![("a".into(), "1".into()), ("a".into(), "2".into())], ..Meta::default() };
    assert_eq!(Profile::builder(meta, program()).build().unwrap_err(), ProfileError::RepeatedParameter("a".into()));
}

#[test]
fn nodes_follow_their_parents_and_share_a_kind() {
    let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
    let root = contexts.push(labels(0), None, 1.0).unwrap();
    let node = contexts.push(labels(1), Some(root), 2.0).unwrap();
    let mut other = Contexts::new(Structure::Cct, Labels::Edges);
    assert!(matches!(other.push(labels(0), Some(node), 1.0), Err(ProfileError::NoSuch { what: "earlier context", .. })));
    assert!(matches!(contexts.push(Label::Function(FuncId::from_u32(0)), None, 1.0), Err(ProfileError::MixedLabels(_))));
    assert_eq!((contexts.len(), contexts.total()), (2, 3.0));
}

#[test]
fn nodes_may_come_with_numbers_of_their_own() {
    let forest = |nodes: &[(char, Option<char>, f64)]| {
        let nodes = nodes.iter().map(|&(key, parent, weight)| (key, parent, labels(u32::from(parent.is_some())), weight));
        Contexts::from_nodes(Structure::Cct, Labels::Edges, nodes)
    };
    let contexts = forest(&[('x', None, 1.0), ('a', Some('x'), 2.0), ('q', Some('a'), 3.0), ('b', Some('x'), 4.0)]).unwrap();
    let parents: Vec<Option<u32>> = contexts.nodes().map(|(_, node)| node.parent.expand().map(|id| id.as_u32())).collect();
    assert_eq!((parents, contexts.total()), (vec![None, Some(0), Some(1), Some(0)], 10.0));
    let early = forest(&[('x', None, 1.0), ('a', Some('b'), 2.0), ('b', Some('x'), 4.0)]).unwrap_err();
    assert_eq!(early.to_string(), "the parent of context1 has not come before it");
}

#[test]
fn children_within_their_parent_where_weights_include_them() {
    let forest = |inner: f64| {
        let mut contexts = Contexts::new(KCCF, Labels::Edges);
        let root = contexts.push(labels(1), None, 3.0).unwrap();
        contexts.push(labels(0), Some(root), inner).unwrap();
        builder().contexts(contexts).dcg_from_contexts().build()
    };
    assert!(matches!(forest(3.5), Err(ProfileError::ChildrenExceedParent(_))));
    let profile = forest(2.0).unwrap();
    let contexts = profile.contexts().unwrap();
    assert_eq!(contexts.total(), 3.0);
    assert_eq!(contexts.own_weights().values().copied().collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!(profile.dcg(), [weight(1, 3.0)], "only roots count calls of their edge");
}

#[test]
fn percentages_are_checked() {
    for (percent, good) in [(0.0, true), (100.0, true), (-1.0, false), (101.0, false), (f64::NAN, false)] {
        let contexts = Contexts::new(Structure::SimilarCcf { percent }, Labels::Edges);
        assert_eq!(builder().contexts(contexts).build().is_ok(), good, "{percent}");
    }
}
