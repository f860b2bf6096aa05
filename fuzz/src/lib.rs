//! What the fuzz targets share.
//!
//! | target | input | what must hold |
//! |---|---|---|
//! | `condition`, `key_condition`, `update`, `projection` | the text of an expression | it is refused, or evaluates, and printed it reads back as the same |
//! | `item` | DynamoDB JSON of an item | what is accepted is written and read back as the same |
//! | `number` | the text of a number | the same, and its key bytes read back too |
//! | `request` | lines of an operation and its body | every answer is a result or a refusal, never an internal error |
//! | `partiql` | a PartiQL statement | it is refused or evaluates, and the endpoint answers it as any request |
//! | `legacy` | an operation and its body, with the parameters that expressions have replaced | as `request`, beside an item with every type |
//! | `sigv4` | a request's head and body | what is accepted is refused once its body is another |
//! | `design` | a design file | it compiles, or has diagnostics inside the text |
//!
//! `scripts/fuzz` makes the first inputs from the corpora of the crates' tests.

pub mod endpoint;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use partita_core::Value;
use partita_core::expression::{
    AttributeNames, AttributeValues, ExpressionCache, ExpressionError, RequestExpressions,
};

pub use endpoint::{ITEM, endpoint, send};

/// The names that expressions may use: `#a` for `a` and so on.
pub static NAMES: LazyLock<AttributeNames> = LazyLock::new(|| {
    let names = ITEM
        .keys()
        .map(|name| (format!("#{name}"), name.to_string()));
    names.collect()
});

/// The values that expressions may use, one of each type: `:a` for the value of `a` and so on.
pub static VALUES: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let values = ITEM
        .iter()
        .map(|(name, value)| (format!(":{name}"), value.clone()));
    values.collect()
});

/// Reads an expression as a request would bring it. Unused names and values do not matter here.
pub fn read<T>(
    text: &str,
    parse: impl FnOnce(&mut RequestExpressions<'_>, &str) -> Result<T, ExpressionError>,
) -> Option<T> {
    static RECEIVED: LazyLock<AttributeValues> = LazyLock::new(|| {
        let values = VALUES.iter();
        let values = values.map(|(name, value)| (name.clone(), value.clone().into()));
        values.collect()
    });
    // A cache of its own, because an answer must not depend on what was asked before.
    let cache = ExpressionCache::default();
    let mut expressions = RequestExpressions::new(&cache, Some(&NAMES), Some(&RECEIVED))
        .expect("these names and values are right");
    match parse(&mut expressions, text) {
        Ok(expression) => Some(expression),
        Err(error) => {
            assert!(!error.message.is_empty());
            None
        }
    }
}
