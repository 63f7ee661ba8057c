//! A profile as a document: what a run or a replay leaves, ready to be written, read back and compared.
//!
//! In: names ([`Program`]), numbers about the run ([`Meta`]), edge weights and nodes of a context structure, through [`Profile::builder`]. Out: [`Profile`], plain data that refers to no sampler and no structure.
//! Every weight is a number of calls, mostly an estimate and therefore not whole.
//! Invariants, checked when it is built: every index is in range; an edge has one weight; weights are finite, not negative, and in sum not above [`MAX_CALLS`], so that totals are exact as integers too;
//! a node's parent stands before it.
//!
//! ```
//! use profiler::profile::{Contexts, Label, Labels, Meta, Profile, Structure};
//! use profiler::program::{CallSite, Edge, Function, Program};
//!
//! let mut program = Program::default();
//! let function = |name: &str, line| Function { name: name.into(), file: "toy.x".into(), line };
//! let main = program.functions.push(function("main", 1));
//! let work = program.functions.push(function("work", 8));
//! let site = program.sites.push(CallSite { caller: main, line: 3 });
//! let start = program.edge(Edge { site: None.into(), callee: main });
//! let call = program.edge(Edge { site: Some(site).into(), callee: work });
//!
//! let mut cct = Contexts::new(Structure::Cct, Labels::Edges);
//! let root = cct.push(Label::Edge(start), None, 1.0)?;
//! cct.push(Label::Edge(call), Some(root), 10.0)?;
//!
//! let meta = Meta { program: "toy".into(), mode: "exhaustive".into(), ..Meta::default() };
//! let profile = Profile::builder(meta, program).contexts(cct).dcg_from_contexts().build()?;
//! assert_eq!(profile.dcg_total(), 11.0);
//! # Ok::<(), profiler::profile::ProfileError>(())
//! ```

mod contexts;
mod meta;
mod stale;

pub use contexts::{Certainty, ContextId, ContextNode, Contexts, Label, Labels, Nesting, Seen, Structure};
pub use meta::Meta;
pub(crate) use stale::Call;
pub use stale::{Staleness, Told};

use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::program::Program;
use cranelift_entity::{EntityRef, SecondaryMap};
use std::collections::BTreeSet;
use std::fmt;

/// The largest total, in calls: up to here every integer is a float of its own (2⁵³, about 100 days at a thousand million calls a second).
pub const MAX_CALLS: f64 = 9_007_199_254_740_992.0;

/// What is known of one edge of the DCG (TACO'15 section 2.1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DcgEdge {
    /// Caller, site and callee, in the profile's program.
    pub edge: EdgeId,
    /// In calls.
    pub weight: f64,
    /// Standard error of the weight, in calls: 0 where every call was counted, `None` where unknown.
    pub error: Option<f64>,
    /// Standard error of the weight's share of all calls, which is from 0 to 1: what makes all weights too large makes no share too large. `None` where unknown.
    pub share_error: Option<f64>,
    /// Observed calls behind the weight; 0 where unknown.
    pub samples: u64,
}

/// What a run or a replay leaves. See the module's documentation.
#[derive(Clone, Debug)]
pub struct Profile {
    meta: Meta,
    program: Program,
    dcg: Vec<DcgEdge>,
    contexts: Option<Contexts>,
}

impl Profile {
    /// Begins a profile that talks about `program`.
    pub fn builder(meta: Meta, program: Program) -> ProfileBuilder {
        ProfileBuilder { meta, program, dcg: Vec::new(), contexts: None }
    }

    /// Relative standard error of a factor that all weights have: what [`Counters::scale_error`](crate::counters::Counters::scale_error) says, and how far all weights together are from the number of calls. Calls for which no sample stands may be anybody's, and so may those be too many for which samples stand.
    pub fn scale_error(&self) -> f64 {
        let (told, counters) = (self.dcg_total(), &self.meta.counters);
        let amiss = if told > 0.0 && counters.calls > 0 { (counters.calls as f64 / told - 1.0).abs() } else { 0.0 };
        counters.scale_error().hypot(amiss)
    }

    /// How it came about.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The names that edges and labels refer to.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// By edge number, each at most once.
    pub fn dcg(&self) -> &[DcgEdge] {
        &self.dcg
    }

    /// Weight of all edges, in calls.
    pub fn dcg_total(&self) -> f64 {
        // The sum of nothing is -0.
        self.dcg.iter().map(|edge| edge.weight).sum::<f64>() + 0.0
    }

    /// `None` if the run kept edges only.
    pub fn contexts(&self) -> Option<&Contexts> {
        self.contexts.as_ref()
    }

    /// Where a label leads: the function that is called.
    pub fn function(&self, label: Label) -> FuncId {
        match label {
            Label::Function(function) => function,
            Label::Edge(edge) => self.program.callee(edge),
        }
    }

    /// Where the call of a label stands, if that is known.
    pub fn site(&self, label: Label) -> Option<CallSiteId> {
        match label {
            Label::Function(_) => None,
            Label::Edge(edge) => self.program.edges()[edge].site.expand(),
        }
    }

    /// Memory of weights and nodes, without names, in bytes.
    pub fn bytes(&self) -> usize {
        self.dcg.capacity() * size_of::<DcgEdge>() + self.contexts.as_ref().map_or(0, Contexts::bytes)
    }
}

/// The same data with the same numbers. What is the same under other numbers, [`diff`](crate::diff) tells.
impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (&self.program, &other.program);
        let same_names = ours.functions == theirs.functions && ours.sites == theirs.sites && ours.edges() == theirs.edges();
        same_names && self.meta == other.meta && self.dcg == other.dcg && self.contexts == other.contexts
    }
}

/// Collects the parts of a [`Profile`].
#[derive(Clone, Debug)]
pub struct ProfileBuilder {
    meta: Meta,
    program: Program,
    dcg: Vec<DcgEdge>,
    contexts: Option<Contexts>,
}

impl ProfileBuilder {
    /// Adds weights of edges, in any order.
    pub fn dcg(mut self, edges: impl IntoIterator<Item = DcgEdge>) -> Self {
        self.dcg.extend(edges);
        self
    }

    /// Sets the context structure.
    pub fn contexts(mut self, contexts: Contexts) -> Self {
        self.contexts = Some(contexts);
        self
    }

    /// Adds what the contexts say about edges, for runs that keep no edges of their own. Neither errors nor samples are known then. Nodes that are labelled by function say nothing about edges.
    pub fn dcg_from_contexts(mut self) -> Self {
        let Some(contexts) = &self.contexts else { return self };
        let mut weights: SecondaryMap<EdgeId, f64> = SecondaryMap::new();
        for (_, node) in contexts.nodes() {
            let counts = contexts.structure().nesting() == Nesting::Exclusive || node.parent.is_none();
            match node.label {
                // What is out of range is an error when the profile is built.
                Label::Edge(edge) if counts && self.program.edges().is_valid(edge) => weights[edge] += node.weight,
                _ => {}
            }
        }
        let seen = weights.iter().filter(|&(_, &weight)| weight > 0.0);
        self.dcg.extend(seen.map(|(edge, &weight)| DcgEdge { edge, weight, error: None, share_error: None, samples: 0 }));
        self
    }

    /// The profile, if its parts agree with each other.
    ///
    /// # Errors
    ///
    /// The first broken invariant of the module's documentation.
    pub fn build(self) -> Result<Profile, ProfileError> {
        let ProfileBuilder { meta, program, mut dcg, contexts } = self;
        check_program(&program)?;
        let mut names = BTreeSet::new();
        if let Some((name, _)) = meta.parameters.iter().find(|(name, _)| !names.insert(name)) {
            return Err(ProfileError::RepeatedParameter(name.clone()));
        }
        dcg.sort_by_key(|edge| edge.edge);
        if let Some(pair) = dcg.windows(2).find(|pair| pair[0].edge == pair[1].edge) {
            return Err(ProfileError::RepeatedEdge(pair[0].edge));
        }
        for edge in &dcg {
            in_range("edge", edge.edge.index(), program.edges().len())?;
            check_weight(edge.weight)?;
            edge.error.map_or(Ok(()), check_weight)?;
            edge.share_error.map_or(Ok(()), check_share_error)?;
        }
        check_weight(dcg.iter().map(|edge| edge.weight).sum())?;
        if let Some(contexts) = &contexts {
            contexts.check(&program)?;
        }
        Ok(Profile { meta, program, dcg, contexts })
    }
}

fn check_program(program: &Program) -> Result<(), ProfileError> {
    for site in program.sites.values() {
        in_range("function", site.caller.index(), program.functions.len())?;
    }
    for edge in program.edges().values() {
        in_range("function", edge.callee.index(), program.functions.len())?;
        edge.site.expand().map_or(Ok(()), |site| in_range("site", site.index(), program.sites.len()))?;
    }
    Ok(())
}

fn in_range(what: &'static str, index: usize, len: usize) -> Result<(), ProfileError> {
    if index < len { Ok(()) } else { Err(ProfileError::NoSuch { what, index, len }) }
}

fn check_weight(weight: f64) -> Result<(), ProfileError> {
    // A NaN fails the comparison.
    if (0.0..=MAX_CALLS).contains(&weight) { Ok(()) } else { Err(ProfileError::BadWeight(weight)) }
}

fn check_share_error(error: f64) -> Result<(), ProfileError> {
    // What is from 0 to 1 cannot spread further.
    if (0.0..=1.0).contains(&error) { Ok(()) } else { Err(ProfileError::BadShareError(error)) }
}

/// Why parts make no profile.
#[derive(Clone, PartialEq, Debug)]
pub enum ProfileError {
    /// An index that leads nowhere.
    NoSuch {
        /// Of which kind.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        len: usize,
    },
    /// A weight, an error or a sum of weights that is no number of calls.
    BadWeight(f64),
    /// A standard error of a share that is none.
    BadShareError(f64),
    /// Two weights for one edge.
    RepeatedEdge(EdgeId),
    /// Two values for one parameter.
    RepeatedParameter(Box<str>),
    /// A node's parent has not come before it.
    UnknownParent(ContextId),
    /// A node labelled with a function in a structure of edges, or the other way round.
    MixedLabels(ContextId),
    /// In a structure whose nodes count what their children count too: the children count more.
    ChildrenExceedParent(ContextId),
    /// More than 2³² - 2 nodes.
    TooManyNodes,
    /// x of an x %-similar forest is not between 0 and 100.
    BadPercentage(f64),
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::NoSuch { what, index, len } => write!(f, "there is no {what} {index}: there are {len}, numbered from 0"),
            ProfileError::BadWeight(weight) => {
                write!(f, "{weight} is no number of calls: weights, errors and totals are finite, not negative, and at most 2^53")
            }
            ProfileError::BadShareError(error) => write!(f, "{error} is no standard error of a share: they are from 0 to 1"),
            ProfileError::RepeatedEdge(edge) => write!(f, "{edge} occurs twice: each edge has one weight"),
            ProfileError::RepeatedParameter(name) => write!(f, "parameter {name:?} occurs twice"),
            ProfileError::UnknownParent(node) => write!(f, "the parent of {node} has not come before it"),
            ProfileError::MixedLabels(node) => {
                write!(f, "{node} has another kind of label than the structure: all are edges or all are functions")
            }
            ProfileError::ChildrenExceedParent(node) => {
                write!(
                    f,
                    "the children of {node} count more calls than the node itself, but in this structure a node's calls include its children's"
                )
            }
            ProfileError::TooManyNodes => {
                f.write_str("more than 4,294,967,294 context nodes; bound the structure, or cut contexts at a depth k")
            }
            ProfileError::BadPercentage(percent) => write!(f, "{percent} is no percentage between 0 and 100"),
        }
    }
}

impl std::error::Error for ProfileError {}
