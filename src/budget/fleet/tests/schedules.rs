//! A fleet on a network that loses, delays and repeats: it never spends more than it was given and has earned.

use super::super::member::{Asked, Due, Member};
use super::numbers::{Numbers, usual};
use super::*;
use crate::policy::Moment;
use std::collections::BTreeMap;
use std::task::{Poll, Waker};
use std::time::Duration;

const SCHEDULES: u64 = 20_000;
const STEPS: u64 = 60;
const TOKEN: i64 = 1_000_000;
const PRICE: u64 = 1_000_000;
const WAIT: Duration = Duration::from_millis(50);
/// Faults in a thousand commands.
const FAULTS: [u64; 4] = [0, 50, 200, 500];

/// A process that runs; one that crashes makes room for another.
struct Process {
    member: Member,
    life: u64,
    successes: u64,
    waiting: Vec<u64>,
}

/// What the network does, and when.
enum Event {
    Arrives {
        from: usize,
        life: u64,
        words: BudgetWords,
        answered: bool,
    },
    Answers {
        to: usize,
        life: u64,
        seq: i64,
        answer: Result<BudgetAnswer, LeaveReason>,
    },
    WaitIsOver {
        of: usize,
        life: u64,
        seq: i64,
    },
}

struct Fleet {
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
    /// What each process has spent, by its life.
    spent: BTreeMap<u64, i64>,
}

fn terms() -> FleetTerms {
    FleetTerms {
        capacity: 1_000 * TOKEN,
        growth_ms: 0,
        ..usual()
    }
}

impl Fleet {
    fn new(seed: u64, faults: u64, keeps_records: bool) -> Self {
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
            member: Member::new(terms(), self.lives, WAIT),
            life: self.lives,
            successes: 0,
            waiting: Vec::new(),
        }
    }

    fn fault(&mut self) -> bool {
        self.numbers.below(1_000) < self.faults
    }

    /// How long the network takes one way.
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
        process.member.settle(process.successes, now);
        Moment::new(now).with_random(self.numbers.next())
    }

    fn step(&mut self) {
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
        match process.member.ask(PRICE, at.now) {
            Asked::Paid => *self.spent.entry(process.life).or_default() += TOKEN,
            Asked::Refused => {}
            Asked::Waits(number) => process.waiting.push(number),
        }
    }

    /// Sends what is due.
    fn drives(&mut self) {
        for place in 0..self.processes.len() {
            let at = self.at(place);
            if let Due::Command(words) = self.processes[place].member.next(at) {
                self.sends(place, words);
            }
        }
    }

    fn sends(&mut self, from: usize, words: BudgetWords) {
        let life = self.processes[from].life;
        self.awaited[from] = words.seq;
        let way = self.way();
        let lost = self.fault();
        let answered = !self.fault();
        if !lost {
            self.plan(
                way,
                Event::Arrives {
                    from,
                    life,
                    words,
                    answered,
                },
            );
        }
        if self.fault() {
            let again = way + self.numbers.below(2_000);
            self.plan(
                again,
                Event::Arrives {
                    from,
                    life,
                    words,
                    answered: false,
                },
            );
        }
        let of = from;
        self.plan(
            50,
            Event::WaitIsOver {
                of,
                life,
                seq: words.seq,
            },
        );
        let answer = Err(LeaveReason::Timeout);
        self.plan(
            1_000,
            Event::Answers {
                to: from,
                life,
                seq: words.seq,
                answer,
            },
        );
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
                words,
                answered,
            } => {
                let record = self.records.entry(words.process).or_default();
                if !self.keeps_records {
                    *record = None;
                }
                let now = i64::try_from(self.now).unwrap();
                let answer = settle(&mut self.bucket, record, &words, now);
                if answered {
                    let way = self.way();
                    let seq = words.seq;
                    self.plan(
                        way,
                        Event::Answers {
                            to: from,
                            life,
                            seq,
                            answer: Ok(answer),
                        },
                    );
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
                    self.changes(to, |member| _ = member.answered(at, answer));
                }
            }
            Event::WaitIsOver { of, life, seq } => {
                if self.waits_for(of, life, seq) {
                    let at = self.at(of);
                    self.changes(of, |member| _ = member.timed_out(at.now));
                }
            }
        }
    }

    fn waits_for(&self, place: usize, life: u64, seq: i64) -> bool {
        self.processes[place].life == life && self.awaited[place] == seq
    }

    /// Changes a process, and gives those who wait there their answers.
    fn changes(&mut self, place: usize, change: impl FnOnce(&mut Member)) {
        let process = &mut self.processes[place];
        change(&mut process.member);
        let spent = self.spent.entry(process.life).or_default();
        let Process {
            member, waiting, ..
        } = process;
        waiting.retain(|number| match member.poll(*number, Waker::noop()) {
            Poll::Pending => true,
            Poll::Ready(paid) => {
                *spent += if paid { TOKEN } else { 0 };
                false
            }
        });
    }

    /// Goes on without faults until the store has heard of everything.
    fn calms_down(&mut self) {
        self.faults = 0;
        for _ in 0..16 {
            self.drives();
            self.passes(1_000);
        }
    }

    /// What was spent and what is left, and what there was.
    fn balance(&mut self) -> (i64, i64) {
        self.calms_down();
        let left = self.bucket.map_or(0, |bucket| bucket.tokens);
        let earned = terms().per_success * self.successes;
        let spent = self.spent.values().sum::<i64>();
        (spent + left, terms().initial + earned + self.forgotten())
    }

    /// What processes spent alone that crashed before the store heard of it.
    fn forgotten(&self) -> i64 {
        let spent = self.spent.iter().map(|(life, spent)| {
            let record = self.records.get(life).copied().flatten();
            spent - record.map_or(0, |record| record.taken)
        });
        spent.map(|untold| untold.max(0)).sum()
    }
}

/// How many schedules spend more than there was, and how much of it the others reach.
fn overspent(schedules: u64, keeps_records: bool) -> (u64, f64) {
    let (mut over, mut reached) = (0, 0.0);
    for schedule in 0..schedules {
        let faults = FAULTS[usize::try_from(schedule % 4).unwrap()];
        let mut fleet = Fleet::new(schedule, faults, keeps_records);
        (0..STEPS).for_each(|_| fleet.step());
        let (used, had) = fleet.balance();
        over += u64::from(used > had);
        reached += used as f64 / had as f64;
    }
    (over, reached / schedules as f64)
}

#[test]
fn no_schedule_of_faults_makes_tokens() {
    let (over, reached) = overspent(SCHEDULES, true);
    assert_eq!(over, 0);
    assert!(reached > 0.9, "{reached}");
}

#[test]
fn without_the_records_faults_make_tokens() {
    let (over, _) = overspent(2_000, false);
    assert!(over > 100, "{over}");
}
