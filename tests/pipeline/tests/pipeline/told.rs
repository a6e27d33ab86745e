//! Whatever tells a person to run the command names one that exists: the alarms' mails, the runbook, the pages, and the
//! command's own answers.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use docket::cli::Cli;
use docket_template::Template;

/// A command as a text tells it: the subcommands, and what does not exist of it.
#[derive(Debug)]
struct Told {
    command: String,
    wrong: Option<String>,
}

/// Every `docket WORD …` of a text, held against the command line as it is.
fn told(text: &str) -> Vec<Told> {
    let rests = text.match_indices("docket").filter_map(|(at, name)| {
        let before = text[..at].chars().next_back();
        let rest = &text[at + name.len()..];
        let is_word = !before.is_some_and(|before| before.is_alphanumeric() || "/-_.".contains(before));
        let is_told = rest.starts_with(char::is_whitespace)
            && rest.trim_start().starts_with(|next: char| next.is_ascii_lowercase());
        (is_word && is_told).then_some(rest)
    });
    rests.map(|rest| held(rest, &Cli::command())).collect()
}

fn held(rest: &str, root: &Command) -> Told {
    let (mut at, mut said) = (root, Vec::new());
    let mut words = rest.split('`').next().unwrap_or_default().split_whitespace();
    while at.has_subcommands() {
        // `docket webhook` stands for all of them.
        let Some(word) = words.next() else { break };
        let word: &str =
            word.split(|c: char| !c.is_ascii_lowercase() && c != '-' && c != '|').next().unwrap_or_default();
        said.push(word);
        // `set|info|delete` are three.
        let each: Vec<Option<&Command>> = word.split('|').map(|name| at.find_subcommand(name)).collect();
        let Some(Some(found)) = each.iter().find(|found| found.is_none()).or(each.first()) else {
            return Told {
                command: said.join(" "),
                wrong: Some(format!("there is no command {}", said.join(" "))),
            };
        };
        at = found;
    }
    let line = rest.split(['`', '\n', '#', ';', ',', '"']).next().unwrap_or_default();
    let line = line.split("\\n").next().unwrap_or_default();
    let options = line.split("--").skip(1).map(|option| {
        option.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or_default().to_owned()
    });
    let known = |option: &String| {
        let has =
            |command: &Command| command.get_arguments().any(|one| one.get_long() == Some(option.as_str()));
        option == "help" || has(at) || has(root)
    };
    let wrong =
        options.filter(|option| !known(option)).map(|option| format!("{} has no --{option}", said.join(" ")));
    Told { command: said.join(" "), wrong: wrong.last() }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn every_alarm_says_which_command_to_run_and_the_command_exists() {
    let template = Template::deployed();
    let alarms = template.resources("AWS::CloudWatch::Alarm");
    assert!(alarms.len() > 20);
    for (name, alarm) in alarms {
        let told = told(alarm["AlarmDescription"].as_str().unwrap());
        assert!(!told.is_empty(), "{name} says nothing to run");
        assert!(told.iter().all(|told| told.wrong.is_none()), "{name}: {told:?}");
        if name == "OpenReviewsAlarm" {
            for wanted in ["reviews", "show", "recheck", "resolve"] {
                assert!(told.iter().any(|told| told.command == wanted), "{name} does not tell {wanted}");
            }
        }
    }
}

#[test]
fn the_pages_and_the_commands_own_answers_tell_only_commands_that_exist() {
    let pages = ["README.md", "ARCHITECTURE.md", "infra/runbook.md"].map(|page| root().join(page));
    let (mut all, mut wrong) = (0, Vec::new());
    for path in pages.into_iter().chain(sources(&root().join("infra/operator/src"))) {
        let text = std::fs::read_to_string(&path).unwrap();
        for told in told(&text) {
            all += 1;
            wrong.extend(told.wrong.map(|wrong| format!("{}: {wrong}", path.display())));
        }
    }
    let dashboard = Template::deployed();
    let shown = dashboard.properties("Dashboard")["DashboardBody"]["Fn::Sub"].as_str().unwrap();
    wrong.extend(told(shown).into_iter().filter_map(|told| told.wrong));
    assert_eq!(wrong, Vec::<String>::new());
    assert!(all > 80, "{all} were found");
}

#[test]
fn a_command_or_an_option_that_does_not_exist_is_noticed_where_it_is_told() {
    for (text, wrong) in [
        ("Run: docket review.", "there is no command review"),
        ("run `docket webhook reset`", "there is no command webhook reset"),
        ("docket webhook set|info|forget  # all", "there is no command webhook set|info|forget"),
        ("`docket resolve DK-1 --recoded --because \"x\"`", "resolve has no --recoded"),
        ("`cargo docket show DK-1 --csv`", "show has no --csv"),
        ("Run: docket\n  reviewers", "there is no command reviewers"),
    ] {
        let found: Vec<String> = told(text).into_iter().filter_map(|told| told.wrong).collect();
        assert_eq!(found, [wrong], "{text}");
    }
    for good in [
        "docket webhook set|info|delete  # where Telegram calls",
        "Run: docket\n  reviews; see /docket doctrine, docket-pipeline tests and docket.env settings",
        "`docket resolve DK-1 --recorded --because \"x\"` --whatever",
        "docket audit --csv --stack docket",
    ] {
        assert!(told(good).iter().all(|told| told.wrong.is_none()), "{good}: {:?}", told(good));
    }
}
