//! What a program does, as a profiler sees it: calls and returns.
//!
//! An event is four bytes, so that long runs fit into memory. An exception that leaves several functions is as many returns.

use crate::ids::EdgeId;
use cranelift_entity::EntityRef;

/// A call over an edge, or the return from the function that was called last and has not returned.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event(u32);

impl Event {
    /// The return from the innermost open call.
    pub const RETURN: Event = Event(u32::MAX);

    /// A call over an edge.
    pub fn call(edge: EdgeId) -> Event {
        Event(edge.as_u32())
    }

    /// The edge of a call, `None` for a return.
    pub fn edge(self) -> Option<EdgeId> {
        (self != Event::RETURN).then(|| EdgeId::new(self.0 as usize))
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.edge() {
            Some(edge) => write!(f, "call {edge}"),
            None => f.write_str("return"),
        }
    }
}
