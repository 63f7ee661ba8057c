//! Comparison of profiles that number differently.

use crate::formats::text;
use crate::sample::{self, edge, function, site};
use profiler::diff::{Diff, DiffOptions, EdgeCounts, HotEdgeCoverage, MatchedBy, diff};
use profiler::export::{Format, parse};
use profiler::profile::{Contexts, DcgEdge, Label, Labels, Meta, Profile, Structure};
use profiler::program::Program;

/// main calls a function by name, file and line, at a line, so often (with an error of its share): contexts are the two levels of a CCT.
fn profile(calls: &[(&str, u32, u32, f64)], share_error: Option<f64>, reverse: bool) -> Profile {
    let mut p = Program::default();
    let mut order: Vec<_> = calls.to_vec();
    if reverse {
        order.reverse();
        function(&mut p, "unused", "x", 9);
    }
    let main = function(&mut p, "main", "m.x", 1);
    let start = edge(&mut p, None, main);
    let mut dcg = Vec::new();
    let mut contexts = Contexts::new(Structure::Cct, Labels::Edges);
    let root = contexts.push(Label::Edge(start), None, 0.0).unwrap();
    for (name, defined, line, weight) in order {
        let callee = function(&mut p, name, "f.x", defined);
        let site = site(&mut p, main, line);
        let edge = edge(&mut p, Some(site), callee);
        contexts.push(Label::Edge(edge), Some(root), weight).unwrap();
        dcg.push(DcgEdge { edge, weight, error: None, share_error, samples: 1 });
    }
    let meta = Meta { program: "test".into(), mode: "CBS".into(), ..Meta::default() };
    Profile::builder(meta, p).dcg(dcg).contexts(contexts).build().unwrap()
}

const CALLS: [(&str, u32, u32, f64); 4] = [("f", 1, 10, 60.0), ("g", 2, 11, 30.0), ("g", 2, 12, 8.0), ("h", 3, 13, 2.0)];

#[test]
fn numbering_does_not_matter() {
    let same = diff(&profile(&CALLS, None, false), &profile(&CALLS, None, true), &DiffOptions::default());
    assert!((same.overlap.unwrap() - 100.0).abs() < 1e-9 && (same.context_overlap.unwrap() - 100.0).abs() < 1e-9);
    assert_eq!(same.edges, EdgeCounts { both: 4, only_before: 0, only_after: 0 });
    assert!(same.changes.is_empty());
    assert!(same.hot_edge_coverage.iter().all(|c| c.before_over_after == Some(100.0) && c.after_over_before == Some(100.0)));
    let own = diff(&sample::cc_map(), &sample::cc_map(), &DiffOptions::default());
    assert!((own.overlap.unwrap() - 100.0).abs() < 1e-9);
}

/// Twice as long a run: f 60 → 50 %, g at 11 stays, g at 12 gone, i (another function called f, defined elsewhere) new with 18 %.
fn changed() -> Diff {
    let after = [("f", 1, 10, 100.0), ("g", 2, 11, 60.0), ("h", 3, 13, 4.0), ("f", 4, 14, 36.0)];
    let options = DiffOptions { thresholds: vec![0.1, 0.5], changes: 3 };
    diff(&profile(&CALLS, Some(0.03), false), &profile(&after, Some(0.04), true), &options)
}

#[test]
fn shares_are_compared() {
    let diff = changed();
    // min(60, 50) + min(30, 30) + 0 + min(2, 2).
    assert!((diff.overlap.unwrap() - 82.0).abs() < 1e-9);
    assert!((diff.context_overlap.unwrap() - 82.0).abs() < 1e-9);
    assert_eq!(diff.edges, EdgeCounts { both: 3, only_before: 1, only_after: 1 });
    let [at_tenth, at_half] = diff.hot_edge_coverage[..] else { panic!("two thresholds") };
    // Hot before from 6 calls on: f, g, g; after from 10 on: f, g, the other f.
    let two_of_three = Some(200.0 / 3.0);
    assert_eq!(at_tenth, HotEdgeCoverage { threshold: 0.1, before_over_after: two_of_three, after_over_before: two_of_three });
    // From 30 on: f and g; from 50 on: f and g.
    assert_eq!(at_half, HotEdgeCoverage { threshold: 0.5, before_over_after: Some(100.0), after_over_before: Some(100.0) });

    let changes: Vec<(&str, u32, f64)> = diff.changes.iter().map(|c| (&*c.callee.name, c.callee.line, c.change().round())).collect();
    assert_eq!(changes, [("f", 4, 18.0), ("f", 1, -10.0), ("g", 2, -8.0)]);
    let errors: Vec<f64> = diff.changes.iter().map(|c| c.error.unwrap()).collect();
    // That of after, both (3 and 4 points: 5 together), that of before.
    assert_eq!(errors, [4.0, 5.0, 3.0]);
    assert_eq!((diff.changes[1].calls_before, diff.changes[1].calls_after), (60.0, 100.0));
}

#[test]
fn as_text() {
    let expected = "\
before: test: CBS (100 calls)
after:  test: CBS (200 calls)

degree of overlap, edges       82.00 %
degree of overlap, contexts    82.00 %
hot-edge coverage, T = 0.1     66.67 % of the hot edges after were hot before, 66.67 % the other way round
hot-edge coverage, T = 0.5    100.00 % of the hot edges after were hot before, 100.00 % the other way round
edges in both 3, only before 1, only after 1

   before     after              change  edge (share of all calls, change in percentage points ± standard error)
   0.00 %   18.00 %       +18.00 ± 4.00  main (m.x:1) line 14 → f (f.x:4)
  60.00 %   50.00 %       -10.00 ± 5.00  main (m.x:1) line 10 → f (f.x:1)
   8.00 %    0.00 %        -8.00 ± 3.00  main (m.x:1) line 12 → g (f.x:2)
";
    assert_eq!(changed().to_string(), expected);
}

#[test]
fn what_is_not_known_is_not_passed_over() {
    let after = [("f", 1, 10, 50.0), ("g", 2, 11, 50.0)];
    let before = [("f", 1, 10, 60.0), ("g", 2, 11, 40.0)];
    let text = |error| diff(&profile(&before, error, false), &profile(&after, Some(0.0), false), &DiffOptions::default()).to_string();
    assert!(text(None).contains("-10.00 ± unknown  main (m.x:1) line 10 → f (f.x:1)"), "{}", text(None));
    assert!(text(Some(0.0)).contains("             -10.00  main (m.x:1) line 10 → f (f.x:1)"), "{}", text(Some(0.0)));
}

#[test]
fn calls_without_a_context_are_told() {
    let whole = profile(&CALLS, None, false);
    let mut contexts = whole.contexts().unwrap().clone();
    contexts.dropped = 3;
    let builder = Profile::builder(whole.meta().clone(), whole.program().clone()).dcg(whole.dcg().iter().copied());
    let part = builder.contexts(contexts).build().unwrap();
    let text = diff(&part, &whole, &DiffOptions::default()).to_string();
    assert!(text.starts_with("before: test: CBS (100 calls; 3 observations without a context)\nafter:  test: CBS (100 calls)\n"), "{text}");
}

#[test]
fn as_json() {
    let json: serde_json::Value = serde_json::from_str(&changed().to_json()).unwrap();
    assert_eq!(json["edges"], serde_json::json!({"both": 3, "only_before": 1, "only_after": 1}));
    assert_eq!(json["changes"][0]["callee"], serde_json::json!({"name": "f", "file": "f.x", "line": 4}));
    assert_eq!((json["after"]["calls"].as_f64(), json["changes"][0]["error"].as_f64()), (Some(200.0), Some(4.0)));
}

#[test]
fn nothing_to_compare_is_no_zero() {
    let empty = Profile::builder(Meta::default(), Program::default()).build().unwrap();
    let diff = diff(&empty, &profile(&CALLS, None, false), &DiffOptions::default());
    assert_eq!((diff.overlap, diff.context_overlap), (None, None));
    assert_eq!(diff.hot_edge_coverage[0].after_over_before, None);
    assert_eq!(diff.hot_edge_coverage[0].before_over_after, Some(0.0));
    assert_eq!(diff.edges, EdgeCounts { both: 0, only_before: 0, only_after: 4 });
    assert!(diff.changes.iter().all(|change| change.error.is_none()));
    assert!(diff.to_string().contains("degree of overlap, edges             –"));
    assert!(diff.to_string().contains("(0 calls)"), "{diff}");
}

/// Folded stacks have neither files nor lines.
#[test]
fn where_one_knows_names_alone_names_are_compared() {
    let known = profile(&CALLS, None, false);
    let named = parse(Format::Folded, b"main;f 60\nmain;g 38\nmain;h 2\n").unwrap();
    for [before, after] in [[&known, &named], [&named, &known]] {
        let diff = diff(before, after, &DiffOptions::default());
        assert_eq!((diff.matched_by, diff.overlap, diff.context_overlap), (MatchedBy::Names, Some(100.0), Some(100.0)));
        assert_eq!(diff.edges, EdgeCounts { both: 3, only_before: 0, only_after: 0 });
        assert!(diff.changes.is_empty() && diff.to_string().contains("by their names alone"), "{diff}");
    }
    assert_eq!(changed().matched_by, MatchedBy::Places);
}

/// One more line in front, and started from another folder.
#[test]
fn what_has_moved_is_known_again() {
    let (before, same) = (profile(&CALLS, None, false), profile(&CALLS, None, true));
    let mut program = same.program().clone();
    for function in program.functions.values_mut() {
        (function.file, function.line) = (format!("folder/{}", function.file).into(), function.line + 1);
    }
    program.sites.values_mut().for_each(|site| site.line += 1);
    let contexts = same.contexts().cloned().expect("a CCT");
    let after = Profile::builder(same.meta().clone(), program).dcg(same.dcg().to_vec()).contexts(contexts).build().unwrap();
    for [one, other] in [[&before, &after], [&after, &before]] {
        let diff = diff(one, other, &DiffOptions::default());
        assert_eq!(diff.edges, EdgeCounts { both: 4, only_before: 0, only_after: 0 });
        assert!((diff.overlap.unwrap() - 100.0).abs() < 1e-9 && (diff.context_overlap.unwrap() - 100.0).abs() < 1e-9);
    }
}

/// Two sites in one line cannot be told apart by line: they are one edge.
#[test]
fn what_coincides_is_added_up() {
    let two = [("f", 1, 10, 30.0), ("f", 1, 10, 70.0)];
    let one = [("f", 1, 10, 1.0)];
    let mut p = Program::default();
    let (main, f) = (function(&mut p, "main", "m.x", 1), function(&mut p, "f", "f.x", 1));
    let dcg: Vec<DcgEdge> = two
        .iter()
        .map(|&(_, _, line, weight)| {
            let site = site(&mut p, main, line);
            DcgEdge { edge: edge(&mut p, Some(site), f), weight, error: None, share_error: Some(0.01), samples: 1 }
        })
        .collect();
    let two = Profile::builder(Meta::default(), p).dcg(dcg).build().unwrap();
    let diff = diff(&two, &profile(&one, Some(0.0), false), &DiffOptions::default());
    assert_eq!((diff.overlap, diff.edges.both), (Some(100.0), 1));
    assert!(diff.changes.is_empty());
}

/// Two functions share a name there, and a file of stacks has nothing but names.
#[test]
fn a_profile_and_its_folded_stacks_are_the_same() {
    let profile = sample::cc_map();
    let folded = parse(Format::Folded, text(&profile, Format::Folded).as_bytes()).unwrap();
    for (before, after) in [(&profile, &folded), (&folded, &profile)] {
        let diff = diff(before, after, &DiffOptions::default());
        assert_eq!((diff.matched_by, diff.edges.only_before, diff.edges.only_after), (MatchedBy::Names, 0, 0), "{diff}");
        assert!(diff.overlap.unwrap() > 94.0, "but for rounding: {diff}");
    }
}

#[test]
fn names_do_not_break_the_table() {
    let diff = diff(&sample::dcg_only(), &sample::cc_map(), &DiffOptions::default());
    let text = diff.to_string();
    assert!(text.contains(r"größer\nals \n → same (a.x:5)"), "{text}");
    assert!(diff.context_overlap.is_none());
}
