//! Results as a picture (SVG): a row for each program, in it a dot for each value with its confidence interval as a line, on a logarithmic axis around 1. A hollow dot: no difference was detected. An arrow ends an interval that goes on outside.

use super::outcome::{Report, Speedup, Verdict};
use super::table::{phase_title, title};
use crate::cli::bench::axis::name_of;
use std::fmt::Write;

/// Pixels.
const PLOT_WIDTH: f64 = 560.0;
const RIGHT: f64 = 24.0;
const LINE: f64 = 20.0;
/// Around texts.
const MARGINS: f64 = 12.0;
/// Sizes of letters.
const TEXT: f64 = 12.0;
const TITLE: f64 = 16.0;
/// By so much more room bold letters take.
const BOLD: f64 = 1.1;
/// Half of a dot.
const RADIUS: f64 = 4.5;
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
const TICKS: [f64; 37] = [
    1.0, 10.0, 0.1, 100.0, 0.01, 2.0, 0.5, 5.0, 0.2, 20.0, 50.0, 0.05, 0.02, 1.5, 3.0, 0.7, 0.3, 4.0, 7.0, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95,
    1.3, 1.4, 0.6, 1.7, 1.02, 0.98, 1.01, 0.99, 1.005, 0.995, 1.002, 0.998,
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
    let left = 2.0 * MARGINS + BOLD * rows.iter().map(|(name, _)| text_width(name, TEXT)).fold(0.0, f64::max);
    let scale = Scale::new(rows.iter().flat_map(|(_, points)| points), left);
    let legend = legend(&others, left);
    let top = 2.0 * LINE + 12.0 + LINE * (1 + legend.last().map_or(0, |entry| entry.line)) as f64;
    let row = STEP * others.len() as f64 + GAP;
    let bottom = top + row * rows.len() as f64;
    let title = title(report);
    let axis = format!("speedup against {} ({}, {} time)", report.baseline, phase_title(report.phase), name_of(&report.time));
    let half = text_width(&axis, TEXT) / 2.0;
    let middle = (left + PLOT_WIDTH / 2.0).max(MARGINS + half);
    let legend_end = legend.iter().map(|entry| entry.x + entry.width).fold(0.0, f64::max);
    let ends = [left + PLOT_WIDTH + RIGHT, left + text_width(&title, TITLE) + MARGINS, middle + half + MARGINS, legend_end];
    let (width, height) = (ends.into_iter().fold(0.0, f64::max).ceil(), bottom + 2.0 * LINE + 12.0);

    let mut out = String::new();
    _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" viewBox="0 0 {width:.0} {height:.0}" font-family="sans-serif" font-size="{TEXT}" fill="#222222">"##
    );
    _ = writeln!(out, r##"<rect width="{width:.0}" height="{height:.0}" fill="#ffffff"/>"##);
    _ = writeln!(out, r##"<text x="{left:.1}" y="24" font-size="{TITLE}">{}</text>"##, escaped(&title));
    for Entry { value, x, line, .. } in &legend {
        let y = 2.0 * LINE + 6.0 + LINE * *line as f64;
        _ = writeln!(out, "{}", mark(*value, x + 5.0, y, color(*value)));
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
    let under = bottom + LINE + 18.0;
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
        for (end, inwards) in [(low, 1.0), (high, -1.0)].into_iter().filter(|&(end, _)| !scale.shows(end)) {
            let (tip, base) = (scale.x(end), scale.x(end) + 7.0 * inwards);
            _ = writeln!(out, r##"<path d="M{tip:.1} {y:.1}L{base:.1} {:.1}V{:.1}Z" fill="{color}"/>"##, y - 4.0, y + 4.0);
        }
    }
    let is_detected = matches!(point.verdict, Some(Verdict::Faster | Verdict::Slower));
    let fill = if is_detected { color } else { "#ffffff" };
    _ = writeln!(out, "{}</g>", mark(point.value, scale.x(estimate), y, fill));
}

/// The dot of a value: round, and of another shape where its colour is also that of an earlier one.
fn mark(value: usize, x: f64, y: f64, fill: &str) -> String {
    let style = format!(r##"fill="{fill}" stroke="{}" stroke-width="1.5""##, color(value));
    let (r, wide) = (RADIUS, RADIUS + 1.0);
    match value / COLORS.len() % 3 {
        0 => format!(r##"<circle cx="{x:.1}" cy="{y:.1}" r="{r}" {style}/>"##),
        1 => format!(r##"<path d="M{:.1} {:.1}h{2}v{2}h-{2}Z" {style}/>"##, x - r, y - r, 2.0 * r),
        _ => format!(r##"<path d="M{:.1} {y:.1}l{wide} -{wide}l{wide} {wide}l-{wide} {wide}Z" {style}/>"##, x - wide),
    }
}

fn color(value: usize) -> &'static str {
    COLORS[value % COLORS.len()]
}

/// A value's name in the legend.
struct Entry {
    value: usize,
    x: f64,
    /// With what lies between it and the next.
    width: f64,
    line: usize,
}

fn legend(names: &[&String], left: f64) -> Vec<Entry> {
    let (mut x, mut line) = (left, 0);
    let mut entries = Vec::new();
    for (value, name) in names.iter().enumerate() {
        let width = 15.0 + text_width(name, TEXT) + 20.0;
        if x > left && x + width > left + PLOT_WIDTH {
            (x, line) = (left, line + 1);
        }
        entries.push(Entry { value, x, width, line });
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

    fn shows(&self, speedup: f64) -> bool {
        (self.low..=self.high).contains(&speedup.ln())
    }

    fn ticks(&self) -> Vec<f64> {
        let mut chosen: Vec<f64> = Vec::new();
        for tick in TICKS.into_iter().filter(|&tick| self.shows(tick)) {
            if chosen.iter().all(|&other| (self.x(other) - self.x(tick)).abs() >= TICKS_APART) {
                chosen.push(tick);
            }
        }
        chosen
    }
}

/// Not less than what a text takes in usual fonts without serifs, of which that of the reader is not known.
fn text_width(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | ':' | ';' | '!' | '|' | '\'' | '(' | ')' | '[' | ']' => 0.4,
        'A'..='Z' | '+' | '=' | '<' | '>' | '~' | '#' | '&' => 0.82,
        '\0'..='\u{7f}' => 0.65,
        '\u{80}'..='\u{10ff}' => 0.85,
        // Of the scripts above many have letters as wide as high.
        _ => 1.1,
    };
    size * text.chars().map(width).sum::<f64>()
}

/// As text of XML, which has no control characters.
fn escaped(text: &str) -> String {
    let is_none = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(is_none, "\u{fffd}").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::cli::bench::outcome::examples::report;

    #[test]
    fn values_beyond_the_colours_have_another_shape() {
        let [first, eighth, fifteenth] = [0, 7, 14].map(|value| mark(value, 10.0, 10.0, "#ffffff"));
        assert_eq!(color(0), color(7));
        assert!(first != eighth && eighth != fifteenth && first != fifteenth, "{first} {eighth} {fifteenth}");
    }

    #[test]
    fn the_picture_has_room_for_its_texts() {
        let name = format!("{}.lang", "W".repeat(30));
        let values = "tier=interp,baseline,opt,adaptive";
        let svg = svg(&report(&[&name, "--compare", values, "--rounds", "2"], 2, |value, _| 1.0 + value as f64));
        let number = |text: &str, after: &str| text.split_once(after).unwrap().1.split('"').next().unwrap().parse::<f64>().unwrap();
        let label = svg.lines().find(|line| line.contains(r#"text-anchor="end""#)).unwrap();
        assert!(number(label, r#"x=""#) > 30.0 * TEXT, "{label}");
        let title = svg.lines().find(|line| line.contains(r#"font-size="16""#)).unwrap();
        assert!(number(&svg, r#"width=""#) >= number(title, r#"x=""#) + 40.0 * 0.5 * TITLE, "{title}");
    }

    #[test]
    fn nothing_is_detected_in_one_round() {
        let of = |rounds| {
            svg(&report(&["a.lang", "--compare", "tier=interp,opt"], rounds, |value, round| 1.0 + value as f64 + 0.01 * round as f64))
        };
        let dot = |svg: &str| svg.lines().find(|line| line.ends_with("</g>")).unwrap().to_owned();
        assert!(dot(&of(1)).contains("#ffffff") && !dot(&of(3)).contains("#ffffff"));
    }

    #[test]
    fn programs_that_differ_little_have_a_scale() {
        let svg = svg(&report(&["a.lang", "--compare", "tier=interp,opt"], 3, |_, _| 1.0));
        for tick in ["1", "1.002", "0.998"] {
            assert!(svg.contains(&format!(">{tick}</text>")), "{tick}: {svg}");
        }
    }

    #[test]
    fn what_is_cut_off_has_an_arrow() {
        let of = |by: f64| svg(&report(&["a.lang", "--compare", "tier=interp,opt"], 3, |value, round| 1.0 + by * (value * round) as f64));
        assert!(!of(0.001).contains("<path") && of(9.0).matches("<path").count() == 2);
    }

    #[test]
    fn names_are_text_of_xml() {
        assert_eq!(escaped("a<b>&\u{1}\n"), "a&lt;b&gt;&amp;\u{fffd}\u{fffd}");
    }
}
