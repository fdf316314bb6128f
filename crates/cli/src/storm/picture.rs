//! Pictures of a storm: the attempts per second as a chart for a terminal, with one panel for each contender, all on one
//! scale; and attempts and successes in each second as an SVG.

use super::numbers::Numbers;
use anyhow::{Result, anyhow};
use http_retry_lab::run::Series;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::fs;
use std::path::Path;

const WIDTH: usize = 80;
const HEIGHT: usize = 4;
const STEPS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns the attempts per second as a chart for a terminal.
pub(super) fn chart(all: &[Numbers]) -> String {
    let seconds = all
        .iter()
        .map(|numbers| numbers.series.attempts.len())
        .max();
    let together = seconds.unwrap_or_default().div_ceil(WIDTH).max(1);
    let columns: Vec<Vec<u32>> = all
        .iter()
        .map(|numbers| largest(numbers, together))
        .collect();
    let most = columns
        .iter()
        .flatten()
        .copied()
        .max()
        .unwrap_or_default()
        .max(1);
    let label = most.to_string().len();
    let width = columns.iter().map(Vec::len).max().unwrap_or_default();
    let mut text = String::new();
    for (numbers, columns) in all.iter().zip(&columns) {
        text += &format!("\n{:label$} | {}\n", "", numbers.name);
        for row in (0..HEIGHT).rev() {
            let number = if row + 1 == HEIGHT {
                most.to_string()
            } else {
                String::new()
            };
            let cells: String = columns
                .iter()
                .map(|count| cell(*count, most, row))
                .collect();
            text += format!("{number:>label$} |{cells}").trim_end();
            text.push('\n');
        }
        text += &format!("{:>label$} +{}\n", 0, "-".repeat(width));
    }
    text + &axis(width, together, label)
}

/// The most attempts of each group of seconds, up to the end of the last call.
fn largest(numbers: &Numbers, together: usize) -> Vec<u32> {
    let groups = numbers.series.attempts.chunks(together);
    groups
        .map(|group| group.iter().copied().max().unwrap_or_default())
        .collect()
}

/// The part of a column that is in a row; row 0 is the lowest.
fn cell(count: u32, most: u32, row: usize) -> char {
    let steps = STEPS.len() - 1;
    let filled = u64::from(count) * (HEIGHT * steps) as u64;
    // Something is never shown as nothing.
    let filled = filled.div_ceil(u64::from(most));
    let filled = usize::try_from(filled).unwrap_or(usize::MAX);
    let here = filled.saturating_sub(row * steps).min(steps);
    STEPS.get(here).copied().unwrap_or(' ')
}

/// The seconds below every tenth column.
fn axis(width: usize, together: usize, label: usize) -> String {
    let mut text = " ".repeat(label + 2);
    for column in (0..width).step_by(10) {
        text += &format!("{:<10}", column * together);
    }
    format!("{} s\n", text.trim_end())
}

const SIZE: (u32, u32) = (960, 640);
const COLOURS: [RGBColor; 3] = [
    RGBColor(120, 120, 120),
    RGBColor(0, 90, 200),
    RGBColor(210, 40, 40),
];
/// The most points of a line; a longer one is drawn as averages.
const MAX_POINTS: usize = 300;

/// Writes the attempts and successes per second as an SVG.
pub(super) fn write_svg(file: &Path, title: &str, all: &[Numbers]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_as_high_as_its_part_of_the_most() {
        let column = |count| -> String { (0..HEIGHT).map(|row| cell(count, 32, row)).collect() };
        assert_eq!(column(32), "████");
        assert_eq!(column(20), "██▄ ");
        assert_eq!(column(1), "▁   ");
        assert_eq!(column(0), "    ");
    }
}
