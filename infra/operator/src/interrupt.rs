//! Work that a person may end with Ctrl-C, and then hears how far it came.
//!
//! Only work that changes nothing: it is dropped where it stands. An order is not: there Ctrl-C does what it always does.

use std::future::Future;

/// The work's own end; none when Ctrl-C came before it.
pub async fn until_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        // Looked at first, so that the signal is caught from the beginning on.
        biased;
        Ok(()) = tokio::signal::ctrl_c() => None,
        done = work => Some(done),
    }
}

/// The same for work that holds the terminal: whoever asks it to end in another way must find the terminal as it was, too.
pub async fn until_ended<T>(work: impl Future<Output = T>) -> Option<T> {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = signal(SignalKind::terminate());
    let terminated = async {
        match terminated {
            Ok(mut terminated) => terminated.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = terminated => None,
        done = until_interrupted(work) => done,
    }
}
