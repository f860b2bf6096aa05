//! What a write was decided on is guarded by its transaction.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Caller, Operation};
use partita_store::ModelStore;

use crate::stage::{open, texts};

const DESIGN: &str = r#"
design = "shop"

[table]
name = "shop"
key  = ["PK", "SK"]

[entity.Product]
PK = "PRODUCT#{product}"
SK = "PRODUCT"

[entity.Product.attributes]
product = "string"
price   = "int"
tax     = "int"
gross   = "int = price + tax, virtual"

[entity.Product.allow]
"*" = "signed-in"

[entity.Order]
PK = "ORDER#{order}"
SK = "ORDER"

[entity.Order.attributes]
order   = "string"
product = "string"
paid    = "int = of.gross on create"

[entity.Order.refs]
of = "Product, on delete keep"

[entity.Order.allow]
"*" = "signed-in"
"#;

/// An attribute that is not stored cannot be guarded by itself: what it is computed from is.
#[tokio::test]
async fn a_virtual_attribute_behind_a_ref_is_guarded_by_what_it_is_computed_from() {
    let partita = open(DESIGN, Arc::new(ModelStore::default()), 1).await;
    let ann = Caller::user("ann");
    let attributes = Map::from([
        ("product", Value::from("tea")),
        ("price", Value::from(4_i64)),
        ("tax", Value::from(1_i64)),
    ]);
    let entity = "Product".to_owned();
    let product = Operation::Create { entity, attributes };
    partita.run(&ann, product).await.unwrap();
    let order = Operation::Create {
        entity: "Order".to_owned(),
        attributes: texts(&[("order", "1"), ("product", "tea")]),
    };
    let preview = partita.preview(&ann, order).await.unwrap().to_string();
    for guarded in ["price = ", "tax = "] {
        assert!(preview.contains(guarded), "{preview}");
    }
}
