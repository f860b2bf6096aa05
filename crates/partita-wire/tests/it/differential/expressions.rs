//! Expressions of every kind, with their names and values.

use fastrand::Rng;
use serde_json::{Map, Value as Json};

use super::attribute::{self, NAMES, key_value, named, of_type, pick};
use super::tables::{Key, Keys};

/// The expressions of one request.
pub(super) struct Expressions<'r> {
    random: &'r mut Rng,
    names: Map<String, Json>,
    values: Map<String, Json>,
}

impl<'r> Expressions<'r> {
    pub(super) fn new(random: &'r mut Rng) -> Self {
        Expressions {
            random,
            names: Map::new(),
            values: Map::new(),
        }
    }

    /// Adds the names and values to the request that uses them.
    pub(super) fn finish(self, body: &mut Map<String, Json>) {
        for (parameter, map) in [
            ("ExpressionAttributeNames", self.names),
            ("ExpressionAttributeValues", self.values),
        ] {
            if !map.is_empty() {
                body.insert(parameter.to_owned(), map.into());
            }
        }
    }

    /// How an attribute is spelled: as it is where that may be, or as `#n0`.
    fn name(&mut self, name: &str) -> String {
        let must = matches!(name, "status" | "x y");
        if !must && self.random.u8(..3) > 0 {
            return name.to_owned();
        }
        let placeholder = format!("#n{}", self.names.len());
        self.names.insert(placeholder.clone(), name.into());
        placeholder
    }

    fn value(&mut self, value: Json) -> String {
        let placeholder = format!(":v{}", self.values.len());
        self.values.insert(placeholder.clone(), value);
        placeholder
    }

    /// A path to an attribute, or into a list or map.
    fn path(&mut self) -> (String, &'static str) {
        let name = pick(self.random, &NAMES);
        let root = self.name(name);
        let path = match (name, self.random.u8(..3)) {
            ("l", 0) => format!("{root}[{}]", self.random.u8(..3)),
            ("m", 0) => format!("{root}.a"),
            ("m", 1) => {
                let inner = self.name("x y");
                format!("{root}.{inner}")
            }
            _ => root,
        };
        (path, name)
    }

    /// A condition or filter.
    pub(super) fn condition(&mut self, depth: u8) -> String {
        let choice = self.random.u8(..if depth == 0 { 9 } else { 12 });
        if choice >= 9 {
            return self.combined(choice, depth - 1);
        }
        let (path, name) = self.path();
        let value = |it: &mut Self| {
            let value = named(it.random, name);
            it.value(value)
        };
        match choice {
            0 => format!("attribute_exists({path})"),
            1 => format!("attribute_not_exists({path})"),
            2 => {
                let kind = pick(self.random, &attribute::TYPES);
                let kind = self.value(serde_json::json!({ "S": kind }));
                format!("attribute_type({path}, {kind})")
            }
            3 => {
                let kind = pick(self.random, &["S", "B"]);
                let prefix = of_type(self.random, kind);
                format!("begins_with({path}, {})", self.value(prefix))
            }
            4 => {
                let part = attribute::any(self.random);
                format!("contains({path}, {})", self.value(part))
            }
            5 => {
                let size = of_type(self.random, "N");
                format!("size({path}) {} {}", self.comparator(), self.value(size))
            }
            6 => {
                let count = self.random.usize(1..4);
                let values: Vec<_> = (0..count).map(|_| value(self)).collect();
                format!("{path} IN ({})", values.join(", "))
            }
            7 => self.between(&path),
            _ => {
                let comparator = self.comparator();
                let kind = pick(self.random, &["S", "N", "B"]);
                let value = match comparator {
                    "=" | "<>" => value(self),
                    _ => {
                        let bound = of_type(self.random, kind);
                        self.value(bound)
                    }
                };
                format!("{path} {comparator} {value}")
            }
        }
    }

    fn combined(&mut self, choice: u8, depth: u8) -> String {
        let one = self.condition(depth);
        if choice == 9 {
            return format!("NOT ({one})");
        }
        let two = self.condition(depth);
        match (choice, self.random.bool()) {
            (10, true) => format!("{one} AND {two}"),
            (10, false) => format!("({one}) AND ({two})"),
            (_, true) => format!("{one} OR {two}"),
            (_, false) => format!("({one}) OR ({two})"),
        }
    }

    fn comparator(&mut self) -> &'static str {
        pick(self.random, &["=", "<>", "<", "<=", ">", ">="])
    }

    fn between(&mut self, path: &str) -> String {
        let bounds = match pick(self.random, &["S", "N"]) {
            "S" => [serde_json::json!({"S": "a"}), serde_json::json!({"S": "b"})],
            _ => [serde_json::json!({"N": "0"}), serde_json::json!({"N": "5"})],
        };
        let [low, high] = bounds.map(|bound| self.value(bound));
        format!("{path} BETWEEN {low} AND {high}")
    }

    /// Some attributes, each once.
    pub(super) fn projection(&mut self) -> String {
        let mut names = NAMES.to_vec();
        self.random.shuffle(&mut names);
        names.truncate(self.random.usize(1..4));
        let paths: Vec<_> = names
            .into_iter()
            .map(|name| {
                let root = self.name(name);
                match (name, self.random.bool()) {
                    ("l", true) => format!("{root}[0]"),
                    ("m", true) => format!("{root}.a"),
                    _ => root,
                }
            })
            .collect();
        paths.join(", ")
    }

    /// What is asked of the keys of a table or index.
    pub(super) fn key_condition(&mut self, keys: Keys) -> String {
        let (name, kind) = keys.partition;
        let value = key_value(self.random, kind);
        let partition = format!("{} = {}", self.name(name), self.value(value));
        match keys.sort.filter(|_| self.random.u8(..3) > 0) {
            Some(sort) => format!("{partition} AND {}", self.sort_condition(sort)),
            None => partition,
        }
    }

    fn sort_condition(&mut self, (name, kind): Key) -> String {
        let name = self.name(name);
        let value = key_value(self.random, kind);
        match self.random.u8(..7) {
            0 if kind != "N" => format!("begins_with({name}, {})", self.value(value)),
            1 => {
                let (low, high) = match kind {
                    "S" => (serde_json::json!({"S": "a"}), serde_json::json!({"S": "b"})),
                    "N" => (serde_json::json!({"N": "0"}), serde_json::json!({"N": "5"})),
                    _ => (
                        serde_json::json!({"B": "AA=="}),
                        serde_json::json!({"B": "AAE="}),
                    ),
                };
                let (low, high) = (self.value(low), self.value(high));
                format!("{name} BETWEEN {low} AND {high}")
            }
            2 | 3 => format!("{name} = {}", self.value(value)),
            _ => {
                let comparator = pick(self.random, &["<", "<=", ">", ">="]);
                format!("{name} {comparator} {}", self.value(value))
            }
        }
    }

    /// An update of a few attributes, each in one clause.
    pub(super) fn update(&mut self) -> String {
        self.clauses(Self::action)
    }

    /// The same, but none that depends on what is there: in a transaction, DynamoDB Local refuses
    /// the request where the service cancels the transaction.
    pub(super) fn certain_update(&mut self) -> String {
        self.clauses(|it, name| {
            let path = it.name(name);
            match it.random.u8(..4) {
                0 => (1, path),
                _ => {
                    let value = named(it.random, name);
                    (0, format!("{path} = {}", it.value(value)))
                }
            }
        })
    }

    fn clauses(&mut self, mut action: impl FnMut(&mut Self, &str) -> (usize, String)) -> String {
        let mut names = NAMES.to_vec();
        self.random.shuffle(&mut names);
        names.truncate(self.random.usize(1..5));
        let mut clauses: [Vec<String>; 4] = Default::default();
        for name in names {
            let (clause, text) = action(self, name);
            clauses[clause].push(text);
        }
        let words = ["SET", "REMOVE", "ADD", "DELETE"];
        let clauses = words
            .iter()
            .zip(clauses)
            .filter(|(_, actions)| !actions.is_empty());
        let texts: Vec<_> = clauses
            .map(|(word, actions)| format!("{word} {}", actions.join(", ")))
            .collect();
        texts.join(" ")
    }

    /// What becomes of one attribute: the clause's position, and its text.
    fn action(&mut self, name: &str) -> (usize, String) {
        let path = self.name(name);
        let kind = match name {
            "ss" => "SS",
            "ns" => "NS",
            _ => "N",
        };
        match (name, self.random.u8(..6)) {
            ("ss" | "ns", 0 | 1) => {
                let elements = of_type(self.random, kind);
                (2, format!("{path} {}", self.value(elements)))
            }
            ("ss" | "ns", 2) => {
                let elements = of_type(self.random, kind);
                (3, format!("{path} {}", self.value(elements)))
            }
            ("n" | "c", 0) => {
                let number = of_type(self.random, "N");
                (2, format!("{path} {}", self.value(number)))
            }
            ("n" | "c", 1) => {
                let (one, two) = (of_type(self.random, "N"), of_type(self.random, "N"));
                let (one, two) = (self.value(one), self.value(two));
                (0, format!("{path} = if_not_exists({path}, {one}) + {two}"))
            }
            ("l", 0) => {
                let more = of_type(self.random, "L");
                let more = self.value(more);
                let none = self.value(serde_json::json!({"L": []}));
                (
                    0,
                    format!("{path} = list_append(if_not_exists({path}, {none}), {more})"),
                )
            }
            ("l", 1) => {
                let value = attribute::any(self.random);
                let at = self.random.u8(..4);
                (0, format!("{path}[{at}] = {}", self.value(value)))
            }
            ("m", 0) => {
                let value = attribute::any(self.random);
                (0, format!("{path}.a = {}", self.value(value)))
            }
            (_, 3) => (1, path),
            _ => {
                let value = named(self.random, name);
                (0, format!("{path} = {}", self.value(value)))
            }
        }
    }
}
