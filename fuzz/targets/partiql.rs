//! PartiQL statements, on their own and at the endpoint.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use partita_core::expression::{Condition, Statement};
use partita_fuzz::{ITEM, ask, endpoint_with_table};

fuzz_target!(|text: &str| {
    // One parameter of each type.
    let parameters = ITEM.values().cloned().collect();
    match Statement::parse(text, parameters) {
        Ok(statement) => evaluate(&statement),
        Err(error) => assert!(!error.message.is_empty()),
    }
    let endpoint = endpoint_with_table("partiql-select");
    let parameters: Vec<_> = ITEM.values().collect();
    let statement = serde_json::json!({ "Statement": text, "Parameters": parameters, "Limit": 1 });
    let body = Bytes::from(statement.to_string());
    ask(&endpoint, b"ExecuteStatement", body);
    let statements = serde_json::json!([{ "Statement": text, "Parameters": parameters }]);
    let batch = serde_json::json!({ "Statements": statements });
    ask(&endpoint, b"BatchExecuteStatement", batch.to_string().into());
    let transaction = serde_json::json!({ "TransactStatements": statements });
    ask(&endpoint, b"ExecuteTransaction", transaction.to_string().into());
});

fn evaluate(statement: &Statement) {
    let holds = |condition: &Option<Condition>| {
        condition.as_ref().is_none_or(|condition| condition.holds(&*ITEM))
    };
    match statement {
        Statement::Select(select) | Statement::Exists(select) => drop(holds(&select.condition)),
        Statement::Insert { .. } => {}
        Statement::Update { update, condition, .. } => {
            if holds(condition) {
                drop(update.apply(&mut ITEM.clone()));
            }
        }
        Statement::Delete { condition, .. } => drop(holds(condition)),
    }
}
