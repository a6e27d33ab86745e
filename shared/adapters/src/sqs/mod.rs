//! The two queues: ringing, and hearing a ring.
//!
//! A ring carries a reference and nothing else. What to do is decided from the record, so a ring that is lost, doubled,
//! late or reordered changes nothing, and neither does one that somebody else put there.

pub use doorbell::SqsDoorbell;
pub use event::{BatchAnswer, ItemFailure, NotAQueueEvent, Ring, parse_event};

mod doorbell;
mod event;

use docket_domain::reference::Reference;

/// The version of the body. Another one is another contract.
const VERSION: u64 = 1;

#[derive(serde::Serialize, serde::Deserialize)]
struct Body {
    v: u64,
    reference: Reference,
}

/// The body of one ring: `{"v":1,"reference":"DK-…"}`.
fn ring_body(reference: &Reference) -> String {
    // Sixty characters of a fixed alphabet: nothing in a reference needs escaping.
    format!(r#"{{"v":{VERSION},"reference":"{reference}"}}"#)
}

/// The reference that a message rings for; none when its body can never be understood. Unknown fields are ignored.
#[must_use]
pub fn parse_ring(body: &str) -> Option<Reference> {
    let body: Body = serde_json::from_str(body).ok()?;
    (body.v == VERSION).then_some(body.reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_exactly_a_version_and_a_reference() {
        let reference: Reference = "DK-8M4T-K2QX-7RZ9".parse().expect("well formed");
        assert_eq!(ring_body(&reference), r#"{"v":1,"reference":"DK-8M4T-K2QX-7RZ9"}"#);
        assert_eq!(parse_ring(&ring_body(&reference)), Some(reference));
    }

    #[test]
    fn unknown_fields_are_ignored_and_nothing_else_is_forgiven() {
        let later = r#" {"reference":"DK-8M4T-K2QX-7RZ9","why":{"a":[1]},"v":1} "#;
        assert_eq!(parse_ring(later).as_ref().map(Reference::as_str), Some("DK-8M4T-K2QX-7RZ9"));
        for body in [
            "",
            "null",
            "[]",
            "DK-8M4T-K2QX-7RZ9",
            r#"{"v":2,"reference":"DK-8M4T-K2QX-7RZ9"}"#,
            r#"{"v":"1","reference":"DK-8M4T-K2QX-7RZ9"}"#,
            r#"{"v":1.0,"reference":"DK-8M4T-K2QX-7RZ9"}"#,
            r#"{"reference":"DK-8M4T-K2QX-7RZ9"}"#,
            r#"{"v":1}"#,
            r#"{"v":1,"reference":null}"#,
            r#"{"v":1,"reference":"dk-8m4t-k2qx-7rz9"}"#,
            r#"{"v":1,"reference":"DK-8M4T-K2QX-7RZ9"} {}"#,
            r#"{"v":1,"reference":"DK-8M4T-K2QX-7RZ9""#,
        ] {
            assert_eq!(parse_ring(body), None, "{body}");
        }
    }
}
