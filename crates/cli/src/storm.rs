//! `storm`: a document in a simulated outage.

mod numbers;
mod output;
mod page;
mod picture;
#[cfg_attr(target_family = "wasm", path = "storm/no_progress.rs")]
mod progress;
mod watched;

use crate::arguments::{Form, Subject, Target};
use crate::document::{self, Reading, Source};
use crate::report::{Failure, Report};
use crate::units::{self, Quota, Rate, short};
use clap::Args;
use http_retry::config::RetryConfig;
use http_retry::hedge::{Hedge, HedgeLayer};
use http_retry::testing::MemoryStore;
use http_retry::tower::RetryLayer;
use http_retry_lab::runtime::LabRuntime;
use http_retry_lab::storm::{Fault, PlainLoop, Retries, Storm};
use numbers::Numbers;
use page::Page;
use progress::progress;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use watched::Watch;

/// The most calls of a storm.
const MAX_CALLS: f64 = 500_000.0;
/// The numbers of a storm for which no others are given: calls per second, the time of the trouble, and that after which
/// callers give up an attempt.
const RATE: f64 = 100.0;
const OUTAGE: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(1);
/// The place of the document among the contenders.
const DOCUMENT: u64 = 1;
/// A storm that is over leaves the server well for so long before the end.
const WELL: Duration = Duration::from_secs(5);

/// Put a document into a simulated outage, beside no retries and a plain loop
///
/// The retry layer and the document are the real ones; the callers, the server and the clock are simulated, so that
/// minutes take seconds. After ten seconds of calm the server is in trouble for the time of the outage, and then well
/// again. It can serve a quarter more calls than come, and every call sends the same request. Hosts that the document
/// fails over to are well.
///
/// The exit code is 1 if the service does not recover under the document although it does without retries.
#[derive(Debug, Args)]
pub(crate) struct StormArguments {
    /// The document; - is stdin
    file: PathBuf,

    /// The rate of calls of all processes together, 5/s to 5,000/s
    #[arg(long, default_value_t = Rate { per_second: RATE }, value_parser = units::rate)]
    rate: Rate,

    /// The time of the trouble, 100ms to 5m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = units::outage)]
    outage: Duration,

    /// The server hangs in the outage, in place of answering 503
    #[arg(long, conflicts_with = "limit")]
    stall: bool,

    /// In the outage the server allows so many attempts in each window, such as 500/10s, and answers the others 429
    #[arg(long, value_name = "QUOTA", value_parser = units::quota)]
    limit: Option<Quota>,

    /// The processes that share the calls, each with budgets of its own, 1 to 1000
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    processes: u16,

    /// The time after the outage in which calls are made, 5s to 30m [default: three outages and at least 30s, or eight
    /// outages after a stall]
    #[arg(long, value_name = "TIME", value_parser = units::after)]
    after: Option<Duration>,

    /// The time after which callers give up an attempt, 10ms to 60s; the server is well again once
    /// every call succeeds within it
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = units::timeout)]
    timeout: Duration,

    /// Send slow requests of the document a second time: as its `hedge` says, else later than 95 of 100 responses
    #[arg(long)]
    hedge: bool,

    /// The retries of the plain loop, 0 to 20
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=20))]
    loop_retries: u8,

    /// The first wait of the plain loop, 0s to 60s; it doubles each time, and 0s retries at once
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = units::loop_wait)]
    loop_wait: Duration,

    #[command(flatten)]
    target: Target,

    /// Also draw the attempts and the successes as a picture into this file; no file but such a picture is replaced
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Also write all numbers, the budget and the gate over time, and the document as one page of HTML into this file; no
    /// file but such a page is replaced
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    reading: Reading,
}

/// The attempts per call in an outage from which on retries make it worse.
const MAX_AMPLIFICATION: f64 = 2.0;

/// The result of the storms of the default numbers for one service: an outage and a stall.
pub(crate) fn trial(
    source: &Source,
    reading: &Reading,
    config: &RetryConfig,
    subject: &Subject,
) -> Result<Option<String>, Failure> {
    for (fault, what) in [(Fault::Outage, "an outage"), (Fault::Stall, "a stall")] {
        let storm = Storm {
            request: subject.request()?,
            rate: RATE,
            processes: 1,
            fault,
            lasts: OUTAGE,
            after: after(OUTAGE, fault),
            patience: TIMEOUT,
            seed: 1,
        };
        let mut processes = Processes::new(source, reading, config);
        let damage = damage(&storm, what, &mut |runtime| processes.layer(runtime))?;
        if damage.is_some() {
            return Ok(damage);
        }
    }
    Ok(None)
}

/// The harm that these retries do to a service in a storm, if they make it worse.
fn damage(
    storm: &Storm,
    what: &str,
    retries: &mut dyn FnMut(&LabRuntime) -> Retries,
) -> Result<Option<String>, Failure> {
    let play = |retries: &mut dyn FnMut(&LabRuntime) -> Retries| {
        let after = storm.play(retries);
        let after = after.map_err(|cause| Failure::of_input("storm", cause))?;
        Ok::<_, Failure>(Numbers::of("", storm, &after))
    };
    let lasts = short(storm.lasts);
    let with = play(retries)?;
    if with.amplification >= MAX_AMPLIFICATION {
        return Ok(Some(format!(
            "{what} of {lasts} sees {:.1} attempts per call: give it a smaller budget or fewer attempts",
            with.amplification
        )));
    }
    let is_drowned = with.recovery.is_none() && play(&mut |_| Retries::None)?.recovery.is_some();
    Ok(is_drowned.then(|| {
        format!("the service does not recover from {what} of {lasts}, and does without retries")
    }))
}

/// The time after the trouble in which calls are made, unless it is given.
fn after(outage: Duration, fault: Fault) -> Duration {
    let outages = if fault == Fault::Stall { 8 } else { 3 };
    (outage * outages)
        .max(Duration::from_secs(30))
        .min(units::AFTER.1)
}

/// A document in force in each of many processes.
struct Processes<'a> {
    source: &'a Source,
    reading: &'a Reading,
    /// The store of the document's fleet, once there is a clock for it.
    store: Option<MemoryStore>,
    config: &'a RetryConfig,
    /// The layer below that of the retries, if there is one.
    hedge: Option<HedgeLayer>,
    watch: Watch,
}

pub(crate) fn run(arguments: &StormArguments) -> Result<Report, Failure> {
    arguments.check_outputs()?;
    let (source, config) = document::load(&arguments.file, &arguments.reading)?;
    let subject = arguments.target.subject(&config, &source.tree)?;
    let storm = arguments.storm(&subject)?;
    let mut processes = Processes::new(&source, &arguments.reading, &config);
    if arguments.hedge {
        let hedge = HedgeLayer::new(Hedge::default());
        let hedge = hedge.map_err(|cause| Failure::of_input("--hedge", cause))?;
        processes.hedge = Some(hedge);
    }
    let all = arguments.play(&storm, processes)?;
    arguments.write_outputs(&source, &subject, &storm, &all)?;
    let report = match arguments.format {
        Form::Text => Report::text(arguments.text(&subject, &all)),
        Form::Json => Report::json(&arguments.json(&subject, &storm, &all)),
    };
    Ok(report
        .with_problem(arguments.problem(&all))
        .with_note(subject.note))
}

impl<'a> Processes<'a> {
    fn new(source: &'a Source, reading: &'a Reading, config: &'a RetryConfig) -> Self {
        Self {
            source,
            reading,
            store: None,
            config,
            hedge: None,
            watch: Watch::default(),
        }
    }

    /// The retry layer of one more process.
    fn layer(&mut self, runtime: &LabRuntime) -> Retries {
        let store = self
            .store
            .get_or_insert_with(|| MemoryStore::on(runtime.clone()));
        // It was loaded before, so it is good.
        let config = self.source.load(self.reading, store);
        let config = config.unwrap_or_else(|_| self.config.clone());
        let layer = RetryLayer::from_config(&config)
            .runtime(runtime.clone())
            .observe(self.watch.process());
        match &self.hedge {
            Some(hedge) => Retries::Hedged(Box::new(layer), hedge.clone()),
            None => Retries::Layer(Box::new(layer)),
        }
    }
}

impl StormArguments {
    fn storm(&self, subject: &Subject) -> Result<Storm, Failure> {
        let fault = match self.limit {
            Some(Quota { calls, length }) => Fault::Limit { calls, length },
            None if self.stall => Fault::Stall,
            None => Fault::Outage,
        };
        let after = self.after.unwrap_or_else(|| after(self.outage, fault));
        let storm = Storm {
            request: subject.request()?,
            rate: self.rate.per_second,
            processes: self.processes.into(),
            fault,
            lasts: self.outage,
            after,
            patience: self.timeout,
            seed: self.seed,
        };
        if storm.calls() > MAX_CALLS {
            let cause = format!(
                "{} for {} are {:.0} calls, and a storm has at most {MAX_CALLS}: lower --rate, --outage or --after",
                self.rate,
                short(storm.end()),
                storm.calls()
            );
            return Err(Failure::of_input("--rate", cause));
        }
        Ok(storm)
    }

    /// Plays the storm for each contender.
    fn play(&self, storm: &Storm, mut processes: Processes<'_>) -> Result<[Numbers; 3], Failure> {
        let watch = processes.watch.clone();
        let plain = PlainLoop {
            retries: self.loop_retries.into(),
            first_wait: self.loop_wait,
        };
        let progress = progress(storm);
        let seconds = storm.end().as_secs();
        let play = |index: u64, name: &str, retries: &mut dyn FnMut(&LabRuntime) -> Retries| {
            progress.set_message(name.to_owned());
            let start = index * seconds;
            let each_call = |now: Duration| {
                progress.set_position(start + now.as_secs());
                if index == DOCUMENT {
                    watch.sample(now);
                }
            };
            let after = storm.play_watched(retries, each_call);
            let after = after.map_err(|cause| Failure::of_input("storm", cause))?;
            Ok::<_, Failure>(Numbers::of(name, storm, &after))
        };
        let none = play(0, "no retries", &mut |_| Retries::None)?;
        let mut document = play(DOCUMENT, "the document", &mut |runtime| {
            processes.layer(runtime)
        })?;
        let plain = play(2, "a plain loop", &mut |_| Retries::Plain(plain))?;
        progress.finish_and_clear();
        document.seen = Some(watch.seen(document.series.attempts.len()));
        Ok([none, document, plain])
    }

    /// The storm in words.
    fn title(&self) -> String {
        let trouble = match self.limit {
            Some(Quota { calls, length }) => {
                format!("a limit of {calls} attempts in {}", short(length))
            }
            None if self.stall => "a stall".to_owned(),
            None => "an outage".to_owned(),
        };
        let by = match self.processes {
            1 => "1 process".to_owned(),
            processes => format!("{processes} processes"),
        };
        format!(
            "{trouble} for {} at {} by {by}",
            short(self.outage),
            self.rate
        )
    }

    fn text(&self, subject: &Subject, all: &[Numbers]) -> String {
        let mut text = format!("{}: {}\n\n", subject.words(), self.title());
        text += &numbers::table(all).to_string();
        text += "\nattempts per second at the server\n";
        text += &picture::chart(all);
        text
    }

    fn json(&self, subject: &Subject, storm: &Storm, all: &[Numbers]) -> Value {
        json!({
            "request": subject.json(),
            "storm": self.title(),
            "rate_per_second": storm.rate,
            "processes": storm.processes,
            "outage_s": storm.lasts.as_secs_f64(),
            "outage_from_s": storm.trouble_time().start.as_secs_f64(),
            "end_s": storm.end().as_secs_f64(),
            "contenders": all.iter().map(Numbers::json).collect::<Vec<_>>(),
        })
    }

    /// Checks that no output replaces what is none.
    fn check_outputs(&self) -> Result<(), Failure> {
        if cfg!(target_family = "wasm") && (self.svg.is_some() || self.html.is_some()) {
            return Err(Failure::of_input(
                "--svg, --html",
                "there are no files here",
            ));
        }
        let svg = self.svg.as_ref().map(|file| ("--svg", file));
        let html = self.html.as_ref().map(|file| ("--html", file));
        for (option, file) in [svg, html].into_iter().flatten() {
            output::check(option, file, &self.file)?;
        }
        match (&self.svg, &self.html) {
            (Some(svg), Some(html)) if output::is_same_file(svg, html) => {
                let name = format!("--html {}", html.display());
                Err(Failure::of_input(&name, "it is the file of --svg too"))
            }
            _ => Ok(()),
        }
    }

    fn write_outputs(
        &self,
        source: &Source,
        subject: &Subject,
        storm: &Storm,
        all: &[Numbers; 3],
    ) -> Result<(), Failure> {
        // Whatever draws is left out of the program there.
        if cfg!(target_family = "wasm") {
            return Ok(());
        }
        let time = storm.trouble_time();
        let outage = time.start.as_secs_f64()..time.end.as_secs_f64();
        let title = self.title();
        let failed = |cause| Failure::of_input("storm", cause);
        if let Some(file) = &self.svg {
            let text = picture::svg(&title, all, outage.clone()).map_err(failed)?;
            output::write(file, &text)?;
        }
        if let Some(file) = &self.html {
            let page = Page {
                title: &title,
                request: &subject.words(),
                problem: self.problem(all),
                all,
                outage,
                document: &source.shown(),
                json: &self.json(subject, storm, all),
            };
            output::write(file, &page.text().map_err(failed)?)?;
        }
        Ok(())
    }

    /// The problem of a document under which the service does not recover.
    fn problem(&self, [none, document, ..]: &[Numbers; 3]) -> Option<String> {
        let is_drowned = none.recovery.is_some() && document.recovery.is_none();
        is_drowned.then(|| {
            format!(
                "{}: the service does not recover within {} after the outage, and does without retries",
                document::name(&self.file),
                short(document.watched)
            )
        })
    }
}
