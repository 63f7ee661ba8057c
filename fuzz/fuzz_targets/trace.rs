//! Any bytes as a trace file: readers neither panic, nor loop, nor take more memory than their limits say; all ways of reading find the same, and what was read is written and read again unchanged.
#![no_main]

use profiler::trace::{Limits, Trace, TraceReader, TraceWriter};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { definitions: 10_000, names: 1 << 20, loaded: 1 << 22 };
    let Ok(trace) = Trace::load(bytes, limits) else { return };
    let reader = TraceReader::new(bytes, limits).expect("the header was good");
    let records = reader.records().take(1 << 22).filter(Result::is_ok).count();
    assert!(records as u64 >= trace.events());
    if trace.damage.is_some() {
        return;
    }
    let mut writer = TraceWriter::new(Vec::new(), trace.clock, &trace.program).expect("memory");
    for thread in trace.threads.values() {
        let id = writer.start_thread(&thread.name, thread.start).expect("memory");
        for &event in &thread.events {
            match event.edge() {
                Some(edge) => writer.call_edge(id, edge).expect("memory"),
                None => writer.ret(id).expect("memory"),
            }
        }
    }
    let file = writer.finish().expect("memory");
    let again = Trace::load(file.as_slice(), Limits::default()).expect("a header");
    assert!(again.damage.is_none());
    for (id, thread) in trace.threads.iter() {
        // Returns when nothing is open are not written again.
        assert!(again.threads[id].events.len() <= thread.events.len());
        assert_eq!(again.threads[id].name, thread.name);
    }
});
