//! The headers that say when to come back.

use super::date::Clock;
use super::line::{MOST_LINES, text};
use super::names::{Asked, DELAYS, Header, HeaderSet};
use http::{HeaderMap, HeaderValue};

/// What the headers that name a delay say, line by line.
#[derive(Default)]
pub(super) struct Delays {
    /// How many lines of each have been read.
    lines: [u8; DELAYS.len()],
    there: HeaderSet,
    readable: HeaderSet,
    /// What the first of them asks for that can be read and does not lie in the past; of its lines the latest.
    pub(super) asked: Option<Asked>,
}

/// Whether a server's own invitation to come back is there and readable, even if its time is past: the part of reading
/// that needs no clock.
pub(crate) fn is_invitation(headers: &HeaderMap) -> bool {
    let places = headers
        .keys()
        .filter_map(|name| Some((name, DELAYS.get(place(name.as_str())?)?)));
    let mut lines = places.flat_map(|(name, form)| {
        let lines = headers.get_all(name).iter().take(MOST_LINES);
        lines.filter_map(move |line| form.1(text(line)?))
    });
    lines.next().is_some()
}

impl Delays {
    /// Reads one more line of the header in this place of the [`DELAYS`].
    pub(super) fn read(&mut self, place: usize, line: &HeaderValue, clock: Clock<'_>) {
        let (Some(header), Some((_, read))) = (Header::of_delay(place), DELAYS.get(place)) else {
            return;
        };
        let Some(lines) = self.lines.get_mut(place) else {
            return;
        };
        if usize::from(*lines) >= MOST_LINES {
            return;
        }
        *lines = lines.saturating_add(1);
        self.there.add(header);
        let Some(when) = text(line).and_then(read) else {
            return;
        };
        self.readable.add(header);
        let asked = when.until(|| clock.now());
        let asked = asked.map(|delay| Asked { delay, header });
        self.asked = match (self.asked, asked) {
            (Some(first), Some(asked)) if first.header == header => Some(first.max(asked)),
            (Some(first), Some(asked)) if first.header > header => Some(asked),
            (first, asked) => first.or(asked),
        };
    }

    /// Those that are there and hold nothing that can be read.
    pub(super) fn unreadable(&self) -> HeaderSet {
        self.there.without(self.readable)
    }
}

/// The place in [`DELAYS`] of the header of this name.
pub(super) fn place(name: &str) -> Option<usize> {
    DELAYS.iter().position(|(known, _)| *known == name)
}
