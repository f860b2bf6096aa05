//! An item in DynamoDB JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partita_core::json::Received;
use partita_core::size::item_bytes;
use partita_core::{Map, Value};

fuzz_target!(|bytes: &[u8]| {
    let Ok(received) = serde_json::from_slice::<Received<Map>>(bytes) else {
        return;
    };
    let Ok(item) = received.into_result() else { return };
    let size = item_bytes(&item);
    let written = serde_json::to_vec(&item).expect("every item can be written");
    let again: Received<Map> = serde_json::from_slice(&written).expect("what we write, we read");
    let again = again.into_result().expect("what we took, we take again");
    assert_eq!(again, item);
    assert_eq!(item_bytes(&again), size);
    // As an attribute of another item it is one level deeper, and may be too deep.
    let _ = serde_json::from_slice::<Value>(&[b"{\"M\":", &written[..], b"}"].concat());
});
