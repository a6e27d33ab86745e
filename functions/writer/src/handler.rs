//! From an SQS event to the writer's work, and back to the list of rings that must come again.

use std::panic::AssertUnwindSafe;

use docket_adapters::lambda::{Function, InvocationFailed};
use docket_adapters::sqs::{self, BatchAnswer};
use docket_domain::metric::Metric;
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Doorbell, Meter, Sheet, Submissions};
use docket_domain::reference::Reference;
use futures::FutureExt as _;
use serde_json::{Value, json};

use crate::{Failed, Writer};

impl<S: Submissions, H: Sheet, D: Doorbell, C: Clock, M: Meter> Function for Writer<S, H, D, C, M> {
    async fn handle(&self, event: Value, deadline: Moment) -> Result<Value, InvocationFailed> {
        let rings = sqs::parse_event(event).map_err(|_| InvocationFailed("not an SQS event"))?;
        let understood: Vec<Option<Reference>> =
            rings.iter().map(|ring| sqs::parse_ring(&ring.body)).collect();
        for _ in understood.iter().filter(|reference| reference.is_none()) {
            self.meter.record(Metric::MessageDropped, 1.0);
            tracing::warn!(step = "ring", outcome = "dropped", "a message that can never be understood");
        }
        let references: Vec<Reference> = understood.iter().flatten().cloned().collect();
        // A panic is our own fault, not the message's: everything comes again, and the records tell how far it got.
        let failed =
            AssertUnwindSafe(self.work(&references, deadline)).catch_unwind().await.unwrap_or_else(|_| {
                tracing::error!(step = "work", outcome = "panicked", "the writer panicked");
                Failed(references)
            });
        // What follows a failed ring in its group comes again too, or FIFO's order would be lost.
        let mut held: Vec<Option<&str>> = Vec::new();
        let mut returned = Vec::new();
        for (ring, reference) in rings.iter().zip(&understood) {
            let group = ring.group_id.as_deref();
            let own = reference.as_ref().is_some_and(|reference| failed.0.contains(reference));
            if own || held.contains(&group) {
                held.push(group);
                returned.push(ring.message_id.clone());
            }
        }
        Ok(json!(BatchAnswer::returning(returned)))
    }
}
