//! Calling contexts as data: the nodes of a tree or a forest, whichever structure they come from.
//!
//! In: nodes of a CCT, of the trees of a CC-Map, of a k-SF or k-CCF, parents first. Out: [`Contexts`].
//! Invariants: a parent has a smaller number than its children, so there are no cycles and every walk is a loop; either all labels are edges or all are functions.

use super::{ProfileError, check_share_error, check_weight, in_range};
use crate::ids::{EdgeId, FuncId};
use crate::program::Program;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl, packed_option::PackedOption};
use rustc_hash::FxHashMap;
use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;

/// A node of [`Contexts`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(u32);
entity_impl!(ContextId, "context");

/// What nodes are told apart by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Labels {
    /// Call-site-insensitive.
    Functions,
    /// Call-site-sensitive.
    Edges,
}

/// What a node stands for: a call of a function, or a call over an edge, whose callee is meant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Label {
    /// From any site.
    Function(FuncId),
    /// From the edge's site.
    Edge(EdgeId),
}

impl Label {
    fn kind(self) -> Labels {
        match self {
            Label::Function(_) => Labels::Functions,
            Label::Edge(_) => Labels::Edges,
        }
    }
}

/// A node and what it counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ContextNode {
    /// Of the same kind in all nodes.
    pub label: Label,
    /// `None` for a root.
    pub parent: PackedOption<ContextId>,
    /// In calls; what they include says [`Structure::nesting`].
    pub weight: f64,
}

/// How the weights of a node and of its children go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nesting {
    /// Every call counts at one node; a node's weight leaves out its children's. The total is the sum over all nodes.
    Exclusive,
    /// A node's weight includes its children's. The total is the sum over the roots.
    Inclusive,
}

/// The structure that nodes come from. In those with [`Nesting::Inclusive`], a node's parent is the function that it calls and the roots are the callees; in the others, a node's parent is its caller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Structure {
    /// One node an invocation (PLDI'06 section 2).
    CallTree,
    /// Calling context tree (PLDI'06 section 2).
    Cct,
    /// Trees of stack suffixes (CC-Map section 3.1.1).
    Pcct,
    /// The trees of CallSiteRef and CalleeRef nodes; the general nodes are the profile's DCG (CC-Map section 3.1.2).
    CcMap,
    /// k-slab forest (OOPSLA'12 section 5.2). Nodes whose calls another node counts too have weight 0 here, as before an inversion.
    Ksf {
        /// Functions of a slab above each other.
        k: NonZeroU32,
    },
    /// k-calling-context forest (OOPSLA'12 section 4), `None` for the ∞-CCF.
    Kccf {
        /// Calls that the longest contexts reach back.
        k: Option<NonZeroU32>,
    },
    /// x %-similar ∞-CCF (OOPSLA'12 section 6): without the nodes below x % of their root's weight.
    SimilarCcf {
        /// x, from 0 to 100.
        percent: f64,
    },
}

impl Structure {
    /// What weights include.
    pub fn nesting(self) -> Nesting {
        match self {
            Structure::CallTree | Structure::Cct | Structure::Pcct | Structure::CcMap | Structure::Ksf { .. } => Nesting::Exclusive,
            Structure::Kccf { .. } | Structure::SimilarCcf { .. } => Nesting::Inclusive,
        }
    }

    /// Children are callers.
    pub fn is_reversed(self) -> bool {
        self.nesting() == Nesting::Inclusive
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Structure::CallTree => f.write_str("call tree"),
            Structure::Cct => f.write_str("CCT"),
            Structure::Pcct => f.write_str("PCCT"),
            Structure::CcMap => f.write_str("CC-Map"),
            Structure::Ksf { k } => write!(f, "{k}-SF"),
            Structure::Kccf { k: Some(k) } => write!(f, "{k}-CCF"),
            Structure::Kccf { k: None } => f.write_str("∞-CCF"),
            Structure::SimilarCcf { percent } => write!(f, "{percent} %-similar ∞-CCF"),
        }
    }
}

/// What is known of the calls that a node counts and no child of it counts too (its [own weight](Contexts::own_weights)).
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Seen {
    /// Standard error of their number, in calls: 0 where every call was counted, `None` where unknown.
    pub error: Option<f64>,
    /// Standard error of their share of all calls, which is from 0 to 1; `None` where unknown.
    pub share_error: Option<f64>,
    /// Observed calls; 0 where unknown.
    pub samples: u64,
}

/// How sure the weights are.
#[derive(Clone, PartialEq, Default, Debug)]
pub enum Certainty {
    /// Nobody has kept account.
    #[default]
    Unknown,
    /// Every call was counted.
    Exact,
    /// By node.
    Sampled(PrimaryMap<ContextId, Seen>),
}

/// The nodes of one structure.
#[derive(Clone, PartialEq, Debug)]
pub struct Contexts {
    structure: Structure,
    labels: Labels,
    nodes: PrimaryMap<ContextId, ContextNode>,
    certainty: Certainty,
    /// Observed calls (however many each stands for) and frames of stacks that have no node because the structure was full.
    pub dropped: u64,
}

impl Contexts {
    /// No nodes yet.
    pub fn new(structure: Structure, labels: Labels) -> Self {
        Contexts { structure, labels, nodes: PrimaryMap::new(), certainty: Certainty::Unknown, dropped: 0 }
    }

    /// The nodes of a structure that numbers them in a way of its own: key, parent's key, label, weight; parents before children.
    ///
    /// # Errors
    ///
    /// As [`Contexts::push`].
    pub fn from_nodes<K: Copy + Eq + Hash>(
        structure: Structure,
        labels: Labels,
        nodes: impl IntoIterator<Item = (K, Option<K>, Label, f64)>,
    ) -> Result<Self, ProfileError> {
        let mut contexts = Contexts::new(structure, labels);
        let mut numbers: FxHashMap<K, ContextId> = FxHashMap::default();
        for (key, parent, label, weight) in nodes {
            let unknown = ProfileError::UnknownParent(contexts.nodes.next_key());
            let parent = parent.map(|parent| numbers.get(&parent).copied().ok_or(unknown)).transpose()?;
            numbers.insert(key, contexts.push(label, parent, weight)?);
        }
        Ok(contexts)
    }

    /// Adds a node; its parent has been added before.
    ///
    /// # Errors
    ///
    /// The parent is unknown, the label is of the other kind, the weight is no number of calls, or there are too many nodes.
    pub fn push(&mut self, label: Label, parent: Option<ContextId>, weight: f64) -> Result<ContextId, ProfileError> {
        if self.nodes.len() >= u32::MAX as usize - 1 {
            return Err(ProfileError::TooManyNodes);
        }
        if label.kind() != self.labels {
            return Err(ProfileError::MixedLabels(self.nodes.next_key()));
        }
        parent.map_or(Ok(()), |parent| in_range("earlier context", parent.index(), self.nodes.len()))?;
        check_weight(weight)?;
        Ok(self.nodes.push(ContextNode { label, parent: parent.into(), weight }))
    }

    /// Says how sure the weights of the nodes are, which are all there.
    ///
    /// # Errors
    ///
    /// An error is no number of calls, one of a share none, or not each node has one.
    pub fn with_certainty(self, certainty: Certainty) -> Result<Self, ProfileError> {
        if let Certainty::Sampled(seen) = &certainty {
            if seen.len() != self.nodes.len() {
                return Err(ProfileError::NoSuch {
                    what: "context",
                    index: seen.len().max(self.nodes.len()) - 1,
                    len: seen.len().min(self.nodes.len()),
                });
            }
            seen.values().filter_map(|seen| seen.error).try_for_each(check_weight)?;
            seen.values().filter_map(|seen| seen.share_error).try_for_each(check_share_error)?;
        }
        Ok(Contexts { certainty, ..self })
    }

    /// How sure the weights are.
    pub fn certainty(&self) -> &Certainty {
        &self.certainty
    }

    /// Where the nodes come from.
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// What nodes are told apart by.
    pub fn labels(&self) -> Labels {
        self.labels
    }

    /// Parents before children.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (ContextId, &ContextNode)> + ExactSizeIterator {
        self.nodes.iter()
    }

    /// The node of a number.
    pub fn node(&self, id: ContextId) -> &ContextNode {
        &self.nodes[id]
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Calls that all nodes together stand for.
    pub fn total(&self) -> f64 {
        let counts = |node: &&ContextNode| self.structure.nesting() == Nesting::Exclusive || node.parent.is_none();
        self.nodes.values().filter(counts).map(|node| node.weight).sum::<f64>() + 0.0
    }

    /// For each node the calls that no child of it counts too.
    pub fn own_weights(&self) -> SecondaryMap<ContextId, f64> {
        let mut own = SecondaryMap::with_capacity(self.nodes.len());
        for (id, node) in &self.nodes {
            own[id] = node.weight;
        }
        if self.structure.nesting() == Nesting::Inclusive {
            for node in self.nodes.values() {
                if let Some(parent) = node.parent.expand() {
                    own[parent] -= node.weight;
                }
            }
            // Sums of floats may miss by a little.
            own.values_mut().for_each(|weight| *weight = weight.max(0.0));
        }
        own
    }

    /// Memory of the nodes, in bytes.
    pub fn bytes(&self) -> usize {
        let seen = if let Certainty::Sampled(seen) = &self.certainty { seen.len() * size_of::<Seen>() } else { 0 };
        self.nodes.len() * size_of::<ContextNode>() + seen
    }

    pub(super) fn check(&self, program: &Program) -> Result<(), ProfileError> {
        if let Structure::SimilarCcf { percent } = self.structure
            && !(0.0..=100.0).contains(&percent)
        {
            return Err(ProfileError::BadPercentage(percent));
        }
        for node in self.nodes.values() {
            match node.label {
                Label::Function(function) => in_range("function", function.index(), program.functions.len())?,
                Label::Edge(edge) => in_range("edge", edge.index(), program.edges().len())?,
            }
        }
        if self.structure.nesting() == Nesting::Inclusive {
            self.check_nesting()?;
        }
        check_weight(self.total())
    }

    fn check_nesting(&self) -> Result<(), ProfileError> {
        let mut below: SecondaryMap<ContextId, f64> = SecondaryMap::with_capacity(self.nodes.len());
        for node in self.nodes.values() {
            if let Some(parent) = node.parent.expand() {
                below[parent] += node.weight;
            }
        }
        let excess = self.nodes.iter().find(|&(id, node)| below[id] > node.weight * (1.0 + 1e-9) + 1e-9);
        excess.map_or(Ok(()), |(id, _)| Err(ProfileError::ChildrenExceedParent(id)))
    }
}
