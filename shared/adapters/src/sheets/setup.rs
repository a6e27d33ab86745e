//! The sheet as whoever sets it up sees it: which tabs there are, what stands in ours, whether we may write. And the only
//! two changes that setting up makes: a tab that is not there, a header where nothing stands.
//!
//! No answer to a change is believed: the sheet is looked at again, and what stands there counts.

use std::time::Duration;

use docket_domain::outcome::sheets::{classify_failed_read, header_is_ours};
use docket_domain::outcome::{Exchange, NotApplied};
use docket_domain::ports::Clock;
use docket_domain::row::HEADER;
use docket_domain::status::Cause;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::GoogleSheet;
use super::layout::HEADER_CELLS;
use super::url::Major;
use crate::http::{Call, Deadline};

/// Cells of one workbook over all its tabs, the empty ones too (Google Drive help, "Files you can store in Google Drive").
pub const WORKBOOK_CELLS_MAX: u64 = 10_000_000;
/// The size of the tab that setting up makes: Google's own for a new one.
const NEW_TAB_ROWS: u64 = 1_000;
const NEW_TAB_COLUMNS: u64 = 26;

/// What a look at the spreadsheet showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Names of all tabs.
    pub tabs: Vec<String>,
    pub ours: Option<OurTab>,
    /// Cells of all tabs together, the empty ones too.
    pub cells: u64,
}

impl Survey {
    /// How many rows more the workbook takes in our tab, or in the one that would be made. Each row is inserted as wide as
    /// its tab, also where blank ones lie below: so a workbook fills up.
    #[must_use]
    pub fn rows_left(&self) -> u64 {
        let free = WORKBOOK_CELLS_MAX.saturating_sub(self.cells);
        match &self.ours {
            Some(ours) => free / ours.columns.max(1),
            None => free.saturating_sub(NEW_TAB_ROWS * NEW_TAB_COLUMNS) / NEW_TAB_COLUMNS,
        }
    }
}

/// The tab that a deployment names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OurTab {
    pub header: HeaderRow,
    /// Somebody protected the tab or a part of it against the account.
    pub protected: bool,
    /// How wide its grid is.
    pub columns: u64,
}

/// What stands in the first row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderRow {
    Ours,
    /// Nothing, and nothing anywhere else in the tab.
    EmptyTab,
    /// Something else; the first cells as they read.
    Other(Vec<String>),
}

/// `spreadsheets.get`, the fields that are asked for.
#[derive(Deserialize)]
struct Spreadsheet {
    #[serde(default)]
    sheets: Vec<Sheet>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sheet {
    properties: Properties,
    #[serde(default)]
    protected_ranges: Vec<ProtectedRange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Properties {
    /// The first tab's is 0.
    #[serde(default)]
    sheet_id: u64,
    #[serde(default)]
    title: String,
    /// A tab that is a chart has none.
    #[serde(default)]
    grid_properties: Grid,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Grid {
    pub(super) row_count: u64,
    pub(super) column_count: u64,
}

/// A field that is false is left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProtectedRange {
    #[serde(default)]
    requesting_user_can_edit: bool,
    #[serde(default)]
    warning_only: bool,
}

impl<C: Clock> GoogleSheet<C> {
    /// Looks; changes nothing.
    ///
    /// # Errors
    /// Why nothing could be learned; a `Halt` names what somebody has to mend.
    pub async fn survey(&self) -> Result<Survey, NotApplied> {
        let deadline = Deadline::in_ms(self.read_timeout_ms);
        let spreadsheet = self.spreadsheet(deadline).await?;
        let tab = self.address.tab();
        let ours = match spreadsheet.sheets.iter().find(|sheet| sheet.properties.title == tab) {
            None => None,
            Some(sheet) => Some(OurTab {
                header: self.header_row(deadline).await?,
                protected: sheet
                    .protected_ranges
                    .iter()
                    .any(|range| !range.requesting_user_can_edit && !range.warning_only),
                columns: sheet.properties.grid_properties.column_count,
            }),
        };
        let grids = spreadsheet.sheets.iter().map(|sheet| &sheet.properties.grid_properties);
        let cells = grids.map(|grid| grid.row_count.saturating_mul(grid.column_count)).sum();
        let tabs = spreadsheet.sheets.into_iter().map(|sheet| sheet.properties.title).collect();
        Ok(Survey { tabs, ours, cells })
    }

    async fn spreadsheet(&self, deadline: Deadline) -> Result<Spreadsheet, NotApplied> {
        let url = self.address.properties();
        let exchange = self.authorized(|| Call::get(url.clone()), Duration::ZERO, deadline).await?;
        serde_json::from_slice(successful(&exchange)?)
            .map_err(|_| NotApplied::TryAgain(Cause::new("unreadable_answer")))
    }

    /// The number by which Google calls our tab.
    pub(super) async fn sheet_id(&self, deadline: Deadline) -> Result<u64, NotApplied> {
        Ok(self.our_properties(deadline).await?.sheet_id)
    }

    /// How large our tab is.
    pub(super) async fn grid(&self, deadline: Deadline) -> Result<Grid, NotApplied> {
        Ok(self.our_properties(deadline).await?.grid_properties)
    }

    async fn our_properties(&self, deadline: Deadline) -> Result<Properties, NotApplied> {
        let tab = self.address.tab();
        let sheets = self.spreadsheet(deadline).await?.sheets;
        let ours = sheets.into_iter().map(|sheet| sheet.properties).find(|ours| ours.title == tab);
        ours.ok_or_else(|| NotApplied::Halt(Cause::new("no_such_tab")))
    }

    async fn header_row(&self, deadline: Deadline) -> Result<HeaderRow, NotApplied> {
        let blocks = self.read(&[HEADER_CELLS.to_owned()], Major::Rows, deadline).await?;
        let cells: Vec<Value> = blocks.into_iter().flat_map(|block| block.lists).flatten().collect();
        if header_is_ours(&cells) {
            return Ok(HeaderRow::Ours);
        }
        if cells.is_empty() {
            // As far as a tab reaches: Google cuts what is empty at its end.
            let url = self.address.whole_tab();
            let exchange = self.authorized(|| Call::get(url.clone()), Duration::ZERO, deadline).await?;
            let whole: Value = serde_json::from_slice(successful(&exchange)?)
                .map_err(|_| NotApplied::TryAgain(Cause::new("unreadable_answer")))?;
            if whole.get("range").is_some() && whole.get("values").is_none() {
                return Ok(HeaderRow::EmptyTab);
            }
        }
        let text = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
        Ok(HeaderRow::Other(cells.iter().map(text).collect()))
    }

    /// Whether the account may change the spreadsheet: makes a mark that no person sees and takes it away again, both in
    /// one request, of which Google carries out all or nothing.
    ///
    /// # Errors
    /// Why not, or why that is not known.
    pub async fn may_write(&self) -> Result<(), NotApplied> {
        // 1 to 2^31-1, and not in use by anybody.
        let id = u32::from_be_bytes(Uuid::new_v4().as_bytes()[..4].try_into().unwrap_or([1; 4])) >> 1 | 1;
        let requests = json!([
            {"createDeveloperMetadata": {"developerMetadata": {
                "metadataId": id,
                "metadataKey": "docket-doctor",
                "location": {"spreadsheet": true},
                "visibility": "PROJECT",
            }}},
            {"deleteDeveloperMetadata": {"dataFilter": {"developerMetadataLookup": {"metadataId": id}}}},
        ]);
        self.batch_update(&requests).await
    }

    /// Adds the tab, with a first row that stays in sight.
    ///
    /// # Errors
    /// Google's answer; look again in either case.
    pub async fn add_tab(&self) -> Result<(), NotApplied> {
        let title = self.address.tab();
        let grid = json!({"rowCount": NEW_TAB_ROWS, "columnCount": NEW_TAB_COLUMNS, "frozenRowCount": 1});
        let properties = json!({"title": title, "gridProperties": grid});
        self.batch_update(&json!([{"addSheet": {"properties": properties}}])).await
    }

    /// Writes the six names into the first row. Only where nothing stands.
    ///
    /// # Errors
    /// Google's answer; look again in either case.
    pub async fn write_header(&self) -> Result<(), NotApplied> {
        let deadline = Deadline::in_ms(self.append_timeout_ms);
        let url = self.address.update(HEADER_CELLS);
        let body = json!({"majorDimension": "ROWS", "values": [HEADER]});
        let call = || Call::put_json(url.clone(), &body);
        let exchange = self.authorized(call, Duration::ZERO, deadline).await?;
        successful(&exchange).map(|_| ())
    }

    async fn batch_update(&self, requests: &Value) -> Result<(), NotApplied> {
        let deadline = Deadline::in_ms(self.append_timeout_ms);
        let url = self.address.batch_update();
        let body = json!({"requests": requests});
        let call = || Call::post_json(url.clone(), &body);
        let exchange = self.authorized(call, Duration::ZERO, deadline).await?;
        successful(&exchange).map(|_| ())
    }
}

fn successful(exchange: &Exchange) -> Result<&[u8], NotApplied> {
    match exchange {
        Exchange::Answered { status: 200..=299, body, .. } => Ok(body),
        Exchange::Answered { .. } | Exchange::NotSent(_) | Exchange::Lost(_) => {
            Err(classify_failed_read(exchange))
        }
    }
}
