//! What a writer refuses, and what it must cut.

use crate::{function, load, program};
use profiler::ids::{CallSiteId, EdgeId, FuncId};
use profiler::program::{CallSite, Program};
use profiler::trace::{Clock, TraceWriter, WriteError};

#[test]
fn a_writer_takes_only_what_is_defined() {
    let mut writer = TraceWriter::new(Vec::new(), Clock::Steps, &program(2)).unwrap();
    let thread = writer.start_thread("main", 0).unwrap();
    let (f, no_function, no_site) = (FuncId::from_u32(0), FuncId::from_u32(2), CallSiteId::from_u32(4));
    assert!(matches!(writer.call(thread, None, no_function), Err(WriteError::Function(it)) if it == no_function));
    assert!(matches!(writer.call(thread, Some(no_site), f), Err(WriteError::Site(it)) if it == no_site));
    assert!(matches!(writer.call_edge(thread, EdgeId::from_u32(0)), Err(WriteError::Edge(_))));
    assert!(matches!(writer.site(CallSite { caller: no_function, line: 0 }), Err(WriteError::Function(_))));
    writer.ret(thread).unwrap();
    writer.end_thread(thread, 0).unwrap();
    assert!(matches!(writer.call(thread, None, f), Err(WriteError::Thread(_))));
    let trace = load(&writer.finish().unwrap());
    assert!(trace.damage.is_none());
    assert_eq!(trace.events(), 0);
}

/// A name longer than any, and more definitions than a block holds.
#[test]
fn definitions_fill_many_blocks() {
    let mut writer = TraceWriter::new(Vec::new(), Clock::Steps, &Program::default()).unwrap();
    for number in 0..40 {
        writer.function(function(&number.to_string().repeat(100_000), number)).unwrap();
    }
    let trace = load(&writer.finish().unwrap());
    assert!(trace.damage.is_none());
    assert_eq!(trace.program.functions.len(), 40);
    assert!(trace.program.functions.values().all(|it| it.name.len() == 65_535));
}

#[test]
fn a_full_disk_is_an_error() {
    let mut disk = [0_u8; 60];
    let mut writer = TraceWriter::new(disk.as_mut_slice(), Clock::Steps, &program(2)).unwrap();
    let thread = writer.start_thread("main", 0).unwrap();
    writer.call(thread, None, FuncId::from_u32(0)).unwrap();
    assert!(matches!(writer.flush(), Err(WriteError::Io(_))));
}
