//! An honest imitation of Google Sheets v4 and of Google's token endpoints, in memory.
//!
//! It imitates what is known of Google and reported by others, faults included: where an append lands, what a read
//! leaves out, which answers come back although rows were written. It shares no code with Docket: a fake that did
//! would agree with every mistake. The facts it follows are checked one by one in the contract tests.
//!
//! Rows are numbered from 1 and columns have letters, as people see them. Sockets are somebody else's business.

mod batch;
mod behaviour;
mod call;
mod cell;
mod google;
mod grid;
mod plan;
mod range;
mod record;
mod refusal;
mod service_account;
mod signature;
mod table;
mod token;
mod workload;
mod values;

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

pub use self::behaviour::{Behaviour, FailureBody};
pub use self::call::Kind;
pub use self::plan::On;
pub use self::record::Seen;
pub use self::service_account::{CLIENT_EMAIL, service_account_json, signed_assertion};
pub use self::token::{ExpiresIn, FakeToken, SPREADSHEETS_SCOPE};
pub use self::workload::{AUDIENCE, ROLE, exchange_form};

use self::cell::Cell;
use self::google::{Google, SharedGoogle};
use self::grid::Tab;
use crate::clock::TurnedClock;
use crate::exchange::{Answer, Fake, Request};

/// Google Sheets with one spreadsheet in it. Clones are the same spreadsheet.
#[derive(Debug, Clone)]
pub struct FakeSheets(SharedGoogle);

/// The spreadsheet and the people who use it. Each verb that names a tab panics when there is no such tab.
impl FakeSheets {
    /// A spreadsheet without tabs.
    #[must_use]
    pub fn new(clock: TurnedClock, spreadsheet_id: &str) -> Self {
        Self(SharedGoogle::new(clock, spreadsheet_id))
    }

    /// The token endpoint whose tokens open this spreadsheet.
    #[must_use]
    pub fn token(&self) -> FakeToken {
        FakeToken(self.0.clone())
    }

    /// Adds a tab of 1000 rows and 26 columns behind the others. The first one added is the first tab.
    pub fn add_tab(&self, name: &str, header: &[&str]) {
        let cells = header.iter().map(|text| cell_from(&Value::from(*text))).collect();
        self.with(|google| google.workbook.add_tab(name, cells));
    }

    /// What is really in the tab, those rows too that reads still miss; trimmed as Google trims.
    #[must_use]
    pub fn rows(&self, tab: &str) -> Vec<Vec<Value>> {
        self.at(tab, |tab| values::rows_of(tab))
    }

    /// Replaces row `number`. Nulls and empty strings are empty cells; nothing is interpreted.
    pub fn put_row(&self, tab: &str, number: usize, cells: &[Value]) {
        self.at(tab, |tab| tab.put_row(index(number), cells.iter().map(cell_from).collect()));
    }

    /// Replaces the first row.
    pub fn set_header(&self, tab: &str, header: &[&str]) {
        let cells: Vec<Value> = header.iter().map(|text| Value::from(*text)).collect();
        self.put_row(tab, 1, &cells);
    }

    /// A cell with a formula that shows nothing: it looks empty and counts as data.
    pub fn fill_with_blank_formula(&self, tab: &str, number: usize, column: &str) {
        self.at(tab, |tab| tab.put(index(number), column_index(column), Some(Value::from(""))));
    }

    /// An empty row becomes row `number`; what was there moves down.
    pub fn insert_row(&self, tab: &str, number: usize) {
        self.at(tab, |tab| tab.insert_rows(index(number), 1));
    }

    /// Row `number` goes; what was below moves up.
    pub fn delete_row(&self, tab: &str, number: usize) {
        self.at(tab, |tab| tab.delete_row(index(number)));
    }

    /// An empty column becomes `column`; what was there moves right.
    pub fn insert_column(&self, tab: &str, column: &str) {
        self.at(tab, |tab| tab.insert_column(column_index(column)));
    }

    /// Sorts all but the header, ascending.
    pub fn sort_by_column(&self, tab: &str, column: &str) {
        self.at(tab, |tab| tab.sort_by_column(column_index(column)));
    }

    /// Shares the spreadsheet with our account for looking only, or for changing again.
    pub fn share_for_viewing_only(&self, viewer_only: bool) {
        self.with(|google| google.workbook.viewer_only = viewer_only);
    }

    /// Protects a whole tab against our account, or no longer.
    pub fn protect(&self, tab: &str, protected: bool) {
        self.at(tab, |tab| tab.protected = protected);
    }

    /// Rows of a tab that stay in sight.
    #[must_use]
    pub fn frozen_rows(&self, tab: &str) -> usize {
        self.at(tab, |tab| tab.frozen_rows)
    }

    /// The names of all tabs.
    #[must_use]
    pub fn tabs(&self) -> Vec<String> {
        self.with(|google| google.workbook.titles().into_iter().map(str::to_owned).collect())
    }

    pub fn rename_tab(&self, from: &str, to: &str) {
        self.at(from, |tab| to.clone_into(&mut tab.title));
    }

    /// A person types into the first empty row below everything, so `=1+1` becomes 2.
    pub fn type_into_next_empty_row(&self, tab: &str, cells: &[&str]) {
        let year = self.with(|google| cell::year_of(google.clock.now_ms()));
        self.at(tab, |tab| {
            tab.put_row(tab.filled_rows(), cells.iter().map(|text| cell::typed(text, year)).collect())
        });
    }

    /// Sets the size of the grid; never below what is filled.
    pub fn set_grid(&self, tab: &str, rows: usize, columns: usize) {
        self.at(tab, |tab| {
            tab.row_count = rows.max(tab.filled_rows()).max(1);
            tab.column_count = columns.max(1);
        });
    }

    /// Cells the workbook may have over all tabs, empty ones too; 10 million at first.
    pub fn set_cell_limit(&self, cells: usize) {
        self.with(|google| google.workbook.cell_limit = cells);
    }
}

/// What Google does about requests.
impl FakeSheets {
    /// What happens to the next request of this kind; several wait in a queue. A request that Google would refuse
    /// anyway (no token, broken range) is refused and leaves the behaviour to the one after it.
    pub fn next(&self, on: On, behaviour: Behaviour) {
        self.with(|google| google.plans.add_next(on, behaviour));
    }

    /// What happens to every request of this kind until [`Self::heal`].
    pub fn from_now_on(&self, on: On, behaviour: Behaviour) {
        self.with(|google| google.plans.add_lasting(on, behaviour));
    }

    /// Forgets all planned behaviours, those of the token endpoint too. Rows on their way still arrive.
    pub fn heal(&self) {
        self.with(|google| google.plans.clear());
    }

    /// Longer cells are refused, in Google's words; 50,000 UTF-16 units at first.
    pub fn set_cell_characters(&self, units: usize) {
        self.with(|google| google.workbook.cell_characters = units);
    }

    /// Google's quota of one user: the 61st write, or read, within a minute gets 429.
    pub fn enforce_quota(&self, enforced: bool) {
        self.with(|google| google.quota.enforced = enforced);
    }

    /// Appends without INSERT_ROWS choose their row at once, and write when `appends` of them have chosen, or at
    /// [`Self::let_go`]. So they overwrite each other, and whoever types meanwhile.
    pub fn race_overwriting_appends(&self, appends: usize) {
        self.with(|google| google.racing = Some(appends));
    }

    /// Lets every waiting request go on: those of [`Behaviour::held`] and racing appends.
    pub fn let_go(&self) {
        self.with(Google::let_go);
    }

    /// Requests that wait to be let go.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.with(|google| google.waiting())
    }
}

/// What was asked.
impl FakeSheets {
    /// Everything, tokens too, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.with(|google| google.seen(|_| true))
    }

    /// Appends, in order of arrival, whatever became of them.
    #[must_use]
    pub fn write_requests(&self) -> Vec<Seen> {
        self.with(|google| google.seen(|kind| kind == Kind::Append))
    }

    /// Reads of values and of the list of tabs, in order of arrival.
    #[must_use]
    pub fn read_requests(&self) -> Vec<Seen> {
        self.with(|google| google.seen(|kind| matches!(kind, Kind::Read | Kind::BatchRead | Kind::Tabs)))
    }

    /// The most appends that arrived within any 60 seconds of the clock.
    #[must_use]
    pub fn most_writes_in_any_minute(&self) -> usize {
        record::most_in_any_minute(&self.write_requests())
    }

    /// The most reads that arrived within any 60 seconds of the clock.
    #[must_use]
    pub fn most_reads_in_any_minute(&self) -> usize {
        record::most_in_any_minute(&self.read_requests())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Google) -> T) -> T {
        self.0.with(act)
    }

    fn at<T>(&self, tab: &str, act: impl FnOnce(&mut Tab) -> T) -> T {
        self.with(|google| {
            act(google.workbook.tab(tab).unwrap_or_else(|| panic!("there is no tab called {tab:?}")))
        })
    }
}

impl Fake for FakeSheets {
    fn answer(&self, request: Request) -> Pin<Box<dyn Future<Output = Answer> + Send + '_>> {
        let kind = call::kind_of(&request);
        Box::pin(self.0.serve(request, kind))
    }
}

fn cell_from(value: &Value) -> Cell {
    (!value.is_null() && *value != "").then(|| value.clone())
}

fn index(row_number: usize) -> usize {
    row_number.checked_sub(1).expect("rows are numbered from 1")
}

fn column_index(letters: &str) -> usize {
    range::column_number(letters).expect("a column has one to three letters")
}
