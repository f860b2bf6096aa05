//! Scenarios as text: parsed here, carried out by a [`Driver`], judged line by line.
//!
//! `designs/stories/scenarios/README.md` describes the language.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use partita_core::{Item, plain};
use partita_design::Design;
use partita_plan::{Caller, Partita, UploadLimits};
use partita_store::Store;
use partita_store::request::{DeleteItem, PutItem, ReturnValues, Scan};
use partita_store::surroundings::ManualClock;
use partita_store::table::TableName;
use partita_verify::{Collected, Permission};
use serde_json::Value as Json;

use crate::stage::shelf::Shelf;

/// What callers may upload.
const UPLOADS: UploadLimits = UploadLimits {
    bytes: 1_000_000,
    open: 100,
};

/// One request of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) caller: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) verb: Verb,
}

#[derive(Clone, Debug)]
pub(crate) enum Verb {
    Create {
        entity: String,
        body: Json,
    },
    Get {
        entity: String,
        path: String,
        deleted: bool,
    },
    Update {
        entity: String,
        path: String,
        deleted: bool,
        version: Option<i64>,
        body: Json,
    },
    Upsert {
        entity: String,
        path: String,
        version: Option<i64>,
        body: Json,
    },
    Act {
        action: String,
        /// The entity and the path, unless the action finds its items itself.
        on: Option<(String, String)>,
        version: Option<i64>,
        body: Json,
    },
    Delete {
        entity: String,
        path: String,
    },
    Restore {
        entity: String,
        path: String,
    },
    Purge {
        entity: String,
        path: String,
    },
    Query {
        pattern: String,
        parameters: BTreeMap<String, String>,
    },
    /// Shows a token of another issuer with these claims, and asks for the caller's own account.
    Bring {
        claims: Json,
    },
}

/// What a driver saw.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    Done,
    Record(Json),
    Page(Vec<Json>, Option<String>),
    Refused { name: String, faults: Vec<String> },
}

/// Carries requests out: through the library, or over HTTP.
#[async_trait::async_trait]
pub(crate) trait Driver {
    async fn send(&self, request: &Request) -> Seen;
}

/// Where a scenario runs.
pub(crate) struct Stage {
    pub(crate) driver: Box<dyn Driver>,
    /// The same design in the hands of whoever runs it.
    pub(crate) operator: Partita,
    pub(crate) files: Arc<Shelf>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) table: TableName,
    pub(crate) design: Design,
    /// What the design calls its primary key.
    pub(crate) keys: [String; 2],
}

impl Stage {
    /// The primary key of an item, as text.
    fn key_of<'i>(&self, item: &'i Item) -> [&'i str; 2] {
        self.keys
            .each_ref()
            .map(|name| item[name].as_str().unwrap())
    }

    /// Everything in the table that is not as its sources say, one line each.
    pub(crate) async fn drifts(&self) -> Vec<String> {
        let found = self.verified().await;
        let lines = found.open.iter().map(|(drift, _)| drift.to_string());
        let mut lines: Vec<String> = lines.collect();
        lines.sort();
        lines
    }

    /// What the design does not recognise, one line each.
    async fn unrecognised(&self) -> Vec<String> {
        let found = self.verified().await;
        let lines = found.unrecognised.iter().map(|one| {
            let [partition, sort] = self.key_of(&one.key);
            match &one.attribute {
                Some((record, name)) => format!("{record} {partition} {sort}: {name}"),
                None => format!("{partition} {sort}"),
            }
        });
        let mut lines: Vec<String> = lines.collect();
        lines.sort();
        lines
    }

    async fn verified(&self) -> Collected {
        let mut found = Collected::default();
        partita_verify::verify(&self.design, &*self.store, &*self.clock, &mut found)
            .await
            .unwrap();
        found
    }
}

pub(crate) struct Scenario {
    pub(crate) file: String,
    pub(crate) title: String,
    lines: Vec<Line>,
}

struct Line {
    number: usize,
    text: String,
    /// The indented lines below: one record or item each.
    block: Vec<String>,
}

/// All scenarios of a design.
pub(crate) fn load(design: &str) -> Vec<Scenario> {
    load_from(&crate::stage::folder(design).join("scenarios"))
}

/// All scenarios in a folder.
fn load_from(folder: &Path) -> Vec<Scenario> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "scenario")
        })
        .collect();
    files.sort();
    files.iter().flat_map(|file| parse(file)).collect()
}

/// The scenarios of a file.
pub(crate) fn parse(path: &Path) -> Vec<Scenario> {
    let file = path.file_name().unwrap().to_string_lossy().into_owned();
    let mut scenarios: Vec<Scenario> = Vec::new();
    for (index, raw) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        let number = index + 1;
        let text = raw.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if let Some(title) = raw.strip_prefix("scenario ") {
            scenarios.push(Scenario {
                file: file.clone(),
                title: title.trim().to_owned(),
                lines: Vec::new(),
            });
            continue;
        }
        let scenario = scenarios
            .last_mut()
            .unwrap_or_else(|| panic!("{file}:{number}: a line before the first scenario"));
        let is_block = raw.starts_with("    ");
        match scenario.lines.last_mut() {
            Some(line) if is_block => line.block.push(text.to_owned()),
            _ => scenario.lines.push(Line {
                number,
                text: text.to_owned(),
                block: Vec::new(),
            }),
        }
    }
    scenarios
}

/// What a running scenario knows.
struct Run<'a> {
    stage: &'a Stage,
    names: BTreeMap<String, String>,
    last: Option<Seen>,
    before: Vec<Item>,
    /// The word that `and` stands for.
    word: String,
    /// Whether something happened that nothing was said of yet.
    unjudged: bool,
    /// What was not as the design says in items that were there before.
    inherited: Vec<String>,
}

impl Scenario {
    /// Runs the scenario; the error names the line.
    pub(crate) async fn run(&self, stage: &Stage) -> Result<(), String> {
        let mut run = Run {
            stage,
            names: BTreeMap::new(),
            last: None,
            before: Vec::new(),
            word: String::new(),
            unjudged: false,
            inherited: Vec::new(),
        };
        for line in &self.lines {
            run.step(line).await.map_err(|message| {
                format!("{}:{} ({})\n{message}", self.file, line.number, self.title)
            })?;
        }
        let (file, title) = (&self.file, &self.title);
        if run.unjudged {
            return Err(format!("{file} ({title}): the last `when` has no `then`"));
        }
        // Whatever happened, everything that is derived is as its sources say.
        let mut drifts = stage.drifts().await;
        drifts.retain(|drift| !run.inherited.contains(drift));
        if drifts.is_empty() {
            Ok(())
        } else {
            let drifts = drifts.join("\n");
            Err(format!("{file} ({title}): verify tells\n{drifts}"))
        }
    }
}

impl Run<'_> {
    async fn step(&mut self, line: &Line) -> Result<(), String> {
        let (word, rest) = line.text.split_once(' ').unwrap_or((&line.text, ""));
        let rest = rest.trim();
        if word == "with" {
            let (name, text) = rest.split_once(" = ").ok_or("write `with NAME = TEXT`")?;
            let text = match text.trim() {
                pointer if pointer.starts_with('/') => self.seen(pointer)?,
                text => text.to_owned(),
            };
            self.names.insert(name.trim().to_owned(), text);
            return Ok(());
        }
        let rest = self.replaced(rest);
        if word == "at" {
            let millis = partita_design::time::parse_millis(&rest).ok_or("not a time")?;
            self.stage.clock.set(millis);
            return Ok(());
        }
        let block: Vec<String> = line.block.iter().map(|text| self.replaced(text)).collect();
        if word != "and" {
            self.word = word.to_owned();
        }
        match self.word.as_str() {
            "given" | "when" if self.unjudged => Err("the `when` before has no `then`".to_owned()),
            "given" if rest.starts_with("the item ") => self.put(&rest).await,
            "given" if rest.starts_with("the operator ") => self.operate(&rest).await,
            "given" if rest.contains(" uploads ") => self.upload(&rest).await,
            "given" if rest.starts_with("a bug ") => {
                self.spoil(rest.trim_start_matches("a bug ")).await
            }
            "given" => {
                self.send(&rest).await?;
                match &self.last {
                    Some(Seen::Refused { name, .. }) => Err(format!("it was refused: {name}")),
                    _ => Ok(()),
                }
            }
            "when" => {
                self.unjudged = true;
                match rest.strip_prefix("a bug ") {
                    Some(rest) => self.spoil(rest).await,
                    None => self.send(&rest).await,
                }
            }
            "then" => {
                self.unjudged = false;
                self.judge(&rest, &block).await
            }
            other => Err(format!("`{other}` begins no line of a scenario")),
        }
    }

    /// A text in the record or the list that was shown last.
    fn seen(&self, pointer: &str) -> Result<String, String> {
        let shown = match &self.last {
            Some(Seen::Record(record)) => record.clone(),
            Some(Seen::Page(records, _)) => Json::Array(records.clone()),
            _ => Json::Null,
        };
        let found = shown.pointer(pointer).and_then(Json::as_str);
        let found = found.ok_or_else(|| format!("there is no text at `{pointer}`"))?;
        Ok(found.to_owned())
    }

    /// `the operator creates User {…}` or `the operator grants admin to root`: what whoever runs a
    /// design does before there is anybody whom its rules allow it.
    async fn operate(&mut self, text: &str) -> Result<(), String> {
        let usage = "write `the operator creates ENTITY {…}`, `the operator grants ROLE to USER` or \
                     `the operator runs the schedules`";
        let text = text.trim_start_matches("the operator ");
        let (head, body) = text.split_at(text.find('{').unwrap_or(text.len()));
        let words: Vec<&str> = head.split_whitespace().collect();
        let operator = &self.stage.operator;
        let done = match words.as_slice() {
            ["creates", entity] => {
                let body = json(body)?.as_object().cloned().unwrap_or_default();
                let body = plain::map_from_json(body).map_err(|error| error.to_string())?;
                operator.create_past_rules(entity, body).await
            }
            ["grants", role, "to", user] => operator.grant(user, role).await,
            ["runs", "the", "schedules"] => match operator.start_schedules().await {
                Ok(_) => operator.run_jobs().await.map(drop),
                Err(error) => Err(error),
            },
            _ => return Err(usage.to_owned()),
        };
        done.map_err(|error| error.to_string())
    }

    /// `ann uploads image/jpeg to temp as scan`: the bytes come, and `$scan` is the last part of the
    /// file's name from here on.
    async fn upload(&mut self, text: &str) -> Result<(), String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [caller, "uploads", kind, "to", prefix, "as", name] = words[..] else {
            return Err("write `CALLER uploads TYPE to PREFIX as NAME`".to_owned());
        };
        let stage = self.stage;
        let caller = Caller::user(decoded(caller));
        let upload = stage
            .operator
            .allow_upload(&caller, prefix, kind, Some(100), UPLOADS)
            .await
            .map_err(|error| error.to_string())?;
        stage.files.put(&upload.name);
        let arrived = stage.operator.arrived(&upload.bucket, &upload.name).await;
        let arrived = arrived.map_err(|error| error.to_string())?;
        let (_, last) = arrived.rsplit_once('/').ok_or("a name without a path")?;
        self.names.insert(name.to_owned(), last.to_owned());
        Ok(())
    }

    /// Puts an item into the table, past the design: data that was there before.
    async fn put(&mut self, text: &str) -> Result<(), String> {
        let text = text.trim_start_matches("the item ");
        let parts: Vec<_> = text.splitn(3, " | ").collect();
        let [partition, sort, attributes] = parts[..] else {
            return Err(format!("write `the item PK | SK | {{…}}`, not `{text}`"));
        };
        let attributes = json(attributes)?.as_object().cloned().unwrap_or_default();
        let mut item = plain::map_from_json(attributes).map_err(|error| error.to_string())?;
        let keys = self.stage.keys.iter().cloned();
        item.extend(keys.zip([partition.into(), sort.into()]));
        let put = PutItem::new(self.stage.table.clone(), item);
        let put = self.stage.store.put_item(put, ReturnValues::None).await;
        put.map_err(|error| error.to_string())?;
        self.inherited.extend(self.stage.drifts().await);
        Ok(())
    }

    /// `writes PK | SK | {…}`: changes some attributes of an item, or puts it, past the design; a
    /// null removes one. `loses PK | SK`: removes it.
    async fn spoil(&mut self, text: &str) -> Result<(), String> {
        let usage = "write `a bug writes PK | SK | {…}` or `a bug loses PK | SK`";
        let (word, rest) = text.split_once(' ').ok_or(usage)?;
        let parts: Vec<_> = rest.splitn(3, " | ").collect();
        let (table, store) = (self.stage.table.clone(), &self.stage.store);
        let key = |partition: &str, sort: &str| -> Item {
            let keys = self.stage.keys.iter().cloned();
            keys.zip([partition.into(), sort.into()]).collect()
        };
        let done = match (word, parts.as_slice()) {
            ("writes", [partition, sort, changes]) => {
                let key = key(partition, sort);
                let items = self.items().await;
                let is_it = |item: &&Item| self.stage.key_of(item) == [*partition, *sort];
                let found = items.iter().find(is_it).cloned().unwrap_or_default();
                let mut found = Json::Object(plain::map_to_json(&found));
                merge(&mut found, json(changes)?);
                let found = found.as_object().cloned().unwrap_or_default();
                let mut item = plain::map_from_json(found).map_err(|error| error.to_string())?;
                item.extend(key);
                let put = PutItem::new(table, item);
                store.put_item(put, ReturnValues::None).await
            }
            ("loses", [partition, sort]) => {
                let delete = DeleteItem {
                    table,
                    key: key(partition, sort),
                    condition: None,
                    return_item_on_failure: false,
                };
                store.delete_item(delete, ReturnValues::None).await
            }
            _ => return Err(usage.to_owned()),
        };
        done.map(drop).map_err(|error| error.to_string())
    }

    /// `5`, `1, leaves 2` or `1, removing view.V`: how much a repair mends, how much is still wrong
    /// then, and what the operator has named.
    async fn judge_repair(&self, text: &str) -> Result<(), String> {
        let stage = self.stage;
        let mut found = Collected::default();
        let (text, places) = text.split_once(", removing ").unwrap_or((text, ""));
        let places = places.split(" and ").filter(|place| !place.is_empty());
        let all = places.fold(Permission::granted(), Permission::to_remove);
        let (design, store) = (&stage.design, &*stage.store);
        let report = partita_verify::repair(design, store, &*stage.clock, all, &mut found)
            .await
            .unwrap();
        let got = match report.drifts {
            0 => report.mended.to_string(),
            left => format!("{}, leaves {left}", report.mended),
        };
        let mended: Vec<String> = found.mended.iter().map(ToString::to_string).collect();
        same(&got, text).map_err(|error| format!("{error}\n{}", mended.join("\n")))
    }

    /// Longer names first, so that `$dune2` is not read as `$dune`.
    fn replaced(&self, text: &str) -> String {
        let mut names: Vec<_> = self.names.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names
            .into_iter()
            .fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("${name}"), value)
            })
    }

    async fn send(&mut self, text: &str) -> Result<(), String> {
        let request = request(text)?;
        self.before = self.items().await;
        let seen = self.stage.driver.send(&request).await;
        if let Seen::Page(_, Some(cursor)) = &seen {
            self.names.insert("cursor".to_owned(), cursor.clone());
        }
        self.last = Some(seen);
        Ok(())
    }

    async fn judge(&mut self, text: &str, block: &[String]) -> Result<(), String> {
        match text {
            "the table holds" => return self.judge_table(block).await,
            "nothing changed" => {
                let now = self.items().await;
                return same(&self.listed(&now), &self.listed(&self.before));
            }
            "verify tells" | "verify tells nothing" => {
                let mut expected = block.to_vec();
                expected.sort();
                return same(&self.stage.drifts().await.join("\n"), &expected.join("\n"));
            }
            "these mails wait" => return self.judge_mails(block).await,
            "verify does not recognise" => {
                let mut expected = block.to_vec();
                expected.sort();
                let found = self.stage.unrecognised().await;
                return same(&found.join("\n"), &expected.join("\n"));
            }
            _ => {}
        }
        if let Some(rest) = text.strip_prefix("repair mends ") {
            return self.judge_repair(rest).await;
        }
        if let Some(file) = text.strip_prefix("there is a file ") {
            return self.judge_file(file, true);
        }
        if let Some(file) = text.strip_prefix("there is no file ") {
            return self.judge_file(file, false);
        }
        match text.split_once(' ') {
            Some(("the", item)) => return self.judge_item(item).await,
            Some(("there", rest)) => return self.judge_beginnings(rest).await,
            _ => {}
        }
        let last = self.last.as_ref().ok_or("nothing has happened yet")?;
        let (expected, more) = match text.split_once(' ').unwrap_or((text, "")) {
            ("done", "") => (Seen::Done, false),
            ("shows", body) => return shows(last, &json(body)?),
            ("returns", body) => (Seen::Record(json(body)?), false),
            ("lists", "") => (Seen::Page(records(block)?, None), false),
            ("lists,", "with more") => (Seen::Page(records(block)?, None), true),
            ("refused", rest) => (refusal(rest), false),
            _ => return Err(format!("`{text}` is nothing that can be judged")),
        };
        let mut seen = last.clone();
        if let (Seen::Page(_, cursor), true) = (&mut seen, more) {
            cursor.take().ok_or("there is no further page")?;
        }
        same(&format!("{seen:#?}"), &format!("{expected:#?}"))
    }

    async fn judge_table(&self, block: &[String]) -> Result<(), String> {
        let mut expected = Vec::new();
        for line in block {
            let parts: Vec<_> = line.splitn(3, " | ").collect();
            let [partition, sort, attributes] = parts[..] else {
                return Err(format!("write `PK | SK | {{…}}`, not `{line}`"));
            };
            expected.push(format!("{partition} | {sort} | {}", json(attributes)?));
        }
        expected.sort();
        same(&self.listed(&self.items().await), &expected.join("\n"))
    }

    /// `ADDRESS | SUBJECT`, one a line, in any order.
    async fn judge_mails(&self, block: &[String]) -> Result<(), String> {
        let waiting = self.stage.operator.outbox(1000).await;
        let waiting = waiting.map_err(|error| error.to_string())?;
        let mails = waiting
            .iter()
            .filter_map(|one| Some((one.to.as_ref()?, &one.what)));
        let mut mails: Vec<String> = mails.map(|(to, what)| format!("{to} | {what}")).collect();
        mails.sort();
        let mut expected = block.to_vec();
        expected.sort();
        same(&mails.join("\n"), &expected.join("\n"))
    }

    /// Whether a file of this name is kept.
    fn judge_file(&self, name: &str, is_there: bool) -> Result<(), String> {
        if self.stage.files.has(name) == is_there {
            Ok(())
        } else {
            Err(format!("it is otherwise with the file `{name}`"))
        }
    }

    /// `item PK | SK | {…}`: the item is there, and these of its attributes are so.
    async fn judge_item(&self, text: &str) -> Result<(), String> {
        let text = text
            .strip_prefix("item ")
            .ok_or("write `the item PK | SK | {…}`")?;
        let parts: Vec<_> = text.splitn(3, " | ").collect();
        let [partition, sort, attributes] = parts[..] else {
            return Err(format!("write `the item PK | SK | {{…}}`, not `{text}`"));
        };
        let items = self.items().await;
        let is_it = |item: &&Item| self.stage.key_of(item) == [partition, sort];
        let Some(item) = items.iter().find(is_it) else {
            return Err(format!("there is no such item\n{}", self.listed(&items)));
        };
        let found = Json::Object(plain::map_to_json(item));
        includes(&found, &json(attributes)?)
    }

    /// `are 2 items under PK | SK-PREFIX`
    async fn judge_beginnings(&self, text: &str) -> Result<(), String> {
        let text = text.trim_start_matches("are ").trim_start_matches("is ");
        let usage = "write `there are 2 items under PK | beginning of SK`";
        let (count, rest) = text.split_once(' ').ok_or(usage)?;
        let rest = rest
            .trim_start_matches("items under ")
            .trim_start_matches("item under ");
        let (partition, prefix) = rest.split_once(" |").ok_or(usage)?;
        let prefix = prefix.trim_start();
        let expected = match count {
            "no" => 0,
            count => count.parse::<usize>().map_err(|_| usage)?,
        };
        let items = self.items().await;
        let found = items
            .iter()
            .map(|item| self.stage.key_of(item))
            .filter(|[pk, sk]| *pk == partition && sk.starts_with(prefix))
            .count();
        if found == expected {
            Ok(())
        } else {
            Err(format!("there are {found}\n{}", self.listed(&items)))
        }
    }

    /// The items as a scenario writes them, sorted.
    fn listed(&self, items: &[Item]) -> String {
        let lines = items.iter().map(|item| {
            let [partition, sort] = self.stage.key_of(item);
            let mut attributes = plain::map_to_json(item);
            for name in &self.stage.keys {
                attributes.remove(name);
            }
            format!("{partition} | {sort} | {}", Json::Object(attributes))
        });
        let mut lines: Vec<String> = lines.collect();
        lines.sort();
        lines.join("\n")
    }

    async fn items(&self) -> Vec<Item> {
        let mut items = Vec::new();
        let mut scan = Scan::new(self.stage.table.clone());
        loop {
            let page = self.stage.store.scan(scan.clone()).await.unwrap();
            let page = page.answer.into_parts().unwrap();
            items.extend(page.items);
            match page.last_key {
                None => return items,
                last_key => scan.start_after = last_key,
            }
        }
    }
}

/// Whether a record, or each record of a page in its order, has these attributes among others.
fn shows(seen: &Seen, expected: &Json) -> Result<(), String> {
    match (seen, expected) {
        (Seen::Record(record), expected) => includes(record, expected),
        (Seen::Page(records, _), Json::Array(expected)) if records.len() == expected.len() => {
            let mut pairs = records.iter().zip(expected);
            pairs.try_for_each(|(record, expected)| includes(record, expected))
        }
        _ => Err(format!("it is otherwise: {seen:#?}")),
    }
}

fn includes(found: &Json, expected: &Json) -> Result<(), String> {
    let has = |found: &Json, expected: &Json| match (found, expected) {
        (Json::Object(_), Json::Object(_)) => includes(found, expected).is_ok(),
        _ => found == expected,
    };
    let (Json::Object(all), Json::Object(some)) = (found, expected) else {
        return same(&found.to_string(), &expected.to_string());
    };
    for (name, expected) in some {
        let is_so = match (all.get(name), expected) {
            (None, Json::Null) => true,
            (Some(found), expected) => has(found, expected),
            (None, _) => false,
        };
        if !is_so {
            return Err(format!("`{name}` is not {expected} in\n{found:#}"));
        }
    }
    Ok(())
}

/// Puts what is given over what is there, attribute by attribute; a null removes one.
fn merge(there: &mut Json, given: Json) {
    match (there, given) {
        (Json::Object(there), Json::Object(given)) => {
            for (name, value) in given {
                match value {
                    Json::Null => {
                        there.remove(&name);
                    }
                    value => merge(there.entry(name).or_insert(Json::Null), value),
                }
            }
        }
        (there, given) => *there = given,
    }
}

fn same(got: &str, expected: &str) -> Result<(), String> {
    if got == expected {
        Ok(())
    } else {
        Err(format!("--- got\n{got}\n--- expected\n{expected}"))
    }
}

/// `ann updates Story ann/1 deleted=include {"title": "x"}`
pub(crate) fn request(text: &str) -> Result<Request, String> {
    let (head, body) = match text.find('{') {
        Some(at) => (&text[..at], Some(json(&text[at..])?)),
        None => (text, None),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let [caller, verb, target, rest @ ..] = words.as_slice() else {
        return Err(format!("`{text}` is no request"));
    };
    let entity = (*target).to_owned();
    let deleted = rest.contains(&"deleted=include");
    let version = rest.iter().find_map(|word| word.strip_prefix("version="));
    let version = version.and_then(|text| text.parse().ok());
    let path = || {
        rest.first()
            .map(|path| (*path).to_owned())
            .ok_or("which one?")
    };
    let body = || body.clone().ok_or("the attributes are missing");
    let verb = match *verb {
        "creates" => Verb::Create {
            entity,
            body: body()?,
        },
        "gets" => Verb::Get {
            entity,
            path: path()?,
            deleted,
        },
        "updates" => Verb::Update {
            entity,
            path: path()?,
            deleted,
            version,
            body: body()?,
        },
        "puts" => Verb::Upsert {
            entity,
            path: path()?,
            version,
            body: body()?,
        },
        "does" => Verb::Act {
            action: entity,
            on: match rest {
                ["to", entity, path, ..] => Some(((*entity).to_owned(), (*path).to_owned())),
                _ => None,
            },
            version,
            body: body().unwrap_or_else(|_| Json::Object(Default::default())),
        },
        "deletes" => Verb::Delete {
            entity,
            path: path()?,
        },
        "restores" => Verb::Restore {
            entity,
            path: path()?,
        },
        "purges" => Verb::Purge {
            entity,
            path: path()?,
        },
        "queries" => Verb::Query {
            pattern: entity,
            parameters: parameters(rest)?,
        },
        "brings" if entity == "a" && rest == ["token"] => Verb::Bring { claims: body()? },
        other => return Err(format!("nobody knows how one `{other}`")),
    };
    let (caller, role) = match caller.split_once('/') {
        Some((caller, role)) => (caller, Some(role.to_owned())),
        None => (*caller, None),
    };
    let caller = (caller != "nobody").then(|| decoded(caller));
    Ok(Request { caller, role, verb })
}

fn parameters(words: &[&str]) -> Result<BTreeMap<String, String>, String> {
    words
        .iter()
        .map(|word| {
            let (name, value) = word.split_once('=').ok_or("write NAME=VALUE")?;
            Ok((name.to_owned(), decoded(value)))
        })
        .collect()
}

pub(crate) fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .unwrap()
        .into_owned()
}

fn refusal(text: &str) -> Seen {
    let (name, faults) = text.split_once(": ").unwrap_or((text, ""));
    let mut faults: Vec<String> = faults
        .split(", ")
        .filter(|fault| !fault.is_empty())
        .map(str::to_owned)
        .collect();
    faults.sort();
    let name = name.to_owned();
    Seen::Refused { name, faults }
}

fn records(block: &[String]) -> Result<Vec<Json>, String> {
    block.iter().map(|line| json(line)).collect()
}

fn json(text: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|error| format!("{error} in {text}"))
}
