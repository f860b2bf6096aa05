//! An identity that is used again while what belonged to it is still being removed.

use std::sync::Arc;

use partita_plan::{Operation, Partita, PlanError};
use partita_store::ModelStore;

use crate::stage::{create, open, run, texts};

const DESIGN: &str = r#"
design = "tenants"

[table]
name          = "tenants"
key           = ["PK", "SK"]
discriminator = "Kind"

[entity.Tenant]
PK = "TENANT#{tenantId}"
SK = "TENANT"

[entity.Tenant.attributes]
tenantId = "string"
owner    = "string = caller on create"

[entity.Tenant.allow]
"*" = "signed-in"

[entity.Member]
PK = "TENANT#{tenantId}"
SK = "MEMBER#{userId}"

[entity.Member.attributes]
tenantId = "string"
userId   = "string"

[entity.Member.refs]
tenant = "Tenant, on delete cascade"

[entity.Member.allow]
"*" = "signed-in"

[trigger.founder]
on     = "create Tenant"
create = "Member"
with   = { tenantId = "{tenantId}", userId = "{owner}" }

[pattern.members]
query = "PK = 'TENANT#{tenantId}' AND begins_with(SK, 'MEMBER#')"
"#;

fn tenant() -> Operation {
    Operation::Create {
        entity: "Tenant".into(),
        attributes: texts(&[("tenantId", "t")]),
    }
}

/// The founder's membership is still there, and is not what the caller can do anything about.
#[tokio::test]
async fn says_that_it_is_still_being_removed() {
    let store = Arc::new(ModelStore::default());
    let partita: Partita = open(DESIGN, store, 1).await;
    run(&partita, tenant()).await.unwrap();
    for number in 0..120 {
        let user = format!("u{number:03}");
        create(&partita, "Member", &[("tenantId", "t"), ("userId", &user)]).await;
    }
    let delete = Operation::Delete {
        entity: "Tenant".into(),
        identity: vec!["t".into()],
        version: None,
    };
    run(&partita, delete).await.unwrap();
    let still = PlanError::StillRemoved {
        entity: "Tenant".into(),
    };
    assert_eq!(run(&partita, tenant()).await.unwrap_err(), still);
    let caller = partita_plan::Caller::user("ann");
    let batch = partita.run_all(&caller, vec![tenant()]).await;
    let Err(PlanError::Batch { refusals }) = batch else {
        panic!("{batch:?}");
    };
    assert_eq!(refusals[0].error, still);
    while partita.run_jobs().await.unwrap() > 0 {}
    run(&partita, tenant()).await.unwrap();
}
