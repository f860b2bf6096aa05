//! Legacy parameters and PartiQL.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeAction, AttributeValueUpdate, ComparisonOperator, Condition, ExpectedAttributeValue,
    ParameterizedStatement,
};

use super::{number, text};

fn equal(value: &str) -> Condition {
    Condition::builder()
        .comparison_operator(ComparisonOperator::Eq)
        .attribute_value_list(text(value))
        .build()
        .unwrap()
}

/// The parameters that expressions have replaced.
pub(super) async fn legacy(client: &Client, table: &str) {
    let count = AttributeValueUpdate::builder()
        .action(AttributeAction::Add)
        .value(number(2));
    let absent = ExpectedAttributeValue::builder().exists(false);
    let update = || {
        client
            .update_item()
            .table_name(table)
            .key("pk", text("legacy"))
            .key("sk", number(1))
            .attribute_updates("count", count.clone().build())
            .expected("count", absent.clone().build())
    };
    update().send().await.unwrap();
    let refused = update().send().await.unwrap_err().into_service_error();
    assert!(refused.is_conditional_check_failed_exception());
    let found = client
        .query()
        .table_name(table)
        .key_conditions("pk", equal("legacy"))
        .attributes_to_get("count")
        .send();
    let found = found.await.unwrap();
    assert_eq!(found.items()[0]["count"], number(2));
    assert_eq!(found.items()[0].len(), 1);
}

/// Statements, one by one and in a transaction.
pub(super) async fn partiql(client: &Client, table: &str) {
    let insert = format!("INSERT INTO \"{table}\" VALUE {{'pk': 'partiql', 'sk': ?, 'n': 1}}");
    let one = |sk| {
        let statement = client.execute_statement().statement(insert.clone());
        statement.parameters(number(sk)).send()
    };
    one(1).await.unwrap();
    one(2).await.unwrap();
    let refused = one(1).await.unwrap_err().into_service_error();
    assert!(refused.is_duplicate_item_exception());
    let select = format!("SELECT sk FROM \"{table}\" WHERE pk = 'partiql'");
    let page = |token: Option<String>| {
        let statement = client.execute_statement().statement(select.clone());
        statement.limit(1).set_next_token(token).send()
    };
    let first = page(None).await.unwrap();
    assert_eq!(first.items()[0]["sk"], number(1));
    let second = page(first.next_token).await.unwrap();
    assert_eq!(second.items()[0]["sk"], number(2));
    let statement = |text: String| {
        let statement = ParameterizedStatement::builder().statement(text);
        statement.build().unwrap()
    };
    let of_item = format!("\"{table}\" WHERE pk = 'partiql' AND sk = 1");
    client
        .execute_transaction()
        .transact_statements(statement(format!(
            "UPDATE \"{table}\" SET n = n + 1 WHERE pk = 'partiql' AND sk = 2"
        )))
        .transact_statements(statement(format!(
            "EXISTS(SELECT * FROM {of_item} AND n = 1)"
        )))
        .send()
        .await
        .unwrap();
    let read = client
        .execute_transaction()
        .transact_statements(statement(format!("SELECT n FROM {of_item}")))
        .send();
    let read = read.await.unwrap();
    let item = read.responses()[0].item().unwrap();
    assert_eq!(item["n"], number(1));
}
