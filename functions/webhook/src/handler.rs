//! From an HTTP request to an update, and from a reply to an HTTP response.
//!
//! The secret is compared before the body is looked at and before any call to AWS. Whatever is authentic and can never
//! succeed is answered 200, since a refusal would make Telegram hold up that chat for a day; only our own failure is a
//! 503, so that Telegram delivers again.

use base64::Engine as _;
use docket_adapters::config::Secret;
use docket_adapters::lambda::{Function, InvocationFailed};
use docket_adapters::telegram::{self, Incoming, SECRET_HEADER};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Conversations, Doorbell, Meter, Submissions};
use lambda_http::aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use lambda_http::http::{Method, StatusCode};
use serde_json::{Value, json};
use subtle::ConstantTimeEq;

use crate::step::Webhook;

/// The route.
const PATH: &str = "/telegram";

/// The webhook function.
#[derive(Debug)]
pub struct Handler<S, V, D, C, M> {
    pub webhook: Webhook<S, V, D, C, M>,
    /// One, or two while one replaces the other.
    pub secrets: Vec<Secret>,
}

impl<S: Submissions, V: Conversations, D: Doorbell, C: Clock, M: Meter> Function for Handler<S, V, D, C, M> {
    async fn handle(&self, event: Value, deadline: Moment) -> Result<Value, InvocationFailed> {
        let given = given_secret(&event);
        let is_http = event["requestContext"]["http"].is_object();
        let request = match serde_json::from_value::<ApiGatewayV2httpRequest>(event) {
            Ok(request) => Some(request),
            // Whatever a stranger puts into a request must not look like a failure of ours.
            Err(_) if is_http => None,
            Err(_) => return Err(InvocationFailed("not an HTTP request")),
        };
        let (status, method) = self.respond(request.as_ref(), given, deadline).await;
        let mut response = json!({"statusCode": status.as_u16(), "isBase64Encoded": false});
        if let Some(method) = method {
            response["headers"] = json!({"content-type": "application/json"});
            response["body"] = Value::String(method.to_string());
        }
        Ok(response)
    }
}

impl<S: Submissions, V: Conversations, D: Doorbell, C: Clock, M: Meter> Handler<S, V, D, C, M> {
    async fn respond(
        &self,
        request: Option<&ApiGatewayV2httpRequest>,
        given: Option<Secret>,
        deadline: Moment,
    ) -> (StatusCode, Option<Value>) {
        if !given.is_some_and(|given| self.is_authentic(&given)) {
            self.webhook.meter.record(Metric::WrongSecret, 1.0);
            tracing::warn!(step = "secret", outcome = "refused", "a request without the secret");
            return (StatusCode::UNAUTHORIZED, None);
        }
        let Some(request) = request else { return self.ignored("unreadable_request") };
        let path = request.raw_path.as_deref().unwrap_or_default().trim_end_matches('/');
        // An HTTP API's stage may stand before the route.
        if !path.ends_with(PATH) {
            return (StatusCode::NOT_FOUND, None);
        }
        if request.request_context.http.method != Method::POST {
            return (StatusCode::METHOD_NOT_ALLOWED, None);
        }
        let incoming = body_of(request).and_then(|body| telegram::parse(&body).ok());
        let update = match incoming.unwrap_or(Incoming::Ignored("unreadable")) {
            Incoming::Update(update) => update,
            Incoming::Ignored(cause) => return self.ignored(cause),
        };
        match self.webhook.answer(&update, deadline).await {
            Ok(reply) => (StatusCode::OK, telegram::method(&reply)),
            Err(error) => {
                tracing::error!(step = "update", outcome = "failed", cause = %error, "our own side failed");
                (StatusCode::SERVICE_UNAVAILABLE, None)
            }
        }
    }

    /// Exactly one header with exactly a known value. Every known value is compared, in constant time.
    fn ignored(&self, cause: &'static str) -> (StatusCode, Option<Value>) {
        self.webhook.meter.record(Metric::Ignored, 1.0);
        tracing::info!(step = "update", outcome = "ignored", cause, "an update without effect");
        (StatusCode::OK, None)
    }

    fn is_authentic(&self, given: &Secret) -> bool {
        self.secrets.iter().fold(false, |known, secret| {
            known | bool::from(secret.expose().as_bytes().ct_eq(given.expose().as_bytes()))
        })
    }
}

/// The header's value, if there is exactly one. An HTTP API joins a doubled one with a comma, and any other way of doubling
/// it is refused just so: read from the event itself, since a parsed request has already chosen one of two spellings.
fn given_secret(event: &Value) -> Option<Secret> {
    let mut given =
        event["headers"].as_object()?.iter().filter(|(name, _)| name.eq_ignore_ascii_case(SECRET_HEADER));
    let ((_, value), None) = (given.next()?, given.next()) else { return None };
    value.as_str().map(Secret::new)
}

fn body_of(request: &ApiGatewayV2httpRequest) -> Option<Vec<u8>> {
    let body = request.body.as_deref().unwrap_or_default();
    if request.is_base64_encoded {
        base64::engine::general_purpose::STANDARD.decode(body).ok()
    } else {
        Some(body.as_bytes().to_vec())
    }
}
