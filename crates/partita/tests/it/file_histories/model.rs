//! Who should have which bytes, and what can be done next.

use std::collections::BTreeMap;

use partita_core::{Item, Map, Value, plain};
use partita_plan::Operation;
use serde_json::{Value as Json, json};

/// Bytes by the kind and the id of the item that names them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    pub(super) items: BTreeMap<(String, String), Vec<u64>>,
    titles: BTreeMap<String, String>,
    published: BTreeMap<String, bool>,
    /// When pins expire, in seconds since 1970.
    until: BTreeMap<String, i64>,
    texts: u64,
}

/// Something that is done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    Photo,
    Note(String),
    DropNote(String),
    /// A pin of the user's photo, and when it expires.
    Pin(String, i64),
    /// A pin with a photo of its own.
    OwnPin(String, i64),
    /// A pin expires at another time.
    PutOff(String, i64),
    DropPin(String),
    DropUser,
    Draft(String, String, usize),
    DropDraft(String),
    Publish(String),
    Lend(String),
    Copy(String, String),
    Revert(String),
    Text(String),
    Scans(String),
    Move(String, String),
    DropLetter(String),
    Wait(i64),
}

impl Act {
    /// The prefixes of the uploads that it needs.
    pub(super) fn uploads(&self) -> Vec<&'static str> {
        match self {
            Act::Photo | Act::OwnPin(..) => vec!["photos"],
            Act::Draft(_, _, scans) => vec!["temp"; *scans],
            Act::Scans(_) => vec!["letters"],
            _ => Vec::new(),
        }
    }
}

const TITLES: [&str; 4] = ["a", "b", "c", "d"];

impl Model {
    /// Something that could be done now.
    pub(super) fn next(&self, random: &mut fastrand::Rng, now_seconds: i64) -> Option<Act> {
        if random.u8(0..6) == 0 {
            return Some(self.next_pin(random, now_seconds));
        }
        let pick = |random: &mut fastrand::Rng, kind: &str| {
            let all = self.items.keys().filter(|(one, _)| one == kind);
            random.choice(all.map(|(_, id)| id.clone()).collect::<Vec<_>>())
        };
        let free = |random: &mut fastrand::Rng| {
            let titles = TITLES.iter().filter(|title| !self.has("Letter", title));
            random
                .choice(titles.collect::<Vec<_>>())
                .map(|title| (*title).to_owned())
        };
        Some(match random.u8(0..22) {
            0 | 1 => Act::Photo,
            2 | 3 if self.has("User", "ann") => {
                let id = random.u8(0..6).to_string();
                if self.has("Note", &id) {
                    Act::DropNote(id)
                } else {
                    Act::Note(id)
                }
            }
            4 => Act::DropNote(pick(random, "Note")?),
            5 if self.has("User", "ann") && random.bool() => Act::DropUser,
            6..=8 => {
                let id = random.u8(0..4).to_string();
                let title = TITLES[random.usize(0..TITLES.len())].to_owned();
                if self.has("Draft", &id) {
                    Act::DropDraft(id)
                } else {
                    Act::Draft(id, title, random.usize(1..3))
                }
            }
            9..=11 => Act::Publish(pick(random, "Draft")?),
            12 | 13 => Act::Lend(pick(random, "Draft")?),
            14 | 15 => Act::Copy(pick(random, "Letter")?, free(random)?),
            16 => Act::Revert(pick(random, "Letter")?),
            17 => Act::Text(pick(random, "Letter")?),
            18 => Act::Scans(pick(random, "Letter")?),
            19 => Act::Move(pick(random, "Letter")?, free(random)?),
            20 => Act::DropLetter(pick(random, "Letter")?),
            _ => Act::Wait(random.i64(1..40)),
        })
    }

    fn next_pin(&self, random: &mut fastrand::Rng, now_seconds: i64) -> Act {
        let id = random.u8(0..3).to_string();
        let until = now_seconds + random.i64(1..60) * 3_600;
        if !self.has("Pin", &id) {
            return if self.has("User", "ann") && random.bool() {
                Act::Pin(id, until)
            } else {
                Act::OwnPin(id, until)
            };
        }
        match random.u8(0..5) {
            0 => Act::DropPin(id),
            _ => Act::PutOff(id, until),
        }
    }

    /// Whether all items that were found are as this says, by the times at which they expire too.
    pub(super) fn is(&self, found: &Model) -> bool {
        let pins = self.items.keys().filter(|(kind, _)| kind == "Pin");
        let mut until = pins.map(|(_, id)| id);
        self.items == found.items && until.all(|id| self.until.get(id) == found.until.get(id))
    }

    /// Notes down an item that was found.
    pub(super) fn add(&mut self, row: Row, bytes: Vec<u64>) {
        if let Some(until) = row.until {
            self.until.insert(row.id.clone(), until);
        }
        self.items.insert((row.kind, row.id), bytes);
    }

    /// Forgets the pins that have expired.
    pub(super) fn expire(&mut self, now_seconds: i64) {
        let until = &self.until;
        self.items.retain(|(kind, id), _| {
            kind != "Pin" || until.get(id).is_some_and(|until| *until >= now_seconds)
        });
    }

    /// Whether a draft is there and not published.
    fn is_open(&self, draft: &str) -> bool {
        self.has("Draft", draft) && self.published.get(draft) == Some(&false)
    }

    fn has(&self, kind: &str, id: &str) -> bool {
        self.items.contains_key(&key(kind, id))
    }

    /// What an act makes of all this, and the operation that does it; none where it cannot be done.
    pub(super) fn apply(
        &mut self,
        act: &Act,
        uploads: &[(String, u64)],
        version: Option<&(String, Vec<u64>)>,
    ) -> Option<Operation> {
        let names: Vec<&str> = uploads.iter().map(|(name, _)| name.as_str()).collect();
        let bytes: Vec<u64> = uploads.iter().map(|(_, bytes)| *bytes).collect();
        match act {
            Act::Copy(_, to) | Act::Move(_, to) if self.has("Letter", to) => None,
            Act::Revert(title) | Act::Text(title) | Act::Scans(title)
                if !self.has("Letter", title) =>
            {
                None
            }
            Act::Note(id) if self.has("Note", id) => None,
            Act::Pin(id, _) | Act::OwnPin(id, _) if self.has("Pin", id) => None,
            Act::Draft(id, ..) if self.has("Draft", id) => None,
            Act::Photo => {
                self.items.insert(key("User", "ann"), bytes);
                let attributes = map(json!({"photo": names[0]}));
                Some(Operation::Upsert {
                    entity: "User".to_owned(),
                    identity: vec!["ann".to_owned()],
                    attributes,
                    version: None,
                })
            }
            Act::Note(id) => {
                let photo = self.items.get(&key("User", "ann"))?.clone();
                self.items.insert(key("Note", id), photo);
                Some(create("Note", json!({"noteId": id})))
            }
            Act::DropNote(id) => {
                self.items.remove(&key("Note", id))?;
                Some(delete("Note", &["ann", id]))
            }
            Act::Pin(id, until) => {
                let photo = self.items.get(&key("User", "ann"))?.clone();
                self.items.insert(key("Pin", id), photo);
                self.until.insert(id.clone(), *until);
                let given = json!({"pinId": id, "until": until});
                Some(act_on("pin", "User", "ann", given))
            }
            Act::OwnPin(id, until) => {
                self.items.insert(key("Pin", id), bytes);
                self.until.insert(id.clone(), *until);
                let pin = json!({"pinId": id, "photo": names[0], "until": until});
                Some(create("Pin", pin))
            }
            Act::PutOff(id, until) => {
                self.items.get(&key("Pin", id))?;
                self.until.insert(id.clone(), *until);
                let changes = json!({"until": until});
                Some(update("Pin", &["ann", id], changes))
            }
            Act::DropPin(id) => {
                self.items.remove(&key("Pin", id))?;
                Some(delete("Pin", &["ann", id]))
            }
            Act::DropUser => {
                self.items
                    .retain(|(kind, _), _| kind != "User" && kind != "Note");
                Some(delete("User", &["ann"]))
            }
            Act::Draft(id, title, _) => {
                self.items.insert(key("Draft", id), bytes);
                self.titles.insert(id.clone(), title.clone());
                self.published.insert(id.clone(), false);
                let draft = json!({"draftId": id, "title": title, "scans": names});
                Some(create("Draft", draft))
            }
            Act::DropDraft(id) => {
                self.items.remove(&key("Draft", id))?;
                Some(delete("Draft", &[id]))
            }
            Act::Publish(id) | Act::Lend(id) if !self.is_open(id) => None,
            Act::Publish(id) => {
                let scans = self.items.insert(key("Draft", id), Vec::new())?;
                self.items
                    .insert(key("Letter", self.titles.get(id)?), scans);
                self.published.insert(id.clone(), true);
                Some(act_on("publish", "Draft", id, json!({})))
            }
            Act::Lend(id) => {
                let scans = self.items.get(&key("Draft", id))?.clone();
                self.items
                    .insert(key("Letter", self.titles.get(id)?), scans);
                Some(act_on("lend", "Draft", id, json!({})))
            }
            Act::Copy(from, to) => {
                let scans = self.items.get(&key("Letter", from))?.clone();
                self.items.insert(key("Letter", to), scans);
                Some(act_on("copy", "Letter", from, json!({"as": to})))
            }
            Act::Revert(title) => {
                let (at, bytes) = version?;
                self.items.insert(key("Letter", title), bytes.clone());
                Some(act_on("revert", "Letter", title, json!({"at": at})))
            }
            Act::Text(title) => {
                self.texts += 1;
                Some(update(
                    "Letter",
                    &[title],
                    json!({"text": self.texts.to_string()}),
                ))
            }
            Act::Scans(title) => {
                self.items.insert(key("Letter", title), bytes);
                Some(update("Letter", &[title], json!({"scans": names})))
            }
            Act::Move(from, to) => {
                let scans = self.items.remove(&key("Letter", from))?;
                self.items.insert(key("Letter", to), scans);
                Some(update("Letter", &[from], json!({"title": to})))
            }
            Act::DropLetter(title) => {
                self.items.remove(&key("Letter", title))?;
                Some(delete("Letter", &[title]))
            }
            Act::Wait(_) => None,
        }
    }
}

/// A row of the table: what it is, and which files it names.
pub(super) struct Row {
    pub(super) kind: String,
    pub(super) id: String,
    /// The time of a state.
    pub(super) at: String,
    pub(super) names: Vec<String>,
    /// When it expires, in seconds since 1970.
    pub(super) until: Option<i64>,
}

pub(super) fn row(item: &Item) -> Option<Row> {
    let text = |name: &str| Some(item.get(name)?.as_str()?.to_owned());
    let sort = text("SK")?;
    let (kind, id) = match sort.split('#').next()? {
        "PROFILE" => ("User", text("userId")?),
        "NOTE" => ("Note", text("noteId")?),
        "PIN" => ("Pin", text("pinId")?),
        "METADATA" => ("Draft", text("draftId")?),
        "CURRENT" => ("Letter", text("title")?),
        "VERSION" => ("Version", text("title")?),
        other => panic!("a row of {other}"),
    };
    let mut names: Vec<String> = text("photo").into_iter().collect();
    if let Some(Value::L(scans)) = item.get("scans") {
        names.extend(
            scans
                .iter()
                .filter_map(|one| Some(one.as_str()?.to_owned())),
        );
    }
    Some(Row {
        kind: kind.to_owned(),
        id,
        at: text("at").unwrap_or_default(),
        names,
        until: item
            .get("until")
            .and_then(|until| until.as_number()?.to_i64()),
    })
}

fn key(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

fn map(json: Json) -> Map {
    plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn create(entity: &str, item: Json) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: map(item),
    }
}

fn update(entity: &str, identity: &[&str], changes: Json) -> Operation {
    Operation::Update {
        entity: entity.to_owned(),
        identity: identity.iter().map(|part| (*part).to_owned()).collect(),
        changes: map(changes),
        with_deleted: false,
        version: None,
    }
}

fn delete(entity: &str, identity: &[&str]) -> Operation {
    Operation::Delete {
        entity: entity.to_owned(),
        identity: identity.iter().map(|part| (*part).to_owned()).collect(),
        version: None,
    }
}

fn act_on(action: &str, entity: &str, id: &str, given: Json) -> Operation {
    Operation::Act {
        action: action.to_owned(),
        entity: Some(entity.to_owned()),
        identity: vec![id.to_owned()],
        given: map(given),
        version: None,
    }
}
