//! The meaning of a value by its key.

/// The meaning of a value, by the key that holds it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct KeyRole {
    pub(super) code: bool,
    pub(super) prose: bool,
    pub(super) delay: bool,
    pub(super) quota: bool,
    /// The member `error` of the outermost object. It marks an error unless it is empty.
    pub(super) top_error: bool,
    pub(super) top_type: bool,
    /// A part of the request that is echoed, and does not describe the failure.
    pub(super) echo: bool,
    /// The outermost object, or its member `response`.
    pub(super) top: bool,
}

/// Returns the role of the value under a key. Inside an echo of the request everything is an echo.
pub(super) fn role_of(key: &str, parent: KeyRole) -> KeyRole {
    // `errorCode`, `error_code` and `error-code` are one key.
    let plain: String = key.chars().filter(|c| !matches!(c, '_' | '-')).collect();
    let plain = plain.to_ascii_lowercase();
    let name = plain.as_str();
    let echo = parent.echo || ECHOES.contains(&name);
    KeyRole {
        // Also in an echo: `codes` lists every token, and only `labels` leaves out the echoes.
        code: CODES.contains(&name),
        prose: !echo && PROSE.contains(&name),
        delay: !echo && DELAYS.contains(&name),
        quota: !echo && name == "quotavalue",
        top_error: parent.top && matches!(name, "error" | "errors"),
        top_type: parent.top && name == "type",
        echo,
        // Streams wrap the outermost object: `{"type": "response.failed", "response": {"error": ..}}`.
        top: parent.top && name == "response",
    }
}

/// Returns `true` if the key itself names the failure, as in AWS events.
pub(super) fn is_exception(key: &str) -> bool {
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

/// The keys of delays. A bare number is in seconds.
const DELAYS: [&str; 6] = [
    "estimatedtime",
    "resetsinseconds",
    "retryafter",
    "retryafterseconds",
    "retrydelay",
    "retryin",
];

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
