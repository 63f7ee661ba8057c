//! Files that are cut off, changed, or larger than a reader allows.

use crate::{function, load, program};
use profiler::ids::{CallSiteId, FuncId};
use profiler::trace::{Clock, Limits, Problem, Trace, TraceReader, TraceWriter};

/// A file with several blocks of each kind, two threads and stamps.
fn small_file() -> Vec<u8> {
    let mut writer = TraceWriter::new(Vec::new(), Clock::Steps, &program(4)).unwrap();
    let threads = [writer.start_thread("main", 0).unwrap(), writer.start_thread("wörker", 3).unwrap()];
    for round in 0..4 {
        for thread in threads {
            writer.time(thread, 10 * round).unwrap();
            for step in 0..6 {
                let site = (step > 0).then(|| CallSiteId::from_u32((step + round as u32) % 8));
                writer.call(thread, site, FuncId::from_u32(step % 4)).unwrap();
            }
            for _ in 0..5 {
                writer.ret(thread).unwrap();
            }
        }
        if round == 1 {
            writer.function(function("late", 9)).unwrap();
        }
        writer.flush().unwrap();
    }
    writer.end_thread(threads[1], 99).unwrap();
    writer.lost(3);
    writer.finish().unwrap()
}

/// What is left of a damaged file is the beginning of what was there.
fn assert_good_part(part: &Trace, whole: &Trace) {
    assert!(part.program.functions.values().zip(whole.program.functions.values()).all(|(a, b)| a == b));
    assert!(part.program.edges().values().zip(whole.program.edges().values()).all(|(a, b)| a == b));
    assert!(part.program.edges().len() <= whole.program.edges().len() && part.threads.len() <= whole.threads.len());
    for (id, thread) in part.threads.iter() {
        let full = &whole.threads[id];
        assert_eq!(thread.name, full.name);
        assert!(full.events.starts_with(&thread.events) && full.stamps.starts_with(&thread.stamps));
    }
}

#[test]
fn a_file_cut_off_anywhere_gives_its_good_part() {
    let file = small_file();
    let whole = load(&file);
    assert!(whole.damage.is_none());
    assert_eq!((whole.lost, whole.events(), whole.threads.len()), (3, 88, 2));
    let mut events = 0;
    for length in 0..file.len() {
        let cut = &file[..length];
        if length < 24 {
            let error = Trace::load(cut, Limits::default()).unwrap_err();
            assert_eq!((error.offset, error.blocks), (0, 0));
            continue;
        }
        let part = load(cut);
        let error = part.damage.as_ref().expect("an error");
        assert!(matches!(error.problem, Problem::Truncated { .. } | Problem::NoEnd), "{error}");
        assert!(error.offset <= length as u64 && error.to_string().contains(&format!("byte {}", error.offset)));
        assert!(part.events() >= events, "a longer file gives no less");
        events = part.events();
        assert_good_part(&part, &whole);
    }
    assert_eq!(events, whole.events());
}

#[test]
fn no_changed_byte_goes_unnoticed() {
    let file = small_file();
    let whole = load(&file);
    for place in 0..file.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bad = file.clone();
            bad[place] ^= change;
            match Trace::load(bad.as_slice(), Limits::default()) {
                Err(error) => assert!(place < 24, "{error}"),
                Ok(part) => {
                    let error = part.damage.as_ref().expect("an error");
                    assert!(place >= 24 && error.offset <= place as u64, "{error} at {place}");
                    assert_good_part(&part, &whole);
                }
            }
        }
    }
    let mut longer = file;
    longer.push(0);
    assert!(matches!(load(&longer).damage.unwrap().problem, Problem::Trailing));
}

#[test]
fn limits_hold() {
    let file = small_file();
    let whole = load(&file);
    for (limits, what) in [
        (Limits { definitions: 12, ..Limits::default() }, "functions"),
        (Limits { names: 20, ..Limits::default() }, "names"),
        (Limits { loaded: 40, ..Limits::default() }, "events"),
    ] {
        let part = Trace::load(file.as_slice(), limits).unwrap();
        let damage = part.damage.as_ref().expect("an error");
        assert!(matches!(damage.problem, Problem::Limit { .. }) && damage.to_string().contains(what), "{damage}");
        assert!(part.events() <= 40 && part.program.functions.len() <= 13);
        assert_good_part(&part, &whole);
    }
}

#[test]
fn nothing_is_read_after_an_error() {
    let file = small_file();
    let mut reader = TraceReader::new(&file[..file.len() - 40], Limits::default()).unwrap();
    while let Ok(block) = reader.next_block() {
        assert!(block.is_some(), "the file has no end");
    }
    assert!(reader.next_block().unwrap().is_none());
    let records: Vec<_> = TraceReader::new(&file[..file.len() - 40], Limits::default()).unwrap().records().collect();
    assert!(records.last().unwrap().is_err() && records.iter().rev().skip(1).all(Result::is_ok));
}
