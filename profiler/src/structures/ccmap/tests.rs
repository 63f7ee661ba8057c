//! Tests of the CC-Map: the paper's figures by hand, and random traces against a slow reference.

mod bounds;
mod random;
mod reference;
mod samples;
mod worked;

use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::{CallSite, Edge, Function, Program};
use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// The same cases in every run; `PROPTEST_CASES` asks for that many others.
pub(crate) fn config() -> ProptestConfig {
    let default = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return default;
    }
    ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..default }
}

pub(crate) fn function(program: &mut Program, name: &str) -> FuncId {
    program.functions.push(Function { name: name.into(), file: "".into(), line: 0 })
}

pub(crate) fn site(program: &mut Program, caller: FuncId) -> CallSiteId {
    program.sites.push(CallSite { caller, line: 0 })
}

pub(crate) fn start(program: &mut Program, callee: FuncId) -> EdgeId {
    program.edge(Edge { site: None.into(), callee })
}

pub(crate) fn call(program: &mut Program, site: CallSiteId, callee: FuncId) -> EdgeId {
    program.edge(Edge { site: site.into(), callee })
}

/// The same functions and call sites, as another run has them before it sees its first call.
pub(crate) fn without_edges(program: &Program) -> Program {
    let mut other = Program::default();
    other.functions.clone_from(&program.functions);
    other.sites.clone_from(&program.sites);
    other
}
