//! Which row speaks.

use super::Row;
use super::hosts::{host_of, is_at, is_pattern};
use super::{Dialect, KeyForm, NamedRow};
use crate::error::ConfigError;
use crate::policy::rules::{OfSuccess, Seen};
use crate::policy::{
    ErrorBody, Meanings, Outcome, Pointer, Reach, RequestLine, RowId, Said, Verdict,
    is_standard_success,
};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName};
use std::collections::BTreeSet;
use std::sync::Arc;

/// As many rows as a dialect has by itself, and as many places of a body as it looks at.
const MOST_ROWS: usize = 64;
const MOST_POINTERS: usize = 16;
/// The same of dialects that are joined.
const MOST_POINTERS_IN_ALL: usize = 64;
/// As much of a success is read.
const MOST_BYTES: u64 = 64 * 1024;

/// Dialects as a policy asks them.
pub(super) struct Tables {
    tables: Vec<Table>,
    /// Which table speaks for a host; without it the first for all.
    hosts: Option<Vec<(String, usize)>>,
    /// Whether the body of a success may be read where a table asks for it.
    inspect_success: bool,
}

struct Table {
    name: Arc<str>,
    rows: Vec<NamedRow>,
    pointers: Vec<Pointer>,
    judges_successes: bool,
    key: KeyForm,
}

impl Table {
    fn of(dialect: &Dialect) -> Result<Self, ConfigError> {
        let rows: Vec<NamedRow> = dialect.all_rows().collect();
        if let Some(refused) = rows.iter().find_map(|named| named.row.refused.clone()) {
            return Err(refused);
        }
        let wrong = |given: usize, allowed| Err(ConfigError::new("dialect", given, allowed));
        let own = pointers(rows.iter().take(dialect.own.len())).len();
        let table = Self::new(Arc::clone(&dialect.name), dialect.key.clone(), rows);
        if dialect.own.len() > MOST_ROWS {
            return wrong(dialect.own.len(), "rows are too many: 64 at most");
        }
        if own > MOST_POINTERS || table.pointers.len() > MOST_POINTERS_IN_ALL {
            return wrong(
                own,
                "places of a JSON body are too many: 16 at most, 64 of all that are joined",
            );
        }
        Ok(table)
    }

    fn new(name: Arc<str>, key: KeyForm, rows: Vec<NamedRow>) -> Self {
        Self {
            name,
            pointers: pointers(rows.iter()),
            judges_successes: rows.iter().any(|named| named.row.of_successes),
            key,
            rows,
        }
    }

    /// What the first of its rows says that holds; `table` is its own number.
    fn say(&self, table: u16, outcome: &Outcome<'_>, final_word: bool, may_read: bool) -> Said {
        let success = is_success(outcome);
        let final_word = final_word || !may_read;
        let body = outcome.body();
        let is_whole = || body.map_or(!final_word, ErrorBody::is_understood);
        let of_success = match success && may_read && is_whole() {
            true => OfSuccess::All,
            false => OfSuccess::Unknown,
        };
        let seen = Seen {
            outcome,
            attempt: 0,
            method: outcome.request().map(RequestLine::method),
            idempotent: false,
            of_success,
            final_word,
            certain: false,
        };
        let rows = (0..).zip(&self.rows);
        for (place, NamedRow { row: own, .. }) in rows {
            if success && !own.of_successes {
                continue;
            }
            let unread = || body.is_none() && !final_word && own.meaning.needs_the_body();
            match own.when.holds(&seen) {
                // A success that nobody can read to its end is one.
                None if success && of_success == OfSuccess::Unknown => {}
                Some(false) => {}
                Some(true) if !unread() => {
                    let judges = false;
                    let row = Some(RowId {
                        judges,
                        table,
                        row: place,
                    });
                    let reach = self.reach(place, &seen);
                    let meaning = own.meaning.of(outcome);
                    return Said::This(Verdict {
                        row,
                        reach,
                        ..meaning
                    });
                }
                Some(true) | None => return Said::Unread,
            }
        }
        Said::Nothing
    }

    /// How far the request got by this row, which holds.
    ///
    /// A body that is not whole or can be read in two ways never makes an answer refused: it may hide that the request was
    /// processed. Then only the status can say so.
    fn reach(&self, row: u16, seen: &Seen<'_>) -> Reach {
        let is_by_status = seen.outcome.reach().is_unprocessed();
        let (before, rest) = self.rows.split_at(usize::from(row).min(self.rows.len()));
        let Some(named) = rest
            .first()
            .filter(|named| named.row.meaning.says_refused())
        else {
            return Reach::Answered;
        };
        let certain = Seen {
            certain: true,
            ..*seen
        };
        // A row before it may hold by what is missing from the body.
        let success = is_success(seen.outcome);
        let has_body = seen.outcome.body().is_some();
        let rivals = before.iter().map(|named| &named.row).filter(|row| {
            has_body && !row.meaning.says_refused() && (row.of_successes || !success)
        });
        let is_certain = || {
            let mut rivals = rivals.map(|row| row.when.holds(&certain));
            named.row.when.holds(&certain) == Some(true) && rivals.all(|holds| holds == Some(false))
        };
        if is_by_status || is_certain() {
            Reach::Refused
        } else {
            Reach::Answered
        }
    }

    fn line(&self) -> String {
        let reads = self.rows.iter().any(|named| named.row.reads_the_body());
        let of_successes = |named: &NamedRow| named.row.of_successes && named.row.reads_the_body();
        let looks = match (reads, self.rows.iter().any(of_successes)) {
            (_, true) => "reads the bodies of failures and of some successes",
            (true, false) => "reads the bodies of failures",
            (false, false) => "reads no body",
        };
        let Self { name, rows, .. } = self;
        format!("dialect {name}: {} rows, {looks}", rows.len())
    }
}

fn pointers<'a>(rows: impl Iterator<Item = &'a NamedRow>) -> Vec<Pointer> {
    let mut all: Vec<Pointer> = rows
        .flat_map(|named| named.row.pointers().cloned().collect::<Vec<_>>())
        .collect();
    all.sort();
    all.dedup();
    all
}

impl Tables {
    pub(super) fn one(dialect: &Dialect) -> Result<Self, ConfigError> {
        Table::of(dialect).map(Self::alone)
    }

    /// What rules say, each by its own name.
    pub(super) fn of_rules(rules: Vec<(Arc<str>, Row)>) -> Self {
        let rows = rules.into_iter().map(|(name, row)| NamedRow { name, row });
        let rows: Vec<NamedRow> = rows.collect();
        Self::alone(Table::new("rules".into(), KeyForm::default(), rows))
    }

    /// Returns `true` if no table has a row.
    pub(super) fn is_empty(&self) -> bool {
        self.tables.iter().all(|table| table.rows.is_empty())
    }

    fn alone(table: Table) -> Self {
        Self {
            tables: vec![table],
            hosts: None,
            inspect_success: true,
        }
    }

    pub(super) fn by_host(
        hosts: &[(String, Dialect)],
        inspect_success: bool,
    ) -> Result<Self, ConfigError> {
        let (mut tables, mut places) = (Vec::new(), Vec::new());
        for (host, dialect) in hosts {
            if !is_pattern(host) {
                let allowed = "must be a host without a port: api.example.com or *.example.com";
                return Err(ConfigError::new("dialects.host", "this text", allowed));
            }
            // Two dialects of one name may have other rows.
            places.push((host.clone(), tables.len()));
            tables.push(Table::of(dialect)?);
        }
        Ok(Self {
            tables,
            hosts: Some(places),
            inspect_success,
        })
    }

    /// How the service takes keys; the name of a host is no word on that.
    fn key(&self) -> Option<&KeyForm> {
        match self.hosts {
            None => Some(&self.tables.first()?.key),
            Some(_) => None,
        }
    }

    fn table(&self, outcome: &Outcome<'_>) -> Option<(u16, &Table)> {
        let place = match &self.hosts {
            None => 0,
            Some(hosts) => {
                let host = host_of(outcome.request()?.authority());
                hosts.iter().find(|(pattern, _)| is_at(pattern, &host))?.1
            }
        };
        Some((u16::try_from(place).ok()?, self.tables.get(place)?))
    }
}

impl Meanings for Tables {
    fn say(&self, outcome: &Outcome<'_>, final_word: bool) -> Said {
        let (Some(headers), Some((place, table))) = (outcome.headers(), self.table(outcome)) else {
            return Said::Nothing;
        };
        let success = is_success(outcome);
        if success && !table.judges_successes {
            return Said::Nothing;
        }
        let may_read = !success || (self.inspect_success && is_short_and_readable(headers));
        table.say(place, outcome, final_word, may_read)
    }

    fn judge_successes(&self) -> bool {
        self.tables.iter().any(|table| table.judges_successes)
    }

    fn pointers(&self, outcome: &Outcome<'_>) -> &[Pointer] {
        self.table(outcome)
            .map_or(&[], |(_, table)| &table.pointers)
    }

    fn name_of(&self, id: RowId) -> Option<Arc<str>> {
        let table = self.tables.get(usize::from(id.table))?;
        Some(Arc::clone(&table.rows.get(usize::from(id.row))?.name))
    }

    fn key_header(&self) -> Option<&HeaderName> {
        self.key()?.header.as_ref()
    }

    fn quotes_keys(&self) -> bool {
        self.key().and_then(|key| key.quoted).unwrap_or_default()
    }

    fn lines(&self) -> Vec<String> {
        match &self.hosts {
            None => self.tables.iter().map(Table::line).collect(),
            Some(hosts) => {
                let tables: BTreeSet<_> = self.tables.iter().map(|table| &table.name).collect();
                let (hosts, tables) = (hosts.len(), tables.len());
                vec![format!(
                    "dialect by host: {tables} tables for {hosts} hosts"
                )]
            }
        }
    }
}

/// Whether an answer is a success by its status.
fn is_success(outcome: &Outcome<'_>) -> bool {
    let status = outcome.status();
    status.is_some_and(|status| is_standard_success(status.as_u16()))
}

/// Whether a success can be read whole before the caller has it: JSON or XML whose length is short, or not known. A
/// stream of events has no end.
fn is_short_and_readable(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let kind = text(CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    let readable = kind == "application/json"
        || (kind.starts_with("application/") && kind.ends_with("+json"))
        || kind.ends_with("/xml");
    let length = text(CONTENT_LENGTH).map(|length| length.trim().parse::<u64>());
    let short = length.is_none_or(|length| length.is_ok_and(|length| length <= MOST_BYTES));
    readable && short
}
