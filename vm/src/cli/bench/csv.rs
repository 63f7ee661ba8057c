//! Results as CSV: a line for each program, value, phase and clock. What is not known is empty; times are in seconds.

use super::axis::name_of;
use super::outcome::{ProgramResult, Report, TimeResult, ValueResult};
use super::phases::Phase;

const COLUMNS: &str = "program,arguments,axis,value,baseline,rounds,iterations,phase,time,median,low_quartile,high_quartile,\
     speedup,speedup_low,speedup_high,verdict,warm_up,compile,code_bytes,optimized_bytes,inlined,calls,calls_removed_percent,instructions,l1i_misses";

pub fn csv(report: &Report) -> String {
    let mut text = COLUMNS.to_owned() + "\n";
    for program in &report.programs {
        for value in &program.values {
            for time in &value.times {
                text += &(line(report, program, value, time).join(",") + "\n");
            }
        }
    }
    text
}

fn line(report: &Report, program: &ProgramResult, value: &ValueResult, time: &TimeResult) -> Vec<String> {
    let is_headline = (time.phase, time.time) == (report.phase, report.time);
    let speedup = time.speedup;
    vec![
        field(&program.name),
        field(&program.args.join(" ")),
        report.axis.name(),
        field(&value.value),
        field(&report.baseline),
        program.rounds.to_string(),
        report.iterations.to_string(),
        phase_name(time.phase).into(),
        name_of(&time.time),
        time.median.to_string(),
        time.low_quartile.to_string(),
        time.high_quartile.to_string(),
        known(speedup.map(|s| s.estimate)),
        known(speedup.and_then(|s| s.low)),
        known(speedup.and_then(|s| s.high)),
        known(value.verdict.filter(|_| is_headline)),
        known(value.warm_up.map(|warm_up| warm_up.iterations)),
        known(value.compile_seconds),
        known(value.code_bytes),
        known(value.optimized_bytes),
        known(value.inlined),
        known(value.calls),
        known(value.calls_removed_percent),
        known(value.instructions),
        known(value.l1i_misses),
    ]
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Process => "process",
        Phase::First => "first",
        Phase::Steady => "steady",
    }
}

fn known(value: Option<impl std::fmt::Display>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// In quotes where it has to be (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!((field("a b").as_str(), field("a,b").as_str(), field("a\"b").as_str()), ("a b", "\"a,b\"", "\"a\"\"b\""));
    }
}
