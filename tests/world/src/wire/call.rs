//! One call as the log keeps it, and the names by which tests speak of it.
//!
//! The names of operations are the vocabulary of fault plans, so they must stay the same from run to run: they are
//! read from the request alone.

use std::fmt;

use crate::exchange::Request;

/// Whom a worker talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// DynamoDB.
    DynamoDb,
    /// SQS.
    Sqs,
    /// Google Sheets v4.
    Sheets,
    /// Whatever gives access tokens for Sheets.
    Token,
    /// The Bot API.
    Telegram,
    /// SSM's Parameter Store.
    Parameters,
    /// The webhook, for whoever calls it as Telegram does.
    Webhook,
}

impl Side {
    pub(super) fn operation(self, request: &Request) -> String {
        match self {
            Self::DynamoDb | Self::Sqs | Self::Parameters => {
                let target = request.headers.iter().find(|(name, _)| name == "x-amz-target");
                let operation = target.and_then(|(_, value)| value.rsplit('.').next());
                operation.unwrap_or("other").to_owned()
            }
            Self::Webhook => "update".to_owned(),
            Self::Sheets => sheets_operation(request).to_owned(),
            Self::Token => token_operation(request).to_owned(),
            Self::Telegram => match request.path.trim_start_matches('/').split_once('/') {
                Some((_, method)) if !method.is_empty() => method.to_owned(),
                Some(_) | None => "other".to_owned(),
            },
        }
    }
}

fn sheets_operation(request: &Request) -> &'static str {
    match request.method.as_str() {
        "POST" if request.path.ends_with(":append") => "append",
        "GET" if request.path.ends_with("/values:batchGet") => "batch_read",
        "GET" if request.path.contains("/values/") => "read",
        "POST" if request.path.ends_with(":batchUpdate") => "batch_update",
        _ => "other",
    }
}

fn token_operation(request: &Request) -> &'static str {
    match request.path.as_str() {
        "/v1/token" => "federate",
        path if path.ends_with(":generateAccessToken") => "generateAccessToken",
        _ => "token",
    }
}

/// One request that arrived on the wire.
#[derive(Debug, Clone)]
pub struct Call {
    /// 0, 1, 2 … in the order of arrival over the whole wire.
    pub number: usize,
    /// Who made the call.
    pub worker: String,
    /// Whom it was for.
    pub side: Side,
    /// `UpdateItem`, `SendMessage`, `append`, `read`, `batch_read`, `batch_update`, `token`, `federate`, `sendMessage` …; `other` when unknown.
    pub operation: String,
    /// The turned clock at arrival.
    pub at_ms: i64,
    /// As on the request line: `HTTP/1.1`.
    pub http_version: String,
    /// All of it, body included.
    pub request: Request,
}

impl Call {
    /// The request line as it arrived, such as `POST /v4/spreadsheets/S/values/A:append?x=y HTTP/1.1`.
    #[must_use]
    pub fn request_line(&self) -> String {
        let Request { method, path, query, .. } = &self.request;
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{method} {path}{mark}{query} {}", self.http_version)
    }

    /// The first header of this name (lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.request.headers.iter().find(|(header, _)| header == name);
        header.map(|(_, value)| value.as_str())
    }

    /// The body as text; what is not UTF-8 shows as replacement characters.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.request.body).into_owned()
    }

    /// The body as JSON; null when it is not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.request.body).unwrap_or_default()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, worker, side, operation, at_ms, .. } = self;
        write!(formatter, "call {number}: {worker} -> {side:?} {operation} at {at_ms}")
    }
}
