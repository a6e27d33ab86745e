//! The webhook behind HTTP, as API Gateway puts it there: for whoever calls it over a socket instead of being Telegram.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use docket_adapters::lambda::Function as _;
use docket_domain::limits::FUNCTION_TIMEOUT_SECONDS;
use docket_domain::ports::Clock as _;
use serde_json::{Map, Value, json};

use crate::clock::TurnedClock;
use crate::exchange::{Answer, Fake, Request};
use crate::wire::{Backend, Gate, Side};
use crate::workers::WebhookFunction;
use crate::world::{World, http_event};

/// A webhook function that answers HTTP requests.
struct Door {
    webhook: WebhookFunction,
    clock: TurnedClock,
}

impl Fake for Door {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        Box::pin(async move {
            let deadline = self.clock.now().plus_seconds(FUNCTION_TIMEOUT_SECONDS);
            match self.webhook.handle(event_of(&request), deadline).await {
                Ok(answer) => reply(&answer),
                Err(_) => Answer::Reply {
                    status: 500,
                    headers: Vec::new(),
                    body: json!({"message": "Internal Server Error"}).to_string().into_bytes(),
                },
            }
        })
    }
}

fn event_of(request: &Request) -> Value {
    let mut event = http_event(String::from_utf8_lossy(&request.body).into_owned(), None);
    let headers: Map<String, Value> =
        request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    event["headers"] = Value::Object(headers);
    event["rawPath"] = json!(request.path);
    event["requestContext"]["http"]["path"] = json!(request.path);
    event["requestContext"]["http"]["method"] = json!(request.method);
    event
}

fn reply(answer: &Value) -> Answer {
    let status = answer["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Answer::Reply { status, headers, body: answer["body"].as_str().unwrap_or_default().as_bytes().to_vec() }
}

impl World {
    /// An address at which `caller` reaches a webhook of this world, whose path is `/telegram`.
    pub async fn webhook_door(&self, caller: &str) -> Gate {
        let door = Door { webhook: self.another_webhook(), clock: self.clock.clone() };
        self.wire.gate(caller, Side::Webhook, Backend::Fake(Arc::new(door))).await
    }
}
