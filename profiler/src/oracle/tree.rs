//! Decisions as trees: for each root the calls in it, below each call that was inlined those that came in with it.
//!
//! In: an optimizer's decisions, first those of early forms (the forms in which functions are inlined into others, with what is tiny inside), then those of roots. Out: [`InlineTree`]s.
//!
//! The optimizer asks about a call of an early form once, however many roots it gets into: such calls are copied into each tree in which their function is inlined ([`Origin::EarlyForm`]), so that each tree shows all that is in its
//! root. An early form has inside the early forms of functions that came before it, as the optimizer makes them callees first; where functions call each other in cycles, that is what ends the copying.
//! Invariants: a call is in a tree once, whatever number of times it was asked about; a node comes after its parent.

use super::InlineDecision;
use crate::ids::{CallSiteId, FuncId};
use crate::program::Program;
use cranelift_entity::{PrimaryMap, entity_impl, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// A call of an [`InlineTree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);
entity_impl!(NodeId, "call");

/// Where a call was decided about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// In this root.
    Root,
    /// In the form in which the decision's root is inlined into others, as it is here.
    EarlyForm,
}

/// A call in a root.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    /// What holds: that it was inlined, or the last refusal.
    pub decision: &'a InlineDecision,
    /// The calls of this root that were inlined to get there, outermost first.
    pub chain: Box<[CallSiteId]>,
    /// Who decided.
    pub origin: Origin,
    /// Decisions about it.
    pub asked: u32,
    /// The call that it came in with; `None` for a call of the root's own.
    pub parent: PackedOption<NodeId>,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct InlineTree<'a> {
    /// The function that was compiled.
    pub root: FuncId,
    /// Parents before children; the children of a parent in the order of their sites.
    pub nodes: PrimaryMap<NodeId, Node<'a>>,
}

/// Which call of a root: chain, site and callee.
type Key = (Box<[CallSiteId]>, CallSiteId, FuncId);

/// Nodes that have no order yet.
type Found<'a> = FxHashMap<Key, Node<'a>>;

/// What was inlined in the early form of a function, and which form came before which.
#[derive(Default)]
struct EarlyForm<'a> {
    place: usize,
    decisions: Vec<&'a InlineDecision>,
}

/// The trees of these roots, in their order. The first `early` decisions are those of early forms.
pub fn trees<'a>(decisions: &'a [InlineDecision], early: usize, roots: &[FuncId], program: &Program) -> Vec<InlineTree<'a>> {
    let (early, late) = decisions.split_at(early.min(decisions.len()));
    let mut forms: FxHashMap<FuncId, EarlyForm<'a>> = FxHashMap::default();
    for (place, decision) in early.iter().enumerate() {
        forms.entry(decision.root).or_insert(EarlyForm { place, decisions: Vec::new() }).decisions.push(decision);
    }
    let mut of_root: FxHashMap<FuncId, Vec<&InlineDecision>> = FxHashMap::default();
    late.iter().for_each(|decision| of_root.entry(decision.root).or_default().push(decision));
    let forest = Forest { forms, of_root, program };
    roots.iter().map(|&root| forest.tree(root)).collect()
}

struct Forest<'a, 'p> {
    forms: FxHashMap<FuncId, EarlyForm<'a>>,
    of_root: FxHashMap<FuncId, Vec<&'a InlineDecision>>,
    program: &'p Program,
}

impl<'a> Forest<'a, '_> {
    fn tree(&self, root: FuncId) -> InlineTree<'a> {
        let mut found = Found::default();
        let own = self.forms.get(&root).map_or(&[][..], |form| &form.decisions);
        own.iter().for_each(|decision| add(&mut found, decision, &[], Origin::Root));
        let in_own = found.keys().cloned().collect::<Vec<_>>();
        self.of_root.get(&root).into_iter().flatten().for_each(|decision| add(&mut found, decision, &[], Origin::Root));
        // Each with the early forms that its callee's can have inside: those that came before this place.
        let before = self.forms.get(&root).map_or(usize::MAX, |form| form.place);
        let limit = |key: &Key| if in_own.contains(key) { before } else { usize::MAX };
        let inlined = found.iter().filter(|(_, node)| node.decision.verdict.is_inlined());
        let mut work: Vec<(Key, usize)> = inlined.map(|(key, _)| (key.clone(), limit(key))).collect();
        while let Some(((chain, site, callee), limit)) = work.pop() {
            let Some(form) = self.forms.get(&callee).filter(|form| form.place < limit) else { continue };
            let chain = [&chain[..], &[site]].concat();
            for decision in &form.decisions {
                let inner = [&chain[..], &decision.chain].concat();
                let key = (inner.into(), decision.site, decision.callee);
                if !found.contains_key(&key) {
                    add(&mut found, decision, &chain, Origin::EarlyForm);
                    work.push((key, form.place));
                }
            }
        }
        InlineTree { root, nodes: self.ordered(found) }
    }

    fn ordered(&self, found: Found<'a>) -> PrimaryMap<NodeId, Node<'a>> {
        // A call whose way there is not known hangs on the root rather than be lost.
        let parent = |key: &Key| self.parent(key).filter(|parent| found.contains_key(parent));
        let parents: FxHashMap<Key, Option<Key>> = found.keys().map(|key| (key.clone(), parent(key))).collect();
        let mut children: FxHashMap<Option<Key>, Vec<(Key, Node<'a>)>> = FxHashMap::default();
        for (key, node) in found {
            children.entry(parents[&key].clone()).or_default().push((key, node));
        }
        let mut nodes = PrimaryMap::new();
        let mut work: Vec<(PackedOption<NodeId>, Key, Node<'a>)> = Vec::new();
        let open = |parent: PackedOption<NodeId>, below: Option<Vec<(Key, Node<'a>)>>, work: &mut Vec<_>| {
            let mut below = below.unwrap_or_default();
            // The first is taken first: from the end.
            below.sort_by(|((_, a, f), _), ((_, b, g), _)| (b, g).cmp(&(a, f)));
            work.extend(below.into_iter().map(|(key, node)| (parent, key, node)));
        };
        let top = children.remove(&None);
        open(None.into(), top, &mut work);
        while let Some((parent, key, node)) = work.pop() {
            let id = nodes.push(Node { parent, ..node });
            let below = children.remove(&Some(key));
            open(Some(id).into(), below, &mut work);
        }
        nodes
    }

    /// The call in whose callee the site stands.
    fn parent(&self, (chain, site, _): &Key) -> Option<Key> {
        let (last, outer) = chain.split_last()?;
        Some((outer.into(), *last, self.program.sites[*site].caller))
    }
}

/// `around`: the calls around the function in which the decision was made.
fn add<'a>(found: &mut Found<'a>, decision: &'a InlineDecision, around: &[CallSiteId], origin: Origin) {
    let chain: Box<[CallSiteId]> = [around, &decision.chain].concat().into();
    let new = Node { decision, chain: chain.clone(), origin, asked: 0, parent: None.into() };
    let node = found.entry((chain, decision.site, decision.callee)).or_insert(new);
    node.asked += 1;
    if !node.decision.verdict.is_inlined() || decision.verdict.is_inlined() {
        node.decision = decision;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Accepted, Certainty, Form, Refused, Verdict};
    use super::*;
    use crate::program::{CallSite, Function};

    /// Functions 0, 1, … with sites 0, 1, … in these functions.
    fn program(callers: &[u32]) -> Program {
        let mut program = Program::default();
        for name in ["main", "work", "leaf", "rest"] {
            program.functions.push(Function { name: name.into(), file: "toy.x".into(), line: 1 });
        }
        callers.iter().for_each(|&caller| _ = program.sites.push(CallSite { caller: FuncId::from_u32(caller), line: 1 }));
        program
    }

    const INLINE: Verdict = Verdict::Inline(Accepted::Tiny);
    const CALL: Verdict = Verdict::Call(Refused::NotWorth);

    fn decision(root: u32, chain: &[u32], site: u32, callee: u32, verdict: Verdict) -> InlineDecision {
        InlineDecision {
            root: FuncId::from_u32(root),
            form: Form::Whole,
            site: CallSiteId::from_u32(site),
            callee: FuncId::from_u32(callee),
            chain: chain.iter().copied().map(CallSiteId::from_u32).collect(),
            certainty: Certainty::Only,
            callee_size: 1,
            root_size: 1,
            verdict,
            evidence: None,
        }
    }

    type Told = Vec<(Option<u32>, Vec<u32>, u32, u32, bool, Origin, u32)>;

    fn told(tree: &InlineTree<'_>) -> Told {
        let chain = |node: &Node<'_>| node.chain.iter().map(|site| site.as_u32()).collect();
        let one = |node: &Node<'_>| {
            let InlineDecision { site, callee, verdict, .. } = node.decision;
            let parent = node.parent.expand().map(NodeId::as_u32);
            (parent, chain(node), site.as_u32(), callee.as_u32(), verdict.is_inlined(), node.origin, node.asked)
        };
        tree.nodes.values().map(one).collect()
    }

    #[test]
    fn what_an_early_form_has_inside_is_in_every_root_that_takes_it_in() {
        // `work` has `leaf` inside (site 1) and calls `rest` (site 2); `main` calls `work` (site 0) and `rest` (site 3).
        let program = program(&[0, 1, 1, 0]);
        let decisions = [
            decision(1, &[], 1, 2, INLINE),
            decision(0, &[], 3, 3, CALL),
            decision(0, &[], 0, 1, CALL),
            decision(0, &[], 0, 1, INLINE),
            decision(0, &[0], 2, 3, CALL),
            decision(1, &[], 2, 3, INLINE),
        ];
        let trees = trees(&decisions, 1, &[FuncId::from_u32(0), FuncId::from_u32(1)], &program);
        let main = [
            (None, vec![], 0, 1, true, Origin::Root, 2),
            (Some(0), vec![0], 1, 2, true, Origin::EarlyForm, 1),
            (Some(0), vec![0], 2, 3, false, Origin::Root, 1),
            (None, vec![], 3, 3, false, Origin::Root, 1),
        ];
        assert_eq!(told(&trees[0]), main);
        let work = [(None, vec![], 1, 2, true, Origin::Root, 1), (None, vec![], 2, 3, true, Origin::Root, 1)];
        assert_eq!(told(&trees[1]), work);
    }

    #[test]
    fn functions_that_call_each_other_end() {
        // `work` and `leaf` are inlined into each other; `work` came first, so it has `leaf` inside as it was before.
        let program = program(&[0, 1, 2]);
        let decisions = [decision(1, &[], 1, 2, INLINE), decision(2, &[], 2, 1, INLINE), decision(0, &[], 0, 1, INLINE)];
        let trees = trees(&decisions, 2, &[FuncId::from_u32(0), FuncId::from_u32(2)], &program);
        let expected = [(None, vec![], 0, 1, true, Origin::Root, 1), (Some(0), vec![0], 1, 2, true, Origin::EarlyForm, 1)];
        assert_eq!(told(&trees[0]), expected);
        let leaf = [(None, vec![], 2, 1, true, Origin::Root, 1), (Some(0), vec![2], 1, 2, true, Origin::EarlyForm, 1)];
        assert_eq!(told(&trees[1]), leaf);
    }
}
