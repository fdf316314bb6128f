//! The fleet and its network, in simulated time.

use super::super::super::participant::{Answer, BudgetParticipant};
use super::super::numbers::Numbers;
use super::*;
use http_retry_core::policy::Moment;
use std::collections::BTreeMap;
use std::task::{Poll, Waker};
use std::time::Duration;

const PRICE: u64 = 1_000_000;
const WAIT: Duration = Duration::from_millis(50);

/// A process that runs; one that crashes makes room for another.
struct Process {
    participant: BudgetParticipant,
    life: u64,
    successes: u64,
    waiting: Vec<u64>,
}

/// An event in the network.
enum Event {
    Arrives {
        from: usize,
        life: u64,
        report: BudgetReport,
        answered: bool,
    },
    Answers {
        to: usize,
        life: u64,
        seq: i64,
        answer: Result<BudgetReply, LeaveReason>,
    },
    WaitIsOver {
        of: usize,
        life: u64,
        seq: i64,
    },
}

pub(super) struct Fleet {
    numbers: Numbers,
    faults: u64,
    keeps_records: bool,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    sent: u64,
    processes: Vec<Process>,
    /// The command that each process waits for.
    awaited: Vec<i64>,
    bucket: Option<StoredBucket>,
    records: BTreeMap<u64, Option<StoredRecord>>,
    lives: u64,
    successes: i64,
    /// The amount that each process has spent, by its life.
    spent: BTreeMap<u64, i64>,
}

impl Fleet {
    pub(super) fn new(seed: u64, faults: u64, keeps_records: bool) -> Self {
        let mut fleet = Self {
            numbers: Numbers(seed << 20),
            faults,
            keeps_records,
            now: 1_000,
            events: BTreeMap::new(),
            sent: 0,
            processes: Vec::new(),
            awaited: vec![0; 4],
            bucket: None,
            records: BTreeMap::new(),
            lives: 0,
            successes: 0,
            spent: BTreeMap::new(),
        };
        fleet.processes = (0..4).map(|_| fleet.born()).collect();
        fleet
    }

    fn born(&mut self) -> Process {
        self.lives += 1;
        Process {
            participant: BudgetParticipant::new(terms(), self.lives, WAIT),
            life: self.lives,
            successes: 0,
            waiting: Vec::new(),
        }
    }

    fn fault(&mut self) -> bool {
        self.numbers.below(1_000) < self.faults
    }

    /// Returns the latency of one way.
    fn way(&mut self) -> u64 {
        let most = if self.fault() { 400 } else { 10 };
        1 + self.numbers.below(most)
    }

    fn plan(&mut self, after: u64, event: Event) {
        self.sent += 1;
        self.events.insert((self.now + after, self.sent), event);
    }

    fn at(&mut self, place: usize) -> Moment {
        let now = Duration::from_millis(self.now);
        let process = &mut self.processes[place];
        process.participant.settle(process.successes, now);
        Moment::new(now).with_random(self.numbers.next())
    }

    pub(super) fn step(&mut self) {
        let place = usize::try_from(self.numbers.below(4)).unwrap();
        match self.numbers.below(10) {
            0..4 => {
                let new = self.numbers.below(20);
                self.processes[place].successes += new;
                self.successes += i64::try_from(new).unwrap();
            }
            4..8 => self.asks(place),
            8 if self.numbers.one_in(20) => {
                self.processes[place] = self.born();
            }
            _ => {
                let time = self.numbers.below(200);
                self.passes(time);
            }
        }
        self.drives();
    }

    fn asks(&mut self, place: usize) {
        let at = self.at(place);
        let process = &mut self.processes[place];
        match process.participant.ask(PRICE, at.now) {
            Answer::Paid => *self.spent.entry(process.life).or_default() += TOKEN,
            Answer::Refused => {}
            Answer::Pending(number) => process.waiting.push(number),
        }
    }

    /// Sends what is due.
    fn drives(&mut self) {
        for place in 0..self.processes.len() {
            let at = self.at(place);
            if let NextAction::Send(report) = self.processes[place].participant.next(at) {
                self.sends(place, report);
            }
        }
    }

    fn sends(&mut self, from: usize, report: BudgetReport) {
        self.awaited[from] = report.seq;
        let way = self.way();
        let lost = self.fault();
        let answered = !self.fault();
        if !lost {
            self.brings(way, from, report, answered);
        }
        if self.fault() {
            let repeated = way + self.numbers.below(2_000);
            self.brings(repeated, from, report, false);
        }
        let (of, life, seq) = (from, self.processes[from].life, report.seq);
        self.plan(50, Event::WaitIsOver { of, life, seq });
        let never = Event::Answers {
            to: from,
            life,
            seq,
            answer: Err(LeaveReason::Timeout),
        };
        self.plan(1_000, never);
    }

    /// The network brings a command to the store.
    fn brings(&mut self, after: u64, from: usize, report: BudgetReport, answered: bool) {
        let life = self.processes[from].life;
        let arrives = Event::Arrives {
            from,
            life,
            report,
            answered,
        };
        self.plan(after, arrives);
    }

    fn passes(&mut self, time: u64) {
        let until = self.now + time;
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > until {
                break;
            }
            self.now = entry.key().0;
            let event = entry.remove();
            self.happens(&event);
            self.drives();
        }
        self.now = until;
    }

    fn happens(&mut self, event: &Event) {
        match *event {
            Event::Arrives {
                from,
                life,
                report,
                answered,
            } => {
                let answer = self.settles(&report);
                if answered {
                    let way = self.way();
                    let answers = Event::Answers {
                        to: from,
                        life,
                        seq: report.seq,
                        answer: Ok(answer),
                    };
                    self.plan(way, answers);
                }
            }
            Event::Answers {
                to,
                life,
                seq,
                answer,
            } => {
                if self.waits_for(to, life, seq) {
                    self.awaited[to] = 0;
                    let at = self.at(to);
                    self.changes(to, |participant| _ = participant.replied(at, answer));
                }
            }
            Event::WaitIsOver { of, life, seq } => {
                if self.waits_for(of, life, seq) {
                    let at = self.at(of);
                    self.changes(of, |participant| _ = participant.timed_out(at.now));
                }
            }
        }
    }

    fn settles(&mut self, report: &BudgetReport) -> BudgetReply {
        let record = self.records.entry(report.process).or_default();
        if !self.keeps_records {
            *record = None;
        }
        let now = i64::try_from(self.now).unwrap();
        settle(&mut self.bucket, record, report, now)
    }

    fn waits_for(&self, place: usize, life: u64, seq: i64) -> bool {
        self.processes[place].life == life && self.awaited[place] == seq
    }

    /// Changes a process, and passes the answers on to its waiting retries.
    fn changes(&mut self, place: usize, change: impl FnOnce(&mut BudgetParticipant)) {
        let process = &mut self.processes[place];
        change(&mut process.participant);
        let spent = self.spent.entry(process.life).or_default();
        let Process {
            participant,
            waiting,
            ..
        } = process;
        waiting.retain(|number| match participant.poll(*number, Waker::noop()) {
            Poll::Pending => true,
            Poll::Ready(paid) => {
                *spent += if paid { TOKEN } else { 0 };
                false
            }
        });
    }

    /// Continues without faults until everything is reported.
    fn calms_down(&mut self) {
        self.faults = 0;
        for _ in 0..16 {
            self.drives();
            self.passes(1_000);
        }
    }

    /// Returns the amount that was spent or is left, and the amount that there was.
    pub(super) fn balance(&mut self) -> (i64, i64) {
        self.calms_down();
        let left = self.bucket.map_or(0, |bucket| bucket.tokens);
        let earned = terms().per_success * self.successes;
        let spent = self.spent.values().sum::<i64>();
        (spent + left, terms().initial + earned + self.forgotten())
    }

    /// Returns the amount that crashed processes spent without reporting it.
    fn forgotten(&self) -> i64 {
        let spent = self.spent.iter().map(|(life, spent)| {
            let record = self.records.get(life).copied().flatten();
            spent - record.map_or(0, |record| record.taken)
        });
        spent.map(|unreported| unreported.max(0)).sum()
    }
}
