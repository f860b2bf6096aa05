//! Secret attributes, which no answer over HTTP shows to an administrator of the design.
//!
//! The operator has the data itself, and is shown what is there.

use partita_core::{Item, Value};
use partita_design::design::{Attribute, Record};
use partita_design::{Design, Occupant, occupant, sidecar};
use partita_plan::Preview;
use partita_store::request::TransactAction;
use partita_verify::{Drift, Unrecognised};
use serde_json::{Map, Value as Json};

use super::Failure;

/// Replaces a secret.
const MASK: &str = "(secret)";

/// Refuses to show a transaction that has secrets in it.
pub(super) fn refuse(design: &Design, preview: &Preview) -> Result<(), Failure> {
    let request = preview.to_json();
    let shown = request["TransactItems"].as_array().or(request.as_array());
    let shown = shown.map(Vec::as_slice).unwrap_or_default();
    let mut actions = preview.actions.iter().zip(shown);
    if actions.any(|(action, shown)| has_secrets(design, action, shown)) {
        let detail = "the transaction has secret attributes: only the operator is shown it";
        return Err(Failure::new(detail));
    }
    Ok(())
}

/// A transaction without what is inside the rows beside the tables: jobs and messages have the
/// attributes of items in them, and links that let people in.
pub(super) fn mask_rows(design: &Design, preview: &mut Preview) {
    for action in &mut preview.actions {
        if is_of_table(design, action.table().as_str()) {
            continue;
        }
        if let TransactAction::Put(put) = action {
            let names: Vec<_> = put.item.keys().cloned().collect();
            let inside = names
                .into_iter()
                .filter(|name| !KEYS.contains(&name.as_str()));
            for name in inside {
                put.item.insert(name, MASK.into());
            }
        }
    }
}

/// The key of a row beside the tables.
const KEYS: [&str; 2] = [sidecar::PARTITION, sidecar::SORT];

/// Whether a table has items of the design. The other one is beside them.
fn is_of_table(design: &Design, name: &str) -> bool {
    design.tables.iter().any(|table| table.name == name)
}

/// Whether any item of the design has secrets.
fn has_any(design: &Design) -> bool {
    let mut records = design.records.iter();
    records.any(|record| secrets(design, record).next().is_some())
}

/// Whether the key of any item spells a secret.
fn has_any_in_keys(design: &Design) -> bool {
    let mut records = design.records.iter();
    records.any(|record| is_in_key(design, record))
}

fn has_secrets(design: &Design, action: &TransactAction, shown: &Json) -> bool {
    let Some(record) = record_of(design, action) else {
        // The key of a row beside the tables may repeat that of an item.
        let is_put = matches!(action, TransactAction::Put(_));
        return !is_of_table(design, action.table().as_str())
            && (has_any_in_keys(design) || (!is_put && has_any(design)));
    };
    let text = shown.to_string();
    let mut names = secrets(design, record).map(|attribute| attribute.name.as_str());
    let is_named = names.any(|name| {
        let root = name.split('.').next().unwrap_or(name);
        text.contains(&format!("\"{root}\""))
    });
    is_named || is_in_key(design, record)
}

/// The record that an action writes or looks at, by its key.
fn record_of<'d>(design: &'d Design, action: &TransactAction) -> Option<&'d Record> {
    let item = match action {
        TransactAction::Put(put) => &put.item,
        TransactAction::Update(update) => &update.key,
        TransactAction::Delete(delete) => &delete.key,
        TransactAction::Check(check) => &check.key,
    };
    record_at(design, action.table().as_str(), item)
}

/// The record of the item with this key, or the entity whose unique value it guards.
fn record_at<'d>(design: &'d Design, name: &str, key: &Item) -> Option<&'d Record> {
    let table = design.tables.iter().find(|table| table.name == name)?;
    let part = |name: &str| key.get(name).and_then(Value::as_str).unwrap_or_default();
    match occupant(design, name, part(&table.partition), part(&table.sort))? {
        Occupant::Record { record, .. } | Occupant::Guard { entity: record } => Some(record),
    }
}

/// The secret attributes of a record, and of its source if it is a view's.
fn secrets<'d>(design: &'d Design, record: &'d Record) -> impl Iterator<Item = &'d Attribute> {
    let source = record.view.as_ref().map(|view| &design[view.of]);
    let records = [Some(record), source].into_iter().flatten();
    let attributes = records.flat_map(|record| record.attributes.iter());
    attributes.filter(|attribute| attribute.secret)
}

/// Whether the primary key of a record spells a secret, or that of a guard of its unique values.
fn is_in_key(design: &Design, record: &Record) -> bool {
    let identity = record.identity.iter().map(|part| &part.attribute);
    let unique = record.unique.iter().flat_map(|unique| &unique.attributes);
    let mut names = identity.chain(unique);
    names.any(|name| secrets(design, record).any(|one| one.name == *name))
}

/// A drift without the value of a secret, and without its key if that spells one.
pub(super) fn masked(design: &Design, drift: &Drift) -> Drift {
    let mut masked = drift.clone();
    let record = record_at(design, &drift.table, &drift.key);
    let Some(record) = record.or_else(|| design.find_record(&drift.record)) else {
        // Nothing says what is in a row that belongs to no item.
        if has_any(design) {
            for value in [&mut masked.stored, &mut masked.expected] {
                *value = value.take().map(|_| MASK.into());
            }
            mask_key(&mut masked.key);
            masked.note = None;
        }
        return masked;
    };
    let attribute = drift.attribute.as_deref();
    let has_secrets = secrets(design, record).next().is_some();
    let is_declared = |name: &str| record.attributes.iter().any(|one| one.name == name);
    // A key of an index may spell a secret.
    let is_secret = |name: &str| {
        secrets(design, record).any(|one| one.name == name) || (has_secrets && !is_declared(name))
    };
    if attribute.is_some_and(is_secret) {
        for value in [&mut masked.stored, &mut masked.expected] {
            if value.is_some() {
                *value = Some(MASK.into());
            }
        }
    }
    if is_in_key(design, record) {
        mask_key(&mut masked.key);
        // What it says in words may repeat the key.
        masked.note = None;
    }
    masked
}

/// Something unrecognised, without a key that spells a secret.
pub(super) fn masked_unrecognised(design: &Design, one: &Unrecognised) -> Unrecognised {
    let mut masked = one.clone();
    let record = record_at(design, &one.table, &one.key);
    let is_secret = match record {
        Some(record) => is_in_key(design, record),
        None => !is_of_table(design, &one.table) && has_any_in_keys(design),
    };
    if is_secret {
        mask_key(&mut masked.key);
    }
    masked
}

fn mask_key(key: &mut Item) {
    let names: Vec<_> = key.keys().cloned().collect();
    for name in names {
        key.insert(name, MASK.into());
    }
}

/// An item by its name, `Session 6f1c…`, without an identity that spells a secret.
pub(super) fn mask_item(design: &Design, item: &mut String) {
    let name = item.split(' ').next().unwrap_or_default();
    let record = design.find_record(name);
    if record.is_some_and(|record| is_in_key(design, record)) {
        *item = format!("{name} {MASK}");
    }
}

/// What a job says of its last failure, which may name items.
pub(super) fn mask_error(design: &Design, error: &mut Option<String>) {
    if has_any_in_keys(design) {
        *error = error.take().map(|_| MASK.to_owned());
    }
}

/// The attributes that identify an item, without secrets.
pub(super) fn masked_identity(design: &Design, record: &str, identity: &mut Map<String, Json>) {
    let Some(record) = design.find_record(record) else {
        return;
    };
    for attribute in secrets(design, record) {
        if let Some(value) = identity.get_mut(&attribute.name) {
            *value = MASK.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use partita_store::request::PutItem;

    use super::*;

    const VAULT: &str = r#"
design = "vault"

[table]
name = "vault"
key  = ["PK", "SK"]

[entity.User]
PK = "USER#{user}"
SK = "META"

[entity.User.attributes]
user     = "string"
name     = "string"
password = "string, secret"
"#;

    const SESSIONS: &str = r#"
design = "sessions"

[table]
name = "sessions"
key  = ["PK", "SK"]

[entity.Session]
PK = "SESSION#{sid}"
SK = "META"

[entity.Session.attributes]
sid = "string, secret"

[entity.User]
PK = "USER#{user}"
SK = "META"

[entity.User.attributes]
user     = "string"
password = "string, secret"
"#;

    #[test]
    fn an_item_is_named_without_an_identity_that_is_secret() {
        let (design, _) = partita_design::check(SESSIONS, &|_| None);
        let design = design.unwrap();
        for (item, shown) in [
            ("Session s1 e2", "Session (secret)"),
            ("User ann", "User ann"),
            ("Gone x", "Gone x"),
        ] {
            let mut item = item.to_owned();
            mask_item(&design, &mut item);
            assert_eq!(item, shown);
        }
    }

    /// Jobs and messages have the attributes of items in them.
    #[test]
    fn rows_beside_the_tables_are_shown_without_what_is_inside() {
        let (design, _) = partita_design::check(VAULT, &|_| None);
        let design = design.unwrap();
        let put = |table: &str, key: [&str; 2], name: &str| {
            let item = Item::from([
                ("PK", Value::from(key[0])),
                ("SK", Value::from(key[1])),
                (name, Value::from("hunter2")),
            ]);
            TransactAction::Put(PutItem::new(table.parse().unwrap(), item))
        };
        let sidecar = partita_design::sidecar::name(&design);
        let mut preview = Preview::default();
        let job = put(&sidecar, ["JOB", "1"], "before");
        preview.actions = vec![put("vault", ["USER#ann", "META"], "name"), job];
        assert!(refuse(&design, &preview).is_ok());
        mask_rows(&design, &mut preview);
        let shown = format!("{}{preview}", preview.to_json());
        assert_eq!(shown.matches("hunter2").count(), 2, "{shown}");
        assert!(shown.contains("JOB") && shown.contains(MASK), "{shown}");
        // Where keys spell secrets, those of rows may, too.
        let (design, _) = partita_design::check(SESSIONS, &|_| None);
        let design = design.unwrap();
        let sidecar = partita_design::sidecar::name(&design);
        preview.actions = vec![put(&sidecar, ["HELD#sessions#SESSION#s1", "META"], "job")];
        assert!(refuse(&design, &preview).is_err());
    }
}
