//! Each format of the sample as it is, in `snapshots/`. `readers.rs` checks that others can read it.

use crate::sample;
use flate2::read::GzDecoder;
use profiler::export::{self, Format};
use profiler::profile::Profile;
use prost::Message;
use std::io::Read;

pub fn rendered(profile: &Profile, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    export::render(profile, format, &mut out).unwrap();
    out
}

pub fn text(profile: &Profile, format: Format) -> String {
    String::from_utf8(rendered(profile, format)).unwrap()
}

pub fn pprof(profile: &Profile) -> export::pprof::proto::Profile {
    let mut bytes = Vec::new();
    GzDecoder::new(rendered(profile, Format::Pprof).as_slice()).read_to_end(&mut bytes).unwrap();
    export::pprof::proto::Profile::decode(bytes.as_slice()).unwrap()
}

fn check(name: &str, found: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export/snapshots").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == found, "{name} differs from its snapshot; found:\n{found}");
}

fn pretty(json: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

#[test]
fn text_formats() {
    let profile = sample::cc_map();
    check("cc-map.folded", &text(&profile, Format::Folded));
    check("cc-map.dot", &text(&profile, Format::Dot));
    check("cc-map.xml", &text(&profile, Format::Xml));
    check("cc-map.json", &text(&profile, Format::Json));
    check("2-ccf.folded", &text(&sample::kccf(), Format::Folded));
    check("2-ccf.json", &text(&sample::kccf(), Format::Json));
    check("dcg.folded", &text(&sample::dcg_only(), Format::Folded));
}

#[test]
fn json_of_other_tools() {
    check("cc-map.speedscope.json", &pretty(&text(&sample::cc_map(), Format::Speedscope)));
    check("cc-map.firefox.json", &pretty(&text(&sample::cc_map(), Format::Firefox)));
}

#[test]
fn protocol_buffer() {
    check("cc-map.pb.txt", &format!("{:#?}\n", pprof(&sample::cc_map())));
}

/// What is drawn, without the scripts: a line a frame.
#[test]
fn flame_graphs() {
    check("cc-map.svg.txt", &crate::readers::svg_frames(&text(&sample::cc_map(), Format::Svg)));
    check("2-ccf.svg.txt", &crate::readers::svg_frames(&text(&sample::kccf(), Format::Svg)));
}
