//! Pictures of a storm: the attempts per second as a chart for a terminal, with one panel for each contender, all on one
//! scale; and attempts and successes in each second as an SVG.

use super::numbers::Numbers;
use super::output::MARK;
use anyhow::{Result, anyhow};
use http_retry_lab::run::Series;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::ops::Range;

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

const SIZE: (u32, u32) = (1_080, 640);
/// The size of one panel of a page.
const PANEL: (u32, u32) = (760, 260);
/// The width of the legend, beside the plot.
const LEGEND: u32 = 180;
/// The colours of the lines on white, in the order of the contenders.
const COLOURS: [RGBColor; 3] = [
    RGBColor(120, 120, 120),
    RGBColor(0, 90, 200),
    RGBColor(210, 40, 40),
];
const OUTAGE: RGBColor = RGBColor(255, 238, 205);
/// The most points of a line; a longer one is drawn as averages.
const MAX_POINTS: usize = 300;

/// The colours in the dark. Each rule finds the shapes by the colour that they have on white.
pub(super) const DARK: &str = "@media (prefers-color-scheme: dark) {
  svg [fill=\"#FFFFFF\"] { fill: #15181c }
  svg [stroke=\"#FFFFFF\"] { stroke: #15181c }
  svg [fill=\"#000000\"] { fill: #e4e6e8 }
  svg [stroke=\"#000000\"] { stroke: #e4e6e8 }
  svg [fill=\"#FFEECD\"] { fill: #3d3118 }
  svg [stroke=\"#787878\"] { stroke: #a0a4a8 }
  svg [stroke=\"#005AC8\"] { stroke: #6db1ff }
  svg [stroke=\"#D22828\"] { stroke: #ff8078 }
}
";

/// One line of a panel: the seconds and the numbers.
pub(super) struct Line {
    pub(super) name: String,
    colour: RGBColor,
    points: Vec<(f64, f64)>,
}

impl Line {
    /// A line for each contender, of these numbers of each second.
    pub(super) fn of_all(all: &[Numbers], of: impl Fn(&Series) -> &Vec<u32>) -> Vec<Self> {
        let lines = all.iter().zip(COLOURS).map(|(numbers, colour)| {
            let counts = of(&numbers.series).iter().copied().map(f64::from);
            let counts: Vec<Option<f64>> = counts.map(Some).collect();
            Self {
                name: numbers.name.clone(),
                colour,
                points: points(&counts),
            }
        });
        lines.collect()
    }

    /// A line of the document alone.
    pub(super) fn of_document(name: &str, numbers: &[Option<f64>]) -> Self {
        Self {
            name: name.to_owned(),
            colour: COLOURS[1],
            points: points(numbers),
        }
    }

    /// The colour as a variable of a page.
    pub(super) fn variable(&self) -> String {
        let place = COLOURS.iter().position(|colour| *colour == self.colour);
        format!("var(--c{})", place.unwrap_or_default())
    }
}

/// Returns the attempts and successes per second as an SVG, with the outage, given in seconds, shaded.
pub(super) fn svg(title: &str, all: &[Numbers], outage: Range<f64>) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    draw(&area, title, all, outage).map_err(|error| anyhow!("{error}"))?;
    drop(area);
    // The mark of a picture that may be drawn again, and the colours in the dark.
    let (root, shapes) = text.split_once('>').unwrap_or((&text, ""));
    Ok(format!("{root}>{MARK}<style>{DARK}</style>{shapes}"))
}

/// Returns one panel as an SVG.
pub(super) fn panel_svg(lines: &[Line], what: &str, outage: Range<f64>) -> Result<String> {
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, PANEL).into_drawing_area();
    let drawn = area
        .fill(&WHITE)
        .map_err(anyhow::Error::from)
        .and_then(|()| panel(&area, lines, what, outage))
        .and_then(|()| Ok(area.present()?));
    drawn.map_err(|error| anyhow!("{error}"))?;
    drop(area);
    Ok(text)
}

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw(area: &Panel<'_>, title: &str, all: &[Numbers], outage: Range<f64>) -> Result<()> {
    area.fill(&WHITE)?;
    let area = area.titled(title, ("sans-serif", 20))?;
    let (plots, legend) = area.split_horizontally(SIZE.0 - LEGEND);
    let (above, below) = plots.split_vertically(SIZE.1 / 2);
    let attempts = Line::of_all(all, |series| &series.attempts);
    panel(&above, &attempts, "attempts per second", outage.clone())?;
    let successes = Line::of_all(all, |series| &series.goodput);
    panel(&below, &successes, "successes per second", outage)?;
    for (line, y) in attempts.iter().zip((24..).step_by(26)) {
        let mark = [(0, y), (24, y)];
        legend.draw(&PathElement::new(mark, line.colour.stroke_width(3)))?;
        legend.draw(&Text::new(
            line.name.clone(),
            (32, y - 7),
            ("sans-serif", 15),
        ))?;
    }
    let y = 24 + 26 * i32::try_from(attempts.len()).unwrap_or(0);
    legend.draw(&Rectangle::new([(0, y - 7), (24, y + 7)], OUTAGE.filled()))?;
    legend.draw(&Text::new("the outage", (32, y - 7), ("sans-serif", 15)))?;
    area.present()?;
    Ok(())
}

fn panel(area: &Panel<'_>, lines: &[Line], what: &str, outage: Range<f64>) -> Result<()> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let end = points().map(|point| point.0).fold(1.0, f64::max);
    let most = points().map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(24)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..most)?;
    let corners = [(outage.start, 0.0), (outage.end.min(end), most)];
    chart.draw_series([Rectangle::new(corners, OUTAGE.filled())])?;
    let decimals = usize::from(most < 10.0);
    let short = |number: &f64| format!("{number:.decimals$}");
    let mut mesh = chart.configure_mesh();
    mesh.x_desc("seconds")
        .x_label_formatter(&|second| format!("{second:.0}"))
        .y_label_formatter(&short)
        .y_desc(what)
        .light_line_style(TRANSPARENT)
        .draw()?;
    // The document last, so that no other line hides it.
    let (document, others): (Vec<&Line>, Vec<&Line>) =
        lines.iter().partition(|line| line.colour == COLOURS[1]);
    for line in others.into_iter().chain(document) {
        let style = line.colour.stroke_width(2);
        chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
    }
    Ok(())
}

fn points(numbers: &[Option<f64>]) -> Vec<(f64, f64)> {
    let together = numbers.len().div_ceil(MAX_POINTS).max(1);
    let groups = numbers.chunks(together).enumerate();
    let points = groups.filter_map(|(place, group)| {
        let known: Vec<f64> = group.iter().copied().flatten().collect();
        let sum: f64 = known.iter().sum();
        (!known.is_empty()).then(|| ((place * together) as f64, sum / known.len() as f64))
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
