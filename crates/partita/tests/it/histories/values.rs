//! Values that a type accepts, few enough that they meet: tags, days and unique values come from
//! small sets, so that histories collide.

use partita_core::{Map, Number, Value};
use partita_design::Design;
use partita_design::time::TimeForm;
use partita_design::types::{AttributeType, Bounds, Count, Shape, StringType};

/// Texts that fit one pattern or another of the designs; the spellings of one tag differ.
const TEXTS: [&str; 14] = [
    "beach",
    " Beach",
    "Sea",
    "sea",
    "night",
    "pose:standing",
    "pose:sitting",
    "style:noir",
    "en",
    "fr",
    "10.00",
    "25.50",
    "USD",
    "EUR",
];

/// Distinct values of identities and unique attributes: so few that histories collide.
const FEW: usize = 12;

/// What a value is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Anything.
    Plain,
    /// A part of an identity, or a value that no two items share.
    Scarce,
}

/// Makes values up.
pub(crate) struct Values<'a> {
    pub(crate) random: &'a mut fastrand::Rng,
    pub(crate) design: &'a Design,
    pub(crate) now_millis: i64,
}

impl Values<'_> {
    /// A value of a type for an attribute of that name.
    pub(crate) fn of(&mut self, kind: &AttributeType, name: &str, used: Use) -> Value {
        match kind {
            AttributeType::String(string) => self.text(string, kind, name, used),
            AttributeType::Enum(names) => self.word(names),
            AttributeType::State(states) => Value::from(states.names[0].as_str()),
            AttributeType::Ulid => Value::S(self.ulid()),
            AttributeType::Uuid | AttributeType::Id => Value::S(self.uuid()),
            AttributeType::Time(form) => self.time(*form),
            AttributeType::Expiry => {
                // Some of them expire within a history.
                let longest = if self.random.bool() {
                    90_000
                } else {
                    4_000_000
                };
                let soon = self.now_millis + self.random.i64(5_000..longest);
                TimeForm::Epoch.write(soon)
            }
            AttributeType::Bool => Value::Bool(self.random.bool()),
            AttributeType::Number(bounds) => self.number(bounds, true),
            AttributeType::Int(bounds) => self.number(bounds, false),
            AttributeType::Counter | AttributeType::Version => Value::from(1_i64),
            AttributeType::List { element, count } => self.list(element, *count, name),
            AttributeType::Shape(shape) => self.map(shape),
            AttributeType::Map => Value::M(Map::from([("of".to_owned(), Value::from(name))])),
            AttributeType::Any => Value::from("anything"),
            AttributeType::Password => Value::from("hash"),
            AttributeType::Binary => Value::B(vec![self.random.u8(..)]),
            AttributeType::Set(_) => Value::Ss(["one".to_owned()].into()),
        }
    }

    /// The name of a file below a prefix of a bucket.
    pub(crate) fn file(&mut self, prefix: &str, item: &Map) -> Value {
        let mut prefixes = self.design.buckets.iter().flat_map(|one| &one.prefixes);
        let path = prefixes.find(|one| one.name == prefix);
        let path = path.and_then(|one| one.path.text(item)).unwrap_or_default();
        Value::S(format!("{path}file-{}.jpg", self.random.u8(..)))
    }

    fn text(&mut self, string: &StringType, kind: &AttributeType, name: &str, used: Use) -> Value {
        let number = match used {
            Use::Scarce => self.random.usize(0..FEW),
            Use::Plain => self.random.usize(0..1000),
        };
        let made = match string.format {
            Some(_) => format!("{name}{number}@example.org"),
            None => format!("{name}-{number:0width$}", width = string.length.min),
        };
        let made = Value::S(made);
        let from = self.random.usize(0..TEXTS.len());
        let texts = TEXTS.iter().cycle().skip(from).take(TEXTS.len());
        let fitting = texts
            .map(|text| Value::from(*text))
            .find(|text| kind.check(text).is_ok());
        let has_made = kind.check(&made).is_ok();
        match fitting {
            Some(fitting) if !has_made || string.pattern.is_some() => fitting,
            _ if has_made => made,
            _ => panic!("no text is known that is {}", kind.describe()),
        }
    }

    fn word(&mut self, words: &[String]) -> Value {
        let at = self.random.usize(0..words.len());
        Value::from(words[at].as_str())
    }

    fn time(&mut self, form: TimeForm) -> Value {
        match form {
            // Few days: a letter of a day is often there already.
            TimeForm::Date => Value::S(format!("2026-01-{:02}", self.random.usize(1..=FEW))),
            form => {
                let away = self.random.i64(-3_600_000..10_800_000);
                form.write(self.now_millis + away)
            }
        }
    }

    fn number(&mut self, bounds: &Bounds, has_halves: bool) -> Value {
        if let Some(choices) = (!bounds.choices.is_empty()).then_some(&bounds.choices) {
            return Value::N(choices[self.random.usize(0..choices.len())]);
        }
        let least = bounds.min.and_then(|min| min.to_i64()).unwrap_or(0);
        let least = least + i64::from(bounds.above_min);
        let most = bounds
            .max
            .and_then(|max| max.to_i64())
            .unwrap_or(least + 12);
        let whole = self.random.i64(least..=most);
        let half: Option<Number> = format!("{whole}.5").parse().ok();
        match half.filter(|half| has_halves && self.random.u8(0..4) == 0 && bounds.accepts(half)) {
            Some(half) => Value::N(half),
            None => Value::from(whole),
        }
    }

    fn list(&mut self, element: &AttributeType, count: Count, name: &str) -> Value {
        let most = count.max.unwrap_or(5).min(count.min + 4);
        let length = self.random.usize(count.min..=most);
        // The same few texts in every list, twice in one now and then.
        let values = (0..length).map(|_| match element {
            AttributeType::String(string) if string.pattern.is_none() => {
                Value::S(format!("{name}-{}", self.random.u8(0..6)))
            }
            element => self.of(element, name, Use::Plain),
        });
        Value::L(values.collect())
    }

    fn map(&mut self, shape: &Shape) -> Value {
        let mut map = Map::new();
        for field in &shape.fields {
            if field.optional && self.random.bool() {
                continue;
            }
            let value = match &field.file_in {
                Some(prefix) => self.file(prefix, &Map::new()),
                None => self.of(&field.kind, &field.name, Use::Plain),
            };
            map.insert(field.name.clone(), value);
        }
        Value::M(map)
    }

    fn ulid(&mut self) -> String {
        const LETTERS: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
        let letters = (0..16).map(|_| LETTERS[self.random.usize(0..LETTERS.len())] as char);
        format!("01JGFJJZ00{}", letters.collect::<String>())
    }

    fn uuid(&mut self) -> String {
        uuid(self.random.u64(..) & 0xffff_ffff_ffff)
    }
}

/// A UUID that ends with a number.
pub(crate) fn uuid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}
