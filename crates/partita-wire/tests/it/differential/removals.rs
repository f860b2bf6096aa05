//! Updates that only remove. DynamoDB Local creates the item that such an update does not find, and
//! Partita, as the service, does not. What it created is deleted again, or every request that meets
//! the item would be answered otherwise.

use serde_json::{Value, json};

use super::Request;
use super::ask::{Local, Ours};

/// Deletes what only DynamoDB Local has created.
pub(super) async fn level(request: &Request, ours: &Ours, local: &Local) {
    for update in updates(request)
        .into_iter()
        .filter(|update| only_removes(update))
    {
        let body = json!({"TableName": update["TableName"], "Key": update["Key"]});
        let ask = |operation| Request {
            operation,
            body: body.clone(),
        };
        let found = ours.send(&ask("GetItem")).await;
        if found.status == 200 && found.body.get("Item").is_none() {
            local.send(&ask("DeleteItem")).await;
        }
    }
}

fn updates(request: &Request) -> Vec<&Value> {
    match request.operation {
        "UpdateItem" => vec![&request.body],
        "TransactWriteItems" => {
            let actions = request.body["TransactItems"].as_array();
            let actions = actions.into_iter().flatten();
            actions.filter_map(|action| action.get("Update")).collect()
        }
        _ => Vec::new(),
    }
}

fn only_removes(update: &Value) -> bool {
    let text = update["UpdateExpression"].as_str();
    text.is_some_and(|text| !text.split(' ').any(|word| word == "SET" || word == "ADD"))
}
