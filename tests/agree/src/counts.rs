//! What a program called, exactly: every edge, and every edge in every context.
//!
//! In: the profiles of two runs under exhaustive profiling. Out: [`Counts`] to compare. Invariant: ids are the module's, which the optimizer keeps.

use profiler::collect::StructureKind;
use profiler::ids::{CallSiteId, EdgeId, FuncId};
use profiler::profile::{Label, Meta, Profile};
use profiler::program::Program;
use profiler::samplers::Parameters;
use std::collections::BTreeMap;
use std::sync::Arc;
use vm::runtime::profiling::{Counting, ProfileOptions, Profiler, Reader, Time};

/// More contexts than random programs have.
const MAX_NODES: u32 = 1 << 22;

/// Counts every call.
pub fn profiler(program: Program) -> Result<Arc<Profiler>, String> {
    let options = ProfileOptions {
        reader: Reader::Document,
        parameters: Parameters::exhaustive(),
        structure: StructureKind::Cct,
        max_nodes: MAX_NODES,
        time: Time::Real,
        counting: Counting::Always,
        longest_burst: None,
        rest: None,
        seed: 1,
    };
    Profiler::new(options, program).map(Arc::new).map_err(|e| e.to_string())
}

/// Counts calls in short windows, beside optimized code.
#[cfg(feature = "native")]
pub fn guiding(program: Program) -> Result<Arc<Profiler>, String> {
    let options = ProfileOptions {
        reader: Reader::Compiler,
        parameters: Parameters::beside_estimator(),
        structure: StructureKind::Dcg,
        max_nodes: MAX_NODES,
        time: Time::Real,
        counting: Counting::Beside,
        longest_burst: None,
        rest: None,
        seed: 1,
    };
    Profiler::new(options, program).map(Arc::new).map_err(|e| e.to_string())
}

/// Counts calls in windows, in optimized code, too.
#[cfg(feature = "native")]
pub fn windowed(program: Program) -> Result<Arc<Profiler>, String> {
    let options = ProfileOptions {
        reader: Reader::Document,
        parameters: Parameters::windowed_estimator(),
        structure: StructureKind::Cct,
        max_nodes: MAX_NODES,
        time: Time::Real,
        counting: Counting::Windows,
        longest_burst: None,
        rest: None,
        seed: 1,
    };
    Profiler::new(options, program).map(Arc::new).map_err(|e| e.to_string())
}

type Call = (Option<CallSiteId>, FuncId);

/// Calls of one run. A context is the one of its caller, by number, and a call.
#[derive(Default)]
pub struct Counts {
    program: Program,
    edges: BTreeMap<Call, u64>,
    contexts: BTreeMap<(u32, Call), (u32, u64)>,
}

impl Counts {
    /// Once the profiler has finished.
    pub fn of(profiler: &Profiler) -> Result<Counts, String> {
        let ledger = profiler.ledger();
        if ledger.lost > 0 {
            return Err(format!("{} records fitted to nothing", ledger.lost));
        }
        let calls = profiler.counters().calls;
        let profile = ledger.collector.profile(Meta::default(), ledger.program.clone(), None).map_err(|e| e.to_string())?;
        if profile.dcg_total() != calls as f64 {
            return Err(format!("{calls} calls were counted, but {} seen", profile.dcg_total()));
        }
        Ok(Counts::read(&profile))
    }

    fn read(profile: &Profile) -> Counts {
        let call = |edge: EdgeId| {
            let edge = profile.program().edges()[edge];
            (edge.site.expand(), edge.callee)
        };
        let edges = profile.dcg().iter().map(|edge| (call(edge.edge), edge.weight as u64)).collect();
        let mut counts = Counts { program: profile.program().clone(), edges, contexts: BTreeMap::new() };
        let mut numbers = BTreeMap::new();
        for (id, node) in profile.contexts().into_iter().flat_map(|contexts| contexts.nodes()) {
            let Label::Edge(edge) = node.label else { continue };
            let parent = node.parent.expand().map_or(0, |parent| numbers[&parent]);
            let next = counts.contexts.len() as u32 + 1;
            let entry = counts.contexts.entry((parent, call(edge))).or_insert((next, 0));
            entry.1 += node.weight as u64;
            numbers.insert(id, entry.0);
        }
        counts
    }

    /// The first call that the other run has made more or less often than this one.
    pub fn difference(&self, other: &Counts) -> Option<String> {
        let keys = self.edges.keys().chain(other.edges.keys());
        let edge = keys.map(|&call| (call, self.edges.get(&call), other.edges.get(&call))).find(|(_, ours, theirs)| ours != theirs);
        if let Some((call, ours, theirs)) = edge {
            return Some(format!("{} {} times, but {} times in the interpreter", self.name(call), times(theirs), times(ours)));
        }
        let (ours, theirs) = (self.paths(), other.paths());
        let path = ours.keys().chain(theirs.keys()).find(|path| ours.get(*path) != theirs.get(*path))?;
        let names: Vec<String> = path.iter().map(|&call| self.name(call)).collect();
        let (ours, theirs) = (times(ours.get(path)), times(theirs.get(path)));
        Some(format!("as many on every edge, but {theirs} times, not {ours}, in this context:\n{}", names.join("\n")))
    }

    /// How often each context was called, by the calls that lead to it.
    fn paths(&self) -> BTreeMap<Vec<Call>, u64> {
        let mut paths: BTreeMap<u32, Vec<Call>> = BTreeMap::from([(0, Vec::new())]);
        // Parents have smaller numbers.
        let mut nodes: Vec<_> = self.contexts.iter().map(|(&(parent, call), &(number, count))| (number, parent, call, count)).collect();
        nodes.sort_unstable();
        let mut counts = BTreeMap::new();
        for (number, parent, call, count) in nodes {
            let mut path = paths[&parent].clone();
            path.push(call);
            if count > 0 {
                counts.insert(path.clone(), count);
            }
            paths.insert(number, path);
        }
        counts
    }

    fn name(&self, (site, callee): Call) -> String {
        let from = site.map(|site| (&self.program.sites[site], site));
        let from =
            from.map_or("the system".into(), |(at, site)| format!("{}:{} ({site:?})", self.program.functions[at.caller].name, at.line));
        format!("{from} calls {}", self.program.functions[callee].name)
    }
}

fn times(count: Option<&u64>) -> u64 {
    count.copied().unwrap_or(0)
}
