//! From a request on the wire to the call it makes: path, query and body, parsed as strictly as Google does.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::cell::{Input, Render};
use super::refusal::Refusal;
use crate::exchange::Request;

/// `values.append`, decoded.
#[derive(Debug, Clone)]
pub(super) struct Append {
    pub(super) range: String,
    pub(super) input: Input,
    /// INSERT_ROWS; else OVERWRITE, which is the default.
    pub(super) insert_rows: bool,
    /// Strings, numbers, booleans and nulls only.
    pub(super) rows: Vec<Vec<Value>>,
}

/// `values.update`, decoded.
#[derive(Debug, Clone)]
pub(super) struct Update {
    pub(super) range: String,
    pub(super) input: Input,
    pub(super) rows: Vec<Vec<Value>>,
}

/// `values.get` and `values.batchGet`.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) ranges: Vec<String>,
    pub(super) render: Render,
    pub(super) columns_first: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Call {
    Append(Append),
    Read(Read),
    BatchRead(Read),
    /// `spreadsheets.get`
    Tabs,
    /// `spreadsheets.batchUpdate`
    BatchUpdate(Vec<Value>),
    Update(Update),
}

/// What kind of request this is, as far as the path tells; `Other` is nothing that this fake knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Append,
    Read,
    BatchRead,
    Tabs,
    Update,
    BatchUpdate,
    /// An assertion, to be exchanged for a token.
    Token,
    /// A signed AWS request, to be exchanged for a federated token.
    Federation,
    /// A federated token, to be exchanged for one of the service account.
    Impersonation,
    Other,
}

/// A path of the API: the spreadsheet, and the raw rest behind it.
struct Route<'a> {
    kind: Kind,
    spreadsheet_id: &'a str,
    range: &'a str,
}

pub(super) fn kind_of(request: &Request) -> Kind {
    route(request).map_or(Kind::Other, |route| route.kind)
}

/// Rows in the body of an append that may be broken in other ways; 0 for everything else.
pub(super) fn rows_in(request: &Request) -> usize {
    let body: Option<Value> = serde_json::from_slice(&request.body).ok();
    body.and_then(|body| body.get("values")?.as_array().map(Vec::len)).unwrap_or(0)
}

/// The call and the spreadsheet it is for. No cell may be longer than `cell_characters`, counted in UTF-16 units.
pub(super) fn parse(request: &Request, cell_characters: usize) -> Result<(String, Call), Refusal> {
    let route = route(request).ok_or_else(|| Refusal::html(404, "Not Found"))?;
    let query = parse_pairs(&request.query)?;
    let spreadsheet_id = decode(route.spreadsheet_id)?;
    let call = match route.kind {
        Kind::Append => {
            Call::Append(parse_append(decode(route.range)?, &query, &request.body, cell_characters)?)
        }
        Kind::Read => Call::Read(parse_read(vec![decode(route.range)?], &query, false)?),
        Kind::BatchRead => Call::BatchRead(parse_read(all(&query, "ranges"), &query, true)?),
        Kind::Tabs => {
            known_only(&query, &["ranges", "includeGridData"])?;
            Call::Tabs
        }
        Kind::BatchUpdate => {
            known_only(&query, &[])?;
            let body = parse_body(&request.body)?;
            Call::BatchUpdate(body["requests"].as_array().cloned().unwrap_or_default())
        }
        Kind::Update => {
            known_only(&query, &["valueInputOption"])?;
            let body = parse_body(&request.body)?;
            Call::Update(Update {
                range: decode(route.range)?,
                input: parse_input(&query)?,
                rows: parse_cells(body.get("values"), cell_characters)?,
            })
        }
        Kind::Other | Kind::Token | Kind::Federation | Kind::Impersonation => {
            return Err(Refusal::invalid("This fake does not imitate this method."));
        }
    };
    Ok((spreadsheet_id, call))
}

/// Splits the raw path: an escaped slash or colon inside a name is not a separator. An unescaped slash is, and then
/// Google has no such page.
fn route(request: &Request) -> Option<Route<'_>> {
    let segments: Vec<&str> = request.path.strip_prefix("/v4/spreadsheets/")?.split('/').collect();
    let of = |kind, spreadsheet_id, range| Some(Route { kind, spreadsheet_id, range });
    match (request.method.as_str(), segments.as_slice()) {
        ("GET", [id]) => of(Kind::Tabs, id, ""),
        ("POST", [id]) => of(Kind::BatchUpdate, id.strip_suffix(":batchUpdate")?, ""),
        ("GET", [id, "values:batchGet"]) => of(Kind::BatchRead, id, ""),
        ("GET", [id, "values", range]) if !range.is_empty() => of(Kind::Read, id, range),
        ("POST", [id, "values", last]) => match last.rsplit_once(':')? {
            (range, "append") => of(Kind::Append, id, range),
            (range, "clear") => of(Kind::Other, id, range),
            _ => None,
        },
        ("POST", [id, rest]) if rest.starts_with("values:") => of(Kind::Other, id, ""),
        ("PUT", [id, "values", range]) => of(Kind::Update, id, range),
        _ => None,
    }
}

pub(super) type Pairs = Vec<(String, String)>;

/// `a=b&c=d` with percent signs and pluses decoded: a query, or a form.
pub(super) fn parse_pairs(text: &str) -> Result<Pairs, Refusal> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?))
        })
        .collect()
}

/// The fields of a POST that is a form.
pub(super) fn form(request: &Request) -> Option<Pairs> {
    let content_type = request.headers.iter().find(|(name, _)| name == "content-type");
    let is_form = content_type.is_some_and(|(_, kind)| kind.starts_with("application/x-www-form-urlencoded"));
    let body = std::str::from_utf8(&request.body).ok().filter(|_| is_form && request.method == "POST")?;
    parse_pairs(body).ok()
}

fn decode(text: &str) -> Result<String, Refusal> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(String::from).map_err(|_| Refusal::invalid("Request contains an invalid argument."))
}

fn all(pairs: &Pairs, name: &str) -> Vec<String> {
    pairs.iter().filter(|(known, _)| known == name).map(|(_, value)| value.clone()).collect()
}

pub(super) fn one<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

fn known_only(pairs: &Pairs, names: &[&str]) -> Result<(), Refusal> {
    let everywhere = ["alt", "prettyPrint", "quotaUser", "fields"];
    match pairs
        .iter()
        .find(|(name, _)| !names.contains(&name.as_str()) && !everywhere.contains(&name.as_str()))
    {
        None => Ok(()),
        Some((name, _)) => Err(Refusal::invalid(&format!(
            "Invalid JSON payload received. Unknown name \"{name}\": Cannot bind query parameter. Field '{name}' could \
             not be found in request message."
        ))),
    }
}

fn unknown_option(field: &str, kind: &str, value: &str) -> Refusal {
    Refusal::invalid(&format!(
        "Invalid value at '{field}' (type.googleapis.com/google.apps.sheets.v4.{kind}), \"{value}\""
    ))
}

fn parse_read(ranges: Vec<String>, query: &Pairs, batch: bool) -> Result<Read, Refusal> {
    let known = ["majorDimension", "valueRenderOption", "dateTimeRenderOption", "ranges"];
    known_only(query, if batch { &known } else { &known[..3] })?;
    let columns_first = parse_dimension(one(query, "majorDimension"))?;
    let render = match one(query, "valueRenderOption") {
        None | Some("FORMATTED_VALUE") => Render::Formatted,
        Some("UNFORMATTED_VALUE") => Render::Unformatted,
        Some(other) => return Err(unknown_option("value_render_option", "ValueRenderOption", other)),
    };
    Ok(Read { ranges, render, columns_first })
}

fn parse_dimension(name: Option<&str>) -> Result<bool, Refusal> {
    match name {
        None | Some("ROWS" | "DIMENSION_UNSPECIFIED") => Ok(false),
        Some("COLUMNS") => Ok(true),
        Some(other) => Err(unknown_option("major_dimension", "Dimension", other)),
    }
}

fn parse_body(body: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(body)
        .map_err(|_| Refusal::invalid("Invalid JSON payload received. Unexpected token."))
}

fn parse_input(query: &Pairs) -> Result<Input, Refusal> {
    match one(query, "valueInputOption") {
        Some("RAW") => Ok(Input::Raw),
        Some("USER_ENTERED") => Ok(Input::UserEntered),
        None | Some("INPUT_VALUE_OPTION_UNSPECIFIED") => {
            Err(Refusal::invalid("'valueInputOption' is required but not specified"))
        }
        Some(other) => Err(unknown_option("value_input_option", "ValueInputOption", other)),
    }
}

fn parse_append(
    range: String,
    query: &Pairs,
    body: &[u8],
    cell_characters: usize,
) -> Result<Append, Refusal> {
    known_only(query, &["valueInputOption", "insertDataOption"])?;
    let input = parse_input(query)?;
    let insert_rows = match one(query, "insertDataOption") {
        None | Some("OVERWRITE") => false,
        Some("INSERT_ROWS") => true,
        Some(other) => return Err(unknown_option("insert_data_option", "InsertDataOption", other)),
    };
    let unreadable = || Refusal::invalid("Invalid JSON payload received. Unexpected token.");
    let body = parse_body(body)?;
    let body = body.as_object().ok_or_else(unreadable)?;
    if let Some(name) =
        body.keys().find(|name| !["range", "majorDimension", "values"].contains(&name.as_str()))
    {
        return Err(Refusal::invalid(&format!(
            "Invalid JSON payload received. Unknown name \"{name}\": Cannot find field."
        )));
    }
    if body.get("range").is_some_and(|named| *named != range) {
        return Err(Refusal::invalid("The range of the body differs from the range of the path."));
    }
    let rows = parse_cells(body.get("values"), cell_characters)?;
    let columns_first = parse_dimension(body.get("majorDimension").and_then(Value::as_str))?;
    Ok(Append { range, input, insert_rows, rows: if columns_first { transposed(&rows) } else { rows } })
}

fn parse_cells(values: Option<&Value>, cell_characters: usize) -> Result<Vec<Vec<Value>>, Refusal> {
    let Some(values) = values else { return Ok(Vec::new()) };
    let lines =
        values.as_array().ok_or_else(|| Refusal::invalid("Invalid value at 'data.values' (ListValue)"))?;
    let mut rows = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let cells = line
            .as_array()
            .ok_or_else(|| Refusal::invalid(&format!("Invalid value at 'data.values[{at}]' (ListValue)")))?;
        for (column, cell) in cells.iter().enumerate() {
            let kind = match cell {
                Value::Null | Value::Bool(_) | Value::Number(_) => continue,
                Value::String(text) if text.encode_utf16().count() > cell_characters => {
                    return Err(Refusal::too_many_characters());
                }
                Value::String(_) => continue,
                Value::Array(_) => "list_value",
                Value::Object(_) => "struct_value",
            };
            return Err(Refusal::invalid(&format!("Invalid values[{at}][{column}]: {kind} {{\n}}\n")));
        }
        rows.push(cells.clone());
    }
    Ok(rows)
}

/// Columns become rows; short ones are filled with nulls, which write nothing.
pub(super) fn transposed(columns: &[Vec<Value>]) -> Vec<Vec<Value>> {
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let row =
        |at: usize| columns.iter().map(|column| column.get(at).cloned().unwrap_or(Value::Null)).collect();
    (0..height).map(row).collect()
}
