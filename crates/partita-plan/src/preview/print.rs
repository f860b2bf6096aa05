//! A preview as people read it, and as DynamoDB takes it.

use std::fmt;

use partita_core::expression::{Condition, Renderer, Update};
use partita_core::{Item, plain, printable};
use partita_store::request::TransactAction;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::{Left, Preview};

impl Preview {
    /// The request as DynamoDB's own JSON: a TransactWriteItems, as the AWS CLI takes it with
    /// `--cli-input-json`. A tally is a list of UpdateItems.
    pub fn to_json(&self) -> Json {
        let actions = self.actions.iter().map(Parts::of);
        if self.is_tally {
            return actions.map(|parts| parts.request()).collect();
        }
        let actions: Vec<Json> = actions
            .map(|parts| json!({ parts.word: parts.request() }))
            .collect();
        json!({ "TransactItems": actions })
    }

    fn head(&self) -> String {
        let count = self.actions.len();
        let plural = if count == 1 { "" } else { "s" };
        let units = self.consumed.values().map(|one| one.total().units());
        let units: f64 = units.sum();
        match (count, self.is_tally) {
            (0, _) => "nothing to write".to_owned(),
            (_, true) => format!("no transaction, {count} UpdateItem{plural}, {units} write units"),
            (_, false) => {
                format!("TransactWriteItems, {count} action{plural}, {units} write units")
            }
        }
    }

    /// The attributes of an action's key, in their order, and then the others of a put.
    fn attributes(&self, action: &TransactAction, parts: &Parts<'_>) -> (String, Vec<String>) {
        let names = self.keys.get(action.table()).into_iter().flatten();
        let keys: Vec<&str> = names.map(String::as_str).collect();
        let written = |name: &str, item: &Item| {
            let value = item.get(name).map(plain::to_json).unwrap_or_default();
            format!("{name} = {value}")
        };
        let key: Vec<_> = keys.iter().map(|name| written(name, parts.item)).collect();
        let others = parts
            .item
            .keys()
            .filter(|name| !keys.contains(&name.as_str()));
        let others = others.map(|name| written(name, parts.item));
        (key.join(", "), others.collect())
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.head())?;
        for (at, action) in self.actions.iter().enumerate() {
            let parts = Parts::of(action);
            let (key, others) = self.attributes(action, &parts);
            let word = parts.word;
            writeln!(f, "\n{}. {word} in {}", at + 1, action.table())?;
            writeln!(f, "   key     {}", printable::line(&key))?;
            for attribute in others {
                writeln!(f, "   with    {}", printable::line(&attribute))?;
            }
            for (word, text) in parts.update.iter().flat_map(|update| clauses(update)) {
                writeln!(f, "   {word:<7} {}", printable::line(&text))?;
            }
            for (number, text) in parts
                .condition
                .iter()
                .flat_map(|one| parts_of(one))
                .enumerate()
            {
                let word = if number == 0 { "if" } else { "and" };
                writeln!(f, "   {word:<7} {}", printable::line(&text))?;
            }
        }
        for (table, consumed) in &self.consumed {
            write!(f, "\n{table}: {} write units", consumed.write.units())?;
            for (index, units) in &consumed.indexes {
                write!(f, ", {index}: {}", units.write.units())?;
            }
            writeln!(f)?;
        }
        if let Some(left) = self.job {
            writeln!(f, "\n{}", said_of(left))?;
        }
        Ok(())
    }
}

fn said_of(left: Left) -> &'static str {
    match left {
        Left::Rest => "The rest is left for a job, which the transaction records.",
        Left::LookAgain => {
            "The transaction records a job that looks again, right after it, for items that came \
             to refer to what is removed or changed."
        }
    }
}

/// One action, taken apart.
struct Parts<'p> {
    /// What DynamoDB calls it.
    word: &'static str,
    /// Its key, or all of a put.
    item: &'p Item,
    update: Option<&'p Update>,
    condition: Option<&'p Condition>,
    returns_item: bool,
    table: String,
}

impl<'p> Parts<'p> {
    fn of(action: &'p TransactAction) -> Parts<'p> {
        let table = action.table().to_string();
        let parts = |word, item, condition, returns_item| Parts {
            word,
            item,
            update: None,
            condition,
            returns_item,
            table,
        };
        match action {
            TransactAction::Put(put) => {
                let condition = put.condition.as_ref();
                parts("Put", &put.item, condition, put.return_item_on_failure)
            }
            TransactAction::Update(one) => {
                let condition = one.condition.as_ref();
                Parts {
                    update: Some(&one.update),
                    ..parts("Update", &one.key, condition, one.return_item_on_failure)
                }
            }
            TransactAction::Delete(one) => {
                let condition = one.condition.as_ref();
                parts("Delete", &one.key, condition, one.return_item_on_failure)
            }
            TransactAction::Check(one) => {
                let condition = Some(&one.condition);
                let returns_item = one.return_item_on_failure;
                parts("ConditionCheck", &one.key, condition, returns_item)
            }
        }
    }

    fn request(&self) -> Json {
        let mut renderer = Renderer::default();
        let update = self.update.map(|update| renderer.update(update));
        let condition = self.condition.map(|one| renderer.condition(one));
        let (names, values) = renderer.into_bindings();
        let item = match self.word {
            "Put" => "Item",
            _ => "Key",
        };
        let returned = self.returns_item.then_some("ALL_OLD");
        let members = [
            ("TableName", Some(json!(self.table))),
            (item, Some(json!(self.item))),
            ("UpdateExpression", update.map(Json::from)),
            ("ConditionExpression", condition.map(Json::from)),
            (
                "ExpressionAttributeNames",
                (!names.is_empty()).then(|| json!(names)),
            ),
            (
                "ExpressionAttributeValues",
                (!values.is_empty()).then(|| json!(values)),
            ),
            (
                "ReturnValuesOnConditionCheckFailure",
                returned.map(Json::from),
            ),
        ];
        let members = members.into_iter();
        let members = members.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Json::Object(members.collect::<JsonMap<_, _>>())
    }
}

/// What an update does, attribute by attribute.
fn clauses(update: &Update) -> Vec<(&'static str, String)> {
    let nothing = Update::default;
    let set = update.set.iter().map(|one| Update {
        set: vec![one.clone()],
        ..nothing()
    });
    let remove = update.remove.iter().map(|one| Update {
        remove: vec![one.clone()],
        ..nothing()
    });
    let add = update.add.iter().map(|one| Update {
        add: vec![one.clone()],
        ..nothing()
    });
    let delete = update.delete.iter().map(|one| Update {
        delete: vec![one.clone()],
        ..nothing()
    });
    let words = [
        ("set", "SET "),
        ("remove", "REMOVE "),
        ("add", "ADD "),
        ("delete", "DELETE "),
    ];
    let all = set.chain(remove).chain(add).chain(delete);
    all.map(|one| {
        let text = spelled(|renderer| renderer.update(&one));
        let found = words
            .iter()
            .find_map(|(word, keyword)| Some((*word, text.strip_prefix(keyword)?.to_owned())));
        found.unwrap_or(("", text))
    })
    .collect()
}

/// What a condition asks, each part by itself.
fn parts_of(condition: &Condition) -> Vec<String> {
    let one = |condition: &Condition| spelled(|renderer| renderer.condition(condition));
    match condition {
        Condition::All(parts) if !parts.is_empty() => parts.iter().flat_map(parts_of).collect(),
        condition => vec![one(condition)],
    }
}

/// An expression with names and values in the places of their placeholders.
///
/// A rendered expression has placeholders for all of them, so that whatever begins with `#` or `:`
/// is one.
fn spelled(render: impl FnOnce(&mut Renderer) -> String) -> String {
    let mut renderer = Renderer::default();
    let text = render(&mut renderer);
    let (names, values) = renderer.into_bindings();
    let mut spelled = String::new();
    let mut rest = text.as_str();
    while let Some(start) = rest.find(['#', ':']) {
        let (before, from) = rest.split_at(start);
        let end = from[1..].find(|letter: char| !letter.is_ascii_alphanumeric());
        let (placeholder, after) = from.split_at(end.map_or(from.len(), |end| end + 1));
        spelled.push_str(before);
        match (names.get(placeholder), values.get(placeholder)) {
            (Some(name), _) => spelled.push_str(name),
            (None, Some(value)) => spelled.push_str(&plain::to_json(value).to_string()),
            (None, None) => spelled.push_str(placeholder),
        }
        rest = after;
    }
    spelled + rest
}
