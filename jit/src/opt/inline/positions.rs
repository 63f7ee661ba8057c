//! Positions of a callee in the code of the function that takes it in.
//!
//! In: positions of the callee's code. Out: positions of the root's, each in the root's table once for each call that is inlined. What was inlined into the callee before keeps its frames, with the call's below them.

use crate::ir::*;
use cranelift_entity::{PrimaryMap, SecondaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

pub struct Positions<'a> {
    /// Where the callee is called.
    call: Loc,
    site: CallSiteId,
    callee: FuncId,
    /// What was inlined into the callee.
    inner: &'a PrimaryMap<InlinedId, Inlined>,
    /// The callee's own positions.
    own: FxHashMap<Loc, Loc>,
    deeper: SecondaryMap<InlinedId, PackedOption<InlinedId>>,
}

impl<'a> Positions<'a> {
    pub fn new(call: Loc, site: CallSiteId, callee: FuncId, inner: &'a PrimaryMap<InlinedId, Inlined>) -> Self {
        Positions { call, site, callee, inner, own: FxHashMap::default(), deeper: SecondaryMap::new() }
    }

    /// What `loc` is in the root, whose table is `table`.
    pub fn get(&mut self, table: &mut PrimaryMap<InlinedId, Inlined>, loc: Loc) -> Loc {
        let mut unknown = Vec::new();
        let mut at = loc;
        // Out to a position that is known, and back in.
        let mut outer = loop {
            let Some(id) = at.inlined() else { break self.own(table, at) };
            if let Some(known) = self.deeper[id].expand() {
                break Loc::in_callee(known);
            }
            unknown.push(id);
            at = self.inner[id].call;
        };
        while let Some(id) = unknown.pop() {
            let new = table.push(Inlined { call: outer, ..self.inner[id] });
            self.deeper[id] = new.into();
            outer = Loc::in_callee(new);
        }
        outer
    }

    fn own(&mut self, table: &mut PrimaryMap<InlinedId, Inlined>, loc: Loc) -> Loc {
        let Positions { call, site, callee, .. } = *self;
        *self.own.entry(loc).or_insert_with(|| Loc::in_callee(table.push(Inlined { callee, loc, site, call })))
    }
}
