//! From an SQS event to one acknowledgement after the other, and back to the list of rings that must come again.

use std::panic::AssertUnwindSafe;

use docket_adapters::lambda::{Function, InvocationFailed};
use docket_adapters::sqs::{self, BatchAnswer};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Alerts, Clock, Messenger, Meter, Submissions};
use futures::FutureExt as _;
use serde_json::{Value, json};

use crate::step::{Acknowledger, Onward};

impl<S: Submissions + Alerts, T: Messenger, C: Clock, M: Meter> Function for Acknowledger<S, T, C, M> {
    async fn handle(&self, event: Value, deadline: Moment) -> Result<Value, InvocationFailed> {
        let rings = sqs::parse_event(event).map_err(|_| InvocationFailed("not an SQS event"))?;
        let mut returned = Vec::new();
        for ring in rings {
            let Some(reference) = sqs::parse_ring(&ring.body) else {
                self.meter.record(Metric::MessageDropped, 1.0);
                tracing::warn!(step = "ring", outcome = "dropped", "a message that can never be understood");
                continue;
            };
            // One record's panic must not take the others' rings down with it.
            let worked = AssertUnwindSafe(self.work(&reference, deadline)).catch_unwind().await;
            match worked {
                Ok(Ok(Onward::Next)) => {}
                // The rest is consumed too: the records stay due, and the sweeper rings for them.
                Ok(Ok(Onward::Stop)) => break,
                Ok(Err(error)) => {
                    tracing::error!(%reference, step = "store", outcome = "failed", cause = %error, "the store failed");
                    returned.push(ring.message_id);
                }
                Err(_) => {
                    tracing::error!(%reference, step = "work", outcome = "panicked", "the acknowledger panicked");
                    returned.push(ring.message_id);
                }
            }
        }
        Ok(json!(BatchAnswer::returning(returned)))
    }
}
