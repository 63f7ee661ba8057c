//! Files made from the specification alone, right and wrong.

use crate::load;
use profiler::event::Event;
use profiler::ids::{EdgeId, FuncId, ThreadId};
use profiler::program::Function;
use profiler::trace::{Limits, Problem, Stamp, Trace};
use proptest::prelude::*;

/// A kind and contents.
type Block<'a> = (u8, &'a [u8]);

/// A file of these blocks, made from the specification alone and without compression.
fn craft(blocks: &[Block]) -> Vec<u8> {
    let mut file = b"\x89trace\r\n\x01\x00\x01\x00".to_vec();
    file.extend(1_000_000_000_u64.to_le_bytes());
    file.extend(crc32fast::hash(&file).to_le_bytes());
    for (kind, raw) in blocks {
        let mut stored = match raw.len() {
            length @ 0..15 => vec![(length as u8) << 4],
            length => {
                let mut head = vec![0xff; 1 + (length - 15) / 255];
                head[0] = 0xf0;
                head.push(((length - 15) % 255) as u8);
                head
            }
        };
        stored.extend(*raw);
        let mut block = vec![*kind, 0, 0, 0];
        block.extend((raw.len() as u32).to_le_bytes());
        block.extend((stored.len() as u32).to_le_bytes());
        let crc = crc32fast::hash(&[block.as_slice(), &stored].concat());
        block.extend(crc.to_le_bytes());
        file.extend(block.into_iter().chain(stored));
    }
    file
}

/// Functions f and g, a site in f, edges to f from outside and to g from the site, a thread.
const DEFINED: Block = (1, b"\x01\x01f\x00\x07\x01\x01g\x01t\x00\x02\x00\x08\x03\x00\x00\x03\x01\x01\x04\x05\x04main");

#[test]
fn a_file_made_by_hand_is_read() {
    // Thread 0, base 5; 4 events, 2 edges, 2 stamps; the edges; the codes; stamps at 0 and 4, of 5 and 305.
    let events: Block = (2, b"\x00\x05\x04\x02\x02\x00\x01\x01\x02\x00\x00\x00\x04\x00\xac\x02");
    let trace = load(&craft(&[DEFINED, events, (1, b"\x05\x00\xac\x02"), (3, b"\x04\x00")]));
    assert!(trace.damage.is_none(), "{:?}", trace.damage);
    let program = &trace.program;
    let [f, g] = [0, 1].map(FuncId::from_u32);
    assert_eq!(program.functions[f], Function { name: "f".into(), file: "".into(), line: 7 });
    assert_eq!(program.functions[g], Function { name: "g".into(), file: "t".into(), line: 0 });
    let [outer, inner] = [0, 1].map(EdgeId::from_u32);
    assert_eq!((program.caller(outer), program.callee(outer), program.caller(inner), program.callee(inner)), (None, f, Some(f), g));
    let thread = &trace.threads[ThreadId::from_u32(0)];
    assert_eq!((&*thread.name, thread.start, thread.end), ("main", 5, Some(300)));
    assert_eq!(thread.events, [Event::call(outer), Event::call(inner), Event::RETURN, Event::RETURN]);
    assert_eq!(thread.stamps, [Stamp { at: 0, cycles: 5 }, Stamp { at: 4, cycles: 305 }]);
    assert_eq!(thread.times().collect::<Vec<_>>(), [5, 80, 155, 230]);
}

#[test]
fn contents_that_make_no_sense_are_errors_that_say_so() {
    let no_function: Block = (1, b"\x02\x00\x00");
    let cases: &[(&[Block], &str)] = &[
        (&[(1, b"\x09")], "no definition of such a kind"),
        (&[(1, b"\x01\x05abc")], "ends too early"),
        (&[(1, b"\x01\x02\xff\xff\x00\x00")], "not UTF-8"),
        (&[(1, b"\x01\x80\x80\x04")], "name is too long"),
        (&[(1, b"\x01\x00\x00\x80\x80\x80\x80\x10")], "32 bits"),
        (&[no_function], "a function that is not defined"),
        (&[DEFINED, (1, b"\x03\x02\x00")], "a call site that is not defined"),
        (&[DEFINED, (1, b"\x03\x00\x02")], "a function that is not defined"),
        (&[DEFINED, (1, b"\x03\x01\x01")], "an edge is defined twice"),
        (&[DEFINED, (1, b"\x05\x01\x00")], "not started"),
        (&[DEFINED, (1, b"\x05\x00\x00\x05\x00\x00")], "has ended"),
        (&[DEFINED, (1, b"\x05\x00\x00"), (2, b"\x00\x00\x00\x00\x00")], "has ended"),
        (&[DEFINED, (2, b"\x01\x00\x00\x00\x00")], "not started"),
        (&[DEFINED, (2, b"\x00\x00\x01\x01\x00\x02\x01")], "an edge that is not defined"),
        (&[DEFINED, (2, b"\x00\x00\x01\x01\x00\x01\x02")], "not in its block's list"),
        (&[DEFINED, (2, b"\x00\x00\x01\x02\x00\x00\x01\x01")], "too many"),
        (&[DEFINED, (2, b"\x00\x00\x80\x80\x04\x00\x00")], "too many"),
        (&[DEFINED, (2, b"\x00\x00\x01\x00\x03\x00\x00\x01\x01\x00\x00\x00")], "too many"),
        (&[DEFINED, (2, b"\x00\x00\x02\x00\x00\x00")], "ends too early"),
        (&[DEFINED, (2, b"\x00\x00\x01\x00\x00\x00\x00")], "goes on after its end"),
        (&[DEFINED, (2, b"\x00\x00\x01\x00\x02\x00\x01\x00\x05\x05")], "out of order"),
        (&[DEFINED, (2, b"\x00\x00\x01\x00\x01\x00\x02\x05")], "out of order"),
        (&[DEFINED, (2, b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x00\x01\x00\x00\x01")], "64 bits"),
        (&[DEFINED, (2, b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")], "64 bits"),
        (&[(4, b"")], "no block of kind 4"),
        (&[(3, b"\x01\x00")], "should hold 1 events, but holds 0"),
        (&[(3, b"\x00\x00\x00")], "goes on after its end"),
        (&[(3, b"")], "ends too early"),
        (&[(3, b"\x00\x00"), (3, b"\x00\x00")], "two files in one"),
        (&[DEFINED], "without its last block"),
    ];
    for (blocks, expected) in cases {
        let damage = load(&craft(blocks)).damage.unwrap_or_else(|| panic!("no error, not: {expected}"));
        assert!(damage.to_string().contains(expected), "{damage}, not: {expected}");
        let good = if matches!(damage.problem, Problem::NoEnd) { blocks } else { &blocks[..blocks.len() - 1] };
        assert_eq!((damage.blocks, damage.offset), (good.len() as u64, craft(good).len() as u64), "{damage}");
    }
}

#[test]
fn compression_that_is_wrong_is_an_error() {
    let mut file = craft(&[(1, b"\x01\x01f\x00\x07")]);
    // The block says seven literals, where five are.
    file[24 + 16] = 0x70;
    let crc = crc32fast::hash(&[&file[24..36], &file[40..]].concat());
    file[36..40].copy_from_slice(&crc.to_le_bytes());
    assert!(load(&file).damage.unwrap().to_string().contains("cannot be decompressed"));
}

#[test]
fn headers_that_are_wrong_are_errors() {
    let message = |change: fn(&mut Vec<u8>)| {
        let mut file = craft(&[(3, b"\x00\x00")]);
        change(&mut file);
        let crc = crc32fast::hash(&file[..20]);
        file[20..24].copy_from_slice(&crc.to_le_bytes());
        Trace::load(file.as_slice(), Limits::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert!(message(|_| ()).is_ok());
    assert!(message(|file| file[8] = 2).unwrap_err().contains("version 2"));
    assert!(message(|file| file[10] = 3).unwrap_err().contains("unit"));
    assert!(message(|file| file[5] = b'x').unwrap_err().contains("not a trace file"));
}

proptest! {
    /// Contents of any bytes with the right checksum reach all of the decoder.
    #[test]
    fn no_contents_panic(blocks in proptest::collection::vec((1..=3_u8, proptest::collection::vec(0..20_u8, 0..60)), 0..8)) {
        let blocks: Vec<Block> = blocks.iter().map(|(kind, raw)| (*kind, raw.as_slice())).collect();
        let file = craft(&blocks);
        let limits = Limits { definitions: 100, names: 100, loaded: 1000 };
        let trace = Trace::load(file.as_slice(), limits).unwrap();
        prop_assert!(trace.program.functions.len() <= 101);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Trace::load(bytes.as_slice(), Limits::default()).is_err());
        let mut file = craft(&[]);
        file.extend(bytes);
        prop_assert!(load(&file).damage.is_some());
    }
}

/// Every byte of the contents changed, with the right checksum: what is read may differ, but it is read or refused.
#[test]
fn no_change_of_contents_panics() {
    let events: &[u8] = b"\x00\x05\x04\x02\x02\x00\x01\x01\x02\x00\x00\x00\x04\x00\xac\x02";
    let contents: [Block; 4] = [DEFINED, (2, events), (1, b"\x05\x00\xac\x02"), (3, b"\x04\x00")];
    let mut damaged = 0;
    for block in 0..contents.len() {
        for place in 0..contents[block].1.len() {
            for value in [0, 1, 2, 3, 5, 0x7f, 0x80, 0xff] {
                let mut raw = contents[block].1.to_vec();
                raw[place] = value;
                let mut changed = contents;
                changed[block].1 = &raw;
                let trace = load(&craft(&changed));
                assert!(trace.events() <= 4);
                trace.threads.values().for_each(|thread| assert_eq!(thread.times().count(), thread.events.len()));
                damaged += u32::from(trace.damage.is_some());
            }
        }
    }
    assert!(damaged > 200, "most changes make no sense: {damaged}");
}
