//! Who is there, what they have, and a request for every route: `access/*.calls`.
//!
//! | line | meaning |
//! |---|---|
//! | `stranger ID`, `admin ID` | two callers who own nothing |
//! | `item PK \| SK \| {…}` | an item that is there before the server starts |
//! | `with NAME = ulid` | `$NAME` stands for another ULID each time; also `uuid`, `date`, `name`, or any text |
//! | `given REQUEST` | a request, in the words of scenarios, that must succeed |
//! | `learn NAME = POINTER of REQUEST` | the same, and `$NAME` is what the answer has there |
//! | `probe REQUEST` | a request of somebody who may; the lines below it, indented, come before |
//! | `probe open REQUEST` | where a rule depends on the item: this one is open to those who do not own it |
//! | `probe closed REQUEST` | this one is not |
//! | `probe some REQUEST` | of this list, those who do not own it see some rows, and not all |
//! | `file NAME for REQUEST` | a file that whoever may do this may read; also `for closed …` |

use std::collections::BTreeMap;
use std::path::Path;

use crate::scenario::{self, Verb};

/// A file of calls.
#[derive(Debug, Default)]
pub(crate) struct Cast {
    pub(crate) stranger: String,
    pub(crate) admin: String,
    /// Partition key, sort key and attributes.
    pub(crate) items: Vec<[String; 3]>,
    names: Vec<(String, String)>,
    pub(crate) before: Vec<Step>,
    pub(crate) probes: Vec<Probe>,
    /// The name of a file, and a read of the item that names it.
    pub(crate) file: Option<(String, Probe)>,
}

/// Something that is done so that a probe can succeed.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) request: String,
    /// What to call a part of the answer, and where it stands.
    pub(crate) learn: Option<(String, String)>,
}

/// A request that shows what a route does.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) line: usize,
    pub(crate) request: String,
    /// What is asked for, `$` and all.
    pub(crate) verb: Verb,
    /// Whether the item is open to those who do not own it, where that depends on the item.
    pub(crate) is_open: Option<bool>,
    /// Whether some rows of a list are open to them, and others are not.
    pub(crate) is_partial: bool,
    pub(crate) before: Vec<Step>,
}

/// What `$` stands for.
pub(crate) type Names = BTreeMap<String, String>;

impl Cast {
    /// The calls of a design.
    pub(crate) fn load(design: &str) -> Cast {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/it/access")
            .join(format!("{design}.calls"));
        let mut cast = Cast::default();
        for (index, raw) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
            let line = raw.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (word, rest) = line.split_once(' ').unwrap();
            let is_inside = raw.starts_with("  ");
            match word {
                "stranger" => cast.stranger = rest.to_owned(),
                "admin" => cast.admin = rest.to_owned(),
                "item" => {
                    let parts: Vec<String> = rest.splitn(3, " | ").map(str::to_owned).collect();
                    cast.items.push(parts.try_into().unwrap());
                }
                "with" => {
                    let (name, kind) = rest.split_once(" = ").unwrap();
                    cast.names.push((name.to_owned(), kind.to_owned()));
                }
                "given" | "learn" => {
                    let step = Step::parse(word, rest);
                    match cast.probes.last_mut().filter(|_| is_inside) {
                        Some(probe) => probe.before.push(step),
                        None => cast.before.push(step),
                    }
                }
                "file" => {
                    let (name, read) = rest.split_once(" for ").unwrap();
                    cast.file = Some((name.to_owned(), Probe::parse(index + 1, read)));
                }
                "probe" => cast.probes.push(Probe::parse(index + 1, rest)),
                other => panic!("{design}.calls:{}: `{other}`", index + 1),
            }
        }
        cast
    }

    /// The names of the `turn`th set of items; no two have the same.
    pub(crate) fn names(&self, turn: usize) -> Names {
        let names = self.names.iter().enumerate();
        let names = names.map(|(index, (name, kind))| {
            (name.clone(), made(kind, name, (turn + 1) * 100 + index))
        });
        names.collect()
    }
}

/// A value of a kind, another one for each number.
pub(crate) fn made(kind: &str, name: &str, number: usize) -> String {
    match kind {
        "ulid" => format!("01JGFJJZ00{number:016}"),
        "uuid" => format!("00000000-0000-4000-8000-1{number:011x}"),
        "date" => {
            let day = i64::try_from(number).unwrap() * 86_400_000;
            partita_design::time::format_millis(day)[..10].to_owned()
        }
        "name" => format!("{name}{number}"),
        text => text.to_owned(),
    }
}

impl Step {
    fn parse(word: &str, rest: &str) -> Step {
        let Some((name, rest)) = rest.split_once(" = ").filter(|_| word == "learn") else {
            return Step {
                request: rest.to_owned(),
                learn: None,
            };
        };
        let (pointer, request) = rest.split_once(" of ").unwrap();
        Step {
            request: request.to_owned(),
            learn: Some((name.to_owned(), pointer.to_owned())),
        }
    }
}

impl Probe {
    fn parse(line: usize, rest: &str) -> Probe {
        let (is_open, request) = match rest.split_once(' ') {
            Some(("open" | "some", request)) => (Some(true), request),
            Some(("closed", request)) => (Some(false), request),
            _ => (None, rest),
        };
        Probe {
            line,
            request: request.to_owned(),
            verb: scenario::request(request).unwrap().verb,
            is_open,
            is_partial: rest.starts_with("some "),
            before: Vec::new(),
        }
    }
}
