//! Results as a table, for the terminal and as Markdown: the same rows in both.

use super::axis::name_of;
use super::outcome::{ProgramResult, Report, Speedup, ValueResult};
use super::phases::{Phase, Time};
use super::rounds::Stopped;

/// Titles of columns that have a mean.
const CODE: &str = "code KiB";
const OPTIMIZED: &str = "optimized KiB";
const FIRST: &str = "speedup of the first";

/// A column: its title, and whether it is aligned to the right.
struct Column {
    title: String,
    right: bool,
}

/// Rows have as many cells as there are columns.
struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

pub fn text(report: &Report) -> String {
    let Grid { columns, rows } = grid(report);
    let titles: Vec<String> = columns.iter().map(|column| column.title.clone()).collect();
    let length = |cell: &String| cell.chars().count();
    let widths: Vec<usize> =
        (0..columns.len()).map(|at| rows.iter().chain([&titles]).map(|row| length(&row[at])).max().unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&columns).zip(&widths).map(|((cell, column), &width)| {
            let pad = " ".repeat(width - length(cell));
            if column.right { pad + cell } else { cell.clone() + &pad }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut out = head(report).join("\n") + "\n\n" + &line(&titles);
    // The program's name stands in its first row alone.
    for (at, row) in rows.iter().enumerate() {
        let mut row = row.clone();
        if at > 0 && rows[at - 1][0] == row[0] {
            row[0].clear();
        }
        out += &line(&row);
    }
    let notes = notes(report);
    if notes.is_empty() { out } else { out + "\n" + &notes.iter().map(|note| format!("note: {note}\n")).collect::<String>() }
}

pub fn markdown(report: &Report) -> String {
    let Grid { columns, rows } = grid(report);
    let line = |cells: &[String]| format!("| {} |\n", cells.iter().map(|cell| plain(cell)).collect::<Vec<_>>().join(" | "));
    let mut out = format!("# {}\n\n", plain(&title(report)));
    out += &head(report)[1..].iter().map(|line| format!("{}  \n", plain(line))).collect::<String>();
    out += "\n![speedups](bench.svg)\n\n";
    out += &line(&columns.iter().map(|column| column.title.clone()).collect::<Vec<_>>());
    out += &format!("|{}\n", columns.iter().map(|column| if column.right { "---:|" } else { "---|" }).collect::<String>());
    rows.iter().for_each(|row| out += &line(row));
    let notes = notes(report);
    if notes.is_empty() { out } else { out + "\n" + &notes.iter().map(|note| format!("- {}\n", plain(note))).collect::<String>() }
}

/// As Markdown that says it literally, in one line: names can look like elements of HTML or like emphasis.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | '|' | '<' | '&' | '*' | '_' | '~' | '`' | '[') {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
}

/// What is compared with what.
pub fn title(report: &Report) -> String {
    let others: Vec<&str> = report.values.iter().filter(|value| **value != report.baseline).map(String::as_str).collect();
    format!("{}: {} against {}", report.axis.name(), others.join(", "), report.baseline)
}

/// What speedups are of.
pub fn phase_title(phase: Phase) -> &'static str {
    match phase {
        Phase::Process => "process",
        Phase::First => "first iteration",
        Phase::Steady => "steady state",
    }
}

fn head(report: &Report) -> Vec<String> {
    let iterations = match report.iterations {
        1 => "each run is a process of its own, compiling included".to_owned(),
        n => format!("each run is a process of its own with {n} iterations"),
    };
    let turns = report.slice_ms.map_or(String::new(), |ms| format!("; those of a round take turns of {ms} ms"));
    let flags = if report.flags.is_empty() { String::new() } else { format!("; all with {}", report.flags.join(" ")) };
    vec![
        title(report),
        format!("{iterations}{turns}{flags}"),
        format!("speedup: time with {} over time with the value, and its 95 % confidence interval; above 1 is faster", report.baseline),
    ]
}

fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.debug {
        notes.push("measured with a debug build of vm".to_owned());
    }
    if !report.failed.is_empty() {
        let failed: Vec<&str> = report.failed.iter().map(|failure| failure.name.as_str()).collect();
        let others = if report.programs.len() > 1 { "; means are over the others" } else { "" };
        notes.push(format!("left out, since they could not be measured: {}{others}", failed.join(", ")));
    }
    if !report.processor_counters && !report.programs.is_empty() {
        notes.push("no PMU: this machine does not let programs count instructions and misses of the instruction cache".into());
    }
    let counts_calls = |value: &ValueResult| value.calls.is_some();
    let values = || report.programs.iter().flat_map(|program| &program.values);
    if values().any(counts_calls) && !values().all(counts_calls) {
        notes.push("calls are not counted on the adaptive tier, where counting changes what is compiled".into());
    }
    let names = |is: &dyn Fn(&ProgramResult) -> bool| -> Vec<&str> {
        report.programs.iter().filter(|program| is(program)).map(|program| program.name.as_str()).collect()
    };
    let late = names(&|program| program.stopped == Stopped::Time);
    if !late.is_empty() {
        notes.push(format!("time was over before the precision was reached, or sure: {}; a longer --max-time helps", late.join(", ")));
    }
    let is_other = |value: &ValueResult| value.value != report.baseline;
    let untold = names(&|program| program.values.iter().any(|value| is_other(value) && value.verdict.is_none()));
    if !untold.is_empty() {
        let (phase, time) = (phase_title(report.phase), name_of(&report.time));
        notes.push(format!(
            "no verdict, since not each round has a time ({phase}, {time}): {}; more work in each run helps, where the clock is too coarse",
            untold.join(", ")
        ));
    }
    let warming = names(&|program| program.values.iter().any(|value| value.warm_up.is_some_and(|warm_up| !warm_up.settled)));
    if !warming.is_empty() {
        notes.push(format!("perhaps still warming up in the last half of the iterations: {}; more --iterations tell", warming.join(", ")));
    }
    notes
}

fn grid(report: &Report) -> Grid {
    let column = |title: &str, right: bool| Column { title: title.into(), right };
    let has = |of: fn(&ValueResult) -> bool| report.programs.iter().flat_map(|program| &program.values).any(of);
    let phase = report.phase;
    let mut columns = vec![
        column("program", false),
        column(&report.axis.name(), false),
        column(&format!("{}: {} ms (quartiles)", phase_title(phase), name_of(&report.time)), true),
    ];
    const CLOCKS: [Time; 2] = [Time::Wall, Time::Cpu];
    columns.extend(CLOCKS.map(|clock| column(&format!("speedup, {}", name_of(&clock)), true)));
    columns.push(column("verdict", false));
    // Each with how to show it, by this clock where it is a time.
    type Cell = fn(&ValueResult, Time) -> String;
    let mut cells: Vec<Cell> = Vec::new();
    let first = Time::Wall;
    let first_title = format!("first: {} ms", name_of(&first));
    let mut add = |shown: bool, title: &str, cell: Cell| {
        if shown {
            columns.push(column(title, true));
            cells.push(cell);
        }
    };
    let iterated = report.iterations > 1;
    add(iterated, "warm-up", |value, _| value.warm_up.map_or(String::new(), |warm_up| warm_up.iterations.to_string()));
    add(iterated, &first_title, |value, first| value.time(Phase::First, first).map_or(String::new(), |time| millis(time.median)));
    add(iterated, FIRST, |value, first| shown(value.time(Phase::First, first).and_then(|time| time.speedup)));
    add(has(|value| value.compile_seconds.is_some()), "compile ms", |value, _| value.compile_seconds.map_or(String::new(), millis));
    add(has(|value| value.code_bytes.is_some()), CODE, |value, _| kib(value.code_bytes));
    add(has(|value| value.optimized_bytes != value.code_bytes), OPTIMIZED, |value, _| kib(value.optimized_bytes));
    add(has(|value| value.inlined.is_some()), "inlined", |value, _| number(value.inlined, 0));
    add(has(|value| value.calls.is_some()), "calls", |value, _| value.calls.map_or(String::new(), grouped));
    add(has(|value| value.calls_removed_percent.is_some()), "calls removed", |value, _| removed(value.calls_removed_percent));
    add(has(|value| value.instructions.is_some()), "million instructions", |value, _| number(value.instructions.map(|n| n / 1e6), 1));
    add(has(|value| value.l1i_misses.is_some()), "L1i misses", |value, _| number(value.l1i_misses, 0));

    let mut rows = Vec::new();
    for program in &report.programs {
        for value in &program.values {
            let own = value.time(phase, report.time);
            let times =
                own.map_or(String::new(), |t| format!("{} ({}–{})", millis(t.median), millis(t.low_quartile), millis(t.high_quartile)));
            let speedup = |time| shown(value.time(phase, time).and_then(|time| time.speedup));
            let verdict = value.verdict.map_or(String::new(), |verdict| verdict.to_string());
            let mut row = vec![program.name.clone(), value.value.clone(), times];
            row.extend(CLOCKS.iter().map(|&clock| speedup(clock)));
            row.push(verdict);
            row.extend(cells.iter().map(|cell| cell(value, first)));
            rows.push(row);
        }
    }
    for value in report.values.iter().filter(|value| **value != report.baseline && report.programs.len() > 1) {
        let mean = |phase, time| report.mean(value, phase, time);
        let verdict = mean(phase, report.time).map_or(String::new(), |mean| mean.verdict.to_string());
        let speedup = |phase, time| shown(mean(phase, time).map(|mean| mean.speedup));
        let mut row = vec!["geometric mean".into(), value.clone(), String::new()];
        row.extend(CLOCKS.iter().map(|&clock| speedup(phase, clock)));
        row.push(verdict);
        row.extend(columns[row.len()..].iter().map(|column| match column.title.as_str() {
            FIRST => speedup(Phase::First, first),
            CODE => times(report.relative_size(value, |value| value.code_bytes)),
            OPTIMIZED => times(report.relative_size(value, |value| value.optimized_bytes)),
            _ => String::new(),
        }));
        rows.push(row);
    }
    Grid { columns, rows }
}

fn shown(speedup: Option<Speedup>) -> String {
    match speedup {
        None => String::new(),
        Some(Speedup { estimate, low: Some(low), high: Some(high), .. }) => format!("{estimate:.3} ({low:.3}–{high:.3})"),
        Some(Speedup { estimate, .. }) => format!("{estimate:.3}"),
    }
}

fn millis(seconds: f64) -> String {
    let millis = seconds * 1e3;
    if millis < 1.0 { format!("{millis:.3}") } else { format!("{millis:.1}") }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

fn kib(bytes: Option<f64>) -> String {
    number(bytes.map(|bytes| bytes / 1024.0), 1)
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or(String::new(), |ratio| format!("{ratio:.2} ×"))
}

fn percent(value: Option<f64>) -> String {
    // What rounds to nothing has no sign: -0 + 0 is 0.
    value.map_or(String::new(), |value| format!("{:.1} %", (value * 10.0).round() / 10.0 + 0.0))
}

/// Where there are more than twice as many calls as before, how many times as many says more than percents, which may be thousands.
fn removed(percents: Option<f64>) -> String {
    match percents {
        Some(less) if less < -100.0 => format!("none: {} × as many", grouped((1.0 - less / 100.0).round() as u64)),
        _ => percent(percents),
    }
}

/// With commas between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "native")]
    #[test]
    fn a_missing_verdict_is_told() {
        use crate::cli::bench::outcome::examples::report;
        let of = |seconds: f64| text(&report(&["a.lang", "--compare", "tier=interp,opt"], 2, |_, _| seconds));
        let note = "note: no verdict, since not each round has a time (process, wall): a; ";
        assert!(of(0.0).contains(note) && !of(1.0).contains("no verdict"), "{}", of(0.0));
    }

    /// Where nothing was measured, nothing is known of the machine.
    #[cfg(feature = "native")]
    #[test]
    fn a_missing_pmu_is_told_where_something_was_measured() {
        use crate::cli::bench::outcome::examples::report;
        let mut report = report(&["a.lang", "--compare", "tier=interp,opt"], 2, |_, _| 1.0);
        assert!(text(&report).contains("no PMU"));
        report.programs.clear();
        assert!(!text(&report).contains("no PMU"));
    }

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!([-0.01, 0.04, -0.3].map(|value| percent(Some(value))), ["0.0 %", "0.0 %", "-0.3 %"]);
    }

    #[test]
    fn calls_that_became_many_times_as_many_are_no_negative_percents() {
        let shown = [Some(69.5), Some(-40.0), Some(-462_394.4), None].map(removed);
        assert_eq!(shown, ["69.5 %", "-40.0 %", "none: 4,625 × as many", ""]);
    }

    #[test]
    fn markdown_says_names_literally() {
        assert_eq!(plain("List<T> a|b\n*c* __d ~~e"), "List\\<T> a\\|b \\*c\\* \\_\\_d \\~\\~e");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
