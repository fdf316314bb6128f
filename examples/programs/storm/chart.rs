//! A chart of a scenario: attempts and goodput, in each second or so far, everybody in one picture.

use anyhow::{Result, anyhow};
use http_retry_lab::run::Series;
use http_retry_lab::scenarios::Scenario;
use http_retry_lab::verdict::Row;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::Path;
use std::{fs, iter};

const SIZE: (u32, u32) = (1_100, 640);
/// The legend's place, beside the plots.
const LEGEND: u32 = 160;
/// The colours on white, and those in the dark, of what is drawn.
const IN_THE_DARK: [(&str, &str); 7] = [
    ("#FFFFFF", "#15181c"),
    ("#000000", "#e4e6e8"),
    ("#787878", "#a0a4a8"),
    ("#005AC8", "#6db1ff"),
    ("#D22828", "#ff8078"),
    ("#E69600", "#ffbe4d"),
    ("#5AA0DC", "#9fd0ff"),
];
/// Longer runs are drawn as averages of so many points.
const POINTS: usize = 300;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// What a line shows at each second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// What happened in it.
    Rates,
    /// What has happened so far.
    Sums,
}

/// A line of both panels.
struct Line<'a> {
    name: &'a str,
    colour: RGBColor,
    width: u32,
    series: &'a Series,
}

/// Draws the first world's runs; `rows` holds those of all worlds, in order.
pub(crate) fn write(path: &Path, scenario: &Scenario, rows: &[Row], shows: Shows) -> Result<()> {
    let case = drawn_case(scenario, rows).ok_or_else(|| anyhow!("nothing was played"))?;
    let mut lines: Vec<Line<'_>> = Vec::new();
    for row in rows.iter().filter(|row| row.scenario == case) {
        if lines.iter().all(|line| line.name != row.contender) {
            lines.push(Line::of(row));
        }
    }
    // The one that is looked for lies on top.
    lines.sort_by_key(|line| line.width);
    let mut text = String::new();
    let title = format!("{case}. {}", scenario.title);
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    draw(&area, &title, &lines, shows).map_err(|error| anyhow!("{error}"))?;
    drop(area);
    Ok(fs::write(path, in_both_themes(&text))?)
}

/// The picture with a style for the dark. rustdoc names its theme at the root; elsewhere the reader's system says it. The
/// first tag stands alone on its line, as Markdown wants it.
fn in_both_themes(text: &str) -> String {
    let rules = |start: &str| -> String {
        let rules = IN_THE_DARK.iter().map(|(white, dark)| {
            ["fill", "stroke"]
                .map(|kind| format!("{start} [{kind}=\"{white}\"] {{ {kind}: {dark} }}\n"))
        });
        rules.flatten().collect()
    };
    let dark = [
        rules(":root[data-theme=\"dark\"] svg.storm"),
        rules(":root[data-theme=\"ayu\"] svg.storm"),
        format!(
            "@media (prefers-color-scheme: dark) {{\n{}}}\n",
            rules("svg.storm:not([data-theme] *)")
        ),
    ];
    let style = format!(
        "svg.storm {{ max-width: 100%; height: auto }}\n{}",
        dark.concat()
    );
    let text = text.replacen("<svg ", "<svg class=\"storm\" ", 1);
    text.replacen(">\n", &format!(">\n<style>\n{style}</style>\n"), 1)
}

fn draw(area: &Area<'_>, title: &str, lines: &[Line<'_>], shows: Shows) -> Result<()> {
    area.fill(&WHITE)?;
    let titled = area.titled(title, ("sans-serif", 20))?;
    let (plots, legend) = titled.split_horizontally(SIZE.0 - LEGEND);
    let (above, below) = plots.split_vertically(SIZE.1 / 2 - 20);
    let [attempts, successes] = match shows {
        Shows::Rates => ["attempts per second", "goodput: successes per second"],
        Shows::Sums => ["attempts so far", "successes so far"],
    };
    panel(&above, lines, attempts, shows, |series| &series.attempts)?;
    panel(&below, lines, successes, shows, |series| &series.goodput)?;
    for (line, y) in lines.iter().rev().zip((24..).step_by(26)) {
        let style = line.colour.stroke_width(line.width);
        legend.draw(&PathElement::new([(0, y), (20, y)], style))?;
        legend.draw(&Text::new(line.name, (28, y - 7), ("sans-serif", 15)))?;
    }
    area.present()?;
    Ok(())
}

/// The scenario itself, or the last of its cases where it has several.
fn drawn_case(scenario: &Scenario, rows: &[Row]) -> Option<&'static str> {
    let cases = || rows.iter().map(|row| row.scenario);
    cases()
        .find(|case| *case == scenario.id)
        .or(cases().next_back())
}

impl Shows {
    /// What is shown of these counts, and from their end on.
    fn of(self, counts: &[u32]) -> (Vec<u32>, u32) {
        let mut sum = 0;
        let sums = counts.iter().map(|count| {
            sum += count;
            sum
        });
        match self {
            Self::Rates => (counts.to_vec(), 0),
            // At the begin of the first second nothing has happened yet.
            Self::Sums => (iter::once(0).chain(sums).collect(), counts.iter().sum()),
        }
    }
}

impl<'a> Line<'a> {
    fn of(row: &'a Row) -> Self {
        let (colour, width) = match row.contender {
            "no retries" => (RGBColor(120, 120, 120), 1),
            "http-retry" | "with the gate" | "a fleet" => (RGBColor(0, 90, 200), 3),
            "reqwest-retry" | "without the gate" | "each for itself" => (RGBColor(210, 40, 40), 2),
            "tower::retry" => (RGBColor(230, 150, 0), 2),
            _ => (RGBColor(90, 160, 220), 2),
        };
        Self {
            name: row.contender,
            colour,
            width,
            series: &row.series,
        }
    }
}

fn panel<'a>(
    area: &Area<'a>,
    lines: &[Line<'_>],
    what: &str,
    shows: Shows,
    of: impl Fn(&Series) -> &Vec<u32>,
) -> Result<()> {
    let end_of_all = lines.iter().map(|line| seconds(line.series)).max();
    let end_of_all = end_of_all.unwrap_or_default() + usize::from(shows == Shows::Sums);
    let points: Vec<_> = lines
        .iter()
        .map(|line| points(shows.of(of(line.series)), end_of_all))
        .collect();
    let all = || points.iter().flatten();
    let end = all().map(|point| point.0).fold(1.0, f64::max);
    let most = all().map(|point| point.1).fold(1.0, f64::max) * 1.05;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(24)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..most)?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .x_label_formatter(&|second| format!("{second:.0}"))
        .y_label_formatter(&|number| format!("{number:.0}"))
        .y_desc(what)
        .light_line_style(TRANSPARENT)
        .draw()?;
    for (line, points) in lines.iter().zip(&points) {
        let style = line.colour.stroke_width(line.width);
        chart.draw_series(LineSeries::new(points.iter().copied(), style))?;
    }
    Ok(())
}

fn seconds(series: &Series) -> usize {
    series.attempts.len().max(series.goodput.len())
}

/// One for each second.
fn points((mut counts, after): (Vec<u32>, u32), seconds: usize) -> Vec<(f64, f64)> {
    counts.resize(seconds, after);
    let together = seconds.div_ceil(POINTS).max(1);
    let averages = counts.chunks(together).enumerate().map(|(place, some)| {
        let average = some.iter().copied().map(f64::from).sum::<f64>() / some.len() as f64;
        ((place * together) as f64, average)
    });
    averages.collect()
}
