//! An explanation as one page for a browser: source on the left, trees on the right, evidence below them.
//!
//! In: an explanation, the sources that its calls stand in. Out: HTML that needs nothing but itself; the data is in it as JSON, and the script shows it.

use super::model::Explanation;
use crate::source::{Origin, SourceMap};
use serde::Serialize;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

#[derive(Serialize)]
struct Source<'a> {
    path: String,
    library: bool,
    text: &'a str,
}

#[derive(Serialize)]
struct Data<'a> {
    explanation: &'a Explanation,
    /// The program's own first.
    sources: Vec<Source<'a>>,
}

pub fn page(explanation: &Explanation, map: &SourceMap) -> Result<String, String> {
    let used: BTreeSet<&str> = explanation.calls.iter().map(|call| call.file.as_str()).collect();
    let files = map.files().map(|(_, file)| file);
    let source = |path: String, library, text| Source { path, library, text };
    let mut sources: Vec<Source<'_>> =
        files.map(|file| source(file.path.display().to_string(), file.origin == Origin::Library, &file.text)).collect();
    sources.retain(|source| !source.library || used.contains(source.path.as_str()));
    sources.sort_by_key(|source| source.library);
    let data = serde_json::to_string(&Data { explanation, sources }).map_err(|error| format!("cannot write the page's data: {error}"))?;
    // In order of the marks, so that nothing of the data is taken for one.
    let mut out = String::new();
    let mut rest = PAGE;
    for (mark, text) in
        [("{title}", &*escaped(&explanation.program)), ("{style}", STYLE), ("{data}", &data.replace('<', "\\u003c")), ("{script}", SCRIPT)]
    {
        let (before, after) = rest.split_once(mark).ok_or_else(|| format!("the page has no place for {mark}; this is a bug"))?;
        out += before;
        out += text;
        rest = after;
    }
    Ok(out + rest)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
