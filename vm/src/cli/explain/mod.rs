//! `vm explain FILE`: the tree of calls of each function that is compiled, with the evidence for each decision, and what single decisions are worth.
//!
//! In: a program; a profile of it, or a run to make one. Out: text, JSON or a page for a browser. Invariants: what is shown is what `vm run --tier opt` does with the same policy and profile; nothing is called a difference whose
//! confidence interval contains 1.

mod build;
#[cfg(feature = "native")]
mod measure;
mod model;
mod options;
mod page;
mod profiles;
mod site;
mod suggestions;
mod text;

pub use options::ExplainArgs;

use super::compile::{Compiled, compile};
use super::run::Refused;
use crate::runtime::names;
use build::Builder;
use jit::ir::Module;
use jit::opt::{self, Optimized, Options, PassSet, Probes};
use model::Explanation;
use options::Format;
use profiler::oracle::Oracle;
use profiler::program::Program;
use profiles::Profiles;
use site::Site;
use suggestions::Suggestions;

pub fn run(args: &ExplainArgs) -> u8 {
    explain(args).unwrap_or_else(Refused::tell)
}

/// A program that was optimized under a policy.
struct Subject<'a> {
    args: &'a ExplainArgs,
    /// As lowered.
    module: &'a Module,
    program: &'a Program,
    #[cfg(feature = "native")]
    oracle: &'a dyn Oracle,
}

impl Subject<'_> {
    fn optimize(&self, oracle: &dyn Oracle) -> Optimized {
        let passes = self.args.passes.as_deref().and_then(|passes| passes.parse().ok()).unwrap_or(PassSet::ALL);
        let options = Options { passes, verify: cfg!(debug_assertions), probes: Probes::None };
        opt::optimize(self.module.clone(), oracle, &options)
    }
}

fn explain(args: &ExplainArgs) -> Result<u8, Refused> {
    args.check()?;
    let Compiled { map, module, .. } = compile(&args.file, false).ok_or(Refused::Shown)?;
    crate::cli::text::check_sources(args.out.as_deref(), &map)?;
    let program = names::program(&module, &map);
    let site = args.site.as_deref().map(|text| Site::find(text, &program)).transpose()?;
    let profiles = Profiles::new(args, &program)?;
    // The program's own run is over.
    crate::cli::temporary::end_when_interrupted();
    let oracle = args.policy().kind().oracle(profiles.view.clone());
    let subject = Subject {
        args,
        module: &module,
        program: &program,
        #[cfg(feature = "native")]
        oracle: &*oracle,
    };
    let suggestions = Suggestions::new(&*oracle);
    let optimized = subject.optimize(&suggestions);
    let builder = Builder { subject: &subject, profiles: &profiles, suggestions: &suggestions, map: &map, site: site.as_ref() };
    let built = builder.build(&optimized);
    #[cfg(feature = "native")]
    let (built, failed) = match args.measure {
        Some(most) => measure::measure(&subject, &optimized, built, most.get() as usize),
        None => (built, None),
    };
    #[cfg(not(feature = "native"))]
    let failed: Option<String> = None;
    if let (Some(site), true) = (&site, built.explanation.calls.is_empty()) {
        return Err(site.nothing().into());
    }
    let rendered = match args.format()? {
        Format::Text => text::text(&built.explanation, args.all || site.is_some()),
        Format::Json => json(&built.explanation)? + "\n",
        Format::Html => page::page(&built.explanation, &map)?,
    };
    let code = match &args.out {
        None => super::text::print(&rendered),
        Some(path) => {
            std::fs::write(path, rendered).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            0
        }
    };
    // What is known without it has been shown.
    Ok(failed.map_or(code, super::text::fail))
}

fn json(explanation: &Explanation) -> Result<String, String> {
    serde_json::to_string_pretty(explanation).map_err(|error| format!("cannot write the explanation as JSON: {error}"))
}
