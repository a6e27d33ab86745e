//! "What an answer means" for `sendMessage`: the lines that [`docket_domain::outcome::telegram`] does not test itself.

use docket_domain::outcome::telegram::classify_send;
use docket_domain::outcome::{Exchange, NotSent, SendOutcome};

use super::samples::cause;

fn meaning(status: u16, header: Option<u64>, body: &str) -> SendOutcome {
    classify_send(&Exchange::Answered { status, retry_after_seconds: header, body: body.as_bytes().to_vec() })
}

fn refused(code: u16, description: &str) -> String {
    format!(r#"{{"ok":false,"error_code":{code},"description":"{description}"}}"#)
}

#[test]
fn what_did_not_leave_is_sent_later_and_what_may_have_arrived_is_unknown() {
    assert_eq!(
        classify_send(&Exchange::NotSent(cause("connect"))),
        SendOutcome::NotSent(NotSent::TryAgain(cause("connect")))
    );
    assert_eq!(classify_send(&Exchange::Lost(cause("timeout"))), SendOutcome::Unknown(cause("timeout")));
}

#[test]
fn a_chat_that_is_gone_or_forbids_us_is_refused_for_good_whatever_the_words() {
    for (code, description) in [
        (403, "Forbidden: bot was blocked by the user"),
        (403, "Forbidden: bot was kicked from the group chat"),
        (403, "Forbidden: user is deactivated"),
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: have no rights to send a message"),
        (400, "Bad Request: message thread not found"),
        (400, "andere Worte"),
    ] {
        assert_eq!(
            meaning(code, None, &refused(code, description)),
            SendOutcome::Refused(cause(&format!("http_{code}"))),
            "{description}"
        );
    }
}

#[test]
fn a_refusal_that_travels_in_a_200_means_what_its_code_says() {
    assert_eq!(meaning(200, None, &refused(403, "x")), SendOutcome::Refused(cause("http_403")));
    assert_eq!(
        meaning(200, None, &refused(401, "x")),
        SendOutcome::NotSent(NotSent::Halt(cause("http_401")))
    );
    assert_eq!(meaning(200, None, &refused(500, "x")), SendOutcome::Unknown(cause("http_500")));
    assert_eq!(
        meaning(200, Some(9), &refused(429, "x")),
        SendOutcome::NotSent(NotSent::Busy { retry_after_seconds: 9 })
    );
}

#[test]
fn every_other_status_is_unknown() {
    for status in [100, 301, 302, 304, 402, 405, 406, 408, 409, 410, 413, 418].into_iter().chain(500..600) {
        for body in
            ["", "<html>", "{", "{}", &refused(status, "Internal Server Error: restart"), r#"{"ok":true}"#]
        {
            assert_eq!(
                meaning(status, None, body),
                SendOutcome::Unknown(cause(&format!("http_{status}"))),
                "{body}"
            );
        }
    }
}

#[test]
fn a_success_without_a_readable_id_is_still_accepted() {
    for body in [
        r#"{"ok":true,"result":true}"#,
        r#"{"ok":true,"result":{}}"#,
        r#"{"ok":true,"result":{"message_id":"77"}}"#,
        r#"{"ok":true,"result":null,"new_field":1}"#,
    ] {
        assert_eq!(meaning(200, None, body), SendOutcome::Accepted { message_id: None }, "{body}");
    }
    let large = r#"{"ok":true,"result":{"message_id":9007199254740993}}"#;
    assert_eq!(meaning(200, None, large), SendOutcome::Accepted { message_id: Some(9_007_199_254_740_993) });
}

#[test]
fn too_many_messages_without_a_number_wait_a_minute_and_never_no_time_at_all() {
    let busy = |seconds| SendOutcome::NotSent(NotSent::Busy { retry_after_seconds: seconds });
    for body in ["", "<html>", &refused(429, "x"), r#"{"ok":false,"error_code":429,"parameters":{}}"#] {
        assert_eq!(meaning(429, None, body), busy(60), "{body}");
        assert_eq!(meaning(429, Some(901), body), busy(901), "{body}");
    }
    let zero = r#"{"ok":false,"error_code":429,"parameters":{"retry_after":0}}"#;
    assert_eq!(meaning(429, None, zero), busy(1));
    let body_wins = r#"{"ok":false,"error_code":429,"parameters":{"retry_after":30}}"#;
    assert_eq!(meaning(429, Some(5), body_wins), busy(30));
}

#[test]
fn only_a_400_moves_a_chat() {
    let body = |code: u16| {
        format!(r#"{{"ok":false,"error_code":{code},"parameters":{{"migrate_to_chat_id":-1002000000009}}}}"#)
    };
    assert!(matches!(meaning(400, None, &body(400)), SendOutcome::Moved { .. }));
    assert_eq!(meaning(403, None, &body(403)), SendOutcome::Refused(cause("http_403")));
    assert_eq!(meaning(500, None, &body(500)), SendOutcome::Unknown(cause("http_500")));
}
