//! The Bot API's envelope: how parameters come in, and how success and refusal go out.

use serde_json::{Map, Value, json};

use crate::exchange::{Answer, Request};

/// A method that was carried out.
pub(super) struct Done {
    pub(super) result: Value,
    /// `setWebhook` and `deleteWebhook` say what they did.
    pub(super) description: Option<&'static str>,
}

impl Done {
    pub(super) fn with(result: Value) -> Self {
        Self { result, description: None }
    }

    pub(super) fn answer(self) -> Answer {
        let mut body = json!({ "ok": true, "result": self.result });
        if let Some(description) = self.description {
            body["description"] = json!(description);
        }
        reply(200, Vec::new(), body.to_string())
    }
}

/// A method that was refused: nothing happened.
#[derive(Debug)]
pub(super) struct Refusal {
    code: u16,
    pub(super) description: String,
    parameters: Option<Value>,
}

impl Refusal {
    pub(super) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), parameters: None }
    }

    pub(super) fn bad_request(because: &str) -> Self {
        Self::new(400, format!("Bad Request: {because}"))
    }

    pub(super) fn too_many_requests(retry_after_seconds: i64) -> Self {
        Self {
            code: 429,
            description: format!("Too Many Requests: retry after {retry_after_seconds}"),
            parameters: Some(json!({ "retry_after": retry_after_seconds })),
        }
    }

    pub(super) fn migrated(to: i64) -> Self {
        let description = "Bad Request: group chat was upgraded to a supergroup chat".to_owned();
        Self { code: 400, description, parameters: Some(json!({ "migrate_to_chat_id": to })) }
    }

    pub(super) fn answer(&self) -> Answer {
        let Self { code, description, parameters } = self;
        let mut body = json!({ "ok": false, "error_code": code, "description": description });
        let mut headers = Vec::new();
        if let Some(parameters) = parameters {
            if let Some(seconds) = parameters["retry_after"].as_i64() {
                headers.push(("retry-after".to_owned(), seconds.to_string()));
            }
            body["parameters"] = parameters.clone();
        }
        reply(*code, headers, body.to_string())
    }
}

/// An answer with a body that a test wrote; JSON and HTML are told apart by the first character.
pub(super) fn raw(status: u16, body: &str) -> Answer {
    if body.trim_start().starts_with('<') {
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        return Answer::Reply { status, headers, body: body.as_bytes().to_vec() };
    }
    reply(status, Vec::new(), body.to_owned())
}

fn reply(status: u16, mut headers: Vec<(String, String)>, body: String) -> Answer {
    headers.push(("content-type".to_owned(), "application/json".to_owned()));
    Answer::Reply { status, headers, body: body.into_bytes() }
}

pub(super) fn cut(answer: Answer, sent: usize) -> Answer {
    match answer {
        Answer::Reply { status, headers, body } => Answer::Half { status, headers, body, sent },
        Answer::HangUp | Answer::Half { .. } | Answer::Never => answer,
    }
}

/// A method's parameters may be in the query, in a form, or in a JSON object.
pub(super) fn parameters_of(request: &Request) -> Result<Map<String, Value>, Refusal> {
    let mut parameters = form(&request.query);
    let content_type = request.headers.iter().find(|(name, _)| name == "content-type");
    let content_type = content_type.map_or("", |(_, value)| value.as_str());
    if content_type.starts_with("application/json") {
        match serde_json::from_slice(&request.body) {
            Ok(Value::Object(more)) => parameters.extend(more),
            Ok(_) | Err(_) => return Err(Refusal::bad_request("can't parse JSON object")),
        }
    } else if content_type.starts_with("application/x-www-form-urlencoded") {
        parameters.extend(form(&String::from_utf8_lossy(&request.body)));
    }
    Ok(parameters)
}

fn form(text: &str) -> Map<String, Value> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let decoded = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), Value::String(decode(value)))
    });
    decoded.collect()
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        plain.push(match (escaped, bytes[at]) {
            (Some(byte), _) => byte,
            (None, b'+') => b' ',
            (None, byte) => byte,
        });
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}
