//! The interpreter's stack: frames and their slots, in memory that the collector and the stack walker can read while the thread stands at a safepoint.

#[derive(Default, Debug)]
pub struct Stack {}
