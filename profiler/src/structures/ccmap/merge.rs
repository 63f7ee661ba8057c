//! Two maps become one: for maps of several runs, or one for each thread.
//!
//! Edges are matched by call site and callee, for each run numbers its edges in the order in which it sees them.

use super::nodes::Presence;
use super::{CalleeRef, CcMap, CcMapError};
use crate::ids::EdgeId;
use crate::program::Program;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

impl CcMap {
    /// Adds all that another map has counted. `program` is this map's; it gets the other's edges that it does not have. Contexts beyond the limit are dropped and counted
    /// as `without_context`. Fails, with nothing added, if the maps do not speak of the same program.
    pub fn merge(&mut self, other: &CcMap, program: &mut Program) -> Result<(), CcMapError> {
        let ids = self.translate(other, program)?;
        for (id, callee) in other.callees.iter() {
            let Some(edge) = ids[id].expand() else { continue };
            self.link(edge);
            self.callees[edge].count += callee.count;
            self.callees[edge].without_context += callee.without_context;
        }
        for (id, method) in other.methods.iter().filter(|(_, method)| method.total > 0.0) {
            self.methods[id].total += method.total;
            self.methods[id].without_edge += method.without_edge;
        }
        self.merge_contexts(other, &ids);
        self.added += other.added;
        self.removed += other.removed;
        self.dropped.merge(other.dropped);
        self.unknown += other.unknown;
        Ok(())
    }

    fn merge_contexts(&mut self, other: &CcMap, ids: &SecondaryMap<EdgeId, PackedOption<EdgeId>>) {
        let mut moved: SecondaryMap<CalleeRef, PackedOption<CalleeRef>> = SecondaryMap::with_capacity(other.callee_refs.len());
        for (id, node) in other.callee_refs.iter() {
            let Some(edge) = ids[node.edge].expand() else { continue };
            let parent = node.parent.expand().map_or(None.into(), |parent| moved[parent]);
            let has_place = node.parent.is_none() || parent.is_some();
            let place = if has_place { self.place(parent, edge) } else { None };
            match place {
                Some(new) => {
                    self.callee_refs[new].count += node.count;
                    moved[id] = new.into();
                }
                None => self.lose(edge, node.count),
            }
        }
    }

    /// This map's ids of the edges in the other map.
    fn translate(&mut self, other: &CcMap, program: &mut Program) -> Result<SecondaryMap<EdgeId, PackedOption<EdgeId>>, CcMapError> {
        let linked = || other.callees.iter().filter(|(_, callee)| callee.presence == Presence::Linked);
        for (edge, callee) in linked() {
            if program.functions.get(callee.callee).is_none() {
                return Err(CcMapError::NoSuchFunction { edge, function: callee.callee });
            }
            let Some(site) = callee.site.expand() else { continue };
            let here = program.sites.get(site).ok_or(CcMapError::NoSuchSite { edge, site })?.caller;
            let there = other.sites[site].caller.expand();
            if there != Some(here) {
                return Err(CcMapError::OtherCaller { site, here: Some(here), there });
            }
        }
        let mut ids = SecondaryMap::with_capacity(other.callees.len());
        for (id, _) in linked() {
            ids[id] = other.identity(id).map(|edge| program.edge(edge)).into();
        }
        self.register(program)?;
        Ok(ids)
    }
}
