//! Generated PartiQL: statements that read and write, alone, in batches and in transactions.

use fastrand::Rng;
use serde_json::{Value as Json, json};

use super::Request;
use super::attribute::{NAMES, item, key_value, named, pick};
use super::tables::{Index, Key, Keys, TABLES, Table};

/// A request with one statement, or with several.
pub(super) fn request(random: &mut Rng) -> Request {
    let (operation, mut body) = match random.u8(..10) {
        0..4 => ("ExecuteStatement", reading(random).body()),
        4..7 => ("ExecuteStatement", writing(random).body()),
        7 => ("BatchExecuteStatement", batch(random, "Statements")),
        8 => ("BatchExecuteStatement", gets(random, "Statements")),
        _ if random.bool() => ("ExecuteTransaction", batch(random, "TransactStatements")),
        _ => ("ExecuteTransaction", gets(random, "TransactStatements")),
    };
    if operation == "ExecuteStatement" && random.u8(..5) == 0 {
        body["Limit"] = random.u8(1..4).into();
    }
    Request { operation, body }
}

/// Takes the words out of the errors of a batch, and gives an item that is there already the same
/// name everywhere.
pub(super) fn level(body: &mut Json) {
    if body["__type"] == "DuplicateItem" {
        body["__type"] = "DuplicateItemException".into();
    }
    for response in body["Responses"].as_array_mut().into_iter().flatten() {
        if let Some(error) = response["Error"].as_object_mut() {
            error.remove("Message");
        }
    }
    for reason in body["CancellationReasons"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if reason["Code"] == "DuplicateItem" {
            reason["Code"] = "ValidationError".into();
        }
    }
}

/// Writes of different items, or of the same.
fn batch(random: &mut Rng, name: &str) -> Json {
    let count = random.usize(1..4);
    let statements: Json = (0..count).map(|_| writing(random).body()).collect();
    json!({ name: statements })
}

/// Reads of one item each.
fn gets(random: &mut Rng, name: &str) -> Json {
    let count = random.usize(1..4);
    let get = |random: &mut Rng| {
        let table = table(random);
        let mut text = Text::new(random);
        // DynamoDB Local answers a part of an attribute otherwise here than alone.
        let column = pick(text.random, &["*", "pk", "\"x y\", a"]);
        text.push(&format!("SELECT {column} FROM \"{}\" WHERE ", table.name));
        text.key(table.keys);
        text.body()
    };
    let statements: Json = (0..count).map(|_| get(random)).collect();
    json!({ name: statements })
}

fn table(random: &mut Rng) -> &'static Table {
    &TABLES[random.usize(..TABLES.len())]
}

/// Items of one partition, of several, or of all.
fn reading(random: &mut Rng) -> Text<'_> {
    let table = table(random);
    let at = random.usize(..=table.indexes.len());
    let index: Option<&Index> = table.indexes.get(at);
    let keys = index.map_or(table.keys, |index| index.keys);
    // DynamoDB Local filters by what an index does not have.
    let is_whole = index.is_none_or(|index| index.projection == ["ALL"]);
    let mut text = Text::new(random);
    text.keys = keys.all().map(|(name, _)| name).collect();
    text.push("SELECT ");
    text.columns();
    text.push(&format!(" FROM \"{}\"", table.name));
    if let Some(index) = index {
        text.push(&format!(".\"{}\"", index.name));
    }
    let (partition, kind) = keys.partition;
    match text.random.u8(..6) {
        0 if is_whole => {
            text.push(" WHERE ");
            text.condition();
        }
        1 => {
            text.push(&format!(" WHERE {partition} IN ["));
            text.key_operand(kind);
            text.push(", ");
            text.key_operand(kind);
            text.push("]");
        }
        _ => {
            text.push(&format!(" WHERE {partition} = "));
            text.key_operand(kind);
            text.sort_keys(keys.sort);
            if is_whole && text.random.bool() {
                text.push(" AND ");
                text.condition();
            }
            // Only where a partition has a sort key is the order of its items defined.
            if let (Some((sort, _)), None) = (keys.sort, index) {
                let direction = pick(text.random, &["", " ASC", " DESC"]);
                text.push(&format!(" ORDER BY {sort}{direction}"));
            }
        }
    }
    text
}

fn writing(random: &mut Rng) -> Text<'_> {
    let table = table(random);
    let name = table.name;
    match random.u8(..4) {
        0 => {
            let item = item(random, table);
            let mut text = Text::new(random);
            text.push(&format!("INSERT INTO \"{name}\" VALUE {{"));
            for (at, (name, value)) in item.into_iter().enumerate() {
                let comma = if at == 0 { "" } else { ", " };
                text.push(&format!("{comma}'{name}': "));
                text.operand(value);
            }
            text.push("}");
            text
        }
        1 => {
            let mut text = Text::new(random);
            text.push(&format!("DELETE FROM \"{name}\" WHERE "));
            text.key(table.keys);
            text.sometimes_conditional();
            if text.random.u8(..3) == 0 {
                text.push(" RETURNING ALL OLD *");
            }
            text
        }
        _ => {
            let mut text = Text::new(random);
            text.push(&format!("UPDATE \"{name}\""));
            text.changes();
            text.push(" WHERE ");
            text.key(table.keys);
            text.sometimes_conditional();
            if text.random.u8(..3) == 0 {
                let returned = pick(text.random, &["ALL OLD", "ALL NEW"]);
                text.push(&format!(" RETURNING {returned} *"));
            }
            text
        }
    }
}

/// A statement as it is written, and the values of its parameters.
struct Text<'r> {
    random: &'r mut Rng,
    /// Attributes that conditions leave alone: DynamoDB Local checks the types of keys' conditions.
    keys: Vec<&'static str>,
    text: String,
    parameters: Vec<Json>,
}

impl<'r> Text<'r> {
    fn new(random: &'r mut Rng) -> Self {
        Text {
            random,
            keys: Vec::new(),
            text: String::new(),
            parameters: Vec::new(),
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The members of a request; one statement in eight has a word too few or in a wrong place.
    fn body(self) -> Json {
        let text = if self.random.u8(..8) == 0 {
            garbled(self.random, &self.text)
        } else {
            self.text
        };
        if self.parameters.is_empty() {
            json!({ "Statement": text })
        } else {
            json!({ "Statement": text, "Parameters": self.parameters })
        }
    }

    fn name(&mut self) -> &'static str {
        pick(self.random, &NAMES)
    }

    fn columns(&mut self) {
        let columns = match self.random.u8(..4) {
            0 => "*".to_owned(),
            1 => "m.a, l[0]".to_owned(),
            _ => format!("\"{}\", pk", self.name()),
        };
        self.push(&columns);
    }

    /// A value, as a literal or as a parameter. There is no literal of bytes.
    fn operand(&mut self, value: Json) {
        match literal(&value) {
            Some(literal) if self.random.bool() => self.push(&literal),
            _ => {
                self.push("?");
                self.parameters.push(value);
            }
        }
    }

    fn key_operand(&mut self, kind: &str) {
        let value = key_value(self.random, kind);
        self.operand(value);
    }

    fn key(&mut self, keys: Keys) {
        for (at, (name, kind)) in keys.all().enumerate() {
            let and = if at == 0 { "" } else { " AND " };
            self.push(&format!("{and}{name} = "));
            self.key_operand(kind);
        }
    }

    fn sort_keys(&mut self, sort: Option<Key>) {
        let Some((name, kind)) = sort.filter(|_| self.random.bool()) else {
            return;
        };
        let operator = pick(self.random, &["=", "<", "<=", ">", ">=", "<>"]);
        self.push(&format!(" AND {name} {operator} "));
        self.key_operand(kind);
    }

    fn sometimes_conditional(&mut self) {
        if self.random.u8(..3) == 0 {
            self.push(" AND ");
            self.condition();
        }
    }

    fn condition(&mut self) {
        let mut name = self.name();
        while self.keys.contains(&name) {
            name = self.name();
        }
        let value = named(self.random, name);
        match self.random.u8(..10) {
            0 => self.push(&format!("\"{name}\" IS MISSING")),
            1 => self.push(&format!("\"{name}\" IS NOT MISSING")),
            2 => self.push(&format!("\"{name}\" IS NULL")),
            3 => self.push(&format!("size(\"{name}\") > 1")),
            4 => {
                let negation = pick(self.random, &["", "NOT "]);
                self.push(&format!("{negation}contains(\"{name}\", "));
                self.operand(value);
                self.push(")");
            }
            5 => {
                self.push(&format!("\"{name}\" IN ["));
                self.operand(value);
                self.push(", 'a', 1]");
            }
            6 => {
                self.push("(m.a = ");
                self.operand(value);
                self.push(" OR l[0] <> 1)");
            }
            _ => {
                let operator = pick(self.random, &["=", "<>", "<", ">="]);
                self.push(&format!("\"{name}\" {operator} "));
                self.operand(value);
            }
        }
    }

    /// One change, or two of different attributes.
    fn changes(&mut self) {
        match self.random.u8(..8) {
            0 => self.push(" SET n = n + 1"),
            1 => self.push(" SET n = n - 2"),
            2 => self.push(" SET l = list_append(l, ['x', 1])"),
            3 => self.push(" SET ss = set_add(ss, <<'a', 'z'>>)"),
            4 => self.push(" SET ns = set_delete(ns, <<1>>)"),
            5 => {
                self.push(" SET m.a = ");
                let value = named(self.random, "a");
                self.operand(value);
            }
            6 => self.push(" REMOVE l[0]"),
            _ => {
                let name = self.name();
                self.push(&format!(" SET \"{name}\" = "));
                let value = named(self.random, name);
                self.operand(value);
            }
        }
        if self.random.u8(..3) == 0 {
            self.push(" REMOVE zz");
        }
    }
}

/// A value as PartiQL writes it, unless there are bytes in it.
fn literal(value: &Json) -> Option<String> {
    let (kind, value) = value.as_object()?.iter().next()?;
    let list = || value.as_array().into_iter().flatten();
    let texts = |quote: &str| -> Vec<String> {
        let texts = list().filter_map(Json::as_str);
        texts.map(|text| format!("{quote}{text}{quote}")).collect()
    };
    match kind.as_str() {
        "S" => Some(format!("'{}'", value.as_str()?)),
        "N" => Some(value.as_str()?.to_owned()),
        "BOOL" => Some(value.to_string()),
        "NULL" => Some("NULL".to_owned()),
        "SS" => Some(format!("<<{}>>", texts("'").join(", "))),
        "NS" => Some(format!("<<{}>>", texts("").join(", "))),
        "L" => {
            let elements: Option<Vec<String>> = list().map(literal).collect();
            Some(format!("[{}]", elements?.join(", ")))
        }
        "M" => {
            let entries = value.as_object()?.iter();
            let entries =
                entries.map(|(name, value)| Some(format!("'{name}': {}", literal(value)?)));
            let entries: Option<Vec<String>> = entries.collect();
            Some(format!("{{{}}}", entries?.join(", ")))
        }
        _ => None,
    }
}

fn garbled(random: &mut Rng, text: &str) -> String {
    let mut words: Vec<&str> = text.split(' ').collect();
    let at = random.usize(..words.len());
    match random.u8(..3) {
        0 => drop(words.remove(at)),
        1 => words.insert(
            at,
            pick(random, &["AND", ")", "(", ",", "=", "FROM", "'x'"]),
        ),
        _ => {
            let other = random.usize(..words.len());
            words.swap(at, other);
        }
    }
    words.join(" ")
}
