//! How operations on tables describe one.

use partita_core::key::KeyType;
use partita_store::request::TableDescription;
use partita_store::table::{KeyAttribute, KeySchema};
use serde::Serialize;

use crate::parameters;

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Described {
    attribute_definitions: Vec<Definition>,
    table_name: String,
    key_schema: Vec<KeyElement>,
    table_status: &'static str,
    provisioned_throughput: Throughput,
    table_size_bytes: u64,
    item_count: u64,
    table_arn: String,
    billing_mode_summary: Billing,
    deletion_protection_enabled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Definition {
    attribute_name: String,
    attribute_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct KeyElement {
    attribute_name: String,
    key_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Throughput {
    number_of_decreases_today: u32,
    read_capacity_units: u32,
    write_capacity_units: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Billing {
    billing_mode: &'static str,
}

impl From<TableDescription> for Described {
    fn from(description: TableDescription) -> Self {
        let TableDescription { table, schema } = description;
        let (attribute_definitions, key_schema) = keys(&schema);
        Described {
            attribute_definitions,
            table_arn: parameters::arn(&table),
            table_name: table.into(),
            key_schema,
            // A store answers once a table can be used.
            table_status: "ACTIVE",
            provisioned_throughput: Throughput {
                number_of_decreases_today: 0,
                read_capacity_units: 0,
                write_capacity_units: 0,
            },
            // The service counts every six hours or so; zero is what it says until then.
            table_size_bytes: 0,
            item_count: 0,
            // Nothing is provisioned here, whatever the table was created with.
            billing_mode_summary: Billing {
                billing_mode: "PAY_PER_REQUEST",
            },
            deletion_protection_enabled: false,
        }
    }
}

fn keys(schema: &KeySchema) -> (Vec<Definition>, Vec<KeyElement>) {
    let define = |attribute: &KeyAttribute| Definition {
        attribute_name: attribute.name.clone(),
        attribute_type: match attribute.kind {
            KeyType::S => "S",
            KeyType::N => "N",
            KeyType::B => "B",
        },
    };
    let kinds = ["HASH", "RANGE"].into_iter();
    let elements = schema.attributes().zip(kinds);
    let elements = elements.map(|(attribute, key_type)| KeyElement {
        attribute_name: attribute.name.clone(),
        key_type,
    });
    (
        schema.attributes().map(define).collect(),
        elements.collect(),
    )
}
