//! Values as they come in.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::ValueError;
use super::messages::{ShapeFault, VALUE_CLASS};
use super::scalar::{Blob, NUMBER_KEY, ReadScalar, Scalar};
use crate::limits::NESTING_MAX;
use crate::{Map, Name, Type, Value};

/// Elements of a list whose room to grow is worth giving back.
const LONG: usize = 256;

/// A value or an item that was read to its end, with what is wrong with it if anything is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received<T>(pub Result<T, ValueError>);

impl<T> Received<T> {
    /// The value, or why it is refused.
    pub fn as_result(&self) -> Result<&T, &ValueError> {
        self.0.as_ref()
    }

    /// The value, or why it is refused.
    ///
    /// # Errors
    ///
    /// As said when the value was read.
    pub fn into_result(self) -> Result<T, ValueError> {
        self.0
    }
}

impl<T> From<T> for Received<T> {
    fn from(value: T) -> Self {
        Received(Ok(value))
    }
}

impl<'de> Deserialize<'de> for Received<Value> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = OneValue { depth: 0 }.deserialize(deserializer)?;
        let null = ValueError::Null { name: None };
        Ok(Received(value.unwrap_or(Err(null))))
    }
}

impl<'de> Deserialize<'de> for Received<Map> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Entries(OneValue { depth: 0 }).deserialize(deserializer)?;
        Ok(Received(entries.unwrap_or_else(|| Ok(Map::new()))))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Received::<Value>::deserialize(deserializer)?
            .0
            .map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = Entries(OneValue { depth: 0 }).deserialize(deserializer)?;
        let null = ValueError::Null { name: None };
        entries.unwrap_or(Err(null)).map_err(D::Error::custom)
    }
}

/// What all readers of arrays and objects answer alike: a null is nothing, a scalar is refused.
macro_rules! refuse_scalars {
    ($fault:expr) => {
        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
            Err(E::custom($fault))
        }

        fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
            Err(E::custom($fault))
        }

        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Err(E::custom($fault))
        }

        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Err(E::custom($fault))
        }

        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Err(E::custom($fault))
        }
    };
}

/// What was read: a null is nothing, and a refused value its reason.
type Judged<T> = Option<Result<T, ValueError>>;

/// Reads one value that is `depth` lists and maps deep.
#[derive(Clone, Copy)]
struct OneValue {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for OneValue {
    type Value = Judged<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneValue {
    type Value = Judged<Value>;

    refuse_scalars!(ShapeFault::Value);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute value such as {\"S\": \"text\"}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        let class = VALUE_CLASS;
        Err(A::Error::custom(ShapeFault::List { class }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut judged: Judged<Value> = None;
        while let Some(letters) = entries.next_key::<Letters>()? {
            let kind = match letters {
                Letters::Of(kind) => kind,
                Letters::Number => return Err(A::Error::custom(ShapeFault::Value)),
                // DynamoDB ignores unknown types.
                Letters::Unknown => {
                    entries.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            judged = match (judged, read(self, kind, &mut entries)?) {
                (before, None) => before,
                // That there are several is the last thing to be noticed.
                (Some(Err(ValueError::SeveralTypes)), Some(Err(worse))) => Some(Err(worse)),
                (Some(Err(first)), _) | (Some(Ok(_)), Some(Err(first))) => Some(Err(first)),
                (Some(Ok(_)), Some(Ok(_))) => Some(Err(ValueError::SeveralTypes)),
                (None, now) => now,
            };
        }
        Ok(Some(judged.unwrap_or(Err(ValueError::Empty))))
    }
}

/// The key before a value's content. It is most of what a value consists of, so that it is read
/// without a string of its own.
enum Letters {
    Of(Type),
    /// Not a key at all: the value is a number.
    Number,
    Unknown,
}

impl<'de> Deserialize<'de> for Letters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;

        impl Visitor<'_> for Read {
            type Value = Letters;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a type such as S")
            }

            fn visit_str<E: Error>(self, letters: &str) -> Result<Letters, E> {
                Ok(match Type::from_letters(letters) {
                    Some(kind) => Letters::Of(kind),
                    None if letters == NUMBER_KEY => Letters::Number,
                    None => Letters::Unknown,
                })
            }
        }

        deserializer.deserialize_identifier(Read)
    }
}

/// Reads what a type's letters announced.
fn read<'de, A: MapAccess<'de>>(
    here: OneValue,
    kind: Type,
    entries: &mut A,
) -> Result<Judged<Value>, A::Error> {
    Ok(match kind {
        Type::S => entries
            .next_value_seed(ReadScalar::new())?
            .map(|text| Ok(Value::S(text))),
        Type::N => entries
            .next_value_seed(ReadScalar::<String>::new())?
            .map(|text| Ok(Value::N(text.parse()?))),
        Type::B => entries
            .next_value_seed(ReadScalar::<Blob>::new())?
            .map(|blob| Ok(Value::B(blob.bytes))),
        Type::Bool => entries
            .next_value_seed(ReadScalar::new())?
            .map(|truth| Ok(Value::Bool(truth))),
        Type::Null => entries.next_value_seed(ReadScalar::new())?.map(|truth| {
            if truth {
                Ok(Value::Null)
            } else {
                Err(ValueError::NullIsFalse)
            }
        }),
        Type::L => nested(here, entries, Elements, Value::L)?,
        Type::M => nested(here, entries, Entries, Value::M)?,
        Type::Ss => entries.next_value_seed(Members::new())?.map(string_set),
        Type::Ns => entries.next_value_seed(Members::new())?.map(number_set),
        Type::Bs => entries.next_value_seed(Members::new())?.map(binary_set),
    })
}

/// Reads a list or a map, one level deeper.
fn nested<'de, A, S, T>(
    here: OneValue,
    entries: &mut A,
    seed: fn(OneValue) -> S,
    value: fn(T) -> Value,
) -> Result<Judged<Value>, A::Error>
where
    A: MapAccess<'de>,
    S: DeserializeSeed<'de, Value = Judged<T>>,
{
    // INVARIANT: recursion ends here, so hostile input cannot exhaust the stack.
    if here.depth == NESTING_MAX {
        entries.next_value::<IgnoredAny>()?;
        return Ok(Some(Err(ValueError::TooDeep)));
    }
    let depth = here.depth + 1;
    let inner = entries.next_value_seed(seed(OneValue { depth }))?;
    Ok(inner.map(|inner| inner.map(value)))
}

fn string_set(members: Vec<Option<String>>) -> Result<Value, ValueError> {
    if members.is_empty() {
        return Err(ValueError::EmptyStringSet);
    }
    let members: Option<Vec<_>> = members.into_iter().collect();
    let members = members.ok_or(ValueError::NullMember)?;
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(ValueError::StringDuplicates { members });
    }
    Ok(Value::Ss(members.into_iter().collect()))
}

fn number_set(members: Vec<Option<String>>) -> Result<Value, ValueError> {
    if members.is_empty() {
        return Err(ValueError::EmptyNumberSet);
    }
    let mut set = BTreeSet::new();
    for member in members {
        if !set.insert(member.unwrap_or_default().parse()?) {
            return Err(ValueError::NumberDuplicates);
        }
    }
    Ok(Value::Ns(set))
}

fn binary_set(members: Vec<Option<Blob>>) -> Result<Value, ValueError> {
    if members.is_empty() {
        return Err(ValueError::EmptyBinarySet);
    }
    let members: Option<Vec<_>> = members.into_iter().collect();
    let members = members.ok_or(ValueError::NullMember)?;
    let set: BTreeSet<_> = members.iter().map(|blob| blob.bytes.clone()).collect();
    if set.len() == members.len() {
        return Ok(Value::Bs(set));
    }
    let members = members.into_iter().map(|blob| blob.base64).collect();
    Err(ValueError::BinaryDuplicates { members })
}

/// Gives back the room that a long list has to grow, which can be half of it.
fn fitted<T>(mut list: Vec<T>) -> Vec<T> {
    if list.len() > LONG {
        list.shrink_to_fit();
    }
    list
}

/// Keeps the first reason, or the last value.
fn keep<T>(judged: &mut Result<T, ValueError>, next: Result<(), ValueError>) {
    if let (Ok(_), Err(reason)) = (&judged, next) {
        *judged = Err(reason);
    }
}

/// Reads the members of a set.
struct Members<T>(std::marker::PhantomData<T>);

impl<T> Members<T> {
    fn new() -> Self {
        Members(std::marker::PhantomData)
    }
}

/// What the readers of arrays answer to an object, or to a number in an object's clothes.
fn object_for_list<'de, A: MapAccess<'de>>(mut entries: A) -> A::Error {
    match entries.next_key::<String>() {
        Ok(Some(key)) if key == NUMBER_KEY => A::Error::custom(ShapeFault::Field),
        Ok(_) => A::Error::custom(ShapeFault::Structure),
        Err(error) => error,
    }
}

impl<'de, T: Scalar> DeserializeSeed<'de> for Members<T> {
    type Value = Option<Vec<Option<T>>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Scalar> Visitor<'de> for Members<T> {
    type Value = Option<Vec<Option<T>>>;

    refuse_scalars!(ShapeFault::Field);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = elements.next_element_seed(ReadScalar::new())? {
            members.push(member);
        }
        Ok(Some(members))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
        Err(object_for_list(entries))
    }
}

/// Reads the elements of a list.
struct Elements(OneValue);

impl<'de> DeserializeSeed<'de> for Elements {
    type Value = Judged<Vec<Value>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Elements {
    type Value = Judged<Vec<Value>>;

    refuse_scalars!(ShapeFault::Field);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of attribute values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Ok(Vec::new());
        while let Some(judged) = elements.next_element_seed(self.0)? {
            match (&mut list, judged) {
                (Ok(list), Some(Ok(value))) => list.push(value),
                (_, Some(Err(reason))) => keep(&mut list, Err(reason)),
                (_, None) => keep(&mut list, Err(ValueError::Null { name: None })),
                (Err(_), Some(Ok(_))) => {}
            }
        }
        Ok(Some(list.map(fitted)))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
        Err(object_for_list(entries))
    }
}

/// Reads the fields of a map, or the attributes of an item.
struct Entries(OneValue);

impl<'de> DeserializeSeed<'de> for Entries {
    type Value = Judged<Map>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Entries {
    type Value = Judged<Map>;

    refuse_scalars!(ShapeFault::Field);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of attribute values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(A::Error::custom(ShapeFault::ListForMap))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        // Collected at the end: attributes come in any order, and inserting each would be quadratic.
        let mut map = Ok(Vec::new());
        while let Some(name) = entries.next_key::<Name>()? {
            if name == NUMBER_KEY {
                return Err(A::Error::custom(ShapeFault::Field));
            }
            let judged = entries.next_value_seed(self.0)?;
            if name.is_empty() {
                keep(&mut map, Err(ValueError::EmptyName));
            }
            match (&mut map, judged) {
                (Ok(map), Some(Ok(value))) => {
                    map.push((name, value));
                }
                (_, Some(Err(reason))) => keep(&mut map, Err(reason)),
                (_, None) => {
                    let name = Some(name.into());
                    keep(&mut map, Err(ValueError::Null { name }));
                }
                (Err(_), Some(Ok(_))) => {}
            }
        }
        Ok(Some(map.map(fitted).map(Map::from_iter)))
    }
}
