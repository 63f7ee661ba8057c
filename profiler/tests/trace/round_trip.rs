//! What a writer is told, a reader says.

use crate::{load, program};
use profiler::event::Event;
use profiler::ids::{CallSiteId, FuncId, ThreadId};
use profiler::program::{Edge, Program};
use profiler::trace::{Clock, Limits, MAX_EVENTS, Record, Stamp, ThreadTrace, TraceReader, TraceWriter, WriteError};
use proptest::prelude::*;

fn same_program(a: &Program, b: &Program) {
    assert_eq!(a.functions.values().collect::<Vec<_>>(), b.functions.values().collect::<Vec<_>>());
    assert_eq!(a.sites.values().collect::<Vec<_>>(), b.sites.values().collect::<Vec<_>>());
    assert_eq!(a.edges().values().collect::<Vec<_>>(), b.edges().values().collect::<Vec<_>>());
}

/// Something that a program does or a writer is asked for.
#[derive(Clone, Debug)]
pub enum Op {
    Start,
    End(usize),
    Call { thread: usize, site: Option<u32>, callee: u32 },
    Return(usize),
    Time { thread: usize, passed: u64 },
    Flush,
}

const FUNCTIONS: u32 = 300;

pub fn op() -> impl Strategy<Value = Op> {
    let thread = 0..4_usize;
    prop_oneof![
        1 => Just(Op::Start),
        1 => thread.clone().prop_map(Op::End),
        30 => (thread.clone(), proptest::option::weighted(0.9, 0..2 * FUNCTIONS), 0..FUNCTIONS)
            .prop_map(|(thread, site, callee)| Op::Call { thread, site, callee }),
        25 => thread.clone().prop_map(Op::Return),
        10 => (thread, prop_oneof![0..10_u64, any::<u32>().prop_map(u64::from)]).prop_map(|(thread, passed)| Op::Time { thread, passed }),
        1 => Just(Op::Flush),
    ]
}

/// What a thread should be when it is read.
struct Expected {
    trace: ThreadTrace,
    now: u64,
    depth: u64,
    /// Whether the last stamp can still be replaced by another at the same place.
    is_stamp_open: bool,
}

/// Does the same with a writer and with a plain model of what it should write.
pub fn write(ops: &[Op]) -> (Vec<u8>, Program, Vec<ThreadTrace>) {
    let mut writer = TraceWriter::new(Vec::new(), Clock::Nanoseconds, &program(FUNCTIONS)).unwrap();
    let mut threads: Vec<Expected> = Vec::new();
    for (number, op) in ops.iter().enumerate() {
        let running = |threads: &[Expected], thread: usize| threads.get(thread).is_some_and(|it| it.trace.end.is_none());
        match *op {
            Op::Start => {
                let (name, start) = (format!("thread {number}"), number as u64 * 1000);
                writer.start_thread(&name, start).unwrap();
                let trace = ThreadTrace { name: name.into(), start, end: None, events: Vec::new(), stamps: Vec::new() };
                threads.push(Expected { trace, now: start, depth: 0, is_stamp_open: false });
            }
            Op::Flush => {
                writer.flush().unwrap();
                threads.iter_mut().for_each(|thread| thread.is_stamp_open = false);
            }
            Op::End(thread) | Op::Call { thread, .. } | Op::Return(thread) | Op::Time { thread, .. } if !running(&threads, thread) => {
                let id = ThreadId::from_u32(thread as u32);
                assert!(matches!(writer.ret(id), Err(WriteError::Thread(it)) if it == id));
            }
            Op::End(thread) => {
                let model = &mut threads[thread];
                model.trace.end = Some(model.now + 5);
                writer.end_thread(ThreadId::from_u32(thread as u32), model.now + 5).unwrap();
            }
            Op::Call { thread, site, callee } => {
                let (site, callee) = (site.map(CallSiteId::from_u32), FuncId::from_u32(callee));
                writer.call(ThreadId::from_u32(thread as u32), site, callee).unwrap();
                let edge = writer.program().find(Edge { site: site.into(), callee }).unwrap();
                threads[thread].trace.events.push(Event::call(edge));
                threads[thread].depth += 1;
            }
            Op::Return(thread) => {
                writer.ret(ThreadId::from_u32(thread as u32)).unwrap();
                let model = &mut threads[thread];
                if model.depth > 0 {
                    model.depth -= 1;
                    model.trace.events.push(Event::RETURN);
                }
            }
            Op::Time { thread, passed } => {
                let model = &mut threads[thread];
                model.now += passed;
                writer.time(ThreadId::from_u32(thread as u32), model.now).unwrap();
                let at = model.trace.events.len() as u64;
                if model.is_stamp_open && model.trace.stamps.last().is_some_and(|last| last.at == at) {
                    model.trace.stamps.pop();
                }
                model.trace.stamps.push(Stamp { at, cycles: model.now });
                model.is_stamp_open = true;
            }
        }
    }
    let program = writer.program().clone();
    (writer.finish().unwrap(), program, threads.into_iter().map(|it| it.trace).collect())
}

/// Each thread's events and times, put together from records.
fn from_records(file: &[u8]) -> Vec<(Vec<Event>, Vec<Stamp>)> {
    let mut threads: Vec<(Vec<Event>, Vec<Stamp>)> = Vec::new();
    for record in TraceReader::new(file, Limits::default()).unwrap().records() {
        let record = record.unwrap();
        let (Record::Time { thread, .. } | Record::Call { thread, .. } | Record::Return { thread }) = record;
        let index = thread.as_u32() as usize;
        threads.resize(threads.len().max(index + 1), Default::default());
        let (events, stamps) = &mut threads[index];
        match record {
            Record::Time { cycles, .. } => stamps.push(Stamp { at: events.len() as u64, cycles }),
            Record::Call { edge, .. } => events.push(Event::call(edge)),
            Record::Return { .. } => events.push(Event::RETURN),
        }
    }
    threads
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_comes_back(ops in proptest::collection::vec(op(), 0..1500)) {
        let mut ops = ops;
        ops.insert(0, Op::Start);
        let (file, program, threads) = write(&ops);
        let trace = load(&file);
        prop_assert!(trace.damage.is_none());
        prop_assert_eq!(trace.clock, Clock::Nanoseconds);
        same_program(&trace.program, &program);
        prop_assert_eq!(trace.threads.values().collect::<Vec<_>>(), threads.iter().collect::<Vec<_>>());
        let mut records = from_records(&file);
        records.resize(threads.len(), Default::default());
        for (thread, (events, stamps)) in threads.into_iter().zip(records) {
            prop_assert_eq!(thread.events, events);
            prop_assert_eq!(thread.stamps, stamps);
        }
    }
}

/// Full blocks, of few edges (codes of one byte) and of many (of two), with a stamp at each event.
#[test]
fn long_runs_fill_many_blocks() {
    for functions in [10, 127, 128, 5000] {
        let mut writer = TraceWriter::new(Vec::new(), Clock::cycles(3_000_000_000), &program(functions)).unwrap();
        let thread = writer.start_thread("main", 7).unwrap();
        let (mut events, mut stamps) = (Vec::new(), Vec::new());
        for step in 0..MAX_EVENTS as u64 * 5 / 2 {
            writer.time(thread, 7 + step * step).unwrap();
            stamps.push(Stamp { at: step, cycles: 7 + step * step });
            if step % 3 == 2 {
                writer.ret(thread).unwrap();
                events.push(Event::RETURN);
                continue;
            }
            let site = CallSiteId::from_u32((step * 7 % (2 * u64::from(functions))) as u32);
            let callee = FuncId::from_u32((step * 7 % u64::from(functions)) as u32);
            let edge = writer.edge(Edge { site: Some(site).into(), callee }).unwrap();
            writer.call_edge(thread, edge).unwrap();
            events.push(Event::call(edge));
        }
        let file = writer.finish().unwrap();
        let trace = load(&file);
        assert!(trace.damage.is_none());
        assert_eq!(trace.clock, Clock::cycles(3_000_000_000));
        assert_eq!(trace.threads[thread].events, events);
        assert_eq!(trace.threads[thread].stamps, stamps);
        assert!(trace.bytes() >= 4 * events.len() + 16 * stamps.len());
        assert!(trace.threads[thread].times().eq(stamps.iter().map(|stamp| stamp.cycles)));

        let mut reader = TraceReader::new(file.as_slice(), Limits::default()).unwrap();
        let (mut blocks, mut first) = (0, 0);
        while let Some(block) = reader.next_block().unwrap() {
            assert_eq!((block.thread, block.first), (thread, first));
            assert!(block.times().eq(stamps[first as usize..].iter().take(block.events.len()).map(|stamp| stamp.cycles)));
            blocks += 1;
            first += block.events.len() as u64;
        }
        assert_eq!((blocks, reader.events(), reader.offset()), (3, first, file.len() as u64));
    }
}
