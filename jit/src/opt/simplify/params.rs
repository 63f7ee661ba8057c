//! Block parameters that every way gives the same constant: the block has a constant of its own instead, as the one on a way need not dominate it.
//!
//! In: a function without parameters that are copies ([`crate::opt::params`]). Out: aliases; the parameters still stand in their blocks. Takes linear time; parameters that get such parameters are left for another round.

use crate::ir::rewrite::Aliases;
use crate::ir::*;
use cranelift_entity::{SecondaryMap, packed_option::PackedOption};

/// What comes in: nothing seen yet, the constant of one instruction, or anything else.
#[derive(Clone, Copy, Default)]
enum Incoming {
    #[default]
    Nothing,
    Constant(Inst),
    Other,
}

/// Whether there were any.
pub(super) fn replace_constants(func: &mut Function, aliases: &mut Aliases) -> bool {
    if func.layout[1..].iter().all(|&b| func.blocks[b].params.is_empty()) {
        return false;
    }
    let incoming = incoming(func);
    let mut changed = false;
    for i in 1..func.layout.len() {
        let block = func.layout[i];
        for param in func.blocks[block].params.clone() {
            if let Incoming::Constant(constant) = incoming[param] {
                let (op, result) = (func.insts[constant].op.clone(), func.values.push(func.values[param]));
                let inst = func.insts.push(InstData { op, result: Some(result), loc: Loc::default() });
                func.blocks[block].insts.insert(0, inst);
                aliases.replace(param, result);
                changed = true;
            }
        }
    }
    changed
}

fn incoming(func: &Function) -> SecondaryMap<Value, Incoming> {
    let constants = constants(func);
    let is_same = |one: Inst, other: Inst| func.insts[one].op == func.insts[other].op;
    let mut incoming: SecondaryMap<Value, Incoming> = SecondaryMap::with_capacity(func.values.len());
    for &block in &func.layout {
        for edge in func.blocks[block].terminator.as_ref().expect("a finished block").edges() {
            let params = &func.blocks[edge.block].params;
            let (implicit, own) = params.split_at(params.len() - edge.args.len());
            implicit.iter().for_each(|&p| incoming[p] = Incoming::Other);
            for (&param, &arg) in own.iter().zip(&edge.args).filter(|(param, arg)| param != arg) {
                incoming[param] = match (incoming[param], constants[arg].expand()) {
                    (Incoming::Nothing, Some(constant)) => Incoming::Constant(constant),
                    (Incoming::Constant(known), Some(constant)) if is_same(known, constant) => Incoming::Constant(known),
                    _ => Incoming::Other,
                };
            }
        }
    }
    incoming
}

/// The instruction of each value that is constant.
fn constants(func: &Function) -> SecondaryMap<Value, PackedOption<Inst>> {
    let mut constants: SecondaryMap<Value, PackedOption<Inst>> = SecondaryMap::with_capacity(func.values.len());
    for &inst in func.layout.iter().flat_map(|&block| &func.blocks[block].insts) {
        if let InstData { op, result: Some(result), .. } = &func.insts[inst]
            && op.is_constant()
        {
            constants[*result] = inst.into();
        }
    }
    constants
}
