//! Charts as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;
use std::ops::Range;
use std::path::Path;

/// Points under one name; joined by lines if there are several.
pub struct Curve {
    pub title: String,
    pub points: Vec<(f64, f64)>,
}

/// One panel of a picture.
pub struct Chart {
    pub title: String,
    pub x: String,
    /// Shows powers alike, of whole decades; all x must then be above 0.
    pub logarithmic: bool,
    /// In percent.
    pub y: String,
    pub curves: Vec<Curve>,
}

/// Of a panel, in pixels.
const SIZE: (u32, u32) = (480, 420);
/// Of the strip below with the names of the curves: columns, and the height of a line.
const COLUMNS: usize = 3;
const LINE: i32 = 20;

/// Charts side by side, with the same curves in each.
pub fn write(path: &Path, charts: &[Chart]) -> Result<(), String> {
    draw(path, charts).map_err(|error| format!("{}: {error}", path.display()))
}

fn draw<'a>(path: &'a Path, charts: &[Chart]) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let curves = charts.first().map_or(&[][..], |chart| &chart.curves);
    let legend = LINE * (curves.len().div_ceil(COLUMNS) as i32 + 1);
    let root = SVGBackend::new(path, (SIZE.0 * charts.len() as u32, SIZE.1 + legend as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let (above, below) = root.split_vertically(SIZE.1);
    for (chart, area) in charts.iter().zip(above.split_evenly((1, charts.len()))) {
        panel(chart, &area)?;
    }
    let width = (SIZE.0 as usize * charts.len() / COLUMNS) as i32;
    for (at, curve) in curves.iter().enumerate() {
        let (x, y) = (20 + (at % COLUMNS) as i32 * width, LINE / 2 + (at / COLUMNS) as i32 * LINE);
        below.draw(&Circle::new((x, y + 6), 5, color(at).filled()))?;
        below.draw(&Text::new(curve.title.clone(), (x + 12, y), ("sans-serif", 14)))?;
    }
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn panel<'a>(chart: &Chart, area: &Area<'a>) -> Result<(), Box<dyn std::error::Error + 'a>> {
    let points = || chart.curves.iter().flat_map(|curve| &curve.points);
    let (low, high) = points().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| (low.min(point.0), high.max(point.0)));
    let bottom = points().fold(99.0f64, |least, point| least.min(point.1));
    let y = (bottom / 10.0).floor() * 10.0 - 0.5..100.5;
    let mut builder = ChartBuilder::on(area);
    builder.caption(&chart.title, ("sans-serif", 18)).margin(12).x_label_area_size(42).y_label_area_size(52);
    // The two kinds of axis are different types.
    if chart.logarithmic {
        let mut context = builder.build_cartesian_2d(decades(low, high).log_scale(), y)?;
        context.configure_mesh().x_desc(&chart.x).y_desc(&chart.y).light_line_style(TRANSPARENT).draw()?;
        for (at, curve) in chart.curves.iter().enumerate() {
            context.draw_series(LineSeries::new(curve.points.iter().copied(), color(at).stroke_width(2)))?;
            context.draw_series(curve.points.iter().map(|&point| Circle::new(point, 4, color(at).filled())))?;
        }
    } else {
        let margin = 0.04 * (high - low).max(1e-6);
        let mut context = builder.build_cartesian_2d(low - margin..high + margin, y)?;
        context.configure_mesh().x_desc(&chart.x).y_desc(&chart.y).light_line_style(TRANSPARENT).draw()?;
        for (at, curve) in chart.curves.iter().enumerate() {
            context.draw_series(LineSeries::new(curve.points.iter().copied(), color(at).stroke_width(2)))?;
            context.draw_series(curve.points.iter().map(|&point| Circle::new(point, 4, color(at).filled())))?;
        }
    }
    Ok(())
}

/// The whole decades around a range, since only powers of ten surely have ticks; and a little more, so that rounding takes no tick away at an end.
fn decades(low: f64, high: f64) -> Range<f64> {
    let (first, last) = (low.log10().floor(), high.log10().ceil());
    10f64.powf(first) / 1.1..10f64.powf(last.max(first + 1.0)) * 1.1
}

fn color(curve: usize) -> PaletteColor<Palette99> {
    Palette99::pick(curve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_has_ticks_within_a_decade_too() {
        for (points, ticks) in [([2.0, 7.0], ["1.0", "10.0"]), ([0.01, 0.05], ["0.01", "0.1"]), ([1.0, 1.0], ["1.0", "10.0"])] {
            let curve = Curve { title: String::new(), points: points.map(|x| (x, 99.0)).into() };
            let chart = Chart { title: String::new(), x: String::new(), logarithmic: true, y: String::new(), curves: vec![curve] };
            let path = std::env::temp_dir().join(format!("decades-{}.svg", std::process::id()));
            write(&path, &[chart]).unwrap();
            let svg = std::fs::read_to_string(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            for tick in ticks {
                assert!(svg.lines().any(|line| line == tick), "{tick}: {svg}");
            }
        }
    }
}
