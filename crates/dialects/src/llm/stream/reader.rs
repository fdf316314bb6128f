//! Parsing of server-sent events: their line format, one byte at a time.

use super::work;
use crate::llm::json::FirstObject;
use serde::de::IgnoredAny;

/// One item of a stream.
pub(super) enum StreamItem {
    /// An event with at least one `data` field.
    Event { name: String, data: String },
    /// A whole JSON object instead of a line.
    Json(String),
    /// Not text in UTF-8.
    Alien,
}

/// A parser of event streams. It holds no more bytes than it was given.
#[derive(Default)]
pub(super) struct Reader {
    bom: usize,
    line: Vec<u8>,
    /// `true` if the line so far holds more than blanks.
    begun: bool,
    after_return: bool,
    name: String,
    data: Option<EventData>,
    json: Option<FirstObject>,
}

/// The data of an event so far.
struct EventData {
    text: String,
    /// Caches whether the data is a whole object in one line. A second line sets it to `false`, so that no line makes
    /// those before it be parsed again.
    object: Option<bool>,
}

const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];
/// The value of `bom` once a byte order mark can no longer come.
const PAST_BOM: usize = BOM.len();

impl Reader {
    /// Returns the item that this byte completes.
    pub(super) fn push(&mut self, byte: u8) -> Option<StreamItem> {
        if let Some(json) = &mut self.json {
            return json
                .push(byte)
                .map(|body| text(body).map_or(StreamItem::Alien, StreamItem::Json));
        }
        if BOM.get(self.bom) == Some(&byte) {
            self.bom = self.bom.saturating_add(1);
            return None;
        }
        self.bom = PAST_BOM;
        // A CR LF pair is one line end, so the LF after a CR is skipped.
        let second_half = std::mem::take(&mut self.after_return) && byte == b'\n';
        match byte {
            b'\n' if second_half => None,
            b'\n' | b'\r' => {
                self.after_return = byte == b'\r';
                self.end_line()
            }
            b'\t' | b' '..=u8::MAX => {
                self.add(byte);
                None
            }
            _ => Some(StreamItem::Alien),
        }
    }

    /// Returns an item that the end of the stream completes, or `None` once none is left: an event without its blank
    /// line, if its data is complete.
    pub(super) fn finish(&mut self) -> Option<StreamItem> {
        if self.json.is_some() {
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let earlier = match std::str::from_utf8(&line) {
            Ok(line) => self.field(line),
            Err(error) if error.error_len().is_some() => Some(StreamItem::Alien),
            Err(_) => return None,
        };
        earlier.or_else(|| self.dispatch().filter(is_whole))
    }

    fn add(&mut self, byte: u8) {
        self.line.push(byte);
        if self.begun || matches!(byte, b' ' | b'\t') {
            return;
        }
        self.begun = true;
        if matches!(byte, b'{' | b'[') && self.data.is_none() {
            self.line.clear();
            self.json = Some(FirstObject::new(byte));
        }
    }

    fn end_line(&mut self) -> Option<StreamItem> {
        self.begun = false;
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.dispatch();
        }
        text(line).map_or(Some(StreamItem::Alien), |line| self.field(&line))
    }

    /// Handles one field. A comment is a field without a name, and is ignored like `id` and `retry`.
    fn field(&mut self, line: &str) -> Option<StreamItem> {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => {
                let earlier = self.forgotten(!self.name.is_empty());
                value.clone_into(&mut self.name);
                earlier
            }
            "data" => {
                let earlier = self.forgotten(true);
                self.add_data(value);
                earlier
            }
            _ => None,
        }
    }

    /// Returns the event before this field if the field must belong to another event: some servers omit the blank line
    /// between events. A whole object is followed by no more data, and an event has one name.
    fn forgotten(&mut self, other: bool) -> Option<StreamItem> {
        let complete = other && self.data.as_mut().is_some_and(EventData::is_object);
        if complete { self.dispatch() } else { None }
    }

    fn add_data(&mut self, value: &str) {
        match &mut self.data {
            Some(data) => data.add_line(value),
            None => self.data = Some(EventData::of_line(value)),
        }
    }

    fn dispatch(&mut self) -> Option<StreamItem> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?.text;
        Some(StreamItem::Event { name, data })
    }
}

impl EventData {
    fn of_line(line: &str) -> Self {
        Self {
            text: line.to_owned(),
            object: None,
        }
    }

    fn add_line(&mut self, line: &str) {
        self.text.push('\n');
        self.text.push_str(line);
        self.object = Some(false);
    }

    fn is_object(&mut self) -> bool {
        let text = &self.text;
        *self.object.get_or_insert_with(|| is_object(text))
    }
}

fn text(bytes: Vec<u8>) -> Option<String> {
    work::add(&bytes);
    String::from_utf8(bytes).ok()
}

/// Returns `true` if nothing seems to be missing: JSON that was begun is also complete.
fn is_whole(piece: &StreamItem) -> bool {
    let StreamItem::Event { data, .. } = piece else {
        return true;
    };
    let data = data.trim();
    let begun = data.starts_with(['{', '[', '"']) && data != super::frame::DONE;
    !begun || is_json(data)
}

fn is_object(line: &str) -> bool {
    work::add(line.as_bytes());
    let line = line.trim_ascii_end();
    line.starts_with('{') && line.ends_with('}') && is_json(line)
}

fn is_json(data: &str) -> bool {
    work::add(data.as_bytes());
    serde_json::from_str::<IgnoredAny>(data).is_ok()
}
