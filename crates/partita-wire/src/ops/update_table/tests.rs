use std::collections::BTreeMap;

use partita_store::index::IndexSchema;
use partita_store::request::{TableChange, TableDescription};
use partita_store::settings::Billing;
use partita_store::table::{KeySchema, TableSchema};
use serde_json::{Value as Json, json};

use super::*;

const ONE: Throughput = Throughput { read: 1, write: 1 };
const TWO: Throughput = Throughput { read: 2, write: 2 };

fn index(name: &str) -> IndexSchema {
    let asked = json!({"TableName": "tab", "AttributeDefinitions": definitions(),
        "GlobalSecondaryIndexUpdates": [create(name)]});
    let input: Input = serde_json::from_value(asked).unwrap();
    let empty = TableSchema::from(KeySchema::strings("pk", "sk"));
    let now = TableDescription::new("tab".parse().unwrap(), empty, 0);
    match &input.check().unwrap().request(&now).unwrap().changes[..] {
        [TableChange::CreateIndex(index)] => index.clone(),
        changes => panic!("{changes:?}"),
    }
}

fn definitions() -> Json {
    json!([{"AttributeName": "g", "AttributeType": "S"}])
}

fn create(name: &str) -> Json {
    json!({"Create": {"IndexName": name, "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}]}})
}

fn units(throughput: Throughput) -> Json {
    json!({"ReadCapacityUnits": throughput.read, "WriteCapacityUnits": throughput.write})
}

/// A table with the index `one`.
fn table(billing: Billing) -> TableDescription {
    let schema = TableSchema {
        key: KeySchema::strings("pk", "sk"),
        indexes: vec![index("one")],
    };
    let mut table = TableDescription::new("tab".parse().unwrap(), schema, 0);
    table.settings.billing = billing;
    table
}

fn provisioned(table: Throughput, indexes: &[(&str, Throughput)]) -> Billing {
    let indexes = indexes
        .iter()
        .map(|(name, units)| ((*name).to_owned(), *units));
    let indexes: BTreeMap<_, _> = indexes.collect();
    Billing::Provisioned { table, indexes }
}

fn changes(now: &TableDescription, asked: Json) -> Result<Vec<TableChange>, String> {
    let mut input = json!({"TableName": "tab"});
    input
        .as_object_mut()
        .unwrap()
        .extend(asked.as_object().unwrap().clone());
    let input: Input = serde_json::from_value(input).unwrap();
    let request = input.check().and_then(|asked| asked.request(now));
    let request = request.map_err(|refusal| refusal.message.unwrap_or_default());
    request.map(|request| request.changes)
}

#[test]
fn what_is_provisioned_of_an_index_changes_with_the_table_or_alone() {
    let now = table(provisioned(ONE, &[("one", ONE)]));
    let update = |throughput| json!([{"Update": {"IndexName": "one", "ProvisionedThroughput": units(throughput)}}]);
    let billing = |asked| -> Result<Billing, String> {
        match &changes(&now, asked)?[..] {
            [TableChange::Billing(billing)] => Ok(billing.clone()),
            changes => panic!("{changes:?}"),
        }
    };
    let alone = json!({"GlobalSecondaryIndexUpdates": update(TWO)});
    assert_eq!(billing(alone), Ok(provisioned(ONE, &[("one", TWO)])));
    let both =
        json!({"ProvisionedThroughput": units(TWO), "GlobalSecondaryIndexUpdates": update(TWO)});
    assert_eq!(billing(both), Ok(provisioned(TWO, &[("one", TWO)])));
    let same = json!({"GlobalSecondaryIndexUpdates": update(ONE)});
    let error = billing(same).unwrap_err();
    assert!(error.starts_with("The provisioned throughput for the index one will not change."));
    let on_demand = json!({"BillingMode": "PAY_PER_REQUEST"});
    assert_eq!(billing(on_demand), Ok(Billing::OnDemand));
}

#[test]
fn who_leaves_on_demand_says_what_every_index_has() {
    let now = table(Billing::OnDemand);
    let asked = json!({"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(ONE)});
    let error = changes(&now, asked).unwrap_err();
    assert!(error.ends_with("ProvisionedThroughput must be specified for index: one"));
}

#[test]
fn a_new_index_comes_with_its_throughput_and_a_deleted_one_takes_it_along() {
    let now = table(provisioned(ONE, &[("one", ONE)]));
    let mut two = create("two");
    two["Create"]["ProvisionedThroughput"] = units(TWO);
    let asked =
        json!({"AttributeDefinitions": definitions(), "GlobalSecondaryIndexUpdates": [two]});
    let billing = provisioned(ONE, &[("one", ONE), ("two", TWO)]);
    let expected = vec![
        TableChange::CreateIndex(index("two")),
        TableChange::Billing(billing),
    ];
    assert_eq!(changes(&now, asked), Ok(expected));
    let asked = json!({"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "one"}}]});
    let expected = vec![TableChange::DeleteIndex("one".to_owned())];
    assert_eq!(changes(&now, asked), Ok(expected));
}

/// dynoxide's CHANGELOG records this of the service.
#[test]
fn the_keys_of_an_index_are_defined_in_its_request() {
    let now = table(Billing::OnDemand);
    let mut two = create("two");
    two["Create"]["KeySchema"] = json!([{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]);
    let asked =
        json!({"AttributeDefinitions": definitions(), "GlobalSecondaryIndexUpdates": [two]});
    assert!(changes(&now, asked.clone()).is_err());
    let defined = |kind: &str| {
        let mut asked = asked.clone();
        let again = json!({"AttributeName": "sk", "AttributeType": kind});
        let definitions = asked["AttributeDefinitions"].as_array_mut();
        definitions.unwrap().push(again);
        changes(&now, asked)
    };
    assert_eq!(defined("S").unwrap().len(), 1);
    assert!(defined("N").unwrap_err().contains("cannot be redefined"));
}

#[test]
fn what_says_how_amazon_runs_a_table_changes_nothing() {
    let now = table(Billing::OnDemand);
    for asked in [
        json!({"TableClass": "STANDARD"}),
        json!({"SSESpecification": {"Enabled": true}}),
        json!({"OnDemandThroughput": {"MaxReadRequestUnits": 1}}),
        json!({"BillingMode": "PAY_PER_REQUEST"}),
    ] {
        assert_eq!(changes(&now, asked), Ok(Vec::new()));
    }
}
