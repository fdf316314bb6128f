//! A picture of a storm: attempts and successes in each second.

use super::numbers::Numbers;
use anyhow::{Result, anyhow};
use http_retry_lab::run::Series;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fs;
use std::path::Path;

const SIZE: (u32, u32) = (960, 640);
const COLOURS: [RGBColor; 3] = [
    RGBColor(120, 120, 120),
    RGBColor(0, 90, 200),
    RGBColor(210, 40, 40),
];
/// The most points of a line; a longer one is drawn as averages.
const MAX_POINTS: usize = 300;

pub(super) fn write(file: &Path, title: &str, all: &[Numbers]) -> Result<()> {
    let mut text = String::new();
    draw(&mut text, title, all).map_err(|error| anyhow!("{error}"))?;
    Ok(fs::write(file, text)?)
}

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw(text: &mut String, title: &str, all: &[Numbers]) -> Result<()> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let area = area.titled(title, ("sans-serif", 20))?;
    let (above, below) = area.split_vertically(SIZE.1 / 2);
    panel(&above, all, "attempts per second", |series| {
        &series.attempts
    })?;
    panel(&below, all, "successes per second", |series| {
        &series.goodput
    })?;
    area.present()?;
    Ok(())
}

fn panel(
    area: &Panel<'_>,
    all: &[Numbers],
    what: &str,
    of: impl Fn(&Series) -> &Vec<u32>,
) -> Result<()> {
    let lines: Vec<Vec<(f64, f64)>> = all
        .iter()
        .map(|numbers| points(of(&numbers.series)))
        .collect();
    let points = || lines.iter().flatten();
    let end = points().map(|point| point.0).fold(1.0, f64::max);
    let most = points().map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(24)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..most)?;
    let whole = |number: &f64| format!("{number:.0}");
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("seconds")
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .y_desc(what)
        .light_line_style(WHITE)
        .draw()?;
    for ((numbers, points), colour) in all.iter().zip(&lines).zip(COLOURS) {
        let style = colour.stroke_width(2);
        let line = LineSeries::new(points.iter().copied(), style);
        chart
            .draw_series(line)?
            .label(&numbers.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    let mut labels = chart.configure_series_labels();
    labels
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

fn points(counts: &[u32]) -> Vec<(f64, f64)> {
    let together = counts.len().div_ceil(MAX_POINTS).max(1);
    let groups = counts.chunks(together).enumerate();
    let points = groups.map(|(place, group)| {
        let sum: f64 = group.iter().copied().map(f64::from).sum();
        ((place * together) as f64, sum / group.len() as f64)
    });
    points.collect()
}
