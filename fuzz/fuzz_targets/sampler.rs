//! Bytes as a sampler's parameters, a clock, and what two threads do: the parameters are refused, or the replay ends, is the same each time, counts no more than was done, and fills all structures without breaking them.
#![no_main]

use profiler::clock::Clock;
use profiler::event::Event;
use profiler::ids::{EdgeId, FuncId, ThreadId};
use profiler::program::{CallSite, Edge, Function, Program};
use profiler::replay::{Options, Replay, Time};
use profiler::sample::Sample;
use profiler::samplers::{Antibias, Correction, Length, Mode, Parameters, Start, Trigger};
use profiler::structures::CallStructure;
use profiler::structures::ccmap::{CcMap, Limits};
use profiler::structures::cct::Cct;
use profiler::structures::dcg::Dcg;
use profiler::structures::kccf::Kccf;
use profiler::structures::ksf::SiblingKsf;
use std::time::Duration;

/// The input as a source of numbers: zeros when it is used up.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    /// Of up to eight bytes, so that small ones are as likely as large ones.
    fn number(&mut self) -> u64 {
        let width = self.byte() % 9;
        (0..width).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    fn small(&mut self) -> u32 {
        self.number() as u32
    }

    /// A share, or any number at all.
    fn float(&mut self) -> f64 {
        match self.byte() {
            0 => f64::from_bits(self.number()),
            byte => f64::from(byte) / 255.0,
        }
    }

    fn antibias(&mut self) -> Antibias {
        let correction = [Correction::Off, Correction::Density, Correction::DensityAndLatency][usize::from(self.byte() % 3)];
        Antibias { lambda: self.float() * 1e7, alpha: self.float() * 1e3, ..Antibias::with(correction) }
    }

    fn length(&mut self) -> Length {
        if self.byte() & 1 == 0 { Length::Calls(self.number()) } else { Length::Time(Duration::from_nanos(self.number())) }
    }

    fn mode(&mut self) -> Mode {
        match self.byte() % 8 {
            0 => Mode::Exhaustive,
            1 => Mode::StackWalk { antibias: self.antibias() },
            2 => Mode::Cbs { samples: self.small(), stride: self.small(), antibias: self.antibias() },
            3 => Mode::StaticBursting { length: self.length() },
            4 => Mode::AdaptiveBursting { length: self.length(), history: self.small() % 4096, re_enable: None },
            5 => Mode::AdaptiveBursting { length: self.length(), history: self.small() % 4096, re_enable: Some(self.float()) },
            6 => Mode::Estimator { trigger: Trigger::Calls { mean: self.number() }, burst: self.small() },
            _ => {
                let start = if self.byte() & 1 == 0 { Start::Random } else { Start::Tick };
                Mode::Estimator { trigger: Trigger::Timer(start), burst: self.small() }
            }
        }
    }

    fn options(&mut self) -> Options {
        let interval = Duration::from_nanos(self.number());
        let self_tuning = self.byte() & 1 == 1;
        let parameters = Parameters { jitter: self.float(), interval, self_tuning, ..Parameters::new(self.mode()) };
        let clock = [Clock::Nanoseconds, Clock::cycles(self.number()), Clock::Steps][usize::from(self.byte() % 3)];
        let time = if self.byte() & 1 == 0 { Time::Stamps } else { Time::PerCall(self.number()) };
        Options { clock, time, ..Options::new(parameters, self.number()) }
    }
}

/// Four functions that call each other from a site each, and start threads.
fn program() -> Program {
    let mut program = Program::default();
    let functions: Vec<FuncId> =
        (0..4).map(|n| program.functions.push(Function { name: format!("f{n}").into(), file: "".into(), line: n })).collect();
    for &caller in &functions {
        let site = program.sites.push(CallSite { caller, line: 0 });
        program.edge(Edge { site: None.into(), callee: caller });
        for &callee in &functions {
            program.edge(Edge { site: Some(site).into(), callee });
        }
    }
    program
}

/// A byte an event: thread, return or call, edge, and how long it takes.
fn events(bytes: &[u8]) -> Vec<(ThreadId, Event, u64)> {
    let mut now = 0u64;
    let event = |&byte: &u8| {
        now = now.saturating_add(1 << (byte & 0x1f));
        let event = if byte & 2 == 0 { Event::RETURN } else { Event::call(EdgeId::from_u32(u32::from(byte >> 2) % 20)) };
        (ThreadId::from_u32(u32::from(byte & 1)), event, now)
    };
    bytes.iter().map(event).collect()
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices(bytes);
    let options = choices.options();
    let events = events(choices.0);
    let run = || {
        let mut samples = Vec::new();
        Replay::run(options, events.iter().copied(), |sample| samples.push(sample.clone())).map(|summary| (samples, summary))
    };
    let Ok((samples, summary)) = run() else { return };
    assert_eq!(run(), Ok((samples.clone(), summary)), "the same seed, the same samples");
    let calls = events.iter().filter(|(_, event, _)| event.edge().is_some()).count() as u64;
    assert_eq!(summary.counters.calls, calls);
    assert!(summary.counters.burst_calls <= calls && summary.share().is_finite());
    fill(&samples);
});

fn fill(samples: &[Sample]) {
    let program = program();
    let (mut dcg, mut cct) = (Dcg::new(), Cct::new());
    let mut ccmap = CcMap::new(&program, Limits::default()).expect("the program is whole");
    let mut ksf = SiblingKsf::new(2, 1000).expect("2 is not 0");
    for sample in samples {
        assert!(sample.weight.is_finite() && sample.weight >= 0.0);
        dcg.add(sample);
        cct.add(sample, |edge| edge);
        ccmap.add(sample, |edge| edge);
        ksf.add(sample, |edge| edge);
    }
    let is_close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    assert!(is_close(dcg.total(), cct.total()));
    assert!(is_close(dcg.total(), ccmap.total()));
    ccmap.check().expect("its own invariants");
    Kccf::invert(&ksf, 2, 1000).expect("2 is its reach");
}
