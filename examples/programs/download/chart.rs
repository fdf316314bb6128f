//! The picture of a download through six cuts: the bytes in hand over time, resumed and begun again.

use crate::server::{self, CUTS, LENGTH};
use crate::{client, tell};
use anyhow::{Result, ensure};
use http_retry::reqwest::SendResumed;
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::{Backoff, Jitter, RetryPolicy};
use plotters::prelude::*;
use reqwest_middleware::ClientWithMiddleware;
use std::path::Path;
use std::time::Duration;

const SIZE: (u32, u32) = (960, 420);
const MIB: f64 = 1024.0 * 1024.0;
/// A point for each so many bytes.
const STEP: u64 = 64 * 1024;

/// Seconds, and MiB in hand.
type Points = Vec<(f64, f64)>;

pub(crate) async fn draw(path: &Path) -> Result<()> {
    let resumed = resumed().await?;
    let begun_again = begun_again().await?;
    let mut area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    area = area.titled("8 MiB through six cuts", ("sans-serif", 20))?;
    let end = |points: &Points| points.last().map_or(0.0, |point| point.0);
    let seconds = end(&resumed).max(end(&begun_again)) * 1.02;
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .margin_right(24)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..seconds, 0.0..8.4)?;
    chart
        .configure_mesh()
        .x_desc("seconds")
        .y_desc("MiB in hand")
        .x_label_formatter(&|second| format!("{second:.1}"))
        .y_label_formatter(&|mib| format!("{mib:.0}"))
        .light_line_style(WHITE)
        .draw()?;
    for (name, colour, width, points) in [
        (
            "send, begun again after each cut",
            RGBColor(210, 40, 40),
            2,
            begun_again,
        ),
        ("send_resumed", RGBColor(0, 90, 200), 3, resumed),
    ] {
        let style = colour.stroke_width(width);
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    tell(format_args!("drawn: {}", path.display()));
    Ok(())
}

/// The same wait after each cut for both.
const WAIT: Duration = Duration::from_millis(300);

fn quiet() -> Result<ClientWithMiddleware> {
    let policy = RetryPolicy::background().to_builder();
    let policy = policy.backoff(Backoff::fixed(WAIT).jitter(Jitter::None));
    client(policy.build()?, |_| ())
}

async fn resumed() -> Result<Points> {
    let server = server::start(CUTS).await?;
    let (client, begun, mut points) = (quiet()?, TokioRuntime.now(), vec![(0.0, 0.0)]);
    let mut response = client.get(server.url()).send_resumed().await?;
    let mut read = 0;
    while let Some(bytes) = response.chunk().await? {
        read += bytes.len() as u64;
        note(&mut points, begun, read);
    }
    ensure!(read == LENGTH, "{read} bytes");
    Ok(points)
}

async fn begun_again() -> Result<Points> {
    let server = server::start(CUTS).await?;
    let (client, begun, mut points) = (quiet()?, TokioRuntime.now(), vec![(0.0, 0.0)]);
    for _ in 0..=CUTS.len() {
        let mut response = client.get(server.url()).send().await?;
        let mut read = 0;
        while let Ok(Some(bytes)) = response.chunk().await {
            read += bytes.len() as u64;
            note(&mut points, begun, read);
        }
        if read == LENGTH {
            return Ok(points);
        }
        TokioRuntime.sleep(WAIT).await;
        let at = seconds_since(begun);
        points.extend([(at, read as f64 / MIB), (at, 0.0)]);
    }
    anyhow::bail!("it never came to the end")
}

fn note(points: &mut Points, begun: Duration, read: u64) {
    let (noted, last) = points.last().copied().unwrap_or_default();
    let (at, now) = (seconds_since(begun), read as f64 / MIB);
    if at - noted > WAIT.as_secs_f64() / 2.0 {
        points.push((at, last));
    }
    if now - last >= STEP as f64 / MIB || read == LENGTH {
        points.push((at, now));
    }
}

fn seconds_since(begun: Duration) -> f64 {
    TokioRuntime.now().saturating_sub(begun).as_secs_f64()
}
