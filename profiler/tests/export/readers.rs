//! Every format read the way other programs read it: by their libraries where there are any, else by the published description.

use crate::formats::{pprof, text};
use crate::sample::{self, NAMES};
use profiler::counters::Counters;
use profiler::export::{Format, pprof::proto};
use profiler::profile::{Meta, Profile};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// [`NAMES`] in formats that know a function by its name alone.
const DISTINCT: [&str; 7] = [NAMES[0], NAMES[1], NAMES[2], "same (a.x:5)", "same (b.x:7)", "(unnamed)", NAMES[6]];

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let value = element.try_get_attribute(name).unwrap()?.value;
    Some(quick_xml::escape::unescape(std::str::from_utf8(&value).unwrap()).unwrap().into_owned())
}

/// Titles of a flame graph, then a line a frame: first call, calls, what the mouse shows. Panics if it is not well-formed.
pub fn svg_frames(svg: &str) -> String {
    let mut reader = Reader::from_str(svg);
    let mut lines = String::new();
    let mut shown: Option<String> = None;
    let mut frame = String::new();
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return lines,
            Event::Start(e) if e.name().as_ref() == b"title" => shown = Some(String::new()),
            Event::Start(e) if attribute(&e, "id").is_some_and(|id| id == "title" || id == "subtitle") && e.name().as_ref() == b"text" => {
                shown = Some(String::new());
            }
            Event::Text(e) => shown.iter_mut().for_each(|text| text.push_str(&e.decode().unwrap())),
            Event::GeneralRef(e) => {
                let c = e.resolve_char_ref().unwrap().map(String::from);
                let c = c.unwrap_or_else(|| quick_xml::escape::resolve_predefined_entity(&e.decode().unwrap()).unwrap().into());
                shown.iter_mut().for_each(|text| text.push_str(&c));
            }
            Event::End(e) if e.name().as_ref() == b"title" => frame = shown.take().unwrap(),
            Event::End(_) => {
                if let Some(title) = shown.take() {
                    lines += &format!("{title}\n");
                }
            }
            Event::Empty(e) if attribute(&e, "fg:w").is_some() => {
                lines += &format!("{:>3} {:>3} {frame}\n", attribute(&e, "fg:x").unwrap(), attribute(&e, "fg:w").unwrap());
            }
            _ => {}
        }
    }
}

#[test]
fn flame_graphs_show_names_as_they_are() {
    let frames = svg_frames(&text(&sample::cc_map(), Format::Svg));
    for expected in [
        "all (20 calls, 100%)",
        "Vec<[u8; 4]>::push \"x\" & 'y' (11 calls, 55.00%)",
        "größer␊als \\n (7 calls, 35.00%)",
        "same (b.x:7) (6 calls, 30.00%)",
        "lambda 3 (1 calls, 5.00%)",
        "toy <1> & \"2\": calls by context (CC-Map), 20 calls in total",
    ] {
        assert!(frames.contains(expected), "{expected} is not in\n{frames}");
    }
}

/// As texts, `main;f10` stands between `main;f1` and `main;f1;g`.
#[test]
fn a_frame_of_a_flame_graph_is_one_box() {
    let profile = profiler::export::parse(Format::Folded, b"main;f1 3\nmain;f10 4\nmain;f1;g 5\n").unwrap();
    let frames = svg_frames(&text(&profile, Format::Svg));
    let boxes: Vec<&str> = frames.lines().filter(|line| line.ends_with("%)")).collect();
    assert_eq!(
        boxes,
        [
            "  0   8 f1 (8 calls, 66.67%)",
            "  3   5 g (5 calls, 41.67%)",
            "  0  12 all (12 calls, 100%)",
            "  0  12 main (12 calls, 100.00%)",
            "  8   4 f10 (4 calls, 33.33%)"
        ]
    );
}

/// What the drawing library would take for a comment, for an annotation, for a second number.
#[test]
fn flame_graphs_take_no_name_for_syntax() {
    let profile = profiler::export::parse(
        Format::Folded,
        b"# names are escaped: \\\\ is a backslash, \\u{3b} the character of that number\n#;a_[k];x\\u{20}12 5\n",
    )
    .unwrap();
    let frames = svg_frames(&text(&profile, Format::Svg));
    for expected in ["# (5 calls", "a_[k] (5 calls", "x 12 (5 calls"] {
        assert!(frames.contains(expected), "{expected} is not in\n{frames}");
    }
}

#[test]
fn folded_stacks_are_what_inferno_reads() {
    let folded = text(&sample::cc_map(), Format::Folded);
    let mut svg = Vec::new();
    let mut options = inferno::flamegraph::Options::default();
    inferno::flamegraph::from_lines(&mut options, folded.lines(), &mut svg).unwrap();
    let frames = svg_frames(std::str::from_utf8(&svg).unwrap());
    for expected in ["all (20 samples, 100%)", "(11 samples", r"lambda\u{20}3 (1 samples", r"größer\u{a}als \\n (7 samples"] {
        assert!(frames.contains(expected), "{expected} is not in\n{frames}");
    }
}

/// What pprof itself checks when it loads a file (`CheckValid`), and that all strings are used as what they are.
fn check_pprof(profile: &proto::Profile) {
    let string = |at: i64| &profile.string_table[usize::try_from(at).unwrap()];
    assert_eq!(string(0), "");
    assert_eq!(profile.string_table.iter().collect::<BTreeSet<_>>().len(), profile.string_table.len());
    assert_eq!(
        profile.sample_type.iter().map(|kind| (&**string(kind.r#type), &**string(kind.unit))).collect::<Vec<_>>(),
        [("calls", "count")]
    );
    assert_eq!(string(profile.default_sample_type), "calls");
    profile.comment.iter().for_each(|&comment| assert!(!string(comment).is_empty()));
    let unique = |ids: Vec<u64>| {
        let set: BTreeSet<u64> = ids.iter().copied().collect();
        assert!(set.len() == ids.len() && !set.contains(&0));
        set
    };
    let mappings = unique(profile.mapping.iter().map(|mapping| mapping.id).collect());
    let functions = unique(profile.function.iter().map(|function| function.id).collect());
    let locations = unique(profile.location.iter().map(|location| location.id).collect());
    for function in &profile.function {
        assert_eq!(function.name, function.system_name);
        assert!(!string(function.name).is_empty());
        string(function.filename);
    }
    for location in &profile.location {
        assert!(mappings.contains(&location.mapping_id));
        assert!(location.line.len() == 1 && functions.contains(&location.line[0].function_id));
    }
    for sample in &profile.sample {
        assert!(sample.value.len() == 1 && sample.value[0] > 0);
        assert!(!sample.location_id.is_empty() && sample.location_id.iter().all(|id| locations.contains(id)));
    }
}

/// Stacks from the outermost, each frame by name or by name and line.
fn pprof_stacks(profile: &proto::Profile, frame: impl Fn(&str, i64) -> String) -> BTreeMap<Vec<String>, u64> {
    let mut stacks = BTreeMap::new();
    for sample in &profile.sample {
        let frames = sample.location_id.iter().rev().map(|id| {
            let line = profile.location.iter().find(|location| location.id == *id).unwrap().line[0];
            let function = profile.function.iter().find(|function| function.id == line.function_id).unwrap();
            frame(&profile.string_table[function.name as usize], line.line)
        });
        *stacks.entry(frames.collect()).or_default() += sample.value[0] as u64;
    }
    stacks
}

#[test]
fn pprof_has_every_stack_and_line() {
    let profile = pprof(&sample::cc_map());
    check_pprof(&profile);
    assert_eq!(profile.duration_nanos, 1_500_000_000);
    let mut names = NAMES;
    names[5] = "(unnamed)";
    // Here stacks of different lines are rounded apart: 2.25 and 1.25 before and after 3.5.
    let mut expected = sample::cc_map_stacks(names);
    expected.insert(vec![names[0].into(), names[1].into()], 3);
    expected.insert(vec![names[0].into(), names[1].into(), names[2].into()], 4);
    assert_eq!(pprof_stacks(&profile, |name, _| name.into()), expected);

    let lines = pprof_stacks(&profile, |name, line| format!("{}:{line}", name.chars().next().unwrap()));
    let stack = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines[&stack("m:2 V:11 g:0 s:5")], 4, "a frame's line is that of its call, the last one's that of its function");
    assert_eq!(lines[&stack("m:3 V:10")], 1);
}

#[test]
fn pprof_of_edges_and_of_reversed_contexts() {
    for profile in [sample::dcg_only(), sample::kccf()] {
        check_pprof(&pprof(&profile));
    }
    let stacks = pprof_stacks(&pprof(&sample::dcg_only()), |name, line| format!("{name}:{line}"));
    assert_eq!(stacks, BTreeMap::from([(vec!["r:4".into(), "a:0".into()], 3), (vec!["a:6".into(), "b:0".into()], 5)]));
    let stacks = pprof_stacks(&pprof(&sample::kccf()), |name, _| name.into());
    assert_eq!(stacks, folded_stacks(&text(&sample::kccf(), Format::Folded)));
}

fn folded_stacks(text: &str) -> BTreeMap<Vec<String>, u64> {
    let line = |line: &str| {
        let (stack, calls) = line.rsplit_once(' ').unwrap();
        (stack.split(';').map(str::to_owned).collect(), calls.parse().unwrap())
    };
    text.lines().map(line).collect()
}

/// OOPSLA'12 figure 2: the eight calls by their contexts of up to three functions, outermost first.
#[test]
fn reversed_contexts_are_turned_round() {
    let expected = "r 1\nr;a 1\nr;a;b 1\nr;a;c 1\nr;c 1\nr;c;a 1\nc;a;b 2\n";
    assert_eq!(folded_stacks(&text(&sample::kccf(), Format::Folded)), folded_stacks(expected));
}

mod speedscope {
    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    pub struct File {
        #[serde(rename = "$schema")]
        pub schema: String,
        pub shared: Shared,
        pub profiles: Vec<Evented>,
        pub name: Option<String>,
        pub active_profile_index: Option<usize>,
        pub exporter: Option<String>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Shared {
        pub frames: Vec<Frame>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "the schema's fields")]
    pub struct Frame {
        pub name: String,
        pub file: Option<String>,
        pub line: Option<f64>,
        pub col: Option<f64>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    pub struct Evented {
        pub r#type: String,
        pub name: String,
        pub unit: String,
        pub start_value: f64,
        pub end_value: f64,
        pub events: Vec<Step>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Step {
        pub r#type: char,
        pub at: f64,
        pub frame: usize,
    }
}

#[test]
fn speedscope_opens_and_closes_frames_in_turn() {
    let file: speedscope::File = serde_json::from_str(&text(&sample::cc_map(), Format::Speedscope)).unwrap();
    assert_eq!(file.schema, "https://www.speedscope.app/file-format-schema.json");
    assert!(file.name.is_some() && file.exporter.is_some() && file.active_profile_index == Some(0));
    let [profile] = &file.profiles[..] else { panic!("one profile") };
    assert_eq!((&*profile.r#type, &*profile.unit, profile.start_value, profile.end_value), ("evented", "none", 0.0, 20.0));
    assert_eq!(profile.name, "calls by context (CC-Map)");
    let mut open = Vec::new();
    let mut at = 0.0;
    let mut own: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for event in &profile.events {
        assert!(event.frame < file.shared.frames.len() && event.at >= at && event.at <= profile.end_value);
        *own.entry(open.clone()).or_default() += event.at - at;
        at = event.at;
        match event.r#type {
            'O' => open.push(event.frame),
            'C' => assert_eq!(open.pop(), Some(event.frame)),
            other => panic!("event {other}"),
        }
    }
    assert!(open.is_empty());
    own.retain(|_, calls| *calls > 0.0);
    let expected =
        [(vec![0], 1.0), (vec![0, 1], 3.5), (vec![0, 1, 2], 3.5), (vec![0, 1, 2, 3], 4.0), (vec![0, 2], 0.5), (vec![0, 2, 4], 6.0)];
    let expected = expected.into_iter().chain([(vec![0, 5, 6], 1.5)]);
    assert_eq!(own, expected.collect());
    assert_eq!(file.shared.frames[1].name, NAMES[1]);
}

mod firefox {
    use super::*;

    #[derive(Deserialize)]
    pub struct File {
        pub threads: Vec<Thread>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Thread {
        pub name: String,
        pub samples: Samples,
        pub stack_table: Stacks,
        pub frame_table: Frames,
        pub func_table: Functions,
        pub string_array: Vec<String>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    pub struct Samples {
        pub length: usize,
        pub stack: Vec<Option<usize>>,
        pub weight: Vec<i64>,
        pub weight_type: String,
        pub time_deltas: Vec<f64>,
    }

    #[derive(Deserialize)]
    pub struct Stacks {
        pub prefix: Vec<Option<usize>>,
        pub frame: Vec<usize>,
    }

    #[derive(Deserialize)]
    pub struct Frames {
        pub func: Vec<usize>,
    }

    #[derive(Deserialize)]
    pub struct Functions {
        pub name: Vec<usize>,
    }
}

#[test]
fn firefox_has_every_stack() {
    let file: firefox::File = serde_json::from_str(&text(&sample::cc_map(), Format::Firefox)).unwrap();
    let [thread] = &file.threads[..] else { panic!("one thread") };
    assert_eq!(thread.name, "calls by context (CC-Map)");
    let samples = &thread.samples;
    assert_eq!(samples.weight_type, "samples");
    assert!([samples.stack.len(), samples.weight.len(), samples.time_deltas.len()] == [samples.length; 3]);
    let mut stacks = BTreeMap::new();
    for (stack, &weight) in samples.stack.iter().zip(&samples.weight) {
        let chain = std::iter::successors(*stack, |&stack| thread.stack_table.prefix[stack]);
        let name =
            |stack: usize| thread.string_array[thread.func_table.name[thread.frame_table.func[thread.stack_table.frame[stack]]]].clone();
        let mut names: Vec<String> = chain.map(name).collect();
        names.reverse();
        stacks.insert(names, weight as u64);
    }
    assert_eq!(stacks, sample::cc_map_stacks(DISTINCT));
}

/// 32-bit weights: 5 × 10¹² calls are 5,000,000 units of a million, and the name says so.
#[test]
fn firefox_scales_large_weights_and_says_so() {
    let folded = b"a 5000000000000\na;b 1000000000000\n";
    let profile = profiler::export::parse(Format::Folded, folded).unwrap();
    let file: firefox::File = serde_json::from_str(&text(&profile, Format::Firefox)).unwrap();
    assert_eq!(file.threads[0].name, "calls by context (CCT), in units of 1,000,000 calls");
    assert_eq!(file.threads[0].samples.weight, [5_000_000, 1_000_000]);
}

/// General nodes and contexts of a CC-Map, put together from the elements.
#[test]
fn xml_links_general_nodes_and_contexts() {
    let xml = text(&sample::cc_map(), Format::Xml);
    let mut reader = Reader::from_str(&xml);
    let mut open: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut names = Vec::new();
    let mut general: BTreeMap<String, (String, f64)> = BTreeMap::new();
    let mut in_context: BTreeMap<String, (Vec<String>, f64)> = BTreeMap::new();
    let mut edge_sites = BTreeMap::new();
    loop {
        let event = reader.read_event().unwrap();
        let (Event::Start(element) | Event::Empty(element)) = &event else {
            match &event {
                Event::End(_) => drop(open.pop()),
                Event::Eof => break,
                _ => {}
            }
            continue;
        };
        let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
        let get = |key: &str| attribute(element, key).unwrap();
        let parent = open.last().map(|(name, attributes)| (&**name, attributes));
        match (&*name, parent) {
            ("cc-map", None) => {
                assert_eq!((&*get("program"), &*get("total"), &*get("seed")), ("toy <1> & \"2\"", "20", "18446744073709551615"))
            }
            ("method-profile", Some(("general", _))) => names.push(get("name")),
            ("callee", Some(("call-site", site))) => {
                edge_sites.insert(get("edge"), site["id"].clone());
                general.insert(get("edge"), (get("contexts"), get("calls").parse().unwrap()));
            }
            ("entry", Some(("general", _))) => drop(general.insert(get("edge"), (get("contexts"), get("calls").parse().unwrap()))),
            ("callee-ref", Some((parent, site))) => {
                match parent {
                    "call-site-ref" => assert_eq!(edge_sites.get(&get("edge")).unwrap_or(&site["site"]), &site["site"]),
                    _ => assert_eq!(parent, "contexts"),
                }
                let (ids, calls) = in_context.entry(get("edge")).or_default();
                ids.push(get("id"));
                *calls += get("calls").parse::<f64>().unwrap();
            }
            ("call-site-ref", parent) => assert!(matches!(parent, Some(("callee-ref", _)))),
            ("parameter" | "general" | "contexts", Some(("cc-map", _))) | ("call-site", Some(("method-profile", _))) => {}
            other => panic!("{other:?}"),
        }
        if matches!(event, Event::Start(_)) {
            let attributes = element.attributes().map(|attribute| {
                let attribute = attribute.unwrap();
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                (text(attribute.key.as_ref()), text(&attribute.value))
            });
            open.push((name, attributes.collect()));
        }
    }
    assert!(open.is_empty());
    let mut expected = NAMES;
    expected[5] = "(unnamed)";
    assert_eq!(names, expected);
    assert_eq!(general.len(), 8, "one edge counts nothing");
    for (edge, (contexts, calls)) in general {
        assert_eq!((contexts, calls), (in_context[&edge].0.join(" "), in_context[&edge].1), "edge {edge}");
    }
}

/// Strings of a DOT file, unescaped. Panics where a string does not end.
fn dot_strings(dot: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut chars = dot.chars();
    while let Some(c) = chars.next() {
        if c != '"' {
            continue;
        }
        let mut string = String::new();
        loop {
            match chars.next().expect("an open string") {
                '"' => break,
                '\\' => match chars.next().expect("an open escape") {
                    'n' => string.push('\n'),
                    c @ ('"' | '\\') => string.push(c),
                    other => panic!("escape {other}"),
                },
                c => string.push(c),
            }
        }
        strings.push(string.replace("&amp;", "&"));
    }
    strings
}

/// Twice as many calls were made as its weights say.
#[test]
fn dot_has_the_errors_of_reports() {
    let profile = sample::cc_map();
    let counters = Counters { calls: 2 * profile.dcg_total() as u64, ..profile.meta().counters };
    let meta = Meta { counters, ..profile.meta().clone() };
    let edges = profile.dcg().iter().copied();
    let unsure = Profile::builder(meta, profile.program().clone()).dcg(edges).build().unwrap();
    // 6 ± 1.5, and 6 for the scale.
    assert!(dot_strings(&text(&unsure, Format::Dot)).iter().any(|label| label == "6 ± 7 calls\n30.00 %"), "{}", text(&unsure, Format::Dot));
}

#[test]
fn dot_labels_say_names_and_numbers() {
    let dot = text(&sample::cc_map(), Format::Dot);
    let strings = dot_strings(&dot);
    for expected in [
        "Vec<[u8; 4]>::push \"x\" & 'y'\nlib.x:10",
        "größer\nals \\n",
        "same\na.x:5",
        "line 2\n2 ± 1 calls\n11.25 %",
        "6 ± 2 calls\n30.00 %",
    ] {
        assert!(strings.iter().any(|string| string == expected), "{expected:?} is not in {strings:?}");
    }
    assert_eq!(dot.matches(" -> ").count(), 8);
    assert!(!dot.contains("not shown"));
}

/// Only where Graphviz is installed.
#[test]
fn graphviz_draws_it() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let Ok(mut dot) = Command::new("dot").arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else { return };
    dot.stdin.take().unwrap().write_all(text(&sample::cc_map(), Format::Dot).as_bytes()).unwrap();
    let output = dot.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("größer"));
}
