//! Positions of a callee in the code of the function that takes it in.
//!
//! In: positions of the callee's code. Out: positions of the root's, each in the root's table once for each call that is inlined. What was inlined into the callee before keeps its frames, with the call's below them.
//! [`calls_around`] reads them; [`drop_unused`] takes out of the table what the code that is left does not need.

use crate::ir::*;
use cranelift_entity::{EntitySet, PrimaryMap, SecondaryMap, packed_option::PackedOption};
use rustc_hash::FxHashMap;

/// The calls that were inlined to get to a position, outermost first.
pub fn calls_around(func: &Function, loc: Loc) -> Vec<CallSiteId> {
    let mut chain: Vec<CallSiteId> = frames_above(func, loc).map(|inlined| inlined.site).collect();
    chain.reverse();
    chain
}

/// What was inlined to get to a position, innermost first.
pub fn frames_above(func: &Function, loc: Loc) -> impl Iterator<Item = &Inlined> {
    let at = |loc: Loc| loc.inlined().map(|id| &func.inlined[id]);
    std::iter::successors(at(loc), move |inlined| at(inlined.call))
}

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

/// Leaves in the table what positions in the code stand for.
pub fn drop_unused(func: &mut Function) {
    let mut used: EntitySet<InlinedId> = EntitySet::with_capacity(func.inlined.len());
    for_each_loc(func, |loc| {
        loc.inlined().map(|id| used.insert(id));
    });
    // An entry comes after those it leads to.
    for id in func.inlined.keys().rev() {
        if used.contains(id) {
            func.inlined[id].call.inlined().map(|outer| used.insert(outer));
        }
    }
    let mut names: SecondaryMap<InlinedId, PackedOption<InlinedId>> = SecondaryMap::with_capacity(func.inlined.len());
    let mut table: PrimaryMap<InlinedId, Inlined> = PrimaryMap::new();
    let rename = |names: &SecondaryMap<InlinedId, PackedOption<InlinedId>>, loc: &mut Loc| {
        if let Some(id) = loc.inlined() {
            *loc = Loc::in_callee(names[id].expect("it is used"));
        }
    };
    for (id, mut inlined) in std::mem::take(&mut func.inlined).into_iter().filter(|(id, _)| used.contains(*id)) {
        rename(&names, &mut inlined.call);
        names[id] = table.push(inlined).into();
    }
    func.inlined = table;
    for_each_loc(func, |loc| rename(&names, loc));
}

fn for_each_loc(func: &mut Function, mut f: impl FnMut(&mut Loc)) {
    for &block in &func.layout {
        let data = &mut func.blocks[block];
        data.insts.iter().for_each(|&i| f(&mut func.insts[i].loc));
        f(&mut data.terminator_loc);
    }
}
