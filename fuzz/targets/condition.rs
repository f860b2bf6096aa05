//! ConditionExpression and FilterExpression.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_core::expression::{Bindings, Condition, Renderer};
use partita_fuzz::{ITEM, read};

fuzz_target!(|text: &str| {
    let Some(condition) = read(text, |expressions, text| expressions.condition(text)) else {
        return;
    };
    let holds = condition.holds(&*ITEM);
    let mut renderer = Renderer::default();
    let printed = renderer.condition(&condition);
    let (names, values) = renderer.into_bindings();
    let bindings = Bindings::Placeholders { names: &names, values: &values };
    let again = Condition::parse(&printed, &bindings).expect("what we print, we read");
    assert_eq!(again, condition, "{printed}");
    assert_eq!(again.holds(&*ITEM), holds);
});
