//! Charts as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;
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
    /// Shows powers alike; all x must then be above 0.
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
        let mut context = builder.build_cartesian_2d((low / 1.3..high * 1.3).log_scale(), y)?;
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

fn color(curve: usize) -> PaletteColor<Palette99> {
    Palette99::pick(curve)
}
