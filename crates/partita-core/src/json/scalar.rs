//! Strings, booleans and binaries inside a value, with DynamoDB's words for what they are not.

use std::fmt;
use std::marker::PhantomData;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::messages::ShapeFault;

/// `serde_json` keeps every digit of a long number by handing it out as a map with this one key.
pub(super) const NUMBER_KEY: &str = "$serde_json::private::Number";

/// What a scalar of DynamoDB JSON is read into.
pub(super) trait Scalar: Sized {
    /// The class that DynamoDB names when it finds a list.
    const CLASS: &'static str;

    fn from_text(text: &str) -> Result<Self, ShapeFault>;

    fn from_bool(truth: bool) -> Result<Self, ShapeFault>;

    /// What is wrong with a number in this place.
    fn number(is_whole: bool) -> ShapeFault;
}

impl Scalar for String {
    const CLASS: &'static str = "java.lang.String";

    fn from_text(text: &str) -> Result<Self, ShapeFault> {
        Ok(text.to_owned())
    }

    fn from_bool(truth: bool) -> Result<Self, ShapeFault> {
        Err(ShapeFault::Scalar {
            found: if truth { "TRUE_VALUE" } else { "FALSE_VALUE" },
            wanted: "String",
        })
    }

    fn number(is_whole: bool) -> ShapeFault {
        number_for(is_whole, "String")
    }
}

impl Scalar for bool {
    const CLASS: &'static str = "java.lang.Boolean";

    fn from_text(text: &str) -> Result<Self, ShapeFault> {
        // Amazon reads these, in any case.
        let is_one_of = |words: [&str; 3]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        match (
            is_one_of(["true", "1", "yes"]),
            is_one_of(["false", "0", "no"]),
        ) {
            (true, _) => Ok(true),
            (_, true) => Ok(false),
            _ => Err(ShapeFault::UnknownTruth),
        }
    }

    fn from_bool(truth: bool) -> Result<Self, ShapeFault> {
        Ok(truth)
    }

    fn number(is_whole: bool) -> ShapeFault {
        number_for(is_whole, "Boolean")
    }
}

/// Bytes, and the base64 they were sent as.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Blob {
    pub(super) bytes: Vec<u8>,
    pub(super) base64: String,
}

impl Scalar for Blob {
    const CLASS: &'static str = "java.nio.ByteBuffer";

    fn from_text(text: &str) -> Result<Self, ShapeFault> {
        if !text.len().is_multiple_of(4) {
            let length = text.len();
            return Err(ShapeFault::Base64Length { length });
        }
        let bytes = BASE64.decode(text);
        Ok(Blob {
            bytes: bytes.map_err(|_| ShapeFault::Base64Character)?,
            base64: text.to_owned(),
        })
    }

    fn from_bool(_: bool) -> Result<Self, ShapeFault> {
        Err(ShapeFault::NotBase64Text)
    }

    fn number(_: bool) -> ShapeFault {
        ShapeFault::NotBase64Text
    }
}

fn number_for(is_whole: bool, wanted: &'static str) -> ShapeFault {
    ShapeFault::Scalar {
        found: if is_whole {
            "NUMBER_VALUE"
        } else {
            "DECIMAL_VALUE"
        },
        wanted,
    }
}

/// Reads a scalar, or nothing where the JSON has a null.
pub(super) struct ReadScalar<T>(pub(super) PhantomData<T>);

impl<T> ReadScalar<T> {
    pub(super) fn new() -> Self {
        ReadScalar(PhantomData)
    }
}

impl<'de, T: Scalar> DeserializeSeed<'de> for ReadScalar<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Scalar> Visitor<'de> for ReadScalar<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a boolean")
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<T>, E> {
        T::from_text(text).map(Some).map_err(E::custom)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Option<T>, E> {
        T::from_bool(truth).map(Some).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Option<T>, E> {
        Err(E::custom(T::number(true)))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Option<T>, E> {
        Err(E::custom(T::number(true)))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Option<T>, E> {
        Err(E::custom(T::number(false)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Option<T>, A::Error> {
        let class = T::CLASS;
        Err(A::Error::custom(ShapeFault::List { class }))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Option<T>, A::Error> {
        if entries.next_key::<String>()?.as_deref() != Some(NUMBER_KEY) {
            return Err(A::Error::custom(ShapeFault::Structure));
        }
        let digits: String = entries.next_value()?;
        let is_whole = !digits.contains(['.', 'e', 'E']);
        Err(A::Error::custom(T::number(is_whole)))
    }
}
