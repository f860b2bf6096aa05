//! ProjectionExpression.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_core::expression::{ExpressionCache, Renderer, RequestExpressions};
use partita_fuzz::{ITEM, read};

fuzz_target!(|text: &str| {
    let Some(projection) = read(text, |expressions, text| expressions.projection(text)) else {
        return;
    };
    let part = projection.apply(&ITEM);
    assert!(part.keys().all(|name| ITEM.contains_key(name)));
    let mut renderer = Renderer::default();
    let printed = renderer.projection(&projection);
    let (names, _) = renderer.into_bindings();
    let cache = ExpressionCache::default();
    let mut expressions =
        RequestExpressions::new(&cache, Some(&names), None).expect("these names are right");
    // Printed names are longer, and a request's text has a bound.
    if printed.len() > 4096 {
        return;
    }
    let again = expressions.projection(&printed).expect("what we print, we read");
    assert_eq!(again, projection, "{printed}");
});
