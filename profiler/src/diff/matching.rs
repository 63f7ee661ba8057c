//! What is the same in two profiles that number differently.
//!
//! In: profiles, one after the other. Out: for each, a number in a common [`Program`] for each of its edges, and a number for each of its contexts.
//! Functions are the same if name, file and line are, or if one is the other's, moved or from another folder ([`matching`](crate::matching)); call sites if caller and line are, or one is the other's; contexts if label and parent are.
//! Where one of the profiles knows names alone ([`MatchedBy::Names`]), names are what counts.

use super::MatchedBy;
use crate::ids::{CallSiteId, EdgeId, FuncId};
use crate::matching::Names;
use crate::profile::{ContextId, Contexts, Label};
use crate::program::{CallSite, Edge, Function, Program};
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) struct Union {
    by: MatchedBy,
    pub program: Program,
    functions: FxHashMap<(Box<str>, Box<str>, u32), FuncId>,
    sites: FxHashMap<(FuncId, u32), CallSiteId>,
    contexts: FxHashMap<(PackedOption<ContextId>, Label), ContextId>,
}

impl Union {
    pub fn new(by: MatchedBy) -> Union {
        Union {
            by,
            program: Program::default(),
            functions: FxHashMap::default(),
            sites: FxHashMap::default(),
            contexts: FxHashMap::default(),
        }
    }

    /// For each edge of a profile's program the edge of the common one. All edges are mapped, those without weight too.
    pub fn edges(&mut self, program: &Program) -> SecondaryMap<EdgeId, EdgeId> {
        let mut sites: SecondaryMap<CallSiteId, PackedOption<CallSiteId>> = SecondaryMap::new();
        for (id, site) in &program.sites {
            let caller = self.function(&program.functions[site.caller]);
            sites[id] = self.site(caller, site.line).into();
        }
        let mut edges = SecondaryMap::with_default(EdgeId::from_u32(0));
        for (id, edge) in program.edges() {
            let site = edge.site.expand().map_or(PackedOption::default(), |site| sites[site]);
            let callee = self.function(&program.functions[edge.callee]);
            edges[id] = self.program.edge(Edge { site, callee });
        }
        edges
    }

    /// Tells the common number and the own calls of every context.
    pub fn contexts(
        &mut self,
        program: &Program,
        contexts: &Contexts,
        edges: &SecondaryMap<EdgeId, EdgeId>,
        mut tell: impl FnMut(ContextId, f64),
    ) {
        let own = contexts.own_weights();
        let mut common: SecondaryMap<ContextId, PackedOption<ContextId>> = SecondaryMap::with_capacity(contexts.len());
        for (id, node) in contexts.nodes() {
            let label = match node.label {
                Label::Edge(edge) => Label::Edge(edges[edge]),
                Label::Function(function) => Label::Function(self.function(&program.functions[function])),
            };
            let parent = node.parent.expand().map_or(PackedOption::default(), |parent| common[parent]);
            let next = ContextId::from_u32(self.contexts.len() as u32);
            let number = *self.contexts.entry((parent, label)).or_insert(next);
            common[id] = number.into();
            tell(number, own[id]);
        }
    }

    fn function(&mut self, function: &Function) -> FuncId {
        let functions = &mut self.program.functions;
        let Function { name, file, line } = match self.by {
            MatchedBy::Places => function.clone(),
            MatchedBy::Names => Function { name: function.name.clone(), file: "".into(), line: 0 },
        };
        let key = (name.clone(), file.clone(), line);
        *self.functions.entry(key).or_insert_with(|| functions.push(Function { name, file, line }))
    }

    fn site(&mut self, caller: FuncId, line: u32) -> CallSiteId {
        let sites = &mut self.program.sites;
        let line = if self.by == MatchedBy::Names { 0 } else { line };
        *self.sites.entry((caller, line)).or_insert_with(|| sites.push(CallSite { caller, line }))
    }
}

/// A program with the names and lines that its functions and call sites have in the first one, where they are there. What is exactly there is itself; of what has moved none is taken for another that is there, too.
pub(super) fn known_as(program: &Program, first: &Program) -> Program {
    let mapping = Names::of(program).find_in(first);
    let mut known = program.clone();
    let is_line = |id: FuncId, found: FuncId| first.functions[found].line == program.functions[id].line;
    let found = |id: FuncId| mapping.function(id);
    let mut taken: FxHashSet<FuncId> = program.functions.keys().filter_map(|id| found(id).filter(|&found| is_line(id, found))).collect();
    for (id, function) in &mut known.functions {
        let Some(there) = found(id).filter(|&there| is_line(id, there) || taken.insert(there)) else { continue };
        *function = first.functions[there].clone();
    }
    for (id, site) in &mut known.sites {
        let is_known = |there: &CallSiteId| first.functions[first.sites[*there].caller] == known.functions[site.caller];
        if let Some(there) = mapping.site(id).filter(is_known) {
            site.line = first.sites[there].line;
        }
    }
    known
}
