//! What a profile says about its sampler: mode, parameters with units, counts.
//!
//! In: parameters, seed and counters. Out: a [`Meta`] without program, clock and duration, which whoever ran the program knows.

use crate::counters::Counters;
use crate::profile::Meta;
use crate::samplers::{Antibias, Correction, Length, Mode, Parameters, Start, Trigger};
use crate::words::counted;
use std::time::Duration;

/// See the module.
pub fn describe(parameters: &Parameters, seed: u64, counters: &Counters) -> Meta {
    let (mode, mut shown) = mode(&parameters.mode);
    if parameters.has_timer() {
        let interval =
            if parameters.self_tuning { format!("{}, self-tuning", time(parameters.interval)) } else { time(parameters.interval) };
        shown.insert(0, ("interval", interval));
    }
    Meta {
        mode: mode.into(),
        parameters: shown.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        seed: (parameters.mode != Mode::Exhaustive).then_some(seed),
        counters: *counters,
        ..Meta::default()
    }
}

type Shown = Vec<(&'static str, String)>;

fn mode(mode: &Mode) -> (&'static str, Shown) {
    match *mode {
        Mode::Exhaustive => ("exhaustive", vec![]),
        Mode::StackWalk { antibias } => ("stack walk", vec![correction(antibias)]),
        Mode::Cbs { samples, stride, antibias } => {
            let parts = vec![("samples", format!("{samples} a tick")), ("stride", calls(stride.into())), correction(antibias)];
            ("CBS", parts)
        }
        Mode::StaticBursting { length } => ("static bursting", vec![burst(length)]),
        Mode::AdaptiveBursting { length, history, re_enable } => {
            let re_enable = re_enable.map_or("off".into(), |ratio| format!("{} %", 100.0 * ratio));
            ("adaptive bursting", vec![burst(length), ("history", format!("{history} entries")), ("re-enable ratio", re_enable)])
        }
        Mode::Estimator { trigger, burst: length } => ("estimator", vec![triggered(trigger), burst(Length::Calls(length.into()))]),
    }
}

fn triggered(trigger: Trigger) -> (&'static str, String) {
    match trigger {
        Trigger::Timer(Start::Tick) => ("start", "at the tick".into()),
        Trigger::Timer(Start::Random) => ("start", "at a random call".into()),
        Trigger::Calls { mean } => ("interval", calls(mean)),
    }
}

fn burst(length: Length) -> (&'static str, String) {
    let length = match length {
        Length::Time(length) => time(length),
        Length::Calls(count) => calls(count),
    };
    ("burst", length)
}

fn correction(antibias: Antibias) -> (&'static str, String) {
    let correction = match antibias.correction {
        Correction::Off => "off",
        Correction::Density => "density",
        Correction::DensityAndLatency => "density and latency",
    };
    ("antibias", correction.into())
}

fn calls(count: u64) -> String {
    counted(count, "call")
}

/// As Rust prints it, with a blank before the unit.
fn time(time: Duration) -> String {
    let text = format!("{time:?}");
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    format!("{} {}", &text[..unit], &text[unit..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_told_with_its_numbers() {
        let told: Vec<String> =
            Parameters::presets().iter().map(|(_, preset)| describe(preset, 7, &Counters::default()).to_string()).collect();
        let expected = [
            "exhaustive",
            "stack walk (interval 10 ms, antibias off, seed 7)",
            "CBS (interval 4 ms, samples 8 a tick, stride 2 calls, antibias off, seed 7)",
            "static bursting (interval 10 ms, burst 20000 calls, seed 7)",
            "adaptive bursting (interval 10 ms, burst 20000 calls, history 2048 entries, re-enable ratio off, seed 7)",
            "adaptive bursting (interval 10 ms, burst 20000 calls, history 2048 entries, re-enable ratio 5 %, seed 7)",
            "estimator (interval 10000 calls, burst 8 calls, seed 7)",
            "estimator (interval 200 µs, start at a random call, burst 8 calls, seed 7)",
        ];
        assert_eq!(told, expected.map(|text| format!("unknown program: {text}")));
    }
}
