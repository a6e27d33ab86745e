//! Reading ranges of the tab: one `values:batchGet`, parsed strictly enough that nothing missing looks like nothing there.

use std::time::Duration;

use docket_domain::outcome::sheets::{A1Range, classify_failed_read};
use docket_domain::outcome::{Exchange, NotApplied};
use docket_domain::ports::Clock;
use docket_domain::status::Cause;
use serde::Deserialize;
use serde_json::Value;

use super::GoogleSheet;
use super::url::Major;
use crate::http::{Call, Deadline};

/// One range of an answer. The lists run as asked; empty cells at their ends are not there.
#[derive(Debug)]
pub(super) struct Block {
    /// What was read really: the asked range, clipped to the tab's grid.
    pub(super) range: A1Range,
    pub(super) lists: Vec<Vec<Value>>,
}

impl Block {
    /// Whether it is of our tab and begins in this cell. Anything else was read for somebody else's question.
    pub(super) fn begins_at(&self, tab: &str, column: &str, row: u32) -> bool {
        self.range.tab == tab && self.range.columns.0 == column && self.range.rows.0 == row
    }
}

impl<C: Clock> GoogleSheet<C> {
    /// One block for each of `cells` (A1 notation without the tab), in their order.
    pub(super) async fn read(
        &self,
        cells: &[String],
        major: Major,
        deadline: Deadline,
    ) -> Result<Vec<Block>, NotApplied> {
        let url = self.address.batch_get(cells, major);
        let exchange = self.authorized(|| Call::get(url.clone()), Duration::ZERO, deadline).await?;
        match &exchange {
            Exchange::Answered { status: 200..=299, body, .. } => {
                parse_blocks(body, cells.len()).ok_or_else(|| classify_failed_read(&exchange))
            }
            Exchange::Answered { .. } | Exchange::NotSent(_) | Exchange::Lost(_) => {
                Err(classify_failed_read(&exchange))
            }
        }
    }
}

/// The cause of everything that was answered and cannot be used.
pub(super) fn unusable(word: &str) -> NotApplied {
    NotApplied::TryAgain(Cause::new(word))
}

/// None unless there is exactly one readable block for each range that was asked for. `values` may be absent.
fn parse_blocks(body: &[u8], asked: usize) -> Option<Vec<Block>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        value_ranges: Vec<ValueRange>,
    }
    #[derive(Deserialize)]
    struct ValueRange {
        range: String,
        #[serde(default)]
        values: Vec<Vec<Value>>,
    }
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let block = |read: ValueRange| Some(Block { range: A1Range::parse(&read.range)?, lists: read.values });
    let blocks: Vec<Block> = answer.value_ranges.into_iter().map(block).collect::<Option<_>>()?;
    (blocks.len() == asked).then_some(blocks)
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::sheets) fn block(range: &str, lists: &Value) -> Block {
        let answer = json!({"valueRanges": [{"range": range, "values": lists}]});
        parse_blocks(answer.to_string().as_bytes(), 1).expect("one block").remove(0)
    }

    #[test]
    fn values_may_be_absent_and_cells_of_any_kind() {
        let body = r#"{"spreadsheetId":"x","valueRanges":[
            {"range":"Intake!A1:A1000","majorDimension":"ROWS"},
            {"range":"'Jon''s'!A2:F2","values":[["a",7,true,null,1.5e3,""],[]]}]}"#;
        let blocks = parse_blocks(body.as_bytes(), 2).expect("two blocks");
        assert!(blocks[0].lists.is_empty() && blocks[0].begins_at("Intake", "A", 1));
        assert_eq!(blocks[1].lists[0].len(), 6);
        assert!(blocks[1].begins_at("Jon's", "A", 2) && !blocks[1].begins_at("Jon's", "A", 3));
    }

    #[test]
    fn an_answer_to_another_question_is_no_answer() {
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"valueRanges":[]}"#,
            r#"{"valueRanges":[{"range":"Intake!A1:F1"},{"range":"Intake!A1:F1"}]}"#,
            r#"{"valueRanges":[{"values":[["a"]]}]}"#,
            r#"{"valueRanges":[{"range":"Intake"}]}"#,
            r#"{"valueRanges":[{"range":"Intake!A1:F1","values":["a"]}]}"#,
            r#"{"valueRanges":[{"range":"Intake!A1:F1","values":[["a"]"#,
        ] {
            assert!(parse_blocks(body.as_bytes(), 1).is_none(), "{body}");
        }
    }
}
