//! k-CCFs of recorded traces: how long they take, and that CCT and k-SF give the same ones.

use super::speed::NO_LIMIT;
use crate::process::thread_seconds;
use crate::traces::Traced;
use profiler::ids::{EdgeId, FuncId};
use profiler::structures::CallStructure;
use profiler::structures::cct::Cct;
use profiler::structures::kccf::pruned::PrunedKccf;
use profiler::structures::kccf::{Kccf, UNBOUNDED};
use profiler::structures::ksf::slots::Slots;
use profiler::structures::ksf::{IndexedKsf, SiblingKsf};
use profiler::trace::Trace;

/// The largest k.
pub const LONGEST: u32 = 20;

/// Prints how long k-CCFs take from one CCT of the call sites of all these traces, as if they were one program.
pub fn time(chosen: &[&Traced]) -> Result<(), String> {
    let (mut cct, mut edges) = (Cct::<EdgeId>::new(), 0);
    for traced in chosen {
        let trace = traced.load()?;
        for thread in trace.threads.values() {
            let mut at = cct.start();
            cct.run(&mut at, &thread.events, 1.0, |edge| EdgeId::from_u32(edges + edge.as_u32()));
        }
        edges += trace.program.edges().len() as u32;
    }
    println!("\n### k-CCFs from one CCT of all the traces' call sites, {} nodes\n", cct.len());
    println!("| | seconds | nodes | MB |\n|---|---|---|---|");
    let timed = |what: &str, build: &dyn Fn() -> Result<(usize, usize), profiler::structures::kccf::KccfError>| {
        let start = thread_seconds();
        let (nodes, bytes) = build().map_err(|e| e.to_string())?;
        println!("| {what} | {:.2} | {nodes} | {:.0} |", thread_seconds() - start, bytes as f64 / 1e6);
        Ok::<(), String>(())
    };
    let size = |kccf: Kccf<EdgeId>| (kccf.len(), kccf.bytes());
    for k in [1, 2, 5, 10, LONGEST] {
        timed(&format!("k = {k}"), &|| Kccf::invert(&cct, k, NO_LIMIT).map(size))?;
    }
    timed(&format!("each k from 1 to {LONGEST}, one by one"), &|| {
        let all = (1..=LONGEST).map(|k| Kccf::invert(&cct, k, NO_LIMIT).map(size));
        all.reduce(|a, b| Ok((a?.0 + b?.0, a?.1.max(b?.1)))).expect("there is a k")
    })?;
    timed(&format!("each k from 1 to {LONGEST}, cut from the last"), &|| {
        let longest = Kccf::invert(&cct, LONGEST, NO_LIMIT)?;
        let all = (1..=LONGEST).map(|k| size(longest.truncated(k)));
        Ok(all.fold((0, 0), |a, b| (a.0 + b.0, a.1.max(b.1))))
    })?;
    timed("pruned, k unbounded", &|| PrunedKccf::invert(&cct, UNBOUNDED, NO_LIMIT).map(|pruned| (pruned.kept().len(), pruned.bytes())))?;
    timed("10 %-similar, k unbounded", &|| Kccf::similar(&cct, 10.0, UNBOUNDED, NO_LIMIT).map(size))
}

/// Nodes of the CCT of functions; or the first difference between the k-CCF from it and those from k-SFs in both layouts.
pub fn agree(trace: &Trace) -> Result<u32, String> {
    let callee = |edge| -> FuncId { trace.program.callee(edge) };
    let slots = Slots::of_functions(&trace.program);
    let mut cct = Cct::new();
    for thread in trace.threads.values() {
        let mut at = cct.start();
        cct.run(&mut at, &thread.events, 1.0, callee);
    }
    for k in 1..=LONGEST {
        let mut siblings = SiblingKsf::new(k, NO_LIMIT).map_err(|e| e.to_string())?;
        let mut indexed = IndexedKsf::indexed(k, slots.clone(), NO_LIMIT).map_err(|e| e.to_string())?;
        for thread in trace.threads.values() {
            let (mut at, mut at_indexed) = (siblings.start(), indexed.start());
            siblings.run(&mut at, &thread.events, 1.0, callee);
            indexed.run(&mut at_indexed, &thread.events, 1.0, callee);
        }
        let expected = Kccf::invert(&cct, k, NO_LIMIT).map_err(|e| e.to_string())?;
        let found = [
            ("siblings", Kccf::invert(&siblings, k, NO_LIMIT).map_err(|e| e.to_string())?),
            ("indexed", Kccf::invert(&indexed, k, NO_LIMIT).map_err(|e| e.to_string())?),
        ];
        for (layout, found) in found {
            if found != expected {
                return Err(format!("k = {k}, {layout}: {}", difference(trace, &expected, &found)));
            }
        }
    }
    Ok(cct.len())
}

/// The first context that is not in both, or has another count.
fn difference(trace: &Trace, cct: &Kccf<FuncId>, ksf: &Kccf<FuncId>) -> String {
    let name = |path: &[FuncId]| path.iter().map(|&f| &*trace.program.functions[f].name).collect::<Vec<_>>().join(" > ");
    for (one, other, from) in [(cct, ksf, "CCT"), (ksf, cct, "k-SF")] {
        for node in one.nodes() {
            let path = one.context(node);
            let count = other.find(&path).map(|there| other.weight(there));
            if count != Some(one.weight(node)) {
                return format!("{} counts {} from the {from}, {count:?} from the other", name(&path), one.weight(node));
            }
        }
    }
    "the same contexts in another order".into()
}
