//! A walk through a request that remembers the way to its longest text.

use crate::llm::truncate::scan::{Span, Text};

pub(super) struct Walk<'a> {
    pub(super) path: Vec<Step>,
    pub(super) best: Option<Found<'a>>,
}

#[derive(Clone)]
pub(super) struct Found<'a> {
    pub(super) text: Text<'a>,
    pub(super) chars: usize,
    pub(super) path: Vec<Step>,
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    Member(&'static str),
    Element(usize),
}

impl Step {
    /// The step in a JSON pointer; no member named here needs an escape.
    pub(super) fn token(&self) -> String {
        match self {
            Self::Member(name) => format!("/{name}"),
            Self::Element(index) => format!("/{index}"),
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn leaf(&mut self, value: Span<'a>) -> Option<()> {
        self.offer(value);
        Some(())
    }

    /// Takes a string as the longest one if it is.
    pub(super) fn offer(&mut self, value: Span<'a>) {
        let Some(text) = value.text().filter(|text| self.may_win(*text)) else {
            return;
        };
        let Some(chars) = text.count().filter(|chars| *chars > 1) else {
            return;
        };
        let wins = self.best.as_ref().is_none_or(|best| {
            chars > best.chars || chars == best.chars && text.start() < best.text.start()
        });
        if wins && !text.is_data_url() {
            let path = self.path.clone();
            self.best = Some(Found { text, chars, path });
        }
    }

    fn may_win(&self, text: Text<'_>) -> bool {
        let least = self.best.as_ref().map_or(2, |best| best.chars);
        text.bytes() >= least
    }

    pub(super) fn member(
        &mut self,
        name: &'static str,
        value: Option<Span<'a>>,
        go: impl FnOnce(&mut Self, Span<'a>) -> Option<()>,
    ) -> Option<()> {
        value.map_or(Some(()), |value| {
            self.path.push(Step::Member(name));
            go(self, value)?;
            self.path.pop();
            Some(())
        })
    }

    pub(super) fn elements(
        &mut self,
        array: Span<'a>,
        mut go: impl FnMut(&mut Self, Span<'a>) -> Option<()>,
    ) -> Option<()> {
        for (index, element) in array.elements().enumerate() {
            self.path.push(Step::Element(index));
            go(self, element)?;
            self.path.pop();
        }
        Some(())
    }
}
