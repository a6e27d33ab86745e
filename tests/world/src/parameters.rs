//! A small Parameter Store: the one call by which Docket reads settings that live in SSM.
//!
//! After `GetParameters` in the API reference of AWS Systems Manager: what does not exist is named in
//! `InvalidParameters` and is no error; more than ten names are refused; a SecureString comes readable only with
//! `WithDecryption`.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::exchange::{Answer, Fake, Request};

/// Most names that one call may ask for.
const NAMES_MAX: usize = 10;

/// Parameters, all of them SecureStrings.
#[derive(Debug, Default)]
pub struct FakeParameters {
    values: Mutex<BTreeMap<String, String>>,
    /// Seconds since the epoch.
    put_at: i64,
}

impl FakeParameters {
    /// With these names and values.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let values = pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self { values: Mutex::new(values), put_at: 0 }
    }

    /// Puts a parameter, over one of this name.
    pub fn put(&self, name: &str, value: &str) {
        self.values().insert(name.to_owned(), value.to_owned());
    }

    /// There is none of this name any more.
    pub fn delete(&self, name: &str) {
        self.values().remove(name);
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of them put at this second since the epoch.
    #[must_use]
    pub fn put_at(self, put_at: i64) -> Self {
        Self { put_at, ..self }
    }

    fn respond(&self, request: &Request) -> Answer {
        let target = request.headers.iter().find(|(name, _)| name == "x-amz-target");
        if target.is_none_or(|(_, value)| value != "AmazonSSM.GetParameters") {
            return reply(400, &json!({"__type": "UnknownOperationException"}));
        }
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let names: Vec<&str> =
            asked["Names"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if names.is_empty() || names.len() > NAMES_MAX {
            return reply(400, &json!({"__type": "ValidationException", "message": "1 to 10 names"}));
        }
        let readable = asked["WithDecryption"] == true;
        let values = self.values();
        let found = |name: &&str| {
            let value = values.get(*name)?;
            let shown = if readable { value.as_str() } else { "AQICAHh-encrypted" };
            let arn = format!("arn:aws:ssm:us-east-1:000000000000:parameter{name}");
            Some(json!({
                "Name": name,
                "Type": "SecureString",
                "Value": shown,
                "Version": 1,
                "ARN": arn,
                "LastModifiedDate": self.put_at,
            }))
        };
        let parameters: Vec<Value> = names.iter().filter_map(found).collect();
        let invalid: Vec<&&str> = names.iter().filter(|name| !values.contains_key(**name)).collect();
        reply(200, &json!({"Parameters": parameters, "InvalidParameters": invalid}))
    }
}

fn reply(status: u16, body: &Value) -> Answer {
    let headers = vec![("content-type".to_owned(), "application/x-amz-json-1.1".to_owned())];
    Answer::Reply { status, headers, body: body.to_string().into_bytes() }
}

impl Fake for FakeParameters {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        let answer = self.respond(&request);
        Box::pin(async move { answer })
    }
}
