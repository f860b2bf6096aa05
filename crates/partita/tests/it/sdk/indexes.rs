//! AWS's own SDK on a table with indexes, from its creation to its deletion.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, DeleteRequest, Get, GlobalSecondaryIndex,
    IndexStatus, KeySchemaElement, KeyType, LocalSecondaryIndex, Projection, ProjectionType,
    PutRequest, ReturnConsumedCapacity, ScalarAttributeType, Select, TableStatus, TransactGetItem,
    WriteRequest,
};

use super::{client, number, text};
use crate::endpoint::{self, Endpoint};

const TABLE: &str = "orders";

#[tokio::test]
async fn a_table_with_indexes_from_creation_to_deletion() {
    let endpoint = Endpoint::start();
    let client = client(&endpoint, endpoint::SECRET);
    create(&client).await;
    describe(&client).await;
    batch_write(&client).await;
    query_each_index(&client).await;
    scan_in_parallel(&client).await;
    transact_get(&client).await;
    consumed(&client).await;
    delete(&client).await;
}

fn keys(hashes: &[&str], ranges: &[&str]) -> Vec<KeySchemaElement> {
    let element = |name: &&str, kind: KeyType| {
        let element = KeySchemaElement::builder().attribute_name(*name);
        element.key_type(kind).build().unwrap()
    };
    let hashes = hashes.iter().map(|name| element(name, KeyType::Hash));
    let ranges = ranges.iter().map(|name| element(name, KeyType::Range));
    hashes.chain(ranges).collect()
}

fn projection(kind: ProjectionType, names: &[&str]) -> Projection {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    let names = Some(names).filter(|names: &Vec<String>| !names.is_empty());
    let projection = Projection::builder().projection_type(kind);
    projection.set_non_key_attributes(names).build()
}

fn global(name: &str, keys: Vec<KeySchemaElement>, of: Projection) -> GlobalSecondaryIndex {
    let index = GlobalSecondaryIndex::builder().index_name(name);
    let index = index.set_key_schema(Some(keys)).projection(of);
    index.build().unwrap()
}

/// Orders of a customer, found by their day too, by state, and by country and city.
async fn create(client: &Client) {
    let local = LocalSecondaryIndex::builder()
        .index_name("by-day")
        .set_key_schema(Some(keys(&["customer"], &["day"])))
        .projection(projection(ProjectionType::All, &[]));
    let place = keys(&["country", "city"], &["day", "order"]);
    let included = projection(ProjectionType::Include, &["sum"]);
    let mut create = client
        .create_table()
        .table_name(TABLE)
        .set_key_schema(Some(keys(&["customer"], &["order"])))
        .local_secondary_indexes(local.build().unwrap())
        .global_secondary_indexes(global("by-state", keys(&["state"], &["day"]), included))
        .global_secondary_indexes(global(
            "by-place",
            place,
            projection(ProjectionType::KeysOnly, &[]),
        ))
        .billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in [
        ("customer", ScalarAttributeType::S),
        ("order", ScalarAttributeType::N),
        ("day", ScalarAttributeType::N),
        ("state", ScalarAttributeType::S),
        ("country", ScalarAttributeType::S),
        ("city", ScalarAttributeType::S),
    ] {
        let definition = AttributeDefinition::builder().attribute_name(name);
        let definition = definition.attribute_type(kind).build().unwrap();
        create = create.attribute_definitions(definition);
    }
    create.send().await.unwrap();
}

async fn describe(client: &Client) {
    let described = client.describe_table().table_name(TABLE).send().await;
    let table = described.unwrap().table.unwrap();
    assert!(table.creation_date_time().unwrap().secs() > 1_700_000_000);
    let globals = table.global_secondary_indexes();
    let names: Vec<_> = globals.iter().map(|it| it.index_name().unwrap()).collect();
    assert_eq!(names, ["by-state", "by-place"]);
    assert_eq!(globals[0].index_status, Some(IndexStatus::Active));
    assert!(globals[0].index_arn().unwrap().ends_with("/index/by-state"));
    let place = keys(&["country", "city"], &["day", "order"]);
    assert_eq!(globals[1].key_schema(), place);
    let included = projection(ProjectionType::Include, &["sum"]);
    assert_eq!(globals[0].projection, Some(included));
    let local = &table.local_secondary_indexes()[0];
    assert_eq!(local.key_schema(), keys(&["customer"], &["day"]));
}

fn order(customer: &str, order: i32, state: &str) -> PutRequest {
    PutRequest::builder()
        .item("customer", text(customer))
        .item("order", number(order))
        // Later orders are of earlier days, so that the indexes have an order of their own.
        .item("day", number(100 - order))
        .item("state", text(state))
        .item("country", text("AT"))
        .item("city", text("Wien"))
        .item("sum", number(order * 10))
        .build()
        .unwrap()
}

fn key(customer: &str, order: i32) -> HashMap<String, AttributeValue> {
    let customer = ("customer".to_owned(), text(customer));
    [customer, ("order".to_owned(), number(order))].into()
}

async fn batch_write(client: &Client) {
    let puts = (1..=20).map(|number| {
        let state = if number % 2 == 0 { "open" } else { "paid" };
        order(&format!("c{}", number % 5), number, state)
    });
    let puts = puts.map(|put| WriteRequest::builder().put_request(put).build());
    let write = client.batch_write_item();
    let write = write.request_items(TABLE, puts.collect()).send().await;
    assert!(write.unwrap().unprocessed_items.unwrap().is_empty());
    let delete = DeleteRequest::builder().set_key(Some(key("c0", 20)));
    let delete = delete.build().unwrap();
    let writes = vec![WriteRequest::builder().delete_request(delete).build()];
    let write = client.batch_write_item().request_items(TABLE, writes);
    let write = write.return_consumed_capacity(ReturnConsumedCapacity::Total);
    let consumed = write.send().await.unwrap().consumed_capacity.unwrap();
    // The item and its entry in each of three indexes.
    assert_eq!(consumed[0].capacity_units, Some(4.0));
}

/// The numbers of the orders that an index has, page by page.
async fn orders(
    client: &Client,
    index: &str,
    condition: &str,
    values: &[(&str, &str)],
    forward: bool,
) -> Vec<i32> {
    let mut query = client.query().table_name(TABLE).index_name(index);
    query = query.key_condition_expression(condition);
    for (name, value) in values {
        query = query.expression_attribute_values(*name, text(value));
    }
    if condition.contains('#') {
        query = query.expression_attribute_names("#state", "state");
    }
    let pages = query.scan_index_forward(forward).limit(3).into_paginator();
    let items = pages.items().send().collect::<Result<Vec<_>, _>>().await;
    let number = |item: &HashMap<_, AttributeValue>| item["order"].as_n().unwrap().parse();
    let numbers = items.unwrap();
    numbers.iter().map(|item| number(item).unwrap()).collect()
}

async fn query_each_index(client: &Client) {
    let of_customer = [(":c", "c1")];
    check_both_ways(
        client,
        "by-day",
        "customer = :c",
        &of_customer,
        vec![16, 11, 6, 1],
    )
    .await;
    let open = (1..=9).rev().map(|half| half * 2).collect();
    check_both_ways(client, "by-state", "#state = :s", &[(":s", "open")], open).await;
    let place = [(":n", "AT"), (":c", "Wien")];
    let condition = "country = :n AND city = :c";
    let all = (1..=19).rev().collect();
    check_both_ways(client, "by-place", condition, &place, all).await;
}

async fn check_both_ways(
    client: &Client,
    index: &str,
    condition: &str,
    values: &[(&str, &str)],
    mut expected: Vec<i32>,
) {
    let forward = orders(client, index, condition, values, true).await;
    assert_eq!(forward, expected, "{index}");
    expected.reverse();
    let backward = orders(client, index, condition, values, false).await;
    assert_eq!(backward, expected, "{index}");
}

async fn scan_in_parallel(client: &Client) {
    let mut found = Vec::new();
    for segment in 0..4 {
        let scan = client.scan().table_name(TABLE).consistent_read(true);
        let scan = scan.segment(segment).total_segments(4).limit(2);
        let items = scan.into_paginator().items().send();
        let items = items.collect::<Result<Vec<_>, _>>().await.unwrap();
        found.extend(
            items
                .iter()
                .map(|item| item["order"].as_n().unwrap().clone()),
        );
    }
    found.sort_by_key(|number| number.parse::<i32>().unwrap());
    let expected: Vec<_> = (1..=19).map(|number| number.to_string()).collect();
    assert_eq!(found, expected);
}

async fn transact_get(client: &Client) {
    let get = |customer, order| {
        let get = Get::builder().table_name(TABLE);
        let get = get.set_key(Some(key(customer, order)));
        let get = get.projection_expression("#sum");
        let get = get.expression_attribute_names("#sum", "sum");
        TransactGetItem::builder().get(get.build().unwrap()).build()
    };
    let got = client
        .transact_get_items()
        .transact_items(get("c1", 1))
        .transact_items(get("c1", 2))
        .return_consumed_capacity(ReturnConsumedCapacity::Total);
    let got = got.send().await.unwrap();
    let items: Vec<_> = got.responses().iter().map(|it| it.item.clone()).collect();
    assert_eq!(items, [Some([("sum".to_owned(), number(10))].into()), None]);
    let consumed = &got.consumed_capacity()[0];
    assert_eq!(consumed.read_capacity_units, Some(4.0));
}

async fn consumed(client: &Client) {
    let put = client.put_item().table_name(TABLE);
    let put = put.set_item(Some(order("c9", 99, "open").item));
    let put = put.return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let consumed = put.send().await.unwrap().consumed_capacity.unwrap();
    assert_eq!(consumed.table_name(), Some(TABLE));
    assert_eq!(consumed.capacity_units, Some(4.0));
    assert_eq!(consumed.table.unwrap().capacity_units, Some(1.0));
    let globals = consumed.global_secondary_indexes.unwrap();
    assert_eq!(globals["by-state"].capacity_units, Some(1.0));
    assert_eq!(globals["by-place"].capacity_units, Some(1.0));
    let locals = consumed.local_secondary_indexes.unwrap();
    assert_eq!(locals["by-day"].capacity_units, Some(1.0));
    let scan = client.scan().table_name(TABLE).index_name("by-state");
    let scan = scan.select(Select::Count);
    let scan = scan.return_consumed_capacity(ReturnConsumedCapacity::Total);
    let scan = scan.send().await.unwrap();
    let units = scan.consumed_capacity.unwrap().capacity_units;
    assert_eq!((scan.count, units), (20, Some(0.5)));
}

async fn delete(client: &Client) {
    let listed = client.list_tables().send().await.unwrap();
    assert_eq!(listed.table_names(), [TABLE]);
    let deleted = client.delete_table().table_name(TABLE).send().await;
    let deleted = deleted.unwrap().table_description.unwrap();
    assert_eq!(deleted.table_status, Some(TableStatus::Deleting));
    let listed = client.list_tables().send().await.unwrap();
    assert!(listed.table_names().is_empty());
    let missing = client.delete_table().table_name(TABLE).send().await;
    let missing = missing.unwrap_err().into_service_error();
    assert!(missing.is_resource_not_found_exception());
}
