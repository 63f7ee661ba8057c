//! Results as a picture (SVG): a row for each program, in it a dot for each value with its confidence interval as a line, on a logarithmic axis around 1. A hollow dot: no detectable difference.

use super::outcome::{Report, Speedup, Verdict};
use super::table::{phase_title, title};
use crate::cli::bench::axis::name_of;
use std::fmt::Write;

/// Pixels.
const PLOT_WIDTH: f64 = 560.0;
const RIGHT: f64 = 24.0;
const LINE: f64 = 20.0;
/// Of a character, in the mean; in the names of rows, some of which are bold.
const CHARACTER: f64 = 7.0;
const LABEL_CHARACTER: f64 = 8.0;
/// Between two values of a program, and between two programs.
const STEP: f64 = 13.0;
const GAP: f64 = 15.0;
/// Between the labels of ticks, at least.
const TICKS_APART: f64 = 52.0;
/// Told apart by people who see colours differently (M. Okabe and K. Ito, "Color Universal Design", 2008).
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"];
/// What the axis shows beside the estimates: intervals that are longer are cut off, or a single disturbed program would hide all others.
const MARGIN: f64 = 1.25;
/// Where ticks may stand; the first that find room do.
const TICKS: [f64; 33] = [
    1.0, 10.0, 0.1, 100.0, 0.01, 2.0, 0.5, 5.0, 0.2, 20.0, 50.0, 0.05, 0.02, 1.5, 3.0, 0.7, 0.3, 4.0, 7.0, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95,
    1.3, 1.4, 0.6, 1.7, 1.02, 0.98, 1.01, 0.99,
];

/// One dot.
struct Point {
    value: usize,
    speedup: Speedup,
    verdict: Option<Verdict>,
}

pub fn svg(report: &Report) -> String {
    let others: Vec<&String> = report.values.iter().filter(|value| **value != report.baseline).collect();
    let rows = rows(report, &others);
    let left = 24.0 + LABEL_CHARACTER * rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) as f64;
    let scale = Scale::new(rows.iter().flat_map(|(_, points)| points), left);
    let legend = legend(&others, left);
    let top = 2.0 * LINE + 12.0 + LINE * (1 + legend.last().map_or(0, |entry| entry.line)) as f64;
    let row = STEP * others.len() as f64 + GAP;
    let bottom = top + row * rows.len() as f64;
    let (width, height) = (left + PLOT_WIDTH + RIGHT, bottom + 2.0 * LINE + 12.0);

    let mut out = String::new();
    _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="sans-serif" font-size="12" fill="#222222">"##
    );
    _ = writeln!(out, r##"<rect width="{width:.0}" height="{height:.0}" fill="#ffffff"/>"##);
    _ = writeln!(out, r##"<text x="{left:.1}" y="24" font-size="16">{}</text>"##, escaped(&title(report)));
    for Entry { value, x, line } in &legend {
        let y = 2.0 * LINE + 6.0 + LINE * *line as f64;
        _ = writeln!(out, r##"<circle cx="{:.1}" cy="{y:.1}" r="4.5" fill="{}"/>"##, x + 5.0, color(*value));
        _ = writeln!(out, r##"<text x="{:.1}" y="{:.1}">{}</text>"##, x + 15.0, y + 4.0, escaped(others[*value]));
    }
    for (at, (name, _)) in rows.iter().enumerate() {
        let y = top + row * at as f64;
        if at % 2 == 0 {
            _ = writeln!(out, r##"<rect x="{left:.1}" y="{y:.1}" width="{PLOT_WIDTH:.1}" height="{row:.1}" fill="#f4f4f4"/>"##);
        }
        let weight = if at >= report.programs.len() { r#" font-weight="bold""# } else { "" };
        _ = writeln!(
            out,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="end"{weight}>{}</text>"##,
            left - 8.0,
            y + row / 2.0 + 4.0,
            escaped(name)
        );
    }
    for tick in scale.ticks() {
        let (x, color) = (scale.x(tick), if tick == 1.0 { "#444444" } else { "#cccccc" });
        _ = writeln!(out, r##"<line x1="{x:.1}" y1="{top:.1}" x2="{x:.1}" y2="{bottom:.1}" stroke="{color}"/>"##);
        _ = writeln!(out, r##"<text x="{x:.1}" y="{:.1}" text-anchor="middle">{tick}</text>"##, bottom + 16.0);
    }
    for (at, (name, points)) in rows.iter().enumerate() {
        for point in points {
            let y = top + row * at as f64 + GAP / 2.0 + STEP * (point.value as f64 + 0.5);
            dot(&mut out, &scale, y, point, &format!("{name}, {}", others[point.value]));
        }
    }
    let axis = format!("speedup against {} ({}, {} time)", report.baseline, phase_title(report.phase), name_of(&report.time));
    let (middle, under) = (left + PLOT_WIDTH / 2.0, bottom + LINE + 18.0);
    _ = writeln!(out, r##"<text x="{middle:.1}" y="{under:.1}" text-anchor="middle">{}</text>"##, escaped(&axis));
    out + "</svg>\n"
}

/// Programs, and below them the geometric mean over several.
fn rows(report: &Report, others: &[&String]) -> Vec<(String, Vec<Point>)> {
    let mut rows: Vec<(String, Vec<Point>)> = Vec::new();
    for program in &report.programs {
        let point = |(value, name): (usize, &&String)| {
            let result = program.values.iter().find(|result| result.value == **name)?;
            let speedup = result.time(report.phase, report.time)?.speedup?;
            Some(Point { value, speedup, verdict: result.verdict })
        };
        rows.push((program.name.clone(), others.iter().enumerate().filter_map(point).collect()));
    }
    if report.programs.len() > 1 {
        let point = |(value, name): (usize, &&String)| {
            let mean = report.mean(name, report.phase, report.time)?;
            Some(Point { value, speedup: mean.speedup, verdict: Some(mean.verdict) })
        };
        rows.push(("geometric mean".into(), others.iter().enumerate().filter_map(point).collect()));
    }
    rows
}

fn dot(out: &mut String, scale: &Scale, y: f64, point: &Point, name: &str) {
    let (Speedup { estimate, low, high, .. }, color) = (point.speedup, color(point.value));
    let interval = low.zip(high).map_or(String::new(), |(low, high)| format!(" ({low:.3} to {high:.3})"));
    _ = writeln!(out, r##"<g><title>{}: {estimate:.3}{interval}</title>"##, escaped(name));
    if let Some((low, high)) = low.zip(high) {
        let (from, to) = (scale.x(low), scale.x(high));
        _ = writeln!(out, r##"<line x1="{from:.1}" y1="{y:.1}" x2="{to:.1}" y2="{y:.1}" stroke="{color}" stroke-width="2"/>"##);
    }
    let fill = if point.verdict == Some(Verdict::NoDetectableDifference) { "#ffffff" } else { color };
    let x = scale.x(estimate);
    _ = writeln!(out, r##"<circle cx="{x:.1}" cy="{y:.1}" r="4.5" fill="{fill}" stroke="{color}" stroke-width="1.5"/></g>"##);
}

fn color(value: usize) -> &'static str {
    COLORS[value % COLORS.len()]
}

/// A value's name in the legend.
struct Entry {
    value: usize,
    x: f64,
    line: usize,
}

fn legend(names: &[&String], left: f64) -> Vec<Entry> {
    let (mut x, mut line) = (left, 0);
    let mut entries = Vec::new();
    for (value, name) in names.iter().enumerate() {
        let width = 15.0 + CHARACTER * name.chars().count() as f64 + 20.0;
        if x > left && x + width > left + PLOT_WIDTH {
            (x, line) = (left, line + 1);
        }
        entries.push(Entry { value, x, line });
        x += width;
    }
    entries
}

/// From speedups to pixels.
struct Scale {
    left: f64,
    /// Logarithms of the ends.
    low: f64,
    high: f64,
}

impl Scale {
    /// Holds 1, all estimates and, as far as they are not much longer, all intervals.
    fn new<'a>(points: impl Iterator<Item = &'a Point> + Clone, left: f64) -> Scale {
        let estimates = points.clone().map(|point| point.speedup.estimate.ln()).chain([0.0]);
        let (least, most) = estimates.fold((0.0f64, 0.0f64), |(low, high), log| (low.min(log), high.max(log)));
        let (floor, ceiling) = (least - MARGIN.ln(), most + MARGIN.ln());
        let ends = points.flat_map(|point| [point.speedup.low, point.speedup.high]).flatten().map(|end| end.ln().clamp(floor, ceiling));
        let (low, high) = ends.fold((least, most), |(low, high), log| (low.min(log), high.max(log)));
        let border = (0.04 * (high - low)).max(0.005);
        Scale { left, low: low - border, high: high + border }
    }

    fn x(&self, speedup: f64) -> f64 {
        self.left + PLOT_WIDTH * ((speedup.ln() - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        let mut chosen: Vec<f64> = Vec::new();
        for tick in TICKS.into_iter().filter(|tick| (self.low..=self.high).contains(&tick.ln())) {
            if chosen.iter().all(|&other| (self.x(other) - self.x(tick)).abs() >= TICKS_APART) {
                chosen.push(tick);
            }
        }
        chosen
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
