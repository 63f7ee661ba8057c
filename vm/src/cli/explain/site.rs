//! `--site FUNC:LINE`: call sites by the function and the line that they stand in.
//!
//! In: text, a program. Out: [`Site`]; errors name the lines, or the function, that may have been meant.

use crate::diag::suggest;
use profiler::ids::CallSiteId;
use profiler::program::Program;
use std::collections::BTreeSet;

/// At least one call site.
pub struct Site {
    text: String,
    sites: BTreeSet<CallSiteId>,
}

impl Site {
    pub fn find(text: &str, program: &Program) -> Result<Site, String> {
        let parts = text.rsplit_once(':').filter(|(function, _)| !function.is_empty());
        let parts = parts.and_then(|(function, line)| Some((function, line.parse::<u32>().ok()?)));
        let (function, line) = parts.ok_or_else(|| format!("--site {text}: a function and a line are needed, such as main:12"))?;
        let all = || program.sites.iter().map(|(id, site)| (id, site.line, &*program.functions[site.caller].name));
        let lines: BTreeSet<u32> = all().filter(|(.., name)| *name == function).map(|(_, line, _)| line).collect();
        if lines.is_empty() {
            let similar = suggest(function, program.functions.values().map(|f| &*f.name));
            let hint = similar.map(|s| format!(" (did you mean {s}?)")).unwrap_or_default();
            return Err(format!("--site {text}: the program has no function {function} that calls{hint}"));
        }
        let sites: BTreeSet<CallSiteId> = all().filter(|&(_, at, name)| (at, name) == (line, function)).map(|(id, ..)| id).collect();
        if sites.is_empty() {
            let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
            return Err(format!("--site {text}: {function} calls nothing on line {line}\nhint: it calls on {}", lines.join(", ")));
        }
        Ok(Site { text: text.into(), sites })
    }

    pub fn contains(&self, site: CallSiteId) -> bool {
        self.sites.contains(&site)
    }

    /// Why there is nothing to show.
    pub fn nothing(&self) -> String {
        format!(
            "--site {}: nothing was decided about this call\nhint: calls are decided about that go to a function of the program, and virtual calls if a test of the class is worth it",
            self.text
        )
    }
}
