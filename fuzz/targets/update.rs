//! UpdateExpression.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_core::expression::{Bindings, Renderer, Update};
use partita_fuzz::{ITEM, read};

fuzz_target!(|text: &str| {
    let Some(update) = read(text, |expressions, text| expressions.update(text)) else {
        return;
    };
    let mut item = ITEM.clone();
    if update.apply(&mut item).is_err() {
        assert_eq!(item, *ITEM, "an update that fails changes nothing");
    }
    let mut renderer = Renderer::default();
    let printed = renderer.update(&update);
    let (names, values) = renderer.into_bindings();
    let bindings = Bindings::Placeholders { names: &names, values: &values };
    let again = Update::parse(&printed, &bindings).expect("what we print, we read");
    assert_eq!(again, update, "{printed}");
});
