//! Values that make a key longer than a store takes.

use std::sync::Arc;

use partita_plan::{Operation, PlanError};
use partita_store::ModelStore;

use crate::stage::{open, run, texts};

const DESIGN: &str = r#"
design = "lockers"

[table]
name = "lockers"
key  = ["PK", "SK"]

[index]
GSI1 = ["GSI1PK", "GSI1SK"]
byTag = ["tag"]

[entity.Locker]
PK     = "HALL#{hall}"
SK     = "LOCKER#{name}"
GSI1PK = "OF#{owner}"
GSI1SK = "{label}#{hall}#{name}"

[entity.Locker.attributes]
hall  = "string"
name  = "string"
owner = "string"
label = "string"
tag   = "string"
plate = "string"

[entity.Locker.unique]
plate = "UNIQUE#PLATE#{plate}"

[entity.Locker.allow]
"*" = "signed-in"
"#;

#[tokio::test]
async fn a_value_that_makes_a_key_too_long_is_refused_by_name() {
    let partita = open(DESIGN, Arc::new(ModelStore::default()), 1).await;
    let create = async |name: &str, bytes: usize| {
        let mut attributes = texts(&[
            ("hall", "h"),
            ("name", "n"),
            ("owner", "o"),
            ("label", "l"),
            ("tag", "t"),
            ("plate", "p"),
        ]);
        attributes.insert(name, "x".repeat(bytes).into());
        let entity = "Locker".to_owned();
        run(&partita, Operation::Create { entity, attributes }).await
    };
    for (name, bytes_max) in [
        ("hall", 2_048),
        ("name", 1_024),
        ("owner", 2_048),
        ("label", 1_024),
        ("tag", 2_048),
        ("plate", 2_048),
    ] {
        let refused = create(name, bytes_max + 1).await.unwrap_err();
        let PlanError::Invalid { faults } = &refused else {
            panic!("{name}: {refused:?}");
        };
        let message = format!("is part of a key that has more than {bytes_max} bytes with it");
        let said: Vec<_> = faults
            .iter()
            .map(|fault| (fault.attribute.as_str(), fault.message.as_str()))
            .collect();
        assert_eq!(said, [(name, message.as_str())]);
    }
    create("plate", 2_000).await.unwrap();
}
