//! The settings of each function and of the operator's command: what the code reads, against what the template gives.
//!
//! Both are read from their sources. A variable that nobody reads is a misspelt one, and a setting that the template does
//! not name cannot be changed by a deployment.

use std::collections::{BTreeMap, BTreeSet};

use docket_adapters::config::MAY_BE_IN_PARAMETERS;
use serde_json::{Value, json};

use crate::sources::{FUNCTIONS, root, text_of};
use crate::template::Template;

/// Whether a function starts without a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Required,
    Optional,
}

/// Where a variable leads when its name does not say so itself (`SHEET_NAME` is the parameter `SheetName`).
const LEADS_TO: [(&str, &str); 6] = [
    ("SUBMISSIONS_TABLE", "SubmissionsTable"),
    ("CONVERSATIONS_TABLE", "ConversationsTable"),
    ("WRITE_QUEUE_URL", "WriteQueue"),
    ("ACKNOWLEDGE_QUEUE_URL", "AcknowledgeQueue"),
    ("SPREADSHEET_ID", "SpreadsheetId"),
    ("TELEGRAM_BOT", "TelegramBot"),
];

/// Each function is given what it reads, all of it and nothing else; secrets by the names of their parameters only.
#[must_use]
pub fn of_functions(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    for function in FUNCTIONS {
        let read = read_by(function);
        let given = given_to(template, function);
        for (variable, value) in &given {
            let setting = variable.strip_suffix("_PARAMETER").unwrap_or(variable);
            if !read.contains_key(setting) {
                found.push(format!("{function} never reads {variable}"));
            }
            let may_be_in_parameter = MAY_BE_IN_PARAMETERS.contains(&setting);
            if may_be_in_parameter && setting == variable {
                found.push(format!("{variable} of {function} can be read by whoever sees its settings"));
            }
            if setting != variable && !may_be_in_parameter {
                found.push(format!("{function} reads no parameter {variable}"));
            }
            if !leads_where_it_says(variable, value) {
                found.push(format!("{variable} of {function} is {value}"));
            }
        }
        for (setting, need) in read {
            let value = given.get(&setting).or_else(|| given.get(&format!("{setting}_PARAMETER")));
            match (value, need) {
                (None, Need::Required) => found.push(format!("{function} does not start without {setting}")),
                (None, Need::Optional) => {
                    found.push(format!("{setting} of {function} cannot be changed by a deployment"));
                }
                (Some(value), Need::Required) if value.get("Fn::If").is_some() => {
                    found.push(format!("{function} does not always get {setting}"));
                }
                (Some(_), _) => {}
            }
        }
    }
    found
}

fn given_to<'t>(template: &'t Template, function: &str) -> BTreeMap<String, &'t Value> {
    let of = |value: &'t Value| value.as_object().into_iter().flatten();
    of(template.at("/Globals/Function/Environment/Variables"))
        .chain(of(&template.properties(function)["Environment"]["Variables"]))
        .map(|(name, value)| (name.clone(), value))
        .collect()
}

fn leads_where_it_says(variable: &str, value: &Value) -> bool {
    let Some(setting) = variable.strip_suffix("_PARAMETER") else {
        let known =
            LEADS_TO.iter().find(|(name, _)| *name == variable).map(|(_, target)| (*target).to_owned());
        let value = value["Fn::If"].get(1).unwrap_or(value);
        return value["Ref"] == known.unwrap_or_else(|| in_capitals(variable));
    };
    match value["Fn::If"].as_array() {
        Some(chosen) => chosen.get(1).is_some_and(|chosen| chosen["Ref"] == in_capitals(variable)),
        None => {
            let below = setting.to_lowercase().replace('_', "-");
            value["Fn::Sub"] == format!("${{ParameterPrefix}}/{below}")
        }
    }
}

/// `SHEET_NAME` as the template spells parameters: `SheetName`.
fn in_capitals(variable: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{first}{}", rest.to_lowercase())
    };
    variable.split('_').map(word).collect()
}

/// The stack gives out every setting that the operator's command reads, and nothing else.
#[must_use]
pub fn of_command(template: &Template) -> Vec<String> {
    let mut found = Vec::new();
    let (read, given) = (read_by_command(), given_to_command(template));
    for setting in &read {
        if !given.contains_key(setting) && !given.contains_key(&format!("{setting}_PARAMETER")) {
            found.push(format!("the stack does not give out {setting}"));
        }
    }
    for (variable, value) in given {
        let setting = variable.strip_suffix("_PARAMETER").unwrap_or(&variable);
        if !read.contains(setting) {
            found.push(format!("the command never reads {variable}"));
        }
        if MAY_BE_IN_PARAMETERS.contains(&setting) && setting == variable {
            found.push(format!("the stack gives out {variable}, which is nobody's to read"));
        }
        // The others are put together.
        let alone = value.trim_matches('"').strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let leads =
            |of: &str| of == in_capitals(&variable) || leads_where_it_says(&variable, &json!({"Ref": of}));
        if alone.is_some_and(|of| !of.contains('}') && !leads(of)) {
            found.push(format!("the stack gives out {value} as {variable}"));
        }
    }
    found
}

/// The lines of the stack's output `Settings`, those too that a parameter has to be given for.
#[must_use]
pub fn given_to_command(template: &Template) -> BTreeMap<String, String> {
    let output = template.at("/Outputs/Settings/Value/Fn::Sub");
    let optional = output[1].as_object().into_iter().flatten();
    let optional = optional.map(|(_, chosen)| &chosen["Fn::If"][1]["Fn::Sub"]);
    let texts = std::iter::once(&output[0]).chain(optional).filter_map(Value::as_str);
    let lines = texts.flat_map(str::lines).filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What the operator's command reads, from its sources: by the settings' own methods, or by name.
fn read_by_command() -> BTreeSet<String> {
    let root = root();
    let text = text_of(&root.join("infra/operator/src"));
    let config = text_of(&root.join("shared/adapters/src/config.rs"));
    let mut read = BTreeMap::new();
    for part in config.split("pub fn ").skip(1) {
        let method = part.split('(').next().unwrap_or_default();
        let is_called = ["environment.", "e."].iter().any(|of| text.contains(&format!("{of}{method}()")));
        if is_called && part.contains("self.") && config.contains(&format!("pub fn {method}(&self)")) {
            read_in(method, &config, &mut read);
        }
    }
    let by_name = ["WRITE_QUEUE_URL", "ACKNOWLEDGE_QUEUE_URL"].into_iter().chain(MAY_BE_IN_PARAMETERS);
    let by_name = by_name.filter(|name| text.contains(&format!("\"{name}\"")));
    by_name.map(str::to_owned).chain(read.into_keys()).collect()
}

/// What a function reads, from its source and the settings' own; but for what Lambda itself sets.
///
/// # Panics
/// When the sources cannot be read.
#[must_use]
pub fn read_by(function: &str) -> BTreeMap<String, Need> {
    let root = root();
    let main = text_of(&root.join(format!("functions/{}/src/main.rs", function.to_lowercase())));
    let config = text_of(&root.join("shared/adapters/src/config.rs"));
    let mut read = BTreeMap::new();
    for call in main.split("environment.").skip(1) {
        let (method, arguments) = call.split_once('(').unwrap_or_default();
        // A setting that is named where it is read.
        if let Some((name, _)) = arguments.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
            read.insert(name.to_owned(), Need::Required);
        } else {
            read_in(method, &config, &mut read);
        }
    }
    read
}

/// The settings that a method of the settings reads, itself or through others.
fn read_in(method: &str, config: &str, read: &mut BTreeMap<String, Need>) {
    let body = config
        .split_once(&format!("pub fn {method}(&self)"))
        .and_then(|(_, rest)| rest.split_once("\n    }\n"))
        .map(|(body, _)| body)
        .unwrap_or_else(|| panic!("the settings have no {method}"));
    let constant = body
        .split_once("const NAME: &str = \"")
        .and_then(|(_, rest)| rest.split('"').next())
        .unwrap_or_default();
    for call in body.split("self.").skip(1) {
        let (called, arguments) = call.split_once('(').unwrap_or_default();
        let need = match called {
            "required" => Need::Required,
            "optional" | "number" => Need::Optional,
            "url" if arguments.contains("Some(") => Need::Optional,
            "url" => Need::Required,
            // Read by another method, where it is there.
            "0.contains_key" => Need::Optional,
            other => {
                read_in(other, config, read);
                continue;
            }
        };
        let named =
            arguments.strip_prefix('"').map_or(constant, |rest| rest.split('"').next().unwrap_or_default());
        // Whoever asks first whether it is there can do without.
        read.entry(named.to_owned()).or_insert(need);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_function_reads_is_found_in_its_source() {
        let of = |function| {
            let read = read_by(function);
            let with = |wanted: Need| {
                let fitting = read.iter().filter(move |(_, need)| **need == wanted);
                fitting.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")
            };
            (with(Need::Required), with(Need::Optional))
        };
        let pair = |required: &str, optional: &str| (required.to_owned(), optional.to_owned());
        assert_eq!(
            of("Webhook"),
            pair(
                "CONVERSATIONS_TABLE SUBMISSIONS_TABLE TELEGRAM_BOT WEBHOOK_SECRET WRITE_QUEUE_URL",
                "CATALOG WEBHOOK_SECRET_PREVIOUS"
            )
        );
        assert_eq!(
            of("Writer"),
            pair(
                "ACKNOWLEDGE_QUEUE_URL GOOGLE_CREDENTIALS SHEET_NAME SPREADSHEET_ID SUBMISSIONS_TABLE",
                "APPEND_TIMEOUT_MS LEASE_SECONDS RETENTION_DAYS SETTLE_SECONDS SHEETS_ENDPOINT"
            )
        );
        assert_eq!(
            of("Acknowledger"),
            pair(
                "BOT_TOKEN SUBMISSIONS_TABLE",
                "CATALOG LEASE_SECONDS OPERATOR_CHAT RETENTION_DAYS SEND_TIMEOUT_MS TELEGRAM_ENDPOINT"
            )
        );
        assert_eq!(of("Sweeper"), pair("ACKNOWLEDGE_QUEUE_URL SUBMISSIONS_TABLE WRITE_QUEUE_URL", ""));
    }
}
