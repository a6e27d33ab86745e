//! What each side says when it fails on its own account: its 500, its "too many requests", its conflict.
//!
//! The words are each side's own, because clients decide by them whether to try again.

use serde_json::{Value, json};

use super::call::{Call, Side};
use crate::exchange::Answer;

const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810";
const SQS: &str = "com.amazonaws.sqs";

/// The side's own 500.
pub(super) fn internal_error(side: Side) -> Answer {
    match side {
        Side::DynamoDb => aws(500, &format!("{DYNAMODB}#InternalServerError"), "Internal server error"),
        Side::Sqs => {
            aws(500, &format!("{SQS}#InternalError"), "We encountered an internal error. Please try again.")
        }
        Side::Parameters => aws(500, "InternalServerError", "An internal error occurred."),
        // API Gateway's own, when the function gave no answer.
        Side::Webhook => plain(500, Vec::new(), &json!({ "message": "Internal Server Error" })),
        Side::Sheets => google(500, "INTERNAL", "Internal error encountered.", None),
        Side::Token => plain(500, Vec::new(), &json!({ "error": "internal_failure" })),
        Side::Telegram => plain(
            500,
            Vec::new(),
            &json!({ "ok": false, "error_code": 500, "description": "Internal Server Error" }),
        ),
    }
}

/// The side's refusal for too many requests. DynamoDB has two names for it: even calls get one, odd calls the other,
/// so that a sweep over calls meets both.
pub(super) fn throttled(side: Side, number: usize) -> Answer {
    match side {
        Side::DynamoDb if number.is_multiple_of(2) => aws(
            400,
            &format!("{DYNAMODB}#ProvisionedThroughputExceededException"),
            "The level of configured provisioned throughput for the table was exceeded.",
        ),
        Side::DynamoDb => aws(400, "com.amazon.coral.availability#ThrottlingException", "Rate exceeded"),
        Side::Sqs => {
            aws(400, &format!("{SQS}#RequestThrottled"), "The request was denied due to request throttling.")
        }
        Side::Parameters => aws(400, "ThrottlingException", "Rate exceeded"),
        Side::Webhook => plain(429, Vec::new(), &json!({ "message": "Too Many Requests" })),
        // Without `Retry-After`: Google sends none.
        Side::Sheets => google(
            429,
            "RESOURCE_EXHAUSTED",
            "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute per user' of \
             service 'sheets.googleapis.com'.",
            Some(json!([{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "RATE_LIMIT_EXCEEDED",
                "domain": "googleapis.com",
                "metadata": {
                    "quota_limit": "WriteRequestsPerMinutePerUser",
                    "quota_limit_value": "60",
                    "service": "sheets.googleapis.com",
                },
            }])),
        ),
        Side::Token => plain(429, Vec::new(), &json!({ "error": "rate_limit_exceeded" })),
        Side::Telegram => plain(
            429,
            vec![("retry-after".to_owned(), "3".to_owned())],
            &json!({
                "ok": false,
                "error_code": 429,
                "description": "Too Many Requests: retry after 3",
                "parameters": { "retry_after": 3 },
            }),
        ),
    }
}

/// DynamoDB's refusal while another transaction holds an item. A transaction is told item by item.
pub(super) fn transaction_conflict(call: &Call) -> Answer {
    let because = "Transaction is ongoing for the item";
    if call.operation != "TransactWriteItems" && call.operation != "TransactGetItems" {
        return aws(400, &format!("{DYNAMODB}#TransactionConflictException"), because);
    }
    let items = call.json()["TransactItems"].as_array().map_or(1, Vec::len).max(1);
    let mut reasons = vec![json!({ "Code": "None" }); items];
    reasons[0] = json!({ "Code": "TransactionConflict", "Message": because });
    let codes: Vec<&str> = reasons.iter().filter_map(|reason| reason["Code"].as_str()).collect();
    let codes = codes.join(", ");
    aws_json(
        400,
        &json!({
            "__type": format!("{DYNAMODB}#TransactionCanceledException"),
            "Message": format!(
                "Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
            ),
            "CancellationReasons": reasons,
        }),
    )
}

/// SQS's 200 for a batch of which it did not take these entries.
pub(super) fn with_failed_entries<'a>(answer: Answer, failed: impl Iterator<Item = &'a Value>) -> Answer {
    let Answer::Reply { status, headers, body } = answer else { return answer };
    let mut told: Value = serde_json::from_slice(&body).unwrap_or_default();
    let entry = |entry: &Value| json!({"Id": entry["Id"], "Code": "InternalError", "Message": "We encountered an internal error.", "SenderFault": false});
    told["Failed"] = failed.map(entry).collect();
    Answer::Reply { status, headers, body: told.to_string().into_bytes() }
}

fn aws(status: u16, name: &str, message: &str) -> Answer {
    aws_json(status, &json!({ "__type": name, "message": message }))
}

fn aws_json(status: u16, body: &Value) -> Answer {
    let headers = vec![
        ("content-type".to_owned(), "application/x-amz-json-1.0".to_owned()),
        ("x-amzn-requestid".to_owned(), "00000000-0000-0000-0000-000000000000".to_owned()),
    ];
    Answer::Reply { status, headers, body: body.to_string().into_bytes() }
}

fn google(status: u16, name: &str, message: &str, details: Option<Value>) -> Answer {
    let mut error = json!({ "code": status, "message": message, "status": name });
    if let Some(details) = details {
        error["details"] = details;
    }
    plain(status, Vec::new(), &json!({ "error": error }))
}

fn plain(status: u16, mut headers: Vec<(String, String)>, body: &Value) -> Answer {
    headers.push(("content-type".to_owned(), "application/json; charset=UTF-8".to_owned()));
    Answer::Reply { status, headers, body: body.to_string().into_bytes() }
}
