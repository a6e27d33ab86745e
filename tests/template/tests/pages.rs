//! What the pages for people name is there: files, modules, commands.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const PAGES: [&str; 3] = ["README.md", "ARCHITECTURE.md", "infra/runbook.md"];

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// What is between backticks within a line.
fn code_words(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("```"))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The lines of the blocks that are meant to be pasted.
fn shell_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut pasted = false;
    text.lines().map(str::trim).filter(move |line| {
        if line.starts_with("```") {
            pasted = *line == "```sh";
            return false;
        }
        pasted
    })
}

/// A module of a crate, as ARCHITECTURE names it: `shared/domain` and `status/`.
fn module_is_there(folder: &str, name: &str) -> bool {
    let source = root().join(folder).join("src");
    match name.strip_suffix('/') {
        Some(folder) => source.join(folder).is_dir(),
        None => source.join(format!("{name}.rs")).is_file(),
    }
}

/// Folders of the map, each with the modules that it names.
fn map() -> Vec<(String, BTreeSet<String>)> {
    let text = page("ARCHITECTURE.md");
    let drawn = text.split("```").nth(1).expect("a map").lines().filter(|line| !line.is_empty());
    let mut map: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in drawn {
        let names = line.trim_start().split("  ").next().unwrap_or_default().trim();
        match line.len() - line.trim_start().len() {
            0 => map.push((names.trim_end_matches('/').to_owned(), BTreeSet::new())),
            4 => {
                let (_, modules) = map.last_mut().expect("a folder before its modules");
                modules.extend(names.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned));
            }
            // The rest of a sentence.
            _ => {}
        }
    }
    map
}

/// The modules of a crate: files and folders beside `lib.rs` and `main.rs`.
fn modules(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder.join("src")) else { return BTreeSet::new() };
    let names = entries.map(|entry| entry.expect("a folder that can be read").path());
    let name = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    names.map(name).filter(|name| name != "lib" && name != "main").collect()
}

#[test]
fn every_path_that_a_page_names_is_there() {
    let mut looked_at = 0;
    for name in PAGES {
        let text = page(name);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let linked = links.filter(|link| !link.is_empty() && !link.contains("://"));
        let in_code = code_words(&text).flat_map(str::split_whitespace).filter(|word| {
            ["shared/", "functions/", "infra/", "tests/", ".ci/", ".cargo/"]
                .iter()
                .any(|at| word.starts_with(at))
        });
        for path in linked.chain(in_code) {
            let path = path.trim_end_matches(['.', ',', ';']);
            // A module may be named without its ending.
            let found = root().join(path).exists()
                || path.rsplit_once('/').is_some_and(|(folder, module)| module_is_there(folder, module));
            assert!(found, "{name} names {path}, which is not there");
            looked_at += 1;
        }
    }
    assert!(looked_at > 20, "{looked_at}");
}

#[test]
fn the_map_has_every_crate_and_module_and_no_other() {
    let map = map();
    for (folder, named) in &map {
        assert!(root().join(folder).is_dir(), "{folder} is not there");
        for module in named {
            assert!(module_is_there(folder, module), "{folder}: {module} is not there");
        }
        let named: BTreeSet<String> =
            named.iter().map(|name| name.trim_end_matches('/').to_owned()).collect();
        if !named.is_empty() {
            assert_eq!(named, modules(&root().join(folder)), "{folder}");
        }
    }
    let workspace = page("Cargo.toml");
    let members =
        workspace.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("members");
    let members: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
    assert!(members.len() > 10, "{members:?}");
    for member in members {
        assert!(map.iter().any(|(folder, _)| folder == member), "the map has no {member}");
    }
}

#[test]
fn every_cargo_command_that_a_page_tells_to_run_exists() {
    /// Cargo's own, and those of the tools that the README asks for.
    const KNOWN: [&str; 6] = ["test", "build", "clippy", "fmt", "install", "lambda"];
    let config = page(".cargo/config.toml");
    let aliases: Vec<(&str, &str)> = config.lines().filter_map(|line| line.split_once(" = ")).collect();
    let mut looked_at = 0;
    for name in PAGES {
        let text = page(name);
        let pasted = shell_lines(&text).flat_map(|line| line.split([';', '{', '\'', '(']));
        for command in pasted.chain(code_words(&text)) {
            // After variables for this one command.
            let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
            if words.next() != Some("cargo") {
                continue;
            }
            let subcommand = words.next().unwrap_or_default();
            looked_at += 1;
            match aliases.iter().find(|(alias, _)| *alias == subcommand) {
                Some((_, runs)) => {
                    let bin = runs
                        .split("--bin ")
                        .nth(1)
                        .and_then(|rest| rest.split(' ').next())
                        .expect("a binary");
                    assert!(binaries().contains(bin), "cargo {subcommand} runs {bin}, which no crate makes");
                }
                None => assert!(KNOWN.contains(&subcommand), "{name} names cargo {subcommand}"),
            }
        }
    }
    assert!(looked_at > 10, "{looked_at}");
}

/// What the workspace's crates make: each binary is called as its package.
fn binaries() -> BTreeSet<String> {
    let workspace = page("Cargo.toml");
    let members =
        workspace.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    members
        .split('"')
        .skip(1)
        .step_by(2)
        .filter(|member| root().join(member).join("src/main.rs").is_file())
        .filter_map(|member| {
            let manifest = page(&format!("{member}/Cargo.toml"));
            Some(manifest.split("name = \"").nth(1)?.split('"').next()?.to_owned())
        })
        .collect()
}

/// Calls of the AWS SDK in a source text, as IAM calls their actions: `client.get_item()` is `GetItem`.
fn actions(source: &str) -> BTreeSet<String> {
    let text: String = source.chars().filter(|letter| !letter.is_whitespace()).collect();
    // On a client that is there, and on one that is made for this call.
    let there = text.split("client.").skip(1);
    let made = text.split("Client::new(").skip(1).filter_map(|rest| {
        rest.split_once(").").filter(|(of, _)| !of.contains([';', '('])).map(|(_, rest)| rest)
    });
    there
        .chain(made)
        .filter_map(|rest| rest.split_once("()").map(|(method, _)| method))
        .filter(|method| method.contains('_') || ["query", "scan"].contains(method))
        .filter(|method| method.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
        .map(|method| {
            let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
            method.split('_').filter(|word| !word.is_empty()).map(capital).collect()
        })
        .collect()
}

fn sources(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let text = |path: PathBuf| {
        if path.is_dir() { sources(&path) } else { std::fs::read_to_string(path).expect("a source file") }
    };
    entries.map(|entry| text(entry.expect("a folder that can be read").path())).collect()
}

#[test]
fn the_runbook_names_every_permission_that_the_operators_command_uses_and_no_other() {
    let mut source = sources(&root().join("infra/operator/src"));
    // Of the adapters what that command uses: it stores no submission and rings for none.
    for used in ["dynamodb/submissions.rs", "dynamodb/conversations.rs", "parameters.rs"] {
        source.push_str(&page(&format!("shared/adapters/src/{used}")));
    }
    let runbook = page("infra/runbook.md");
    let part = runbook.split("\n### Permissions\n").nth(1).expect("a part about permissions");
    let part = part.split("\n## ").next().unwrap_or_default();
    let told: BTreeSet<String> = code_words(part)
        .filter_map(|word| word.rsplit(':').next())
        .filter(|word| word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase))
        .map(str::to_owned)
        // KMS is asked by SSM.
        .filter(|action| action != "Decrypt")
        .collect();
    assert_eq!(told, actions(&source));
}

/// A block that is meant to be pasted: its commands, each in one line, without what a function that it defines would do.
fn commands(block: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut of_a_function = false;
    for line in block.replace("\\\n", " ").lines().map(str::trim) {
        of_a_function |= line.contains("() {");
        if !of_a_function {
            commands.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        of_a_function &= !line.ends_with("; }");
    }
    commands
}

/// Whether a command only looks; none for one that this test does not know.
fn only_looks(command: &str) -> Option<bool> {
    const LOOKS: [&str; 10] = [
        "show",
        "reviews",
        "watch",
        "find",
        "stats",
        "audit",
        "export",
        "doctor",
        "webhook info",
        "completions",
    ];
    const CHANGES: [&str; 7] =
        ["resolve", "recheck", "erase", "canary", "webhook set", "webhook delete", "sheet init"];
    let is = |words: &[&str], rest: &str| words.iter().any(|word| rest.starts_with(word));
    if let Some(rest) = command.strip_prefix("docket ") {
        assert!(is(&LOOKS, rest) != is(&CHANGES, rest), "is a command that looks or changes? {command}");
        // A list of many, before they are closed.
        let lists = rest.starts_with("resolve --reason") && !rest.contains("--apply");
        return Some(is(&LOOKS, rest) || lists);
    }
    let call = command.strip_prefix("aws ")?.split(' ').nth(1)?;
    Some(is(&["describe-", "list-", "get-", "tail", "scan", "query", "filter-"], call))
}

#[test]
fn whoever_pastes_a_block_of_the_runbook_to_look_changes_nothing() {
    let runbook = page("infra/runbook.md");
    let (mut looking, mut changing) = (0, 0);
    for block in runbook.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let commands = commands(block);
        let known: Vec<bool> = commands.iter().filter_map(|command| only_looks(command)).collect();
        let all_look = known.iter().all(|looks| *looks);
        assert!(all_look || known.iter().all(|looks| !looks), "one block looks and changes:\n{block}");
        // One order or another, never one after the other.
        let orders = commands.iter().filter(|command| command.starts_with("docket resolve")).count();
        assert!(orders <= 1, "one block gives {orders} orders:\n{block}");
        if !known.is_empty() {
            *if all_look { &mut looking } else { &mut changing } += 1;
        }
    }
    assert!(looking >= 12 && changing >= 25, "{looking} look, {changing} change");
    for (block, found) in [
        ("docket show DK-1\ndocket recheck DK-1\n", vec![Some(true), Some(false)]),
        ("aws sqs \\\n  start-message-move-task --source-arn ARN\n", vec![Some(false)]),
        ("f() { # what it does\n  aws dynamodb put-item\n  aws x get-y; }\nf 1\n", vec![None]),
    ] {
        let told: Vec<Option<bool>> = commands(block).iter().map(|command| only_looks(command)).collect();
        assert_eq!(told, found, "{block}");
    }
}
