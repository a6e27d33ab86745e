//! Rule 4: absence is not proof. What is held against a record in review for an absent row is what the writer really read.

use docket_domain::row::HEADER;
use docket_domain::status::{Record, ReviewReason, WriteReview, WriteState};
use serde_json::Value;

use crate::exchange::Answer;
use crate::wire::Exchanged;
use crate::world::World;

impl World {
    /// A person may be asked about an absent row only after a whole read of our tab, asked for after the settle time, did
    /// not hold it.
    pub(super) fn absence_unproved(&self, record: &Record) -> Option<String> {
        let name = record.submission.reference.as_str();
        let absent = ReviewReason::Write(WriteReview::NoMatchingRow);
        let WriteState::Uncertain { attempt, .. } = &record.write.state else { return None };
        if !record.reviews().iter().any(|review| review.reason == absent)
            || self.testimony.was_looked_up_by_hand(name)
        {
            return None;
        }
        let settled = attempt.at.plus_seconds(self.settings().timing.settle_seconds);
        let proved = self.wire.outward().iter().any(|exchanged| {
            exchanged.call.at_ms >= settled.millis()
                && whole_reference_column(exchanged, &self.settings().tab)
                    .is_some_and(|column| !column.iter().any(|cell| cell.as_str() == Some(name)))
        });
        (!proved).then(|| {
            format!(
                "rule 4: {name} is in review for an absent row, and no whole read after {settled} missed it"
            )
        })
    }
}

/// The cells of column A from its first to its last filled one, if that is what the answer holds below the six names of
/// our header.
fn whole_reference_column(exchanged: &Exchanged, tab: &str) -> Option<Vec<Value>> {
    if exchanged.call.operation != "batch_read" {
        return None;
    }
    let Some(Answer::Reply { status: 200, body, .. }) = &exchanged.answer else { return None };
    let answer: Value = serde_json::from_slice(body).ok()?;
    let [header, column] = answer["valueRanges"].as_array()?.as_slice() else { return None };
    let of_our_tab = [header, column].iter().all(|block| {
        let range = block["range"].as_str().unwrap_or_default();
        range.rsplit_once('!').is_some_and(|(of, cells)| unquoted(of) == tab && cells.starts_with("A1"))
    });
    let column = cells_of(column);
    let headed = cells_of(header) == HEADER && column.first().is_some_and(|cell| cell == HEADER[0]);
    (of_our_tab && headed).then_some(column)
}

fn cells_of(block: &Value) -> Vec<Value> {
    let lists = block["values"].as_array().cloned().unwrap_or_default();
    lists.iter().filter_map(Value::as_array).flatten().cloned().collect()
}

fn unquoted(tab: &str) -> String {
    let inner = tab.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    inner.map_or_else(|| tab.to_owned(), |inner| inner.replace("''", "'"))
}
