//! Objects that never leave the function become values; those that leave it on some ways only are allocated on these ways, and if that is in rare code which does not keep them, they are values again behind it.
//!
//! In: a function. Out: the same without the objects of which nobody could tell that they existed: closures, iterators, boxes, small arrays with constant indices.
//! Three steps, in files of their own: [`objects`] says which values are objects allocated here, [`flow`] where each must exist in memory, [`worth`] which of them to replace; then [`replace`] does it.
//!
//! Invariants: an object is replaced only where nothing else can know it; its identity, class and fields are what they were. An allocation vanishes or moves down to where the object is needed, in rare code as often as that runs, and with
//! it the OutOfMemoryError that it may throw, with the position of the allocation: where an error leaves the function anyway, or where the function has no handlers. (So in a function with handlers nothing is lent.)

mod flow;
mod objects;
mod prepare;
mod replace;
mod worth;

use super::Context;
use super::analysis::defs::Defs;
use super::analysis::rare::RareCode;
use crate::ir::dominators::preorder;
use crate::ir::*;
use flow::Flow;
use objects::{Objects, Without};

/// An object that another one refers to goes one round after that.
const ROUNDS: usize = 8;

/// Attempts of a round, each without the objects that stood in the way of the last.
const ATTEMPTS: usize = 24;

pub fn run(func: &mut Function, cx: &Context<'_>) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        if !round(func, cx) {
            break;
        }
        changed = true;
    }
    changed
}

fn round(func: &mut Function, cx: &Context<'_>) -> bool {
    if !func.layout.iter().any(|&b| objects::allocates(func, b)) {
        return false;
    }
    let (blocks, defs) = (preorder(func), Defs::new(func));
    let rare = RareCode::new(func, cx.rare_calls);
    let mut without = Without::default();
    for _ in 0..ATTEMPTS {
        let objects = Objects::new(func, cx, &blocks, &defs, &rare, &without);
        if objects.objects.is_empty() {
            return false;
        }
        let flow = Flow::new(func, &objects);
        let mut refused = flow.refused.clone();
        if refused.is_empty() {
            refused = worth::not_worth(func, &objects, &flow);
        }
        if refused.is_empty() {
            replace::replace(func, &objects, flow);
            return true;
        }
        for birth in refused {
            let id = objects.born(birth).expect("it was looked at");
            // Perhaps it only must not be lent.
            if flow.ways[id].is_lent() {
                without.lent.insert(birth)
            } else {
                without.births.insert(birth)
            };
        }
    }
    false
}
