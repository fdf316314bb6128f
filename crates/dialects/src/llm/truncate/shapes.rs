//! The texts of a request that may be cut.
//!
//! Only what is listed here is ever inspected, so anything that an API adds later is left whole until it is listed.

use super::scan::{Span, Text};

/// Finds the longest text that may be cut. Returns `None` if there is none, or if an object repeats a member.
pub(super) fn longest(root: Span<'_>) -> Option<Longest<'_>> {
    let mut walk = Walk::default();
    walk.request(root)?;
    walk.best
}

/// The author of a turn. `Other` is never cut: system, developer, and every unknown role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Asker,
    Assistant,
    Nobody,
    Other,
}

impl Speaker {
    fn of(role: Option<Span<'_>>) -> Self {
        let Some(role) = role.filter(|role| role.is_set()) else {
            return Self::Nobody;
        };
        let one_of = |names: &[&str]| names.iter().any(|name| role.is(name));
        if one_of(&["user", "tool", "function"]) {
            Self::Asker
        } else if one_of(&["assistant", "model"]) {
            Self::Assistant
        } else {
            Self::Other
        }
    }
}

/// The nesting of blocks that is followed: a tool's result in a turn, a document in that result, the content of that
/// document.
const BLOCK_DEPTH: usize = 3;

const TEXT_BLOCKS: [&str; 3] = ["text", "input_text", "output_text"];
const HOLDERS: [&str; 3] = ["tool_result", "mcp_tool_result", "search_result"];
const CALL_OUTPUTS: [&str; 3] = [
    "function_call_output",
    "custom_tool_call_output",
    "apply_patch_call_output",
];

/// Every step returns `None` if the body must be left alone as a whole.
impl<'a> Walk<'a> {
    fn request(&mut self, root: Span<'a>) -> Option<()> {
        let [messages, input, contents, prompt] =
            root.members(["messages", "input", "contents", "prompt"])?;
        self.member(messages, |walk, turns| walk.turns(turns, Self::message))?;
        self.member(contents, |walk, turns| walk.turns(turns, Self::gemini_turn))?;
        self.member(input, |walk, input| {
            walk.texts(input)?;
            walk.turns(input, Self::item)
        })?;
        self.member(prompt, Self::texts)
    }

    /// Visits a string, or the strings of an array.
    fn texts(&mut self, value: Span<'a>) -> Option<()> {
        self.offer(value);
        self.elements(value, |walk, element| {
            walk.offer(element);
            Some(())
        })
    }

    /// Visits turns in order. The assistant's text counts only once another turn follows: at the end it is a prefill.
    fn turns(
        &mut self,
        turns: Span<'a>,
        turn: fn(&mut Self, Span<'a>) -> Option<Speaker>,
    ) -> Option<()> {
        let mut before = None;
        self.elements(turns, |walk, value| {
            let earlier = walk.best;
            match turn(walk, value)? {
                Speaker::Assistant => before = before.take().or(Some(earlier)),
                _ => before = None,
            }
            Some(())
        })?;
        // The last turns are the assistant's, so the longest text before them wins.
        if let Some(earlier) = before {
            self.best = earlier;
        }
        Some(())
    }

    /// Visits a turn of a chat completion, of Anthropic's messages or of Bedrock's converse.
    fn message(&mut self, turn: Span<'a>) -> Option<Speaker> {
        let [role, content] = turn.members(["role", "content"])?;
        let speaker = Speaker::of(role);
        if matches!(speaker, Speaker::Asker | Speaker::Assistant) {
            self.member(content, Self::content)?;
        }
        Some(speaker)
    }

    /// Visits an item of a responses call: a message, or the output of a tool.
    fn item(&mut self, item: Span<'a>) -> Option<Speaker> {
        let [kind, output] = item.members(["type", "output"])?;
        if is_one_of(kind, &CALL_OUTPUTS) {
            self.member(output, Self::content)?;
            return Some(Speaker::Asker);
        }
        match kind {
            Some(kind) if !kind.is("message") => Some(Speaker::Other),
            _ => self.message(item),
        }
    }

    fn gemini_turn(&mut self, turn: Span<'a>) -> Option<Speaker> {
        let [role, parts] = turn.members(["role", "parts"])?;
        let speaker = Speaker::of(role);
        if speaker != Speaker::Other {
            self.member(parts, |walk, parts| walk.elements(parts, Self::part))?;
        }
        Some(speaker)
    }

    fn content(&mut self, content: Span<'a>) -> Option<()> {
        self.blocks(content, BLOCK_DEPTH)
    }

    /// Visits a string, or an array of blocks.
    fn blocks(&mut self, content: Span<'a>, depth: usize) -> Option<()> {
        let Some(left) = depth.checked_sub(1) else {
            return Some(());
        };
        self.offer(content);
        self.elements(content, |walk, block| walk.block(block, left))
    }

    fn block(&mut self, block: Span<'a>, depth: usize) -> Option<()> {
        let [kind, text, content, source] = block.members(["type", "text", "content", "source"])?;
        if kind.is_none() {
            return self.untyped_block(block, depth);
        }
        if is_one_of(kind, &TEXT_BLOCKS) {
            self.member(text, Self::leaf)
        } else if is_one_of(kind, &HOLDERS) {
            self.member(content, |walk, inner| walk.blocks(inner, depth))
        } else if is_one_of(kind, &["document"]) {
            self.member(source, |walk, source| walk.source(source, depth))
        } else {
            Some(())
        }
    }

    /// Visits a block without a type: Bedrock's converse names the kind of a block by its only member.
    fn untyped_block(&mut self, block: Span<'a>, depth: usize) -> Option<()> {
        let [text, result, document] = block.members(["text", "toolResult", "document"])?;
        self.member(text, Self::leaf)?;
        self.member(result, |walk, result| {
            let [content] = result.members(["content"])?;
            walk.member(content, |walk, inner| walk.blocks(inner, depth))
        })?;
        self.member(document, |walk, document| {
            let [source] = document.members(["source"])?;
            walk.member(source, |walk, source| walk.source(source, depth))
        })
    }

    /// Visits the source of a document: only plain text can be cut.
    fn source(&mut self, source: Span<'a>, depth: usize) -> Option<()> {
        let [kind, data, text, content] = source.members(["type", "data", "text", "content"])?;
        if is_one_of(kind, &["text"]) {
            return self.member(data, Self::leaf);
        }
        if kind.is_none() {
            self.member(text, Self::leaf)?;
        }
        if kind.is_none() || is_one_of(kind, &["content"]) {
            self.member(content, |walk, inner| walk.blocks(inner, depth))?;
        }
        Some(())
    }

    /// Visits a part of a Gemini turn. A part with a signature belongs to the model's thinking and is verified by the
    /// server.
    fn part(&mut self, part: Span<'a>) -> Option<()> {
        let [text, response, snake_response] =
            part.members(["text", "functionResponse", "function_response"])?;
        let protected = part.members(["thought", "thoughtSignature", "thought_signature"])?;
        if protected.into_iter().flatten().any(Span::is_set) {
            return Some(());
        }
        self.member(text, Self::leaf)?;
        self.member(response, Self::function_response)?;
        self.member(snake_response, Self::function_response)
    }

    /// Visits a tool's output, which is an object here; these members are documented to hold its text.
    fn function_response(&mut self, value: Span<'a>) -> Option<()> {
        let [response] = value.members(["response"])?;
        self.member(response, |walk, response| {
            let [output, result] = response.members(["output", "result"])?;
            walk.member(output, Self::leaf)?;
            walk.member(result, Self::leaf)
        })
    }
}

fn is_one_of(value: Option<Span<'_>>, words: &[&str]) -> bool {
    value.is_some_and(|value| words.iter().any(|word| value.is(word)))
}

#[derive(Default)]
struct Walk<'a> {
    best: Option<Longest<'a>>,
}

/// The longest text that may be cut.
#[derive(Clone, Copy)]
pub(super) struct Longest<'a> {
    pub(super) text: Text<'a>,
    pub(super) chars: usize,
}

impl<'a> Walk<'a> {
    fn leaf(&mut self, value: Span<'a>) -> Option<()> {
        self.offer(value);
        Some(())
    }

    /// Records a string if it is the longest one so far.
    fn offer(&mut self, value: Span<'a>) {
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
    fn member(
        &mut self,
        value: Option<Span<'a>>,
        go: impl FnOnce(&mut Self, Span<'a>) -> Option<()>,
    ) -> Option<()> {
        value.map_or(Some(()), |value| go(self, value))
    }

    fn elements(
        &mut self,
        array: Span<'a>,
        mut go: impl FnMut(&mut Self, Span<'a>) -> Option<()>,
    ) -> Option<()> {
        array.elements().try_for_each(|element| go(self, element))
    }
}
