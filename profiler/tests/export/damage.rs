//! Files that are no profiles give an error that says what is wrong and where; none makes the reader panic.

use crate::formats::text;
use crate::sample;
use profiler::export::{self, ExportError, Format, ReadError};
use proptest::prelude::*;

fn error(format: Format, text: &str) -> String {
    match export::parse(format, text.as_bytes()) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted: {text}"),
    }
}

/// One change to the sample's JSON, and what the error must say.
#[test]
fn json_is_checked() {
    let good = text(&sample::cc_map(), Format::Json);
    for (from, to, says) in [
        ("{\"caller\":0,\"line\":2}", "[0,2]", "invalid type: sequence, expected an object"),
        ("{\"unit\":\"nanoseconds\"}", "[\"nanoseconds\"]", "invalid type: sequence, expected an object"),
        ("\"call profile\"", "\"song\"", "\"format\" is not \"call profile\""),
        ("\"version\":3", "\"version\":4", "version 4; this program reads versions 1 to 3"),
        ("\"version\":3", "\"version\":0", "version 0; this program"),
        ("\"unit\":\"calls\"", "\"unit\":\"seconds\"", "unknown variant `seconds`, expected `calls` at line 1 column"),
        ("\"ticks\":150", "\"ticks\":-1", "invalid value: integer `-1`, expected u64"),
        ("\"duration\":1500000000,", "", "missing field `duration`"),
        ("\"ticks\":150", "\"tocks\":150", "unknown field `tocks`"),
        ("\"unit\":\"nanoseconds\"", "\"unit\":\"weeks\"", "unknown variant `weeks`"),
        ("\"unit\":\"nanoseconds\"", "\"unit\":\"nanoseconds\",\"per_second\":5", "only a clock of cycles has a field `per_second`"),
        ("\"unit\":\"nanoseconds\"", "\"unit\":\"steps\",\"per_second\":null", "only a clock of cycles has a field `per_second`"),
        ("\"unit\":\"nanoseconds\"", "\"unit\":\"cycles\"", "missing field `per_second`"),
        ("\"unit\":\"nanoseconds\"", "\"unit\":\"cycles\",\"per_second\":0", "nonzero u64"),
        ("\"unit\":\"nanoseconds\"", "\"unit\":\"steps\",\"speed\":1", "unknown field `speed`"),
        ("{\"name\":\"burst\"", "{\"name\":\"interval\"", "parameter \"interval\" occurs twice"),
        ("{\"caller\":0,\"line\":2}", "{\"caller\":7,\"line\":2}", "there is no function 7: there are 7, numbered from 0"),
        ("{\"caller\":0,\"line\":2}", "{\"caller\":4294967295,\"line\":2}", "there is no function 4294967295"),
        ("{\"site\":0,\"callee\":1}", "{\"site\":6,\"callee\":1}", "there is no site 6"),
        ("{\"site\":0,\"callee\":1}", "{\"site\":4294967295,\"callee\":1}", "there is no site 4294967295"),
        ("{\"site\":0,\"callee\":1}", "{\"site\":0,\"callee\":4294967295}", "there is no function 4294967295"),
        ("{\"site\":1,\"callee\":1}", "{\"site\":0,\"callee\":1}", "edge 2 is the same as an earlier one"),
        ("{\"edge\":1,\"weight\":2.25", "{\"edge\":9,\"weight\":2.25", "there is no edge 9"),
        ("{\"edge\":1,\"weight\":2.25", "{\"edge\":2,\"weight\":2.25", "edge2 occurs twice"),
        ("{\"edge\":1,\"weight\":2.25", "{\"edge\":1,\"weight\":-2.25", "-2.25 is no number of calls"),
        ("{\"edge\":1,\"weight\":2.25", "{\"edge\":1,\"weight\":null", "invalid type: null, expected f64"),
        ("{\"edge\":1,\"weight\":2.25", "{\"edge\":1,\"weight\":1e999", "number out of range"),
        ("{\"edge\":1,\"weight\":2.25", "{\"edge\":1,\"weight\":1e16", "10000000000000000 is no number of calls"),
        ("{\"site\":0,\"callee\":1}", "{\"callee\":1}", "missing field `site`"),
        ("\"k\":null,", "", "missing field `k`"),
        ("\"percent\":null,", "", "missing field `percent`"),
        ("\"seed\":", "\"seat\":", "unknown field `seat`"),
        ("\"certainty\":\"sampled\",", "", "contexts of version 3 have `certainty`, `error` and `samples`"),
        ("\"version\":3", "\"version\":2", "from version 3 on, and this is version 2"),
        ("\"share_error\":null,", "", "from version 3 on, and this is version 3"),
        ("\"cc-map\"", "\"forest\"", "structure \"forest\" is none of call-tree, cct"),
        ("\"k\":null", "\"k\":3", "k or percent do not belong to a cc-map"),
        ("\"cc-map\"", "\"k-sf\"", "a k-sf needs its k"),
        ("\"cc-map\"", "\"similar-ccf\"", "a similar-ccf needs its percent"),
        ("\"cc-map\"", "\"k-ccf\"", "the children of context0 count more calls than the node itself"),
        ("\"k\":null", "\"k\":0", "expected a nonzero u32"),
        ("\"label\":[0", "\"label\":[9", "there is no edge 9"),
        ("\"label\":[0", "\"label\":[4294967295", "there is no edge 4294967295"),
        ("\"label\":[0", "\"label\":[0,0", "9 parents for 10 context nodes"),
        ("\"weight\":[1.0", "\"weight\":[1.0,1.0", "10 weights for 9 context nodes"),
        ("\"parent\":[null", "\"parent\":[0", "there is no earlier context 0"),
        ("\"parent\":[null", "\"parent\":[4294967295", "there is no earlier context 4294967295"),
        ("\"weight\":[1.0", "\"weight\":[-1.0", "-1 is no number of calls"),
        ("\"sampled\"", "\"guessed\"", "unknown variant `guessed`, expected one of `unknown`, `exact`, `sampled`"),
        ("\"sampled\"", "\"exact\"", "9 errors for 0 context nodes"),
        ("\"error\":[null", "\"error\":[null,0.5", "10 errors for 9 context nodes"),
        ("\"error\":[null", "\"error\":[-1.0", "-1 is no number of calls"),
        ("\"share_error\":[null", "\"share_error\":[null,0.5", "10 errors of shares for 9 context nodes"),
        ("\"share_error\":[null", "\"share_error\":[-1.0", "-1 is no standard error of a share"),
        ("\"samples\":[0", "\"samples\":[0,0", "10 numbers of samples for 9 context nodes"),
    ] {
        assert!(good.contains(from), "{from} is not in the sample");
        let found = error(Format::Json, &good.replacen(from, to, 1));
        assert!(found.contains(says), "{from} → {to} says: {found}");
    }
}

/// The same as another version writes it, which had not these columns of contexts.
fn as_version(version: u32, json: &str, without: &[&str]) -> String {
    let mut old = json.replacen("\"version\":3", &format!("\"version\":{version}"), 1).replace(",\"share_error\":null", "");
    for column in without {
        assert!(old.contains(column), "no {column}");
        old = old.replacen(column, "", 1);
    }
    old
}

/// Before there were errors of contexts.
#[test]
fn version_1_is_read() {
    let old = sample::without_certainty(sample::cc_map());
    let json = text(&old, Format::Json);
    let without = [",\"certainty\":\"unknown\"", ",\"error\":[]", ",\"share_error\":[]", ",\"samples\":[]"];
    assert_eq!(export::parse(Format::Json, as_version(1, &json, &without).as_bytes()).unwrap(), old);
    let errors = error(Format::Json, &as_version(1, &json, &[",\"share_error\":[]"]));
    assert!(errors.contains("contexts of version 1 have none of `certainty`"), "{errors}");
}

/// Before there were errors of shares.
#[test]
fn version_2_is_read() {
    let old = sample::without_share_errors(sample::cc_map());
    let nulls = format!(",\"share_error\":[{}]", vec!["null"; old.contexts().unwrap().len()].join(","));
    let json = as_version(2, &text(&old, Format::Json), &[&nulls]);
    assert_eq!(export::parse(Format::Json, json.as_bytes()).unwrap(), old);
    // Where every call was counted, they are known all the same.
    let exact = sample::exact();
    let json = text(&exact, Format::Json).replace(",\"share_error\":0.0", ",\"share_error\":null");
    assert_eq!(export::parse(Format::Json, as_version(2, &json, &[]).as_bytes()).unwrap(), exact);
}

#[test]
fn other_files_are_told_apart() {
    assert!(error(Format::Json, "").contains("EOF while parsing"));
    assert!(error(Format::Json, "{}").contains("\"format\" is not"));
    assert!(error(Format::Json, "[\"call profile\", 1]").contains("\"format\" is not"));
    // Depth is neither a crash nor a wait.
    for start in ["", "{\"format\":", "{\"other\":"] {
        error(Format::Json, &(start.to_owned() + &"[".repeat(1_000_000)));
        error(Format::Json, &(start.to_owned() + &"{\"a\":".repeat(1_000_000)));
    }
    assert!(error(Format::Json, &text(&sample::cc_map(), Format::Speedscope)).contains("\"format\" is not"));
    assert!(error(Format::Json, &text(&sample::cc_map(), Format::Folded)).contains("line 1"));
    assert!(matches!(export::parse(Format::Json, b"\xff"), Err(ExportError::Content { error: ReadError::NotText, .. })));
    assert!(matches!(export::parse(Format::Folded, b"a \xff 1"), Err(ExportError::Content { error: ReadError::NotText, .. })));
    assert!(matches!(export::parse(Format::Svg, b"<svg/>"), Err(ExportError::OutputOnly(Format::Svg))));
}

#[test]
fn folded_is_checked() {
    for (text, says) in [
        ("a;b 1\nnonsense\n", "line 2: no number of calls after the stack"),
        ("a;b x\n", "line 1: what follows the last space is no number of calls"),
        ("a;b 1.2.3\n", "is no number of calls"),
        ("a;b .\n", "is no number of calls"),
        ("a;b -1\n", "is no number of calls"),
        ("a;b 1e3\n", "is no number of calls"),
        ("a;b NaN\n", "is no number of calls"),
        ("a;b 99999999999999999999\n", "is no number of calls"),
        ("  5\n", "line 1: no number of calls after the stack"),
    ] {
        let found = error(Format::Folded, text);
        assert!(found.contains(says), "{text:?} says: {found}");
    }
    let escaped = text(&sample::cc_map(), Format::Folded);
    assert!(error(Format::Folded, &escaped.replacen(r"8\u{3b}", r"8\x3b", 1)).contains("is followed by neither"));
}

#[test]
fn folded_takes_what_others_write() {
    let profile = export::parse(
        Format::Folded,
        b"\xef\xbb\xbf# a comment\r\n\r\nmain;App\\new 2.5\r\nmain;f(int, int) 1\nmain 10\nmain;App\\new .5\n",
    )
    .unwrap();
    let names: Vec<&str> = profile.program().functions.values().map(|function| &*function.name).collect();
    assert_eq!(names, ["main", "App\\new", "f(int, int)"]);
    let weights: Vec<f64> = profile.contexts().unwrap().nodes().map(|(_, node)| node.weight).collect();
    assert_eq!((weights, profile.dcg_total()), (vec![10.0, 3.0, 1.0], 14.0));
}

#[test]
fn truncated_json_is_an_error() {
    let good = text(&sample::kccf(), Format::Json);
    for (end, _) in good.trim_end().char_indices() {
        error(Format::Json, &good[..end]);
    }
}

proptest! {
    #[test]
    fn damaged_json_does_not_panic(at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..4), digit in any::<bool>()) {
        let mut json = text(&sample::cc_map(), Format::Json).into_bytes();
        // Digits alone leave it JSON more often.
        let digits: Vec<usize> = json.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
        let (at, bytes) = match digit {
            true => (digits[at.index(digits.len())], bytes.iter().map(|byte| b"0123456789-.e"[usize::from(*byte) % 13]).collect()),
            false => (at.index(json.len()), bytes),
        };
        json.splice(at..=at, bytes);
        if let Ok(profile) = export::parse(Format::Json, &json) {
            for format in Format::ALL {
                let _ = export::render(&profile, format, &mut Vec::new());
            }
        }
    }

    #[test]
    fn any_lines_do_not_panic(text in "([a-c;\\\\ u{}0-9#.\n]|\\PC){0,40}") {
        let _ = export::parse(Format::Folded, text.as_bytes());
        let _ = export::parse(Format::Json, text.as_bytes());
    }
}
