//! Every storm that a retry layer must not make worse, in simulated time, with the real layers in front of simulated
//! servers.
//!
//! ```text
//! cargo run --release --all-features --example storm [-- --only B,I --charts target/storm --seeds 3]
//! ```
//!
//! With `--sums` the charts show what has happened so far; the guide's picture of the gate is drawn by
//! `--only V --sums --charts src/docs/charts`.
//!
//! `fleet` plays what many processes do, each for itself and as a fleet:
//!
//! ```text
//! cargo run --release --all-features --example storm -- fleet [--only outage-fleet,stall-fleet]
//! ```
//!
//! For each scenario it plays this crate on both stacks and its peers, with even and with random arrivals, from several
//! seeds. It prints one table, writes a chart for each scenario, and ends with an error if a bound does
//! not hold.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what it is for"
)]

mod chart;
mod table;

use anyhow::{Context, Result, ensure};
use chart::Shows;
use clap::Parser;
use http_retry_lab::scenarios::{ALL, DULL, FLEETS, Scenario, Worlds};
use http_retry_lab::verdict::Row;
use http_retry_lab::{Arrivals, Stack, World};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use table::Table;

/// Plays every storm, and says what held.
#[derive(Debug, Parser)]
struct Args {
    /// Which scenarios there are.
    #[arg(value_enum, default_value_t = Suite::Storms)]
    suite: Suite,
    /// Only these scenarios, by their letters.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Where the charts are written to.
    #[arg(long, default_value = "target/storm")]
    charts: PathBuf,
    /// Draws what has happened so far, in place of what happened in each second.
    #[arg(long)]
    sums: bool,
    /// From how many seeds each scenario is played.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    seeds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Suite {
    /// One process after the other, or many that share nothing: A to V, and B2.
    Storms,
    /// Many processes, each for itself and as a fleet.
    Fleet,
    /// The scenes that most programs live in.
    Dull,
}

impl Suite {
    fn scenarios(self) -> &'static [Scenario] {
        match self {
            Self::Storms => &ALL,
            Self::Fleet => &FLEETS,
            Self::Dull => &DULL,
        }
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("storm: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let chosen = |scenario: &&Scenario| {
        let named = |id: &String| id.eq_ignore_ascii_case(scenario.id);
        args.only.is_empty() || args.only.iter().any(named)
    };
    let scenarios = args.suite.scenarios().iter();
    let scenarios: Vec<_> = scenarios.filter(chosen).copied().collect();
    ensure!(
        !scenarios.is_empty(),
        "--only names no scenario; there are A to V, and B2, or those that end in -fleet"
    );
    let played = play(&scenarios, &worlds(args.seeds));
    std::fs::create_dir_all(&args.charts)
        .with_context(|| format!("the folder {} cannot be made", args.charts.display()))?;
    let shows = if args.sums { Shows::Sums } else { Shows::Rates };
    println!("{}\n", table::HEAD);
    let mut broken = 0_usize;
    for (scenario, rows) in scenarios.iter().zip(played) {
        let table = Table::of(scenario, &rows);
        println!("{table}");
        broken = broken.saturating_add(table.broken());
        let path = args.charts.join(format!("{}.svg", scenario.id));
        chart::write(&path, scenario, &rows, shows)
            .with_context(|| format!("no chart {}", path.display()))?;
    }
    println!("charts: {}", args.charts.display());
    ensure!(broken == 0, "{broken} bounds do not hold");
    println!("all bounds hold");
    Ok(())
}

fn worlds(seeds: u64) -> Vec<World> {
    let mut worlds = Vec::new();
    for seed in 1..=seeds {
        for arrivals in [Arrivals::Even, Arrivals::Poisson] {
            for stack in [Stack::Tower, Stack::Reqwest] {
                worlds.push(World {
                    seed,
                    arrivals,
                    stack,
                    peers: true,
                    short: false,
                });
            }
        }
    }
    worlds
}

/// The rows of each scenario, of one world after the other, on as many threads as there are cores.
fn play(scenarios: &[Scenario], worlds: &[World]) -> Vec<Vec<Row>> {
    let jobs = scenarios.iter().enumerate().flat_map(|(place, scenario)| {
        let worlds = worlds
            .iter()
            .filter(|world| scenario.worlds.contain(**world));
        worlds.map(move |world| {
            let peers = have_peers_in(scenario, *world);
            (place, scenario, World { peers, ..*world })
        })
    });
    let jobs = Mutex::new(jobs.enumerate());
    let played = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((order, (place, scenario, world))) = next(&jobs) {
                    let rows = (scenario.play)(world);
                    played
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((order, place, rows));
                }
            });
        }
    });
    let mut played = played.into_inner().unwrap_or_default();
    played.sort_by_key(|(order, _, _)| *order);
    let mut of_scenarios = vec![Vec::new(); scenarios.len()];
    for (_, place, rows) in played {
        if let Some(all) = of_scenarios.get_mut(place) {
            all.extend(rows);
        }
    }
    of_scenarios
}

/// Peers do not depend on this crate's stack.
fn have_peers_in(scenario: &Scenario, world: World) -> bool {
    scenario.worlds == Worlds::OneOfEachSeed || world.stack == Stack::Tower
}

fn next<T>(jobs: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    jobs.lock().ok()?.next()
}
