//! Files: the format by extension, failing writes, and profiles that a format cannot show.

use crate::formats::text;
use crate::sample;
use profiler::export::{self, ExportError, Format};
use profiler::profile::{Meta, Profile};
use profiler::program::Program;
use std::io::Write;
use std::path::{Path, PathBuf};

/// An empty directory of its own for each test.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn extensions_choose_formats() {
    for (name, format) in [
        ("a.json", Format::Json),
        ("a.b.JSON", Format::Json),
        ("a.speedscope.json", Format::Speedscope),
        ("a.firefox.json", Format::Firefox),
        ("dir.svg/a.pb.gz", Format::Pprof),
        ("a.folded", Format::Folded),
        ("a.svg", Format::Svg),
        ("a.xml", Format::Xml),
        ("a.dot", Format::Dot),
    ] {
        assert_eq!(Format::of(Path::new(name)).unwrap(), format, "{name}");
    }
    for name in ["a", "a.gz", "a.txt", "a.json/b", ""] {
        let error = Format::of(Path::new(name)).unwrap_err().to_string();
        let known = "known are .speedscope.json, .firefox.json, .json, .folded, .svg, .pb.gz, .xml, .dot";
        assert!(error.starts_with(name) && error.ends_with(known), "{error}");
    }
}

#[test]
fn files_are_written_and_read() {
    let directory = directory("written");
    for format in Format::ALL {
        let path = directory.join(format!("profile{}", format.extension()));
        export::write(&sample::cc_map(), &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), crate::formats::rendered(&sample::cc_map(), format));
        match export::read(&path) {
            Ok(profile) => assert_eq!(profile.contexts().unwrap().total(), 20.0),
            Err(ExportError::OutputOnly(other)) => assert!(other == format && !matches!(format, Format::Json | Format::Folded)),
            Err(error) => panic!("{error}"),
        }
    }
    let missing = export::read(&directory.join("missing.json")).unwrap_err().to_string();
    assert!(missing.contains("missing.json: cannot be read: No such file"), "{missing}");
    let damaged = directory.join("damaged.json");
    std::fs::write(&damaged, "{").unwrap();
    let damaged = export::read(&damaged).unwrap_err().to_string();
    assert!(damaged.contains("damaged.json: not a profile: EOF while parsing"), "{damaged}");
}

#[test]
fn what_cannot_be_created_is_an_error() {
    let directory = directory("created");
    let inside_nothing = export::write(&sample::cc_map(), &directory.join("no/profile.json")).unwrap_err().to_string();
    assert!(inside_nothing.contains("no/profile.json: cannot be created: No such file"), "{inside_nothing}");
    let is_directory = export::write_as(&sample::cc_map(), Format::Json, &directory).unwrap_err().to_string();
    assert!(is_directory.contains("cannot be created: Is a directory"), "{is_directory}");
    let unknown = directory.join("profile.txt");
    assert!(export::write(&sample::cc_map(), &unknown).is_err() && !unknown.exists());
}

#[cfg(unix)]
#[test]
fn files_that_may_not_be_written_are_errors() {
    use std::os::unix::fs::PermissionsExt;
    let path = directory("forbidden").join("profile.json");
    std::fs::write(&path, "before").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    // Nothing is forbidden to root.
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        return;
    }
    let error = export::write(&sample::cc_map(), &path).unwrap_err().to_string();
    assert!(error.contains("cannot be created: Permission denied"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "before");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_in_every_format() {
    let directory = directory("full");
    for format in Format::ALL {
        let path = directory.join(format!("profile{}", format.extension()));
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let error = export::write(&sample::cc_map(), &path).unwrap_err().to_string();
        assert!(
            error.contains(&format!("profile{}: writing failed, the file is incomplete: No space left", format.extension())),
            "{error}"
        );
    }
}

/// Takes a number of bytes, then fails.
struct Limited(usize);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 && !bytes.is_empty() { Err(std::io::Error::other("full")) } else { Ok(taken) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn no_failing_write_is_missed() {
    for format in Format::ALL {
        let len = crate::formats::rendered(&sample::cc_map(), format).len();
        for limit in [0, 1, len / 2, len - 1] {
            let result = export::render(&sample::cc_map(), format, &mut Limited(limit));
            assert!(matches!(result, Err(ExportError::Stream(_))), "{format:?} in {limit} bytes");
        }
        export::render(&sample::cc_map(), format, &mut Limited(len)).unwrap();
    }
}

#[test]
fn empty_profiles_are_files_where_there_is_something_to_say() {
    let empty = Profile::builder(Meta::default(), Program::default()).build().unwrap();
    for format in Format::ALL {
        let result = export::render(&empty, format, &mut Vec::new());
        match format {
            Format::Svg => {
                assert_eq!(result.unwrap_err().to_string(), "the profile counts no calls: there is nothing to show in a .svg file")
            }
            _ => result.unwrap(),
        }
    }
}

#[test]
fn reversed_contexts_are_no_cc_map() {
    let path = directory("reversed").join("profile.xml");
    let error = export::write(&sample::kccf(), &path).unwrap_err().to_string();
    assert!(error.contains("shows callees below their callers, but a 2-CCF has it the other way round"), "{error}");
    assert!(!path.exists(), "the file is not touched");
}

#[test]
fn graphs_need_weights_of_edges() {
    let path = directory("edges").join("profile.dot");
    let error = export::write(&sample::kccf(), &path).unwrap_err().to_string();
    assert!(error.contains(".dot shows weights of edges, but this profile has weights of contexts alone"), "{error}");
    assert!(!path.exists(), "the file is not touched");
}

#[test]
fn deep_stacks_overflow_nothing() {
    let deep = sample::chain(200_000);
    for format in [Format::Json, Format::Speedscope, Format::Firefox, Format::Xml, Format::Dot] {
        export::render(&deep, format, &mut std::io::sink()).unwrap();
    }
    for format in [Format::Folded, Format::Pprof] {
        let error = export::render(&deep, format, &mut std::io::sink()).unwrap_err().to_string();
        assert!(error.contains("writes every stack in full, here more than 134,217,728 frames"), "{error}");
    }
    let reversed = sample::reversed_chain(200_000);
    for format in [Format::Folded, Format::Speedscope, Format::Firefox] {
        let error = export::check(&reversed, format).unwrap_err().to_string();
        assert!(error.ends_with("more than 134,217,728 frames; .json does not"), "{error}");
    }
    let frames = crate::readers::svg_frames(&text(&deep, Format::Svg));
    assert!(frames.contains("all (200,000 calls, 100%)"), "{}", &frames[..200]);
    assert!(frames.contains("(deeper frames) (199,500 calls, 99.75%)"));
    assert_eq!(frames.lines().count(), 2 + 1 + 500 + 1);
}

#[test]
fn what_spells_names_out_is_bounded_in_bytes() {
    let chain = sample::chain(500);
    let mut program = chain.program().clone();
    program.functions.values_mut().for_each(|function| function.name = "f".repeat(50_000).into());
    let long = Profile::builder(Meta::default(), program).contexts(chain.contexts().unwrap().clone()).build().unwrap();
    for format in [Format::Folded, Format::Svg] {
        let error = export::check(&long, format).unwrap_err().to_string();
        assert!(error.contains("writes the names of every stack in full, here more than 4,294,967,296 bytes"), "{error}");
        assert!(export::check(&chain, format).is_ok(), "{format:?}");
    }
    for format in [Format::Pprof, Format::Speedscope] {
        assert!(export::check(&long, format).is_ok(), "{format:?}");
    }
}

/// Edges from `main`, one a line: 60 hot ones, then cold ones.
fn hot_and_cold(edges: u32, cold: f64) -> Profile {
    use profiler::profile::DcgEdge;
    let mut program = Program::default();
    let main = sample::function(&mut program, "main", "", 0);
    let mut dcg = Vec::new();
    for line in 1..=edges {
        let site = sample::site(&mut program, main, line);
        let callee = sample::function(&mut program, &format!("f{line}"), "", 0);
        let edge = sample::edge(&mut program, Some(site), callee);
        dcg.push(DcgEdge { edge, weight: if line <= 60 { 1000.0 } else { cold }, error: None, share_error: None, samples: 0 });
    }
    Profile::builder(Meta::default(), program).dcg(dcg).build().unwrap()
}

/// Many edges: the cold ones are cut, and said to be.
#[test]
fn cold_edges_are_cut_from_graphs_with_a_note() {
    let dot = text(&hot_and_cold(1000, 10.0), Format::Dot);
    assert_eq!(dot.matches(" -> ").count(), 60);
    assert!(dot.contains(r"not shown: 940 colder edges\nwith 9,400 calls (13.54 %)"), "{dot}");
    assert!(dot.contains("69,400 in total"));
}

#[test]
fn one_call_over_one_edge_is_told_in_the_singular() {
    let dot = text(&hot_and_cold(61, 1.0), Format::Dot);
    assert!(dot.contains(r"not shown: 1 colder edge\nwith 1 call (0.00 %)"), "{dot}");
    let dot = text(&sample::chain(2), Format::Dot);
    assert!(dot.contains(r#"[label="1 call\n50.00 %""#), "{dot}");
}
