//! Google's refusals: the error JSON, word for word where the words are known.
//!
//! A refusal is a status and a body; nothing here decides when one is due.

use serde_json::{Value, json};

use crate::exchange::Answer;

/// An answer that is not a success, from Sheets or from the token endpoint.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Refusal {
    /// `{"error":{"code","message","status"}}`, as every Google API sends it.
    pub(super) fn of_sheets(code: u16, status: &str, message: &str) -> Self {
        Self::json(code, &json!({"error": {"code": code, "message": message, "status": status}}))
    }

    pub(super) fn json(code: u16, body: &Value) -> Self {
        Self { status: code, headers: vec![json_header()], body: format!("{body:#}\n") }
    }

    /// The page Google's front shows when no API server took the request.
    pub(super) fn html(code: u16, title: &str) -> Self {
        let body = format!(
            "<!DOCTYPE html>\n<html lang=en>\n<title>Error {code} ({title})!!1</title>\n<p><b>{code}.</b> \
             <ins>That\u{2019}s an error.</ins>\n"
        );
        Self { status: code, headers: vec![header("content-type", "text/html; charset=UTF-8")], body }
    }

    pub(super) fn invalid(message: &str) -> Self {
        Self::of_sheets(400, "INVALID_ARGUMENT", message)
    }

    pub(super) fn unparsable_range(range: &str) -> Self {
        Self::invalid(&format!("Unable to parse range: {range}"))
    }

    pub(super) fn too_many_characters() -> Self {
        Self::invalid("Your input contains more than the maximum of 50000 characters in a single cell.")
    }

    /// The account may not do this, or may not do anything.
    pub(super) fn permission_denied() -> Self {
        Self::of_sheets(403, "PERMISSION_DENIED", "The caller does not have permission")
    }

    /// Somebody protected what was to be changed.
    pub(super) fn protected() -> Self {
        Self::invalid(
            "You are trying to edit a protected cell or object. Please contact the spreadsheet owner to remove \
             protection if you need to edit.",
        )
    }

    pub(super) fn workbook_full(cell_limit: usize) -> Self {
        Self::invalid(&Self::above_the_limit(cell_limit))
    }

    pub(super) fn above_the_limit(cell_limit: usize) -> String {
        format!(
            "This action would increase the number of cells in the workbook above the limit of {cell_limit} cells."
        )
    }

    pub(super) fn not_found() -> Self {
        Self::of_sheets(404, "NOT_FOUND", "Requested entity was not found.")
    }

    pub(super) fn unauthenticated() -> Self {
        let mut refusal = Self::of_sheets(
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other \
             valid authentication credential. See \
             https://developers.google.com/identity/sign-in/web/devconsole-project.",
        );
        refusal.headers.push(header("www-authenticate", "Bearer realm=\"https://accounts.google.com/\""));
        refusal
    }

    pub(super) fn scope_missing() -> Self {
        Self::json(
            403,
            &json!({"error": {
                "code": 403,
                "message": "Request had insufficient authentication scopes.",
                "status": "PERMISSION_DENIED",
                "details": [{
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
                    "domain": "googleapis.com",
                    "metadata": {"service": "sheets.googleapis.com"}
                }]
            }}),
        )
    }

    /// 403 of `generateAccessToken`, as people report it: the same for an account that does not exist.
    pub(super) fn lending_denied() -> Self {
        Self::json(
            403,
            &json!({"error": {
                "code": 403,
                "message": "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).",
                "status": "PERMISSION_DENIED",
                "details": [{
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "IAM_PERMISSION_DENIED",
                    "domain": "iam.googleapis.com",
                    "metadata": {"permission": "iam.serviceAccounts.getAccessToken"}
                }]
            }}),
        )
    }

    /// 429 for `"Write"` or `"Read"`. Google sends no Retry-After with it.
    pub(super) fn quota_exhausted(group: &str) -> Self {
        Self::json(
            429,
            &json!({"error": {
                "code": 429,
                "message": format!(
                    "Quota exceeded for quota metric '{group} requests' and limit '{group} requests per minute per \
                     user' of service 'sheets.googleapis.com' for consumer 'project_number:100000000001'."
                ),
                "status": "RESOURCE_EXHAUSTED",
                "details": [{
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "RATE_LIMIT_EXCEEDED",
                    "domain": "googleapis.com",
                    "metadata": {
                        "service": "sheets.googleapis.com",
                        "consumer": "projects/100000000001",
                        "quota_limit": format!("{group}RequestsPerMinutePerUser"),
                        "quota_limit_value": "60",
                        "quota_metric": format!("sheets.googleapis.com/{}_requests", group.to_lowercase()),
                        "quota_location": "global"
                    }
                }]
            }}),
        )
    }

    /// `{"error","error_description"}`, as the token endpoint sends it.
    pub(super) fn of_token(code: u16, error: &str, description: &str) -> Self {
        Self::json(code, &json!({"error": error, "error_description": description}))
    }

    pub(super) fn into_answer(self) -> Answer {
        Answer::Reply { status: self.status, headers: self.headers, body: self.body.into_bytes() }
    }
}

pub(super) fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

pub(super) fn json_header() -> (String, String) {
    header("content-type", "application/json; charset=UTF-8")
}
