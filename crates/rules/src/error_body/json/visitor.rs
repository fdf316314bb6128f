//! The walk over a JSON text that fills a [`Content`] and keeps nothing else. The key of a value gives its meaning.

use super::unambiguous::{Key, is_unambiguous};
use crate::error_body::{Content, FieldTimes, work};
use http_retry_core::policy::Unit;
use http_retry_core::reading::RetryTime;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::time::Duration;

const MAX_CODES: usize = 256;
const MAX_CODE_CHARS: usize = 128;
/// The most levels of JSON nested in strings of JSON.
pub(in crate::error_body) const MAX_NESTING: u8 = 3;

/// A value that is about to be read.
pub(super) struct ValueVisitor<'a> {
    content: &'a mut Content,
    role: KeyRole,
    nesting: u8,
}

impl<'a> ValueVisitor<'a> {
    pub(super) fn whole(content: &'a mut Content) -> Self {
        let role = KeyRole {
            // A body that is a bare string is a message.
            prose: true,
            top: true,
            ..KeyRole::default()
        };
        Self {
            content,
            role,
            nesting: 0,
        }
    }

    /// Reads the text up to its first error; everything before the error is kept.
    pub(super) fn read(self, text: &str) -> serde_json::Result<()> {
        work::add(text.len());
        let mut reader = serde_json::Deserializer::from_str(text);
        self.deserialize(&mut reader)
    }

    fn inner(&mut self, role: KeyRole) -> ValueVisitor<'_> {
        ValueVisitor {
            content: self.content,
            role,
            nesting: self.nesting,
        }
    }

    /// Reads a key of this object, and returns the role of its value.
    fn key(&mut self, key: &str) -> KeyRole {
        // At each key: some APIs send `"error": {}` with a success.
        self.content.is_error |= self.role.top_error;
        if is_exception(key) && !self.role.echo {
            self.content.add_label(key);
            self.content.is_error |= self.role.top;
        }
        role_of(key, self.role)
    }

    fn text(&mut self, text: &str) {
        self.content.is_error |= self.role.top_error && !text.is_empty();
        self.content.is_error |= self.role.top_type && text == "error";
        if self.role.code {
            self.content.add_code(text);
        }
        self.content.add_time(self.role.time, text);
        self.content.has_zero_quota |= self.role.quota && text == "0";
        if self.role.echo || self.is_json(text) {
            return;
        }
        // `error` and `reason` hold tokens in some APIs and messages in others: words with blanks are a message there.
        if self.role.code && !(self.role.prose && text.contains(char::is_whitespace)) {
            self.content.add_label(text);
        }
        if self.role.prose {
            self.content.add_prose(text);
        }
    }

    /// Reads a message that is itself JSON, and returns `true` if it was. Strings under other keys are not read, since
    /// they may be the output of a model.
    fn is_json(&mut self, text: &str) -> bool {
        let text = text.trim();
        let may_be = self.role.prose && self.nesting < MAX_NESTING;
        if !may_be || !text.starts_with(['{', '[']) {
            return false;
        }
        let nested = ValueVisitor {
            content: self.content,
            role: self.role,
            nesting: self.nesting.saturating_add(1),
        };
        // A text such as `[WARN] ..` fails before its end, and is prose. A message that was cut off fails at its end.
        let is_json = match nested.read(text) {
            Ok(()) => true,
            Err(error) => error.is_eof(),
        };
        self.content.has_doubtful_text |= is_json && !is_unambiguous(text);
        is_json
    }

    fn number(&mut self, number: &impl ToString) {
        // Most numbers have no meaning here, and need no text.
        if !(self.role.code || self.role.time.is_some() || self.role.quota) {
            return;
        }
        let text = &number.to_string();
        if self.role.code {
            self.content.add_code(text);
            if !self.role.echo {
                self.content.add_label(text);
            }
        }
        self.content.add_time(self.role.time, text);
        self.content.has_zero_quota |= self.role.quota && text == "0";
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.content.is_error |= self.role.top_error && value;
        Ok(())
    }

    fn visit_i64<E>(mut self, number: i64) -> Result<(), E> {
        self.number(&number);
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.number(&number);
        Ok(())
    }

    /// Reads a fraction, which is never a code. As a delay it counts as the shortest decimal that represents it.
    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        if self.role.time.is_some() {
            self.content.add_time(self.role.time, &number.to_string());
        }
        Ok(())
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        self.text(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        // Items have the role of their list: `{"errors": ["busy"]}`.
        let role = self.role;
        while seq.next_element_seed(self.inner(role))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let role = self.key(&key);
            map.next_value_seed(self.inner(role))?;
        }
        Ok(())
    }
}

impl Content {
    /// Adds a token, which contains no whitespace, and also its name alone if it has a namespace as in AWS.
    fn add_code(&mut self, text: &str) {
        if text.contains(char::is_whitespace) {
            return;
        }
        if let Some((_, name)) = text.rsplit_once('#') {
            add(&mut self.codes, name);
        }
        add(&mut self.codes, text);
    }

    fn add_label(&mut self, text: &str) {
        add(&mut self.labels, text);
    }

    fn add_time(&mut self, role: Option<(TimeRole, Unit)>, text: &str) {
        let Some((role, unit)) = role else {
            return;
        };
        // Some APIs write a date where others have a number.
        let Some(time) = unit.read(text).or_else(|| Unit::Auto.read(text)) else {
            return;
        };
        self.times.note(role, time);
    }
}

impl FieldTimes {
    fn note(&mut self, role: TimeRole, time: RetryTime) {
        let is_asked = role == TimeRole::Retry;
        // No wait is no time to come back.
        if time == RetryTime::In(Duration::ZERO) || (self.are_asked && !is_asked) {
            return;
        }
        if is_asked && !self.are_asked {
            *self = Self {
                are_asked: true,
                ..Self::default()
            };
        }
        match time {
            RetryTime::In(delay) => self.delay = self.delay.max(Some(delay)),
            RetryTime::At(date) => self.date = self.date.max(Some(date)),
            _ => {}
        }
    }
}

fn add(list: &mut Vec<String>, text: &str) {
    let fits = !text.is_empty() && text.len() <= MAX_CODE_CHARS;
    if fits && list.len() < MAX_CODES {
        list.push(text.to_owned());
    }
}

/// The meaning of a value, by the key that holds it.
#[derive(Debug, Clone, Copy, Default)]
struct KeyRole {
    code: bool,
    prose: bool,
    time: Option<(TimeRole, Unit)>,
    quota: bool,
    /// The member `error` of the outermost object. It marks an error unless it is empty.
    top_error: bool,
    top_type: bool,
    /// A part of the request that is echoed, and does not describe the failure.
    echo: bool,
    /// The outermost object, or its member `response`.
    top: bool,
}

/// Returns the role of the value under a key. Inside an echo of the request everything is an echo.
fn role_of(key: &str, parent: KeyRole) -> KeyRole {
    let mut plain = [0; MAX_NAME_BYTES];
    let name = plain_name(key, &mut plain);
    let echo = parent.echo || ECHOES.contains(&name);
    KeyRole {
        // Also in an echo: `codes` lists every token, and only `labels` leaves out the echoes.
        code: CODES.contains(&name),
        prose: !echo && PROSE.contains(&name),
        time: time_role(name).filter(|_| !echo),
        quota: !echo && name == "quotavalue",
        top_error: parent.top && matches!(name, "error" | "errors"),
        top_type: parent.top && name == "type",
        echo,
        // Streams wrap the outermost object: `{"type": "response.failed", "response": {"error": ..}}`.
        top: parent.top && name == "response",
    }
}

/// The longest of the names below.
const MAX_NAME_BYTES: usize = 17;

/// Returns a key in lower case and without `_` and `-`: `errorCode`, `error_code` and `error-code` are one key. Empty if
/// it is longer than every known name.
fn plain_name<'a>(key: &str, plain: &'a mut [u8; MAX_NAME_BYTES]) -> &'a str {
    let mut length = 0_usize;
    for byte in key.bytes().filter(|byte| !matches!(byte, b'_' | b'-')) {
        let Some(slot) = plain.get_mut(length) else {
            return "";
        };
        *slot = byte.to_ascii_lowercase();
        length = length.saturating_add(1);
    }
    let name = plain.get(..length).unwrap_or_default();
    std::str::from_utf8(name).unwrap_or_default()
}

/// Returns `true` if the key itself names the failure, as in AWS events.
fn is_exception(key: &str) -> bool {
    key.len() > EXCEPTION.len() && key.ends_with(EXCEPTION)
}

const EXCEPTION: &str = "Exception";

/// The keys under which APIs put error codes, in lower case and without `_` and `-`.
const CODES: [&str; 14] = [
    "code",
    "error",
    "errorcode",
    "errortype",
    "kind",
    "limitsource",
    "name",
    "quotaid",
    "reason",
    "sqlcode",
    "sqlstate",
    "status",
    "statuscode",
    "type",
];

/// The keys under which APIs put messages.
const PROSE: [&str; 16] = [
    "description",
    "detail",
    "details",
    "error",
    "errordescription",
    "errormessage",
    "errormsg",
    "errors",
    "hint",
    "message",
    "msg",
    "raw",
    "reason",
    "title",
    "statusmessage",
    "statusmsg",
];

/// The meaning of a time in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeRole {
    /// The time at which a client is asked to come back.
    Retry,
    /// The time at which a limit is reset.
    Reset,
}

/// Returns the role of the time under a key, and the unit of a bare number there. Some gateways put the headers of
/// another server into the body.
fn time_role(name: &str) -> Option<(TimeRole, Unit)> {
    use TimeRole::{Reset, Retry};
    Some(match name {
        "backoffseconds" | "estimatedtime" | "retryafter" | "retryafterseconds" | "retrydelay"
        | "retryin" | "retryinseconds" | "waitseconds" => (Retry, Unit::S),
        "retryafterms" | "retrydelayms" | "retryinms" => (Retry, Unit::Ms),
        "resetafterseconds" | "resetinseconds" | "resetseconds" | "resetsinseconds" => {
            (Reset, Unit::S)
        }
        "quotaresetdelay" | "ratelimitreset" | "resetafter" | "resetat" | "resetsat"
        | "xratelimitreset" => (Reset, Unit::Auto),
        _ => return None,
    })
}

/// The keys under which a part of the request, or of a response, is echoed.
const ECHOES: [&str; 18] = [
    "arguments",
    "body",
    "candidates",
    "choices",
    "content",
    "contents",
    "ctx",
    "delta",
    "failedgeneration",
    "flaggedinput",
    "input",
    "inputs",
    "instructions",
    "messages",
    "output",
    "prompt",
    "request",
    "tools",
];
