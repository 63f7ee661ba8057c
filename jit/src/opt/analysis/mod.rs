//! What passes ask about a function or the program; nothing here changes code.

pub mod arms;
pub mod bounds;
pub mod call_graph;
pub mod captures;
pub mod classes;
pub mod cold;
pub mod conditions;
pub mod declared;
pub mod defs;
pub mod effects;
pub mod frequency;
pub mod hierarchy;
pub mod induction;
pub mod interval;
pub mod linear;
pub mod loops;
pub mod memory;
pub mod non_null;
pub mod param_uses;
pub mod rare;
pub mod shape;
pub mod size;
pub mod summaries;
pub mod type_flow;
pub mod type_scopes;
pub mod types;
