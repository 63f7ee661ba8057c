//! `vm convert` and `vm diff`: profiles as files, from the command line.

mod running;

use running::{Folder, streams};

const FOLDED: &str = "main 1\nmain;square 90\nmain;square;root 9\n";

#[test]
fn every_format_comes_out_and_json_comes_back() {
    let folder = Folder::new("convert").with("a.folded", FOLDED);
    for name in ["b.json", "b.svg", "b.pb.gz", "b.speedscope.json", "b.firefox.json", "b.dot"] {
        assert_eq!(streams(&folder.vm(&["convert", "a.folded", "-o", name])), (Some(0), String::new(), String::new()), "{name}");
        assert!(!folder.text(name).is_empty(), "{name}");
    }
    assert_eq!(folder.vm(&["convert", "b.json", "-o", "c.folded"]).status.code(), Some(0));
    assert_eq!(folder.text("c.folded"), FOLDED);
    assert!(folder.text("b.svg").contains("square") && folder.text("b.dot").contains("digraph"));
}

#[test]
fn bad_files_and_names_are_errors_that_touch_nothing() {
    let folder = Folder::new("errors").with("a.folded", FOLDED).with("bad.json", "{").with("old.json", "kept");
    for (args, expected) in [
        (["convert", "a.folded", "-o", "b.txt"], ".speedscope.json"),
        (["convert", "missing.json", "-o", "b.json"], "missing.json"),
        (["convert", "bad.json", "-o", "old.json"], "bad.json"),
        (["convert", "a.folded", "-o", "no/such/folder.json"], "no/such/folder.json"),
        (["convert", "a.svg", "-o", "b.json"], ".svg"),
    ] {
        let (code, out, errors) = streams(&folder.vm(&args));
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}");
        assert!(errors.starts_with("error: ") && errors.contains(expected), "{args:?}: {errors}");
    }
    assert_eq!(folder.text("old.json"), "kept");
    let (code, _, errors) = streams(&folder.vm(&["diff", "missing.json", "bad.json"]));
    assert_eq!((code, errors.lines().filter(|l| l.starts_with("error: ")).count()), (Some(2), 2), "both are told: {errors}");
}

#[test]
fn a_diff_tells_agreement_and_what_changed() {
    // Shares 0.01, 0.9, 0.09 against 0.1, 0.5, 0.4: min 0.01 + 0.5 + 0.09.
    let folder = Folder::new("diff").with("a.folded", FOLDED).with("b.folded", "main 10\nmain;square 50\nmain;square;root 40\n");
    let (code, out, errors) = streams(&folder.vm(&["diff", "a.folded", "b.folded"]));
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(out.contains("60") && out.contains("root"), "{out}");
    let (_, json, _) = streams(&folder.vm(&["diff", "a.folded", "b.folded", "--json", "--threshold", "0.2", "--changes", "1"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!((json["overlap"].as_f64().unwrap() - 60.0).abs() < 1e-9, "{json}");
    assert_eq!(json["changes"].as_array().unwrap().len(), 1);
    assert_eq!(json["hot_edge_coverage"].as_array().unwrap().len(), 1);
    assert_eq!((json["changed"].as_u64(), json["changes"][0]["share_before"].as_f64()), (Some(3), Some(90.0)), "{json}");
    let (_, none, _) = streams(&folder.vm(&["diff", "a.folded", "b.folded", "--changes", "0"]));
    assert!(none.ends_with("only after 0\n"), "none were asked for: {none}");
    let (_, same, _) = streams(&folder.vm(&["diff", "a.folded", "a.folded", "--changes", "0"]));
    assert!(same.contains("no edge's share changed"), "{same}");
    assert_eq!(folder.vm(&["diff", "a.folded", "b.folded", "--threshold", "1.5"]).status.code(), Some(2));
}
