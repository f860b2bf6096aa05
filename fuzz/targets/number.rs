//! A number's text, and its bytes in keys.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_core::Number;

fuzz_target!(|text: &str| {
    let Ok(number) = text.parse::<Number>() else {
        return;
    };
    let printed = number.to_string();
    assert_eq!(printed.parse(), Ok(number), "{printed}");
    let mut bytes = Vec::new();
    number.write_ordered(&mut bytes);
    assert_eq!(Number::read_ordered(&bytes), Some((number, bytes.len())));
    if let Ok(twice) = number.checked_add(number) {
        assert_eq!(twice.checked_sub(number), Ok(number));
    }
    let _ = Number::read_ordered(text.as_bytes());
});
