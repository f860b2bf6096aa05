//! KeyConditionExpression.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_core::expression::{
    AttributeNames, AttributeValues, ExpressionCache, KeyCondition, Renderer, RequestExpressions,
};
use partita_fuzz::read;

fuzz_target!(|text: &str| {
    let Some(pending) = read(text, |expressions, text| expressions.key_condition(text)) else {
        return;
    };
    let Ok(keys) = pending.resolve() else { return };
    let mut renderer = Renderer::default();
    let printed = renderer.key_condition(&keys);
    let (names, values) = renderer.into_bindings();
    let values = values.into_iter().map(|(name, value)| (name, value.into()));
    let again = again(&printed, &names, &values.collect());
    assert_eq!(again, keys, "{printed}");
});

fn again(
    printed: &str,
    names: &AttributeNames,
    values: &AttributeValues,
) -> KeyCondition {
    let cache = ExpressionCache::default();
    let expressions = RequestExpressions::new(&cache, Some(names), Some(values));
    let mut expressions = expressions.expect("these names and values are right");
    let pending = expressions.key_condition(printed).expect("what we print, we read");
    expressions.finish().expect("every name and value is used");
    pending.resolve().expect("what keys were asked, they may be asked again")
}
