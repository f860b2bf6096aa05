//! Operations on a plain table, one after the other.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::Waiters as _;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, ConditionCheck, KeySchemaElement, KeyType,
    KeysAndAttributes, Put, ReturnValue, ReturnValuesOnConditionCheckFailure, ScalarAttributeType,
    Select, TableStatus, TransactWriteItem,
};

use super::{number, statements, text};

pub(crate) async fn run(client: &Client) {
    tables(client).await;
    items(client).await;
    pages(client).await;
    batches(client).await;
    transactions(client).await;
    statements::legacy(client, "notes").await;
    statements::partiql(client, "notes").await;
    account(client).await;
    gone(client).await;
}

async fn tables(client: &Client) {
    let definition = |name: &str, kind| {
        let definition = AttributeDefinition::builder();
        definition
            .attribute_name(name)
            .attribute_type(kind)
            .build()
            .unwrap()
    };
    let key = |name: &str, kind| {
        let element = KeySchemaElement::builder();
        element.attribute_name(name).key_type(kind).build().unwrap()
    };
    let create = client
        .create_table()
        .table_name("notes")
        .attribute_definitions(definition("pk", ScalarAttributeType::S))
        .attribute_definitions(definition("sk", ScalarAttributeType::N))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .billing_mode(BillingMode::PayPerRequest);
    create.clone().send().await.unwrap();
    let there = client.wait_until_table_exists().table_name("notes");
    there.wait(Duration::from_secs(30)).await.unwrap();
    let exists = create.send().await.unwrap_err().into_service_error();
    assert!(exists.is_resource_in_use_exception());
    let described = client.describe_table().table_name("notes").send().await;
    let table = described.unwrap().table.unwrap();
    assert_eq!(table.table_status, Some(TableStatus::Active));
    let missing = client.describe_table().table_name("missing").send().await;
    let missing = missing.unwrap_err().into_service_error();
    assert!(missing.is_resource_not_found_exception());
}

async fn items(client: &Client) {
    let put = client.put_item().table_name("notes");
    let put = put.item("pk", text("a")).item("sk", number(1));
    put.clone()
        .item("n", AttributeValue::N("1.50".into()))
        .send()
        .await
        .unwrap();
    let refused = put
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    match refused.send().await.unwrap_err().into_service_error() {
        PutItemError::ConditionalCheckFailedException(failed) => {
            assert_eq!(failed.item.unwrap()["n"], AttributeValue::N("1.5".into()));
        }
        other => panic!("{other:?}"),
    }
    let get = client
        .get_item()
        .table_name("notes")
        .projection_expression("n");
    let get = get.key("pk", text("a")).key("sk", number(1)).send().await;
    let item = get.unwrap().item.unwrap();
    assert_eq!(
        (item.len(), &item["n"]),
        (1, &AttributeValue::N("1.5".into()))
    );
    let update = client
        .update_item()
        .table_name("notes")
        .update_expression("ADD n :n");
    let update = update.expression_attribute_values(":n", number(1));
    let update = update.key("pk", text("a")).key("sk", number(1));
    let updated = update
        .return_values(ReturnValue::UpdatedNew)
        .send()
        .await
        .unwrap();
    assert_eq!(
        updated.attributes.unwrap()["n"],
        AttributeValue::N("2.5".into())
    );
    let delete = client
        .delete_item()
        .table_name("notes")
        .return_values(ReturnValue::AllOld);
    let deleted = delete
        .key("pk", text("a"))
        .key("sk", number(1))
        .send()
        .await;
    assert_eq!(deleted.unwrap().attributes.unwrap().len(), 3);
}

async fn pages(client: &Client) {
    for sk in 0..5 {
        let put = client.put_item().table_name("notes");
        put.item("pk", text("p"))
            .item("sk", number(sk))
            .send()
            .await
            .unwrap();
    }
    let query = client
        .query()
        .table_name("notes")
        .key_condition_expression("#k = :k AND sk > :s")
        .expression_attribute_names("#k", "pk")
        .expression_attribute_values(":k", text("p"))
        .expression_attribute_values(":s", number(0));
    let pages = query
        .scan_index_forward(false)
        .limit(3)
        .into_paginator()
        .items()
        .send();
    let items = pages.collect::<Result<Vec<_>, _>>().await.unwrap();
    let sorts: Vec<_> = items
        .iter()
        .map(|item| item["sk"].as_n().unwrap().as_str())
        .collect();
    assert_eq!(sorts, ["4", "3", "2", "1"]);
    let scan = client
        .scan()
        .table_name("notes")
        .select(Select::Count)
        .send()
        .await;
    assert_eq!(scan.unwrap().count, 5);
}

async fn batches(client: &Client) {
    let key = |sk: i32| [("pk".into(), text("p")), ("sk".into(), number(sk))].into();
    let keys = KeysAndAttributes::builder()
        .keys(key(0))
        .keys(key(77))
        .build()
        .unwrap();
    let got = client
        .batch_get_item()
        .request_items("notes", keys)
        .send()
        .await
        .unwrap();
    assert_eq!(got.responses.unwrap()["notes"].len(), 1);
    assert!(got.unprocessed_keys.unwrap().is_empty());
}

async fn transactions(client: &Client) {
    let put = Put::builder()
        .table_name("notes")
        .item("pk", text("t"))
        .item("sk", number(1));
    let put = TransactWriteItem::builder()
        .put(put.build().unwrap())
        .build();
    let write = client.transact_write_items().transact_items(put.clone());
    write.send().await.unwrap();
    let check = ConditionCheck::builder()
        .table_name("notes")
        .condition_expression("attribute_exists(pk)");
    let check = check
        .key("pk", text("zz"))
        .key("sk", number(1))
        .build()
        .unwrap();
    let check = TransactWriteItem::builder().condition_check(check).build();
    let write = client
        .transact_write_items()
        .transact_items(put)
        .transact_items(check);
    match write.send().await.unwrap_err().into_service_error() {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => {
            let reasons = cancelled.cancellation_reasons.unwrap();
            let codes: Vec<_> = reasons
                .iter()
                .map(|reason| reason.code().unwrap())
                .collect();
            assert_eq!(codes, ["None", "ConditionalCheckFailed"]);
        }
        other => panic!("{other:?}"),
    }
}

async fn account(client: &Client) {
    let limits = client.describe_limits().send().await.unwrap();
    assert_eq!(limits.table_max_read_capacity_units, Some(40_000));
    let endpoints = client.describe_endpoints().send().await.unwrap();
    assert!(endpoints.endpoints[0].address.starts_with("127.0.0.1:"));
    let unknown = client.list_backups().send().await.unwrap_err();
    assert_eq!(
        unknown.into_service_error().code(),
        Some("UnknownOperationException")
    );
}

async fn gone(client: &Client) {
    let names = client
        .list_tables()
        .limit(1)
        .into_paginator()
        .items()
        .send();
    let names = names.collect::<Result<Vec<_>, _>>().await.unwrap();
    assert_eq!(names, ["notes"]);
    let delete = client.delete_table().table_name("notes");
    delete.send().await.unwrap();
    let gone = client.wait_until_table_not_exists().table_name("notes");
    gone.wait(Duration::from_secs(30)).await.unwrap();
}
