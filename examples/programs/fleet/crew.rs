//! The worker processes, and what they say.

#![expect(clippy::disallowed_methods, reason = "an example shows real time")]

use crate::store::VARIABLE;
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// They end with this value.
pub(crate) struct Crew {
    processes: Vec<Child>,
    words: Arc<Mutex<Vec<Option<Word>>>>,
    in_fleet: bool,
}

/// What a worker said last.
#[derive(Clone)]
struct Word {
    calls: u64,
    succeeded: u64,
    tokens: f64,
    standing: String,
}

impl Word {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self {
            calls: words.next()?.parse().ok()?,
            succeeded: words.next()?.parse().ok()?,
            tokens: words.next()?.parse().ok()?,
            standing: words.next()?.to_owned(),
        })
    }
}

impl Crew {
    pub(crate) fn start(many: usize, url: &str, store: Option<&str>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("where this program is")?;
        let words = Arc::new(Mutex::new(vec![None; many]));
        let mut crew = Self {
            processes: Vec::new(),
            words: Arc::clone(&words),
            in_fleet: store.is_some(),
        };
        for number in 0..many {
            let mut worker = Command::new(&program);
            worker.args(["worker", url]).kill_on_drop(true);
            if let Some(store) = store {
                worker.arg("--fleet").env(VARIABLE, store);
            }
            let mut process = worker
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let said = process.stdout.take().context("a worker has no output")?;
            let words = Arc::clone(&words);
            tokio::spawn(async move {
                let mut lines = BufReader::new(said).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
                    if let (Some(last), Some(word)) = (words.get_mut(number), Word::read(&line)) {
                        *last = Some(word);
                    }
                }
            });
            crew.processes.push(process);
        }
        Ok(crew)
    }

    /// Waits until each of them is at work, and in the fleet if there is one.
    pub(crate) async fn are_ready(&mut self, limit: Duration) -> anyhow::Result<()> {
        let start = Instant::now();
        let many = self.processes.len();
        loop {
            self.all_live()?;
            let said = self.said();
            if said.len() == many && (!self.in_fleet || self.joined() == many) {
                return Ok(());
            }
            ensure!(
                start.elapsed() < limit,
                "only {} of {many} workers are at work, {} of them in the fleet",
                said.len(),
                self.joined()
            );
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn all_live(&mut self) -> anyhow::Result<()> {
        for process in &mut self.processes {
            let ended = process.try_wait()?;
            ensure!(
                ended.is_none(),
                "a worker ended: {}",
                ended.unwrap_or_default()
            );
        }
        Ok(())
    }

    pub(crate) fn calls(&self) -> u64 {
        self.said().iter().map(|word| word.calls).sum()
    }

    pub(crate) fn succeeded(&self) -> u64 {
        self.said().iter().map(|word| word.succeeded).sum()
    }

    /// What all of them may spend: in a fleet they name the same tokens, of which those who asked longest ago know least.
    pub(crate) fn tokens(&self) -> f64 {
        let tokens = self.said().into_iter().map(|word| word.tokens);
        if self.in_fleet {
            tokens.fold(f64::MAX, f64::min)
        } else {
            tokens.sum()
        }
    }

    pub(crate) fn joined(&self) -> usize {
        let said = self.said();
        said.iter().filter(|word| word.standing == "joined").count()
    }

    /// How many are in the fleet, and why the others are not.
    pub(crate) fn standing(&self) -> String {
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        for word in self
            .said()
            .into_iter()
            .filter(|word| word.standing != "none")
        {
            *all.entry(word.standing).or_default() += 1;
        }
        let told = all
            .into_iter()
            .map(|(standing, many)| format!("{many} {standing}"));
        told.collect::<Vec<_>>().join(", ")
    }

    fn said(&self) -> Vec<Word> {
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().flatten().cloned().collect()
    }
}
