//! The meaning of an error of the server or of its connection.

use ::redis::{ErrorKind, RedisError, ServerErrorKind};
use http_retry_core::report::LeaveReason;

/// The error codes of servers. Before 7.0, an error in a script has the code `ERR` and names the real one in its text.
const CODES: [(&str, LeaveReason); 16] = [
    ("NOAUTH", LeaveReason::Auth),
    ("WRONGPASS", LeaveReason::Auth),
    ("NOPERM", LeaveReason::Denied),
    ("READONLY", LeaveReason::ReadOnly),
    ("MISCONF", LeaveReason::ReadOnly),
    ("NOREPLICAS", LeaveReason::ReadOnly),
    ("MASTERDOWN", LeaveReason::ReadOnly),
    ("OOM", LeaveReason::NoMemory),
    ("WRONGTYPE", LeaveReason::WrongType),
    ("MOVED", LeaveReason::Moved),
    ("ASK", LeaveReason::Moved),
    ("TRYAGAIN", LeaveReason::Moved),
    ("CROSSSLOT", LeaveReason::Moved),
    ("CLUSTERDOWN", LeaveReason::Moved),
    ("LOADING", LeaveReason::Unreachable),
    ("BUSY", LeaveReason::Timeout),
];

/// Returns `true` if a reply is of the wrong kind. It may be a part of another reply, so its connection is useless.
pub(super) fn is_unreadable(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Parse
}

/// Returns `true` if the server does not know a script, or no longer does.
pub(super) fn is_unknown_script(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Returns `true` if the server, or a proxy in front of it, does not support RESP3. Each engine and proxy words this
/// error differently.
pub(super) fn is_older_protocol(error: &RedisError) -> bool {
    let text = error.detail().unwrap_or("").to_ascii_lowercase();
    error.kind() == ErrorKind::RESP3NotSupported
        || error.code() == Some("NOPROTO")
        || text.starts_with("unknown command")
}

/// Returns the reason for which a process with this error leaves the fleet.
pub(super) fn reason(error: &RedisError) -> LeaveReason {
    match error.kind() {
        ErrorKind::Io if error.is_timeout() => LeaveReason::Timeout,
        ErrorKind::Io | ErrorKind::InvalidClientConfig => LeaveReason::Unreachable,
        ErrorKind::AuthenticationFailed => LeaveReason::Auth,
        ErrorKind::Server(_) | ErrorKind::Extension => by_code(error),
        _ => LeaveReason::Script,
    }
}

fn by_code(error: &RedisError) -> LeaveReason {
    let (code, text) = (error.code().unwrap_or(""), error.detail().unwrap_or(""));
    let named = |word: &str| CODES.iter().find(|(code, _)| *code == word);
    let in_text = || {
        text.split(|c: char| !c.is_ascii_uppercase())
            .find_map(named)
    };
    let known = named(code).or_else(in_text);
    known.map_or(LeaveReason::Script, |(_, reason)| *reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ends_connection;
    use ::redis::make_extension_error;
    use std::io;

    fn reason_of(code: &str, text: &str) -> LeaveReason {
        let error = make_extension_error(code.to_owned(), Some(text.to_owned()));
        reason(&error)
    }

    #[test]
    fn every_code_has_its_reason() {
        for (code, reason) in CODES {
            assert_eq!(reason_of(code, "x"), reason, "{code}");
        }
        assert_eq!(reason_of("ERR", "no such thing"), LeaveReason::Script);
    }

    #[test]
    fn a_server_without_resp3_is_recognized_by_its_error() {
        let is_older = |code: &str, text: &str| {
            let error = make_extension_error(code.to_owned(), Some(text.to_owned()));
            is_older_protocol(&error)
        };
        for (code, text, older) in [
            (
                "ERR",
                "unknown command 'HELLO', with args beginning with: '3'",
                true,
            ),
            (
                "ERR",
                "unknown command `HELLO`, with args beginning with: `3`",
                true,
            ),
            ("ERR", "Unknown command: hello", true),
            ("NOPROTO", "unsupported protocol version", true),
            ("WRONGPASS", "invalid username-password pair", false),
            (
                "NOPERM",
                "this user has no permissions to run 'hello'",
                false,
            ),
        ] {
            assert_eq!(is_older(code, text), older, "{code} {text}");
        }
    }

    #[test]
    fn an_error_inside_a_script_is_recognized_by_its_text() {
        let text = "Error running script (call to f_ab): @user_script:16: WRONGTYPE Operation";
        assert_eq!(reason_of("ERR", text), LeaveReason::WrongType);
        let text = "command not allowed when used memory > 'maxmemory'. OOM";
        assert_eq!(reason_of("ERR", text), LeaveReason::NoMemory);
    }

    #[test]
    fn a_connection_ends_if_a_new_one_may_help() {
        for (code, ends) in [
            ("READONLY", true),
            ("NOAUTH", true),
            ("LOADING", true),
            ("NOPERM", false),
            ("OOM", false),
            ("WRONGTYPE", false),
            ("MOVED", false),
            ("ERR", false),
        ] {
            assert_eq!(ends_connection(reason_of(code, "")), ends, "{code}");
        }
        for (kind, reason) in [
            (io::ErrorKind::TimedOut, LeaveReason::Timeout),
            (io::ErrorKind::BrokenPipe, LeaveReason::Unreachable),
        ] {
            let found = super::reason(&io::Error::from(kind).into());
            assert_eq!(found, reason);
            assert!(ends_connection(found));
        }
    }
}
