//! Times of a trace that is read block by block are those of the whole trace.

use crate::round_trip::{Op, op, write};
use crate::{load, program};
use profiler::ids::{FuncId, ThreadId};
use profiler::program::Edge;
use profiler::trace::{Clock, Limits, Step, Timeline, TraceReader, TraceWriter};
use proptest::prelude::*;

fn steps(file: &[u8], mut timeline: Timeline) -> Vec<(ThreadId, Step)> {
    let mut reader = TraceReader::new(file, Limits::default()).unwrap();
    let mut steps = Vec::new();
    let mut sink = |thread, step| steps.push((thread, step));
    while let Some(block) = reader.next_block().unwrap() {
        timeline.block(&block, &mut sink);
    }
    timeline.finish(&reader, &mut sink);
    steps
}

fn of(thread: ThreadId, steps: &[(ThreadId, Step)]) -> Vec<Step> {
    steps.iter().filter(|step| step.0 == thread).map(|step| step.1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn each_thread_has_its_events_at_their_times(ops in proptest::collection::vec(op(), 0..1500)) {
        let mut ops = ops;
        ops.insert(0, Op::Start);
        let (file, ..) = write(&ops);
        let steps = steps(&file, Timeline::default());
        for (id, thread) in &load(&file).threads {
            let events = thread.events.iter().zip(thread.times()).map(|(&event, time)| Step::Event(event, time));
            let all = std::iter::once(Step::Start(thread.start)).chain(events).chain(thread.end.map(Step::End));
            prop_assert_eq!(of(id, &steps), all.collect::<Vec<_>>());
        }
    }
}

#[test]
fn what_exceeds_the_limit_stands_at_the_last_stamp() {
    let mut writer = TraceWriter::new(Vec::new(), Clock::Nanoseconds, &program(1)).unwrap();
    let edge = writer.edge(Edge { site: None.into(), callee: FuncId::from_u32(0) }).unwrap();
    let thread = writer.start_thread("main", 100).unwrap();
    (0..4).for_each(|_| writer.call_edge(thread, edge).unwrap());
    writer.flush().unwrap();
    (0..2).for_each(|_| writer.call_edge(thread, edge).unwrap());
    writer.end_thread(thread, 200).unwrap();
    let file = writer.finish().unwrap();
    let times = |limit| {
        let time = |step: &Step| match *step {
            Step::Event(_, time) => Some(time),
            Step::Start(_) | Step::End(_) => None,
        };
        of(thread, &steps(&file, Timeline::with_limit(limit))).iter().filter_map(time).collect::<Vec<_>>()
    };
    assert_eq!(times(6), [100, 116, 133, 150, 166, 183]);
    assert_eq!(times(3), [100, 100, 100, 100, 100, 150]);
    assert_eq!(times(0), [100; 6]);
    assert_eq!(of(thread, &steps(&file, Timeline::default())).last(), Some(&Step::End(200)));
}
