//! Trace files: every call and return of a run, in a compact streaming format that `docs/trace-format.md` specifies.
//!
//! In: what a program does, told to a [`TraceWriter`] call by call. Out: the same from a [`TraceReader`], block by block as `&[Event]` (the fast way, with memory that
//! does not grow with the run), record by record ([`TraceReader::records`]), or as a whole in memory ([`Trace::load`]).
//!
//! Invariants: a file's ids are the [`Program`](crate::program::Program)'s, dense and in the order of their definitions, and whatever a block speaks of is defined before it. A file that is cut
//! off or damaged gives all that stands before the damage, and a [`TraceError`] that says where and what. No bytes make the reader panic, loop, or allocate beyond its [`Limits`].
//!
//! ```
//! use profiler::program::{Function, Program};
//! use profiler::trace::{Clock, Limits, Trace, TraceWriter};
//!
//! let mut writer = TraceWriter::new(Vec::new(), Clock::Nanoseconds, &Program::default())?;
//! let main = writer.function(Function { name: "main".into(), file: "main.c".into(), line: 1 })?;
//! let thread = writer.start_thread("main", 1_000)?;
//! writer.call(thread, None, main)?;
//! writer.ret(thread)?;
//! writer.end_thread(thread, 2_500)?;
//! let file = writer.finish()?;
//!
//! let trace = Trace::load(file.as_slice(), Limits::default())?;
//! assert!(trace.damage.is_none());
//! assert_eq!(trace.threads[thread].events.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bytes;
mod definitions;
mod error;
mod events;
mod frame;
mod load;
mod reader;
mod records;
mod timeline;
mod times;
mod writer;

pub use crate::clock::Clock;
pub use definitions::Thread;
pub use error::{Problem, TraceError, WriteError};
pub use events::MAX_EVENTS;
pub use load::{ThreadTrace, Trace};
pub use reader::{EventBlock, Limits, TraceReader};
pub use records::{Record, Records};
pub use timeline::{Step, Timeline};
pub use times::{Stamp, Times};
pub use writer::TraceWriter;
