//! Samples become structures, and these a [`Profile`]: the one way from what a sampler brings home to a document, for replays and for running programs.
//!
//! In: [`Sample`]s of any threads, each thread's in their order; the program, as far as it is known by then. Out: a DCG and a context structure, as they grow, and both as a [`Profile`], with standard errors of edges, contexts, and sums of edges.
//!
//! Invariants: the structures are those that [`CallStructure::add`](crate::structures::CallStructure::add) makes of the same samples; the context structure has at most as many nodes as its limit, and [`Collector::size`] says what
//! found no room. The collector is `Send`, and learns edges as they appear.
//!
//! ```
//! use profiler::collect::{Collector, Options, StructureKind, Weights};
//! use profiler::ids::ThreadId;
//! use profiler::profile::Meta;
//! use profiler::program::{Edge, Function, Program};
//! use profiler::sample::{BurstEvent, Observed, Sample};
//!
//! let mut program = Program::default();
//! let main = program.functions.push(Function { name: "main".into(), file: "".into(), line: 0 });
//! let start = program.edge(Edge { site: None.into(), callee: main });
//!
//! let mut collector = Collector::new(Options { kind: StructureKind::Cct, weights: Weights::Calls, max_nodes: 1000 })?;
//! collector.learn(&program)?;
//! let observed = Observed::Burst(vec![BurstEvent::Call(start), BurstEvent::Return]);
//! collector.add(&Sample { thread: ThreadId::from_u32(0), stack: vec![], observed, weight: 10.0, tick: 1, stands_for: 1.0 });
//! let profile = collector.profile(Meta::default(), program, Some(10))?;
//! assert_eq!((profile.dcg_total(), profile.contexts().map(|contexts| contexts.total())), (10.0, Some(10.0)));
//! # Ok::<(), profiler::collect::CollectError>(())
//! ```

mod describe;
mod document;
mod error;
mod follow;
mod spread;
mod sums;
#[cfg(test)]
mod tests;

pub use describe::describe;
pub use error::CollectError;
pub use spread::Errors;
pub use sums::SumErrors;

use crate::ids::{EdgeId, ThreadId};
use crate::profile::{self, Certainty, DcgEdge, Meta, Profile};
use crate::program::Program;
use crate::sample::{Observed, Sample};
use crate::samplers::Mode;
use crate::structures::ccmap::{CcMap, Limits};
use crate::structures::cct::Cct;
use crate::structures::dcg::Dcg;
use crate::structures::dropped::Dropped;
use crate::structures::ksf::SiblingKsf;
use cranelift_entity::EntityRef;
use follow::Follower;
use spread::{Known, Scale, Spread};
use std::hash::Hash;
use std::num::NonZeroU32;
use sums::Sums;

/// Where contexts are kept. Nodes are told apart by edges, that is, by call sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StructureKind {
    /// Nowhere: only edges are counted.
    Dcg,
    /// Calling context tree (PLDI'06 section 2).
    Cct,
    /// CC-Map section 3.1.
    CcMap,
    /// k-slab forest of this k.
    Ksf(NonZeroU32),
    /// k-calling-context forest: a k-SF while it grows, which is inverted for the profile.
    Kccf(NonZeroU32),
}

/// What the weights of samples mean together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weights {
    /// Every call is in a sample and counts 1: no error.
    Exact,
    /// They add up to about the calls that were made, however few or many that may be.
    Calls,
    /// They say how calls are distributed, and stand for calls only once they are scaled to those that were made.
    Shares,
}

impl Weights {
    /// What a sampler's weights mean.
    pub fn of(mode: &Mode) -> Weights {
        match mode {
            Mode::Exhaustive => Weights::Exact,
            Mode::Estimator { .. } => Weights::Calls,
            Mode::StackWalk { .. } | Mode::Cbs { .. } | Mode::StaticBursting { .. } | Mode::AdaptiveBursting { .. } => Weights::Shares,
        }
    }
}

/// What is collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Where contexts are kept.
    pub kind: StructureKind,
    /// What the weights of samples mean.
    pub weights: Weights,
    /// Of the context structure. Edges are as many as the program has.
    pub max_nodes: u32,
}

/// What has been collected beside the profile, which it belongs to.
#[derive(Clone, Debug)]
pub struct Collected {
    /// Of the context structure.
    pub size: Size,
    /// Of what the profile has errors of the parts of.
    pub sums: SumErrors,
}

/// How large a context structure is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Size {
    /// Without the DCG's edges.
    pub nodes: u64,
    /// With the DCG, the stacks of threads, and what errors need.
    pub bytes: usize,
    /// What found no room. Its weight is that of samples; [`Collector::finish`] scales it as the profile's.
    pub dropped: Dropped,
}

enum Contexts {
    None,
    Cct(Follower<Cct<EdgeId>>),
    CcMap(Follower<CcMap>),
    Ksf(Follower<SiblingKsf<EdgeId>>),
}

/// See the [module](self).
pub struct Collector {
    options: Options,
    dcg: Dcg,
    sums: Sums,
    contexts: Contexts,
}

impl Collector {
    /// # Errors
    /// None that [`Options`] can bring about today; structures may refuse their parameters.
    pub fn new(options: Options) -> Result<Collector, CollectError> {
        let max_nodes = options.max_nodes;
        let contexts = match options.kind {
            StructureKind::Dcg => Contexts::None,
            StructureKind::Cct => Contexts::Cct(Follower::new(Cct::with_limit(max_nodes), spread(&options, None))),
            StructureKind::CcMap => {
                let limits = Limits { nodes: max_nodes, ..Limits::default() };
                Contexts::CcMap(Follower::new(CcMap::new(&Program::default(), limits)?, spread(&options, None)))
            }
            StructureKind::Ksf(k) => Contexts::Ksf(Follower::new(SiblingKsf::new(k.get(), max_nodes)?, spread(&options, None))),
            StructureKind::Kccf(k) => {
                let reach = Some((k.get() as usize).saturating_add(1));
                Contexts::Ksf(Follower::new(SiblingKsf::new(k.get(), max_nodes)?, spread(&options, reach)))
            }
        };
        Ok(Collector { options, dcg: Dcg::new(), sums: Sums::default(), contexts })
    }

    /// Learns the edges that the program got since the last time: necessary before a sample has them. Takes time for the new ones only.
    ///
    /// # Errors
    /// An edge refers to a call site or function that the program does not have.
    pub fn learn(&mut self, program: &Program) -> Result<(), CollectError> {
        self.sums.learn(program);
        match &mut self.contexts {
            Contexts::CcMap(map) => Ok(map.structure_mut().register(program)?),
            Contexts::None | Contexts::Cct(_) | Contexts::Ksf(_) => Ok(()),
        }
    }

    /// Counts what a sample has observed. Takes time for the calls observed, and for the frames that are not those of the thread's sample before (these are only compared).
    pub fn add(&mut self, sample: &Sample) {
        match (self.options.weights, &sample.observed) {
            (Weights::Exact, Observed::Burst(events)) => self.dcg.run(events.iter().filter_map(|event| event.counted())),
            _ => self.dcg.add_and_tell(sample, |tick| self.sums.close(tick)),
        }
        match &mut self.contexts {
            Contexts::None => {}
            Contexts::Cct(cct) => cct.add(sample),
            Contexts::CcMap(map) => map.add(sample),
            Contexts::Ksf(ksf) => ksf.add(sample),
        }
    }

    /// The thread will have no more samples: frees what was kept for its next one.
    pub fn end(&mut self, thread: ThreadId) {
        self.dcg.end_and_tell(thread, |tick| self.sums.close(tick));
        match &mut self.contexts {
            Contexts::None => {}
            Contexts::Cct(cct) => cct.end(thread),
            Contexts::CcMap(map) => map.end(thread),
            Contexts::Ksf(ksf) => ksf.end(thread),
        }
    }

    /// Calls by edge.
    pub fn dcg(&self) -> &Dcg {
        &self.dcg
    }

    /// Of the context structure; of a k-CCF, of the k-SF from which it will be made.
    pub fn nodes(&self) -> u64 {
        match &self.contexts {
            Contexts::None => 0,
            Contexts::Cct(cct) => cct.structure().len().into(),
            Contexts::CcMap(map) => map.structure().nodes().into(),
            Contexts::Ksf(ksf) => ksf.structure().len() as u64,
        }
    }

    /// Of a k-CCF, that of the k-SF from which it will be made.
    pub fn size(&self) -> Size {
        let (bytes, dropped) = match &self.contexts {
            Contexts::None => (0, self.dcg.dropped()),
            Contexts::Cct(cct) => (cct.bytes() + cct.structure().bytes(), cct.structure().dropped()),
            Contexts::CcMap(map) => {
                let dropped = Dropped { calls: map.structure().dropped().calls + map.structure().unknown(), ..map.structure().dropped() };
                (map.bytes() + map.structure().bytes(), dropped)
            }
            Contexts::Ksf(ksf) => (ksf.bytes() + ksf.structure().bytes(), ksf.structure().dropped()),
        };
        Size { nodes: self.nodes(), bytes: bytes + self.dcg.bytes() + self.sums.bytes(), dropped }
    }

    /// What has been collected so far, as a document. `program` has all edges that samples had; `calls`: that were made, if they were counted: what samples stand for is scaled to it.
    ///
    /// # Errors
    /// A sample had an edge that the program does not have.
    pub fn profile(&self, meta: Meta, program: Program, calls: Option<u64>) -> Result<Profile, CollectError> {
        let scale = self.scale(calls);
        build(meta, program, document::edges(&self.dcg, scale), self.document(scale)?)
    }

    /// [`Collector::profile`], and what belongs to it.
    ///
    /// # Errors
    /// As for [`Collector::profile`].
    pub fn finish(&self, meta: Meta, program: Program, calls: Option<u64>) -> Result<(Profile, Collected), CollectError> {
        let scale = self.scale(calls);
        let (mut size, sums) = (self.size(), self.sums.errors(&self.dcg, scale));
        size.dropped.weight *= scale.factor;
        Ok((self.profile(meta, program, calls)?, Collected { size, sums }))
    }

    fn scale(&self, calls: Option<u64>) -> Scale {
        let (total, is_sampled) = (self.dcg.total(), self.options.weights != Weights::Exact);
        let (all, ticks) = (self.dcg.all(), self.dcg.strata());
        match calls.filter(|_| is_sampled && total > 0.0) {
            Some(calls) => Scale { factor: calls as f64 / total, all, ticks, known: Known::Calls },
            None => Scale { factor: 1.0, all, ticks, known: Known::Parts },
        }
    }

    fn document(&self, scale: Scale) -> Result<Option<profile::Contexts>, CollectError> {
        let mut contexts = match (&self.contexts, self.options.kind) {
            (Contexts::None, _) => return Ok(None),
            (Contexts::Cct(cct), _) => document::forest(cct, profile::Structure::Cct, scale)?,
            (Contexts::CcMap(map), _) => document::forest(map, profile::Structure::CcMap, scale)?,
            (Contexts::Ksf(ksf), StructureKind::Kccf(k)) => document::inverse(ksf, k, self.options.max_nodes, scale)?,
            (Contexts::Ksf(ksf), StructureKind::Ksf(k)) => document::forest(ksf, profile::Structure::Ksf { k }, scale)?,
            (Contexts::Ksf(_), StructureKind::Dcg | StructureKind::Cct | StructureKind::CcMap) => return Ok(None),
        };
        contexts.dropped = self.size().dropped.calls;
        if self.options.weights == Weights::Exact {
            contexts = contexts.with_certainty(Certainty::Exact)?;
        }
        Ok(Some(contexts))
    }
}

fn build(meta: Meta, program: Program, edges: Vec<DcgEdge>, contexts: Option<profile::Contexts>) -> Result<Profile, CollectError> {
    let builder = Profile::builder(meta, program).dcg(edges);
    let builder = match contexts {
        Some(contexts) => builder.contexts(contexts),
        None => builder,
    };
    Ok(builder.build()?)
}

/// What errors of nodes follow from, where weights have any.
fn spread<N: EntityRef + Hash>(options: &Options, reach: Option<usize>) -> Option<Spread<N>> {
    (options.weights != Weights::Exact).then(|| Spread::new(reach))
}
