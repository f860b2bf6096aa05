//! Repairs of tables that a design understands only in part: whatever they do, no source is lost.
//!
//! A helpdesk is filled through its design. Then attributes and items get lost, items and
//! attributes appear that no design knows, and a repair runs by another design, in which keys,
//! conditions and attributes have changed. Every item is held against what the repair made of it.
//! What a record is is read from its key alone, by other code than the repair's.
//!
//! A table is a function of its seed: `PARTITA_SEED=n` looks at that one alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use partita_core::{Item, Map, Value, plain};
use partita_design::design::{Attribute, Record, Source, Timing};
use partita_design::{Design, Occupant, keys, occupant};
use partita_plan::{Caller, Operation, Partita, Surroundings};
use partita_store::request::{DeleteItem, PutItem, ReturnValues, Scan};
use partita_store::surroundings::{ManualClock, SeededEntropy};
use partita_store::table::TableName;
use partita_store::{ModelStore, Store};
use partita_verify::permission::Mistake;
use partita_verify::{Collected, Permission, Report};
use serde_json::json;

use crate::stage;

/// The items of a table by their keys.
type Items = BTreeMap<(String, String), Item>;

/// What can be different about the keys of the design that repairs: it recognises what is under the
/// old ones no more.
const KEY_CHANGES: [(&str, &str); 5] = [
    (
        r##""TICKET#{ticketId}"
GSI1PK"##,
        r##""CASE#{ticketId}"
GSI1PK"##,
    ),
    (
        r##"PK = "ORG#{orgId}"
SK = "METADATA""##,
        r##"PK = "ORGANISATION#{orgId}"
SK = "METADATA""##,
    ),
    (
        r##""OPEN#{orgId}"
SK"##,
        r##""OPENED#{orgId}"
SK"##,
    ),
    ("\"UNIQUE#NUMBER#{number}\"", "\"UNIQUE#NO#{number}\""),
    (
        "PK = \"TICKET#{orgId}#{ticketId}\"\nSK = \"COMMENT#{commentId}\"",
        "PK = \"TICKET#{orgId}#{ticketId}\"\nSK = \"REMARK#{commentId}\"",
    ),
];

/// What else can be different about it.
const CHANGES: [(&str, &str); 5] = [
    (
        "GSI1SK      = \"{ticketId}\"",
        "GSI1SK      = \"{priority:03}#{ticketId}\"",
    ),
    (
        "when = \"attribute_not_exists(deletedAt)\"",
        "when = \"attribute_not_exists(deletedAt) AND priority > 3\"",
    ),
    (
        "title        = \"string 1..300\"",
        "title        = \"string 1..300\"\nsubject      = \"string 1..300\"",
    ),
    (
        "GSI1PK      = \"ASSIGNEE#{assignee}\"",
        "GSI1PK      = \"ASSIGNEE#{number}\"",
    ),
    (
        "name        = \"string 1..40\"",
        "name        = \"string? 1..40\"",
    ),
];

/// One table and the design that repairs it.
struct Case {
    store: Arc<dyn Store>,
    table: TableName,
    /// The design that filled the table.
    original: Design,
    /// The one that repairs it.
    design: Design,
    /// Whether the table may have items that this design does not recognise. They hold up most of
    /// what a repair does, so that it shows what it removes only where there are none.
    is_strange: bool,
    random: fastrand::Rng,
}

impl Case {
    async fn new(store: &Arc<dyn Store>, prefix: &str, seed: u64) -> Case {
        let table = format!("{prefix}-{seed}");
        let mut random = fastrand::Rng::with_seed(seed ^ ((prefix.len() as u64) << 32));
        let clock = Arc::new(ManualClock::default());
        let original = compiled(&source(), &table);
        let surroundings = Surroundings {
            clock: clock.clone(),
            // Two tables of one store must not draw the same tokens.
            entropy: Arc::new(SeededEntropy::new(random.u64(..))),
            ..Surroundings::default()
        };
        let partita = Partita::open_with(original.clone(), store.clone(), surroundings);
        fill(&partita.await.unwrap(), &clock, &mut random).await;
        let is_strange = random.u32(0..3) > 0;
        Case {
            store: store.clone(),
            design: changed(&table, is_strange, &mut random),
            original,
            table: table.parse().unwrap(),
            is_strange,
            random,
        }
    }

    async fn items(&self) -> Items {
        let mut request = Scan::new(self.table.clone());
        let mut items = Items::new();
        loop {
            let page = self.store.scan(request.clone()).await.unwrap();
            let page = page.answer.into_parts().unwrap();
            items.extend(page.items.into_iter().map(|item| (key_of(&item), item)));
            match page.last_key {
                None => return items,
                last_key => request.start_after = last_key,
            }
        }
    }

    async fn put(&self, item: Item) {
        let put = PutItem::new(self.table.clone(), item);
        self.store.put_item(put, ReturnValues::None).await.unwrap();
    }

    async fn remove(&self, item: &Item) {
        let delete = DeleteItem {
            table: self.table.clone(),
            key: item.part(|name| name == "PK" || name == "SK"),
            condition: None,
            return_item_on_failure: false,
        };
        let deleted = self.store.delete_item(delete, ReturnValues::None).await;
        deleted.unwrap();
    }

    /// What other programs, older versions and mistakes leave in a table.
    async fn spoil(&mut self) {
        let items: Vec<Item> = self.items().await.into_values().collect();
        for item in &items {
            match self.random.u32(0..12) {
                0 => self.remove(item).await,
                1..=3 => {
                    let is_lost = |name: &str| match name {
                        "PK" | "SK" => false,
                        "Kind" => self.is_strange,
                        _ => true,
                    };
                    let names = item.keys().filter(|name| is_lost(name));
                    let names: Vec<String> = names.map(ToString::to_string).collect();
                    let mut item = item.clone();
                    if let Some(name) = self.random.choice(&names) {
                        item.remove(name);
                    }
                    self.put(item).await;
                }
                4 if self.is_strange => {
                    let mut item = item.clone();
                    item.insert("Kind", Value::from("Other"));
                    self.put(item).await;
                }
                5 => {
                    let mut item = item.clone();
                    item.insert("shoeSize", Value::from("44"));
                    item.insert("title", Value::Bool(true));
                    self.put(item).await;
                }
                _ => {}
            }
        }
        let strange = [
            ("ORG#a", "NOTE#1"),
            ("OPEN#a", "MISC"),
            ("ACCOUNT#a", "UNIQUE"),
            ("TICKET#a#b", "ATTACHMENT#1"),
        ];
        for (partition, sort) in strange {
            if self.is_strange && self.random.u32(0..4) == 0 {
                let item = json!({"PK": partition, "SK": sort, "orgId": "a", "title": "Mine"});
                self.put(plain::map_from_json(item.as_object().cloned().unwrap()).unwrap())
                    .await;
            }
        }
    }

    async fn repair(&self, design: &Design, permission: Permission<'_>) -> Report {
        let (store, clock) = (&*self.store, ManualClock::default());
        let mut found = Collected::default();
        partita_verify::repair(design, store, &clock, permission, &mut found)
            .await
            .unwrap()
    }

    /// Everything that a repair did and should not have done.
    async fn faults(&self, permission: Permission<'_>) -> Vec<String> {
        let before = self.items().await;
        self.repair(&self.design, permission).await;
        let after = self.items().await;
        let mut faults: Vec<String> = before
            .iter()
            .filter_map(|(key, was)| self.fault(was, after.get(key), &before))
            .collect();
        let again = self.repair(&self.design, Permission::granted()).await;
        if again.mended > 0 || self.items().await != after {
            faults.push(format!("a second repair mends {}", again.mended));
        }
        faults
    }

    /// What is wrong with what became of an item.
    fn fault(&self, was: &Item, is: Option<&Item>, before: &Items) -> Option<String> {
        let told = |what: &str| Some(format!("{what}: {was:?} became {is:?}"));
        match (self.occupant(was), is) {
            (None, is) if is != Some(was) => told("unrecognised"),
            (Some(Occupant::Record { record, identity }), is) => match (&record.view, is) {
                (None, is) => {
                    let is_kept = is.is_some_and(|is| keeps(&self.design, record, was, is));
                    if is_kept { None } else { told("a source") }
                }
                (Some(view), is) if view.history && is != Some(was) => told("history"),
                (Some(view), None) => {
                    let mut parts = was.clone();
                    for (part, value) in record.identity.iter().zip(identity) {
                        parts.insert(part.attribute.as_str(), Value::S(value));
                    }
                    let source = &self.design[view.of].name;
                    let has_source = before.contains_key(&self.place(source, &parts));
                    let may_go = self.is_all_known(before) || has_source;
                    if may_go { None } else { told("a record") }
                }
                (Some(_), Some(_)) => None,
            },
            (Some(Occupant::Guard { entity }), None) => {
                let owner = before.contains_key(&self.place(&entity.name, was));
                let may_go = self.is_all_known(before) || owner;
                if may_go { None } else { told("a guard") }
            }
            _ => None,
        }
    }

    fn occupant(&self, item: &Item) -> Option<Occupant<'_>> {
        let (partition, sort) = key_of(item);
        let found = occupant(&self.design, self.table.as_str(), &partition, &sort)?;
        let kind = item.get("Kind").and_then(Value::as_str);
        let is_marked = match &found {
            Occupant::Guard { .. } => true,
            record => kind == Some(record.name()),
        };
        is_marked.then_some(found)
    }

    fn is_all_known(&self, items: &Items) -> bool {
        items.values().all(|item| self.occupant(item).is_some())
    }

    /// Where the item is that has these parts of an identity.
    fn place(&self, entity: &str, parts: &Map) -> (String, String) {
        let keys: Map = keys::of_record(&self.design, entity, parts)
            .into_iter()
            .collect();
        key_of(&keys)
    }

    /// What an ordinary write and `keys` make of an item is what a repair makes of it.
    async fn disagreements(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for item in self.items().await.values() {
            let Some(Occupant::Record { record: entity, .. }) = self.occupant(item) else {
                continue;
            };
            if entity.view.is_some() {
                continue;
            }
            let given = item.part(|name| {
                let attribute = entity.attributes.iter().find(|one| one.name == name);
                attribute.is_some_and(|one| !is_derived(one) || one.name == "commentCount")
            });
            let Ok(records) = keys::keys(&self.design, &entity.name, &given) else {
                continue;
            };
            for (name, value) in &records[0].keys {
                if item.get(name) != Some(value) {
                    wrong.push(format!("keys says {name} is {value:?}: {item:?}"));
                }
            }
        }
        wrong
    }
}

fn key_of(item: &Map) -> (String, String) {
    let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
    (text("PK").to_owned(), text("SK").to_owned())
}

/// Whether an item has everything that is not worked out from something else, and nothing that is
/// required was taken from it.
fn keeps(design: &Design, entity: &Record, was: &Item, is: &Item) -> bool {
    let made = design.tables[0].indexes.iter().flat_map(|index| {
        let keys = std::iter::once(&index.partition).chain(&index.sort);
        keys.map(|key| key.name.as_str())
    });
    let made: BTreeSet<&str> = made.collect();
    was.iter().all(|(name, value)| {
        let attribute = entity.attributes.iter().find(|one| one.name == *name);
        match attribute {
            _ if made.contains(name.as_str()) => true,
            Some(one) if is_derived(one) => one.optional || is.contains_key(name),
            _ => is.get(name) == Some(value),
        }
    })
}

fn is_derived(attribute: &Attribute) -> bool {
    match &attribute.source {
        Source::Aggregate(_) | Source::Copy(_) => true,
        Source::Computed(computed) => computed.timing == Timing::Always,
        Source::Given { .. } | Source::Generated | Source::Derived(_) => false,
    }
}

/// The helpdesk, whose items also say what they are.
fn source() -> String {
    let file = stage::folder("helpdesk").join("helpdesk.toml");
    let source = std::fs::read_to_string(file).unwrap();
    let key = "key  = [\"PK\", \"SK\"]";
    // Patterns would have to follow the keys, and a repair asks none.
    let source = source.split("[pattern.").next().unwrap_or_default();
    source.replacen(key, &format!("{key}\ndiscriminator = \"Kind\""), 1)
}

/// A helpdesk in which some things are otherwise.
fn changed(table: &str, is_strange: bool, random: &mut fastrand::Rng) -> Design {
    // An attribute that no stored item has.
    let number = "number       = \"string? 1..40\"";
    let priority = format!("{number}\npriority     = \"int 0..9 default 5\"");
    let mut source = source().replace(number, &priority);
    let key_changes = KEY_CHANGES.iter().filter(|_| is_strange);
    for (old, new) in key_changes.chain(&CHANGES) {
        assert!(source.contains(old), "the helpdesk has no {old}");
        if random.u32(0..5) == 0 {
            source = source.replacen(old, new, 1);
        }
    }
    compiled(&source, table)
}

fn compiled(source: &str, table: &str) -> Design {
    let (design, diagnostics) = partita_design::check(source, &|_| None);
    let mut design = design.unwrap_or_else(|| panic!("{diagnostics:?}\n{source}"));
    table.clone_into(&mut design.tables[0].name);
    design
}

async fn fill(partita: &Partita, clock: &ManualClock, random: &mut fastrand::Rng) {
    let run = async |operation: Operation| {
        clock.advance(1_000);
        partita.run(&Caller::user("ann"), operation).await.unwrap();
    };
    let create = async |entity: &str, attributes: serde_json::Value| {
        let attributes = attributes.as_object().cloned().unwrap();
        let attributes = plain::map_from_json(attributes).unwrap();
        let entity = entity.to_owned();
        run(Operation::Create { entity, attributes }).await;
    };
    for org in ["a", "b"] {
        create("Org", json!({"orgId": org, "name": org})).await;
        for number in 0..random.u32(1..4) {
            let ticket = format!("01JGFJJZ000000000000000{}0{number}", org.to_uppercase());
            let identity = vec![org.to_owned(), ticket.clone()];
            let mut given = json!({"orgId": org, "ticketId": ticket, "title": "Help"});
            if random.bool() {
                given["number"] = json!(format!("{org}-{number}"));
            }
            create("Ticket", given).await;
            for _ in 0..random.u32(0..3) {
                create(
                    "Comment",
                    json!({"orgId": org, "ticketId": ticket, "text": "Yes."}),
                )
                .await;
            }
            if random.bool() {
                let mut attributes = Map::new();
                attributes.insert("title", Value::from("Help!"));
                run(Operation::Update {
                    entity: "Ticket".to_owned(),
                    identity: identity.clone(),
                    changes: attributes,
                    with_deleted: false,
                    version: None,
                })
                .await;
            }
            if random.u32(0..4) == 0 {
                run(Operation::Delete {
                    entity: "Ticket".to_owned(),
                    identity,
                    version: None,
                })
                .await;
            }
        }
    }
}

/// Names everything that can be named.
fn with_removals(permission: Permission<'_>) -> Permission<'_> {
    let places = [
        "view.TicketVersion",
        "entity.Ticket.refs.org",
        "entity.Comment.refs.ticket",
    ];
    places.into_iter().fold(permission, Permission::to_remove)
}

fn seeds(count: u64) -> Vec<u64> {
    match std::env::var("PARTITA_SEED") {
        Ok(seed) => vec![seed.parse().expect("PARTITA_SEED is a number")],
        Err(_) => (1..=count).collect(),
    }
}

/// No repair loses a source, whatever it finds, and a second one does nothing.
pub(crate) async fn lose_no_source(store: Arc<dyn Store>, count: u64) {
    for seed in seeds(count) {
        let mut case = Case::new(&store, "repairs", seed).await;
        case.spoil().await;
        let permission = if case.is_all_known(&case.items().await) {
            Permission::granted()
        } else {
            // What a removal that an operator names would take may belong to these items.
            with_removals(Permission::granted())
        };
        let faults = case.faults(permission).await;
        assert!(faults.is_empty(), "seed {seed}:\n{}", faults.join("\n"));
        let wrong = case.disagreements().await;
        assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
    }
}

/// What a repair by the wrong design did is taken back by one with the right design.
pub(crate) async fn can_be_taken_back(store: Arc<dyn Store>, count: u64) {
    for seed in seeds(count) {
        let case = Case::new(&store, "taken-back", seed).await;
        let before = case.items().await;
        case.repair(&case.design, Permission::granted()).await;
        case.repair(&case.original, Permission::granted()).await;
        let after = case.items().await;
        for (key, item) in &before {
            assert_eq!(after.get(key), Some(item), "seed {seed}");
        }
    }
}

#[tokio::test]
async fn lose_no_source_on_the_model() {
    lose_no_source(Arc::new(ModelStore::default()), 150).await;
}

#[tokio::test]
async fn can_be_taken_back_on_the_model() {
    can_be_taken_back(Arc::new(ModelStore::default()), 60).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lose_no_source_on_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(stage::engine(folder.path()));
    lose_no_source(store.clone(), 25).await;
    can_be_taken_back(store.clone(), 10).await;
    mistakes_are_found_out(&store, "mistakes").await;
}

/// A repair that removes too much is found out.
#[tokio::test]
async fn with_a_planted_mistake_are_found_out() {
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    mistakes_are_found_out(&store, "mistakes").await;
}

pub(crate) async fn mistakes_are_found_out(store: &Arc<dyn Store>, prefix: &str) {
    let mistakes = [
        Mistake::ForgetsTheUnrecognised,
        Mistake::RemovesSources,
        Mistake::BelievesBrokenSources,
        Mistake::TakesPlaces,
    ];
    for mistake in mistakes {
        let mut is_found = false;
        for seed in 1..=150 {
            let prefix = format!("{prefix}-{mistake:?}");
            let mut case = Case::new(store, &prefix, seed).await;
            case.spoil().await;
            let permission = Permission::granted().with_mistake(mistake);
            is_found = !case.faults(permission).await.is_empty();
            if is_found {
                break;
            }
        }
        assert!(is_found, "nothing shows {mistake:?}");
    }
}
