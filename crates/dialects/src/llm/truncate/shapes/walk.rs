//! A walk through a request that remembers its longest text.

use crate::llm::truncate::scan::{Span, Text};

#[derive(Default)]
pub(super) struct Walk<'a> {
    pub(super) best: Option<Longest<'a>>,
}

/// The longest text that may be cut.
#[derive(Clone, Copy)]
pub(in crate::llm::truncate) struct Longest<'a> {
    pub(in crate::llm::truncate) text: Text<'a>,
    pub(in crate::llm::truncate) chars: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn leaf(&mut self, value: Span<'a>) -> Option<()> {
        self.offer(value);
        Some(())
    }

    /// Records a string if it is the longest one so far.
    pub(super) fn offer(&mut self, value: Span<'a>) {
        let Some(text) = value.text().filter(|text| self.may_win(*text)) else {
            return;
        };
        let Some(chars) = text.count().filter(|chars| *chars > 1) else {
            return;
        };
        let wins = self.best.is_none_or(|best| {
            chars > best.chars || chars == best.chars && text.start() < best.text.start()
        });
        // Tested last, since it reads the whole text.
        if wins && !text.is_data_url() {
            self.best = Some(Longest { text, chars });
        }
    }

    fn may_win(&self, text: Text<'_>) -> bool {
        let least = self.best.map_or(2, |best| best.chars);
        text.bytes() >= least
    }

    /// Visits a member if it is present.
    pub(super) fn member(
        &mut self,
        value: Option<Span<'a>>,
        go: impl FnOnce(&mut Self, Span<'a>) -> Option<()>,
    ) -> Option<()> {
        value.map_or(Some(()), |value| go(self, value))
    }

    pub(super) fn elements(
        &mut self,
        array: Span<'a>,
        mut go: impl FnMut(&mut Self, Span<'a>) -> Option<()>,
    ) -> Option<()> {
        array.elements().try_for_each(|element| go(self, element))
    }
}
