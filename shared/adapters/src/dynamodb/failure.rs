//! What a call that failed says about the table: nothing changed, or nobody knows.
//!
//! The SDK's final error hides its earlier tries: a call that ends with "throttled" may have been applied by a first
//! try whose answer was lost. So the tries themselves are counted as they leave and as they are turned away.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use docket_domain::ports::StoreError;
use docket_domain::status::Cause;
use uuid::Uuid;

/// How often a change is tried while a transaction holds its item; each try comes before DynamoDB does anything.
const CONFLICT_TRIES_MAX: u32 = 5;
const CONFLICT_PAUSE_MS: u64 = 20;

/// The tries of one call that left and were not turned away: any of them may have been applied, or may still be.
#[derive(Debug, Clone, Default)]
pub(super) struct Unanswered(Arc<AtomicU32>);

impl Unanswered {
    pub(super) fn any(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    /// The error of a call that changed nothing, or may have.
    pub(super) fn error(&self, cause: Cause) -> StoreError {
        if self.any() { StoreError::OutcomeUnknown(cause) } else { StoreError::NotApplied(cause) }
    }
}

#[dyn_dispatch_hint]
impl Intercept for Unanswered {
    fn name(&self) -> &'static str {
        "Unanswered"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // Counted before it leaves: a call that is given up in the middle stays counted.
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let turned_away = match context.response() {
            Some(response) => refuses(response.status().as_u16()),
            None => context
                .output_or_error()
                .and_then(Result::err)
                .and_then(|error| error.as_connector_error())
                .is_some_and(connection_refused),
        };
        if turned_away {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }
}

/// DynamoDB answers 4xx without having changed anything; 408 comes from something in between.
fn refuses(status: u16) -> bool {
    (400..500).contains(&status) && status != 408
}

/// The one transport error that proves that nothing was sent.
fn connection_refused(error: &ConnectorError) -> bool {
    let mut source = error.source();
    while let Some(error) = source {
        if error.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return true;
        }
        source = error.source();
    }
    false
}

/// Waits after the `tries`th try met a transaction on the same item; false when it has been tried often enough.
pub(super) async fn may_try_again(tries: u32) -> bool {
    if tries >= CONFLICT_TRIES_MAX {
        return false;
    }
    // Two who met once must not meet again: up to as much again, by chance.
    let pause_ms = CONFLICT_PAUSE_MS << tries.min(6);
    let chance = u64::from(Uuid::new_v4().as_bytes()[0]) * pause_ms / 256;
    tokio::time::sleep(Duration::from_millis(pause_ms + chance)).await;
    true
}
