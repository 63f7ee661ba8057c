//! Any bytes as a trace file, as they are and with their checksums put right: readers neither panic, nor loop, nor take more memory than their limits say; all ways of reading find the same, and what was read is written and read again unchanged.
#![no_main]

use profiler::event::Event;
use profiler::trace::{Limits, Trace, TraceReader, TraceWriter};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&repaired(bytes));
});

/// With the right checksum in the header and in each block (`docs/trace-format.md`, sections 1 and 2), so that changes reach what lies behind.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut file = bytes.to_vec();
    if let Some((header, crc)) = file.split_at_mut_checked(20) {
        crc.iter_mut().zip(crc32fast::hash(header).to_le_bytes()).for_each(|(old, new)| *old = new);
    }
    let mut at = 24;
    while let Some(&[k, z0, z1, z2, r0, r1, r2, r3, s0, s1, s2, s3, ..]) = file.get(at..at + 16) {
        let end = at + 16 + u32::from_le_bytes([s0, s1, s2, s3]) as usize;
        let Some(stored) = file.get(at + 16..end) else { break };
        let head = [k, z0, z1, z2, r0, r1, r2, r3, s0, s1, s2, s3];
        let crc = crc32fast::hash(&[&head, stored].concat());
        file[at + 12..at + 16].copy_from_slice(&crc.to_le_bytes());
        at = end;
    }
    file
}

fn check(bytes: &[u8]) {
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
    assert_eq!(again.clock, trace.clock);
    assert_eq!(again.program.functions, trace.program.functions);
    assert_eq!(again.program.sites, trace.program.sites);
    assert_eq!(again.program.edges(), trace.program.edges());
    assert_eq!(again.threads.len(), trace.threads.len());
    for (id, thread) in trace.threads.iter() {
        assert_eq!(again.threads[id].events, matched(&thread.events));
        assert_eq!((&again.threads[id].name, again.threads[id].start), (&thread.name, thread.start));
    }
}

/// Without returns when nothing is open, which are not written again.
fn matched(events: &[Event]) -> Vec<Event> {
    let mut open = 0u64;
    let is_matched = |event: &&Event| {
        let after = if event.edge().is_some() { Some(open + 1) } else { open.checked_sub(1) };
        open = after.unwrap_or(0);
        after.is_some()
    };
    events.iter().filter(is_matched).copied().collect()
}
