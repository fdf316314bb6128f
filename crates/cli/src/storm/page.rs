//! A storm as one page of HTML, which needs nothing else: its numbers, the lines over time, and the document.

use super::numbers::{self, Numbers};
use super::output::MARK;
use super::picture::{DARK, Line, panel_svg};
use crate::report::visible;
use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use std::ops::Range;

const STYLE: &str = "
:root { color-scheme: light dark; --back: #fff; --text: #000; --faint: #555; --line: #ccc; --outage: #FFEECD;
  --c0: #787878; --c1: #005AC8; --c2: #D22828 }
@media (prefers-color-scheme: dark) {
  :root { --back: #15181c; --text: #e4e6e8; --faint: #a0a4a8; --line: #444; --outage: #3d3118;
    --c0: #a0a4a8; --c1: #6db1ff; --c2: #ff8078 }
}
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; max-width: 1000px;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem; margin-bottom: 0 }
h2 { font-size: 1.1rem; margin-top: 2rem }
p.request { color: var(--faint); margin-top: 0 }
p.problem { color: var(--c2); font-weight: bold }
table { border-collapse: collapse }
th, td { border-bottom: 1px solid var(--line); padding: .2rem 1rem .2rem 0; text-align: left }
td { font-variant-numeric: tabular-nums }
figure { display: flex; flex-wrap: wrap; gap: 0 1rem; margin: 0 }
figure svg { flex: 1 1 560px; max-width: 760px; height: auto }
figure ul { list-style: none; padding: 0; margin: 1rem 0 }
figure i { display: inline-block; width: 1.5rem; height: 3px; margin-right: .5rem; vertical-align: middle }
figure i.outage { height: 1rem; background: var(--outage) }
pre { border: 1px solid var(--line); padding: 1rem; overflow: auto }
";

/// The content of a page.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    pub(super) request: &'a str,
    pub(super) problem: Option<String>,
    pub(super) all: &'a [Numbers],
    /// The time of the trouble, in seconds.
    pub(super) outage: Range<f64>,
    /// The document, without what may be a secret.
    pub(super) document: &'a str,
    /// The output of `--format json`.
    pub(super) json: &'a Value,
}

impl Page<'_> {
    /// Returns the text of the page.
    ///
    /// # Errors
    ///
    /// Those of drawing.
    pub(super) fn text(&self) -> Result<String> {
        let title = format!("Storm: {}", self.title);
        let figures = self.figures()?;
        let style = format!("{STYLE}{DARK}");
        let page = html! {
            (DOCTYPE)
            (PreEscaped(MARK))
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                    title { (visible(&title)) }
                    style { (PreEscaped(style)) }
                }
                body {
                    h1 { (visible(&title)) }
                    p.request { (visible(self.request)) }
                    @match &self.problem {
                        Some(problem) => p.problem { (visible(problem)) },
                        None => p { "The service recovers." },
                    }
                    (self.table())
                    @for figure in figures { (figure) }
                    h2 { "The document" }
                    p { "Without values that may be secret: what rules compare with, set or respond." }
                    pre id="document" { (visible(self.document)) }
                    script type="application/json" id="numbers" { (PreEscaped(self.data())) }
                }
            }
        };
        Ok(page.into_string())
    }

    /// The JSON, which ends no element that it stands in.
    fn data(&self) -> String {
        let text = visible(&self.json.to_string());
        text.replace('<', "\\u003c").replace('>', "\\u003e")
    }

    fn table(&self) -> Markup {
        let rows = numbers::rows(self.all);
        html! {
            table id="table" {
                tr {
                    th {}
                    @for numbers in self.all { th { (numbers.name) } }
                }
                @for (title, cells) in rows {
                    tr {
                        th { (title) }
                        @for cell in cells { td { (cell) } }
                    }
                }
            }
        }
    }

    fn figures(&self) -> Result<Vec<Markup>> {
        let mut figures = vec![
            self.figure(
                "attempts per second at the server",
                &Line::of_all(self.all, |series| &series.attempts),
            )?,
            self.figure(
                "successes per second",
                &Line::of_all(self.all, |series| &series.goodput),
            )?,
        ];
        for numbers in self.all {
            let Some(seen) = &numbers.seen else { continue };
            if seen.tokens.iter().any(Option::is_some) {
                let line = Line::of_document(&numbers.name, &seen.tokens);
                figures.push(self.figure("tokens in the budget", &[line])?);
            }
            if seen.waiting.iter().all(|calls| *calls == 0.0) {
                figures.push(html! { p { "No call waits at a gate." } });
                continue;
            }
            let waiting: Vec<Option<f64>> = seen.waiting.iter().copied().map(Some).collect();
            let line = Line::of_document(&numbers.name, &waiting);
            figures.push(self.figure("calls that wait at the gate", &[line])?);
        }
        Ok(figures)
    }

    fn figure(&self, what: &str, lines: &[Line]) -> Result<Markup> {
        let svg = panel_svg(lines, what, self.outage.clone())?;
        let (_, shapes) = svg.split_once("<svg").unwrap_or(("", &svg));
        Ok(html! {
            h2 { (what) }
            figure {
                (PreEscaped(format!("<svg role=\"img\" aria-label=\"{what}\"{shapes}")))
                ul {
                    @for line in lines {
                        li { i style=(format!("background: {}", line.variable())) {} (line.name) }
                    }
                    li { i.outage {} "the outage" }
                }
            }
        })
    }
}
