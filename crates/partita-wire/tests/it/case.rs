//! The corpus: requests and their answers, as text.
//!
//! ```text
//! -- what the case shows
//! ~ text: why DynamoDB Local words it otherwise
//! GetItem {"TableName": "tab"}
//! = name /Pointer/Into/The/Answer
//! 400 {"__type": "…", "message": "…"}
//! ```
//!
//! A line that begins with `=` keeps a part of the answer, which later requests of the file name
//! as `<name>`: ARNs and iterators, say, which differ from server to server.
//!
//! A file runs from top to bottom on one store. The second line is there only where DynamoDB
//! Local, asked the same, says something else, and says why we keep the difference: `text` if
//! only the error's message differs, `answer` if more does. `UPDATE=1` rewrites the last line.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::Value as Json;

/// One request, and what comes back.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) title: String,
    pub(crate) difference: Option<(Difference, String)>,
    pub(crate) operation: String,
    pub(crate) body: String,
    pub(crate) kept: Vec<(String, String)>,
    pub(crate) answer: Answer,
}

/// What a file has kept of its answers so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(HashMap<String, String>);

impl Kept {
    /// The case with what its body names.
    pub(crate) fn fill(&self, case: &Case) -> Case {
        let mut case = case.clone();
        for (name, value) in &self.0 {
            case.body = case.body.replace(&format!("<{name}>"), value);
        }
        case
    }

    pub(crate) fn keep(&mut self, case: &Case, answer: &Answer) {
        let json = answer.json();
        for (name, pointer) in &case.kept {
            let value = json.pointer(pointer).and_then(Json::as_str);
            let value = value.unwrap_or_else(|| panic!("{}: no {pointer} in {json}", case.title));
            self.0.insert(name.clone(), value.to_owned());
        }
    }
}

/// How much of DynamoDB Local's answer is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Text,
    Answer,
}

/// A status and a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or(Json::Null)
    }
}

/// The files of the corpus.
pub(crate) fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

pub(crate) fn parse(text: &str) -> Vec<Case> {
    let blocks = text.split("\n\n").map(str::trim);
    blocks
        .filter(|block| !block.is_empty())
        .map(block)
        .collect()
}

fn block(text: &str) -> Case {
    let mut lines = text.lines().peekable();
    let title = lines.next().and_then(|line| line.strip_prefix("-- "));
    let title = title.unwrap_or_else(|| panic!("a case begins with `-- `: {text}"));
    let difference = lines
        .next_if(|line| line.starts_with("~ "))
        .map(|line| difference(&line[2..]));
    let (operation, body) = lines.next().unwrap().split_once(' ').unwrap();
    let mut kept = Vec::new();
    while let Some(line) = lines.next_if(|line| line.starts_with("= ")) {
        let (name, pointer) = line[2..].split_once(' ').unwrap();
        kept.push((name.to_owned(), pointer.to_owned()));
    }
    // A new case has no answer yet; `UPDATE=1` writes it. An answer may be empty.
    let line = lines.next().unwrap_or("0");
    let (status, answer) = line.split_once(' ').unwrap_or((line, ""));
    assert_eq!(lines.next(), None, "in {text}");
    Case {
        title: title.to_owned(),
        difference,
        operation: operation.to_owned(),
        body: body.to_owned(),
        kept,
        answer: Answer {
            status: status.parse().unwrap(),
            body: answer.to_owned(),
        },
    }
}

fn difference(line: &str) -> (Difference, String) {
    let (kind, reason) = line.split_once(": ").unwrap();
    let kind = match kind {
        "text" => Difference::Text,
        "answer" => Difference::Answer,
        _ => panic!("`{kind}` is no kind of difference"),
    };
    (kind, reason.to_owned())
}

pub(crate) fn print(cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        if !text.is_empty() {
            text.push('\n');
        }
        writeln!(text, "-- {}", case.title).unwrap();
        if let Some((kind, reason)) = &case.difference {
            let kind = match kind {
                Difference::Text => "text",
                Difference::Answer => "answer",
            };
            writeln!(text, "~ {kind}: {reason}").unwrap();
        }
        writeln!(text, "{} {}", case.operation, case.body).unwrap();
        for (name, pointer) in &case.kept {
            writeln!(text, "= {name} {pointer}").unwrap();
        }
        let answer = format!("{} {}", case.answer.status, case.answer.body);
        writeln!(text, "{}", answer.trim_end()).unwrap();
    }
    text
}
