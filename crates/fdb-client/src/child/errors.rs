//! FoundationDB's errors in the words of the contract.

use std::time::Duration;

use quorate_fdb_library::Error;

use crate::contract::Failure;

pub(crate) const TRANSACTION_TOO_OLD: i32 = 1007;
pub(crate) const NOT_COMMITTED: i32 = 1020;
const COMMIT_UNKNOWN_RESULT: i32 = 1021;
const TRANSACTION_TIMED_OUT: i32 = 1031;
const DATABASE_LOCKED: i32 = 1038;
const INCOMPATIBLE_PROTOCOL_VERSION: i32 = 2100;
const CONNECTION_STRING_INVALID: i32 = 2104;
pub(crate) const SPECIAL_KEYS_API_FAILURE: i32 = 2117;
const INCOMPATIBLE_CLIENT: i32 = 2125;

/// An error that nothing more can be done about.
pub(crate) fn failure(error: &Error, deadline: Duration) -> Failure {
    match error.code {
        TRANSACTION_TIMED_OUT => Failure::Timeout { milliseconds: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX) },
        NOT_COMMITTED => Failure::Conflict,
        COMMIT_UNKNOWN_RESULT => Failure::UnknownResult,
        DATABASE_LOCKED => Failure::Locked,
        INCOMPATIBLE_PROTOCOL_VERSION | INCOMPATIBLE_CLIENT => Failure::Incompatible { library: "of the child".to_owned() },
        CONNECTION_STRING_INVALID => Failure::Invalid { field: "connection".to_owned(), problem: error.message.clone() },
        code => Failure::Database { code, message: error.message.clone() },
    }
}

/// What `\xff\xff/error_message` said about a management change that was refused.
pub fn refusal(message: &[u8]) -> Failure {
    #[derive(serde::Deserialize)]
    struct Said {
        #[serde(default)]
        retriable: bool,
        #[serde(default)]
        command: String,
        #[serde(default)]
        message: String,
    }
    match serde_json::from_slice::<Said>(message) {
        Ok(Said { retriable, command, message }) => Failure::Refused { command, message: message.trim().to_owned(), retriable },
        Err(_) => Failure::Refused {
            command: "management".to_owned(),
            message: String::from_utf8_lossy(message).chars().take(500).collect(),
            retriable: false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_the_databases_own_words() {
        let said = br#"{"retriable":true,"command":"coordinators","message":"One is unreachable\n"}"#;
        let expected = Failure::Refused { command: "coordinators".into(), message: "One is unreachable".into(), retriable: true };
        assert_eq!(refusal(said), expected);
        assert!(matches!(refusal(b"\xff\xfe"), Failure::Refused { retriable: false, .. }));
        assert!(matches!(refusal(b"{}"), Failure::Refused { retriable: false, .. }));
    }
}
