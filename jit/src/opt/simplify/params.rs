//! Block parameters that every way gives the same constant: the block has a constant of its own instead, as the one on a way need not dominate it.
//!
//! In: a function without parameters that are copies ([`crate::opt::params`]). Out: aliases; the parameters still stand in their blocks. Takes linear time; parameters that get such parameters are left for another round.

use crate::ir::rewrite::Aliases;
use crate::ir::*;
use crate::opt::analysis::defs::Defs;
use cranelift_entity::SecondaryMap;

/// What comes in: nothing seen yet, one constant, or anything else.
#[derive(Clone, Default)]
enum Incoming {
    #[default]
    Nothing,
    Constant(Op),
    Other,
}

/// Whether there were any.
pub(super) fn replace_constants(func: &mut Function, aliases: &mut Aliases) -> bool {
    let incoming = incoming(func, &Defs::new(func));
    let mut changed = false;
    for i in 1..func.layout.len() {
        let block = func.layout[i];
        for param in func.blocks[block].params.clone() {
            if let Incoming::Constant(op) = &incoming[param] {
                let result = func.values.push(func.values[param]);
                let inst = func.insts.push(InstData { op: op.clone(), result: Some(result), loc: Loc::default() });
                func.blocks[block].insts.insert(0, inst);
                aliases.replace(param, result);
                changed = true;
            }
        }
    }
    changed
}

fn incoming(func: &Function, defs: &Defs) -> SecondaryMap<Value, Incoming> {
    let mut incoming: SecondaryMap<Value, Incoming> = SecondaryMap::with_capacity(func.values.len());
    for &block in &func.layout {
        for edge in func.blocks[block].terminator.as_ref().expect("a finished block").edges() {
            let params = &func.blocks[edge.block].params;
            let (implicit, own) = params.split_at(params.len() - edge.args.len());
            implicit.iter().for_each(|&p| incoming[p] = Incoming::Other);
            for (&param, &arg) in own.iter().zip(&edge.args).filter(|(param, arg)| param != arg) {
                let constant = defs.op(func, arg).filter(|op| op.is_constant()).cloned();
                incoming[param] = match (&incoming[param], constant) {
                    (Incoming::Nothing, Some(op)) => Incoming::Constant(op),
                    (Incoming::Constant(known), Some(op)) if *known == op => Incoming::Constant(op),
                    _ => Incoming::Other,
                };
            }
        }
    }
    incoming
}
