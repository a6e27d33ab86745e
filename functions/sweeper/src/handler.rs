//! From the schedule's event, whose content says nothing, to a sweep and its summary.

use docket_adapters::lambda::{Function, InvocationFailed};
use docket_domain::moment::Moment;
use docket_domain::ports::{Clock, Doorbell, Meter, Submissions};
use serde_json::{Value, json};

use crate::Sweeper;

impl<S: Submissions, W: Doorbell, A: Doorbell, C: Clock, M: Meter> Function for Sweeper<S, W, A, C, M> {
    async fn handle(&self, _event: Value, deadline: Moment) -> Result<Value, InvocationFailed> {
        match self.sweep(deadline).await {
            Ok(swept) => {
                self.say(&swept);
                Ok(json!({
                    "rung": {"write": swept.rung_write, "acknowledge": swept.rung_acknowledge, "missed": swept.missed},
                    "open_reviews": swept.open_reviews,
                    "oldest_review_seconds": swept.oldest_review_seconds,
                    "oldest_due_seconds": swept.oldest_due_seconds,
                }))
            }
            Err(error) => {
                tracing::error!(step = "sweep", outcome = "failed", cause = %error, "the store failed");
                Err(InvocationFailed("the store could not be read"))
            }
        }
    }
}
