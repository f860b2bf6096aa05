//! Effects see the write that causes them: the items that it leaves, not those that it found.

use std::sync::Arc;

use partita_core::{Item, Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::ModelStore;
use partita_verify::Collected;

use crate::stage::{items, open, texts};

const DESIGN: &str = r#"
design = "clubs"

[table]
name          = "clubs"
key           = ["PK", "SK"]
discriminator = "Kind"

[index]
byName = ["GSI1PK", "GSI1SK"]

[entity.Org]
PK     = "ORG#{orgId}"
SK     = "ORG"
repeat = "update"

[entity.Org.attributes]
orgId     = "string"
name      = "string"
owner     = "string = caller on create"
open      = "bool default true"
members   = "count of Member"
places    = "int = members + 9"
weight    = "sum of weight of Member"
greetings = "int default 0"

[entity.Org.allow]
"*"    = "signed-in"
create = "signed-in"
read   = "me.role = 'owner' OR caller = 'auditor'"

[entity.Org.refs]
me = "Member(orgId, userId = caller), unchecked"

[entity.Member]
PK     = "ORG#{orgId}"
SK     = "MEMBER#{userId}"
GSI1PK = "MEMBERS#{orgId}"
GSI1SK = "{orgName}#{userId}"

[entity.Member.attributes]
orgId   = "string"
userId  = "string"
role    = "enum member | owner default member"
weight  = "int default 1"
orgName = "copy org.name"
orgOpen = "copy org.open"
motto   = "string? = org.name on create"
badge   = "string?"

[entity.Member.refs]
org = "Org, on delete cascade"
me  = "Member(orgId, userId = caller), unchecked"

[entity.Member.allow]
"*"    = "signed-in"
create = "me.role = 'owner'"

[entity.Member.unique]
badge = "BADGE#{badge}"

[view.Card]
of   = "Member"
when = "orgOpen = true"
PK   = "CARD#{userId}"
SK   = "ORG#{orgId}"
keep = ["orgName"]

[entity.Note]
PK = "NOTE#{orgId}"
SK = "{userId}"

[entity.Note.attributes]
orgId   = "string"
userId  = "string"
orgName = "copy org.name"
said    = "string? = member.orgName on create"
count   = "int? = org.members on create"

[entity.Note.refs]
org    = "Org, unchecked"
member = "Member, unchecked"

[entity.Note.allow]
"*" = "signed-in"

[trigger.founder]
on     = "create Org"
create = "Member"
with   = { orgId = "{orgId}", userId = "{owner}", role = "owner", badge = "{orgId}" }

[trigger.welcome]
on      = "create Member"
when    = "org.open = true"
require = "attribute_exists(org.name)"
upsert  = "Note"
with    = { orgId = "{orgId}", userId = "{userId}" }

[trigger.greeted]
on     = "create Member"
update = "org"
add    = { greetings = 1 }

[trigger.renamed]
on     = "update Org"
when   = "changed(name)"
upsert = "Note"
with   = { orgId = "{orgId}", userId = "{name}" }

[action.rename]
entity  = "Org"
params  = { to = "string" }
set     = { name = "{to}" }
[[action.rename.then]]
upsert = "Note"
with   = { orgId = "{orgId}", userId = "{owner}-{to}" }

[pattern.members]
query = "PK = 'ORG#{orgId}' AND begins_with(SK, 'MEMBER#')"

[pattern.byName]
query = "GSI1PK = 'MEMBERS#{orgId}'"

[pattern.notes]
query = "PK = 'NOTE#{orgId}'"
"#;

fn create(entity: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

async fn stored(store: &ModelStore, partition: &str, sort: &str) -> Option<Item> {
    let mut items = items(store, "clubs").await.into_iter();
    items.find(|item| item["PK"] == partition.into() && item["SK"] == sort.into())
}

async fn assert_clean(partita: &Partita) {
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert!(report.is_clean(), "{:?}", found.open);
}

async fn clubs() -> (Arc<ModelStore>, Partita) {
    let store = Arc::new(ModelStore::default());
    let partita = open(DESIGN, store.clone(), 1).await;
    (store, partita)
}

#[tokio::test]
async fn of_a_creation_see_the_item_that_is_created() {
    let (store, partita) = clubs().await;
    let ann = Caller::user("ann");
    let answer = partita.run(&ann, create("Org", &[("orgId", "o"), ("name", "Chess")]));
    let Answer::Created(org) = answer.await.unwrap() else {
        panic!("the founder is a member by now, and may read it")
    };
    assert_eq!(org.attributes["members"], Value::from(1));
    assert_eq!(org.attributes["weight"], Value::from(1));
    assert_eq!(
        org.attributes["places"],
        Value::from(10),
        "of what it counts"
    );
    assert_eq!(org.attributes["greetings"], Value::from(1));
    let member = stored(&store, "ORG#o", "MEMBER#ann").await.unwrap();
    assert_eq!(member["orgName"], "Chess".into(), "a copy");
    assert_eq!(member["motto"], "Chess".into(), "a computed value");
    assert_eq!(member["GSI1SK"], "Chess#ann".into(), "a key of an index");
    let card = stored(&store, "CARD#ann", "ORG#o").await;
    assert_eq!(card.unwrap()["orgName"], "Chess".into(), "a view");
    let note = stored(&store, "NOTE#o", "ann").await.unwrap();
    assert_eq!(note["orgName"], "Chess".into(), "an effect of an effect");
    assert_eq!(
        note["said"],
        "Chess".into(),
        "through the effect in between"
    );
    assert_eq!(note["count"], Value::from(1), "with what it counts by then");
    assert_clean(&partita).await;
}

#[tokio::test]
async fn of_a_change_see_the_item_as_it_will_be() {
    let (store, partita) = clubs().await;
    let ann = Caller::user("ann");
    let org = create("Org", &[("orgId", "o"), ("name", "Chess")]);
    partita.run(&ann, org).await.unwrap();
    let rename = |to: &str| Operation::Update {
        entity: "Org".into(),
        identity: vec!["o".into()],
        changes: texts(&[("name", to)]),
        with_deleted: false,
        version: None,
    };
    partita.run(&ann, rename("Go")).await.unwrap();
    let note = stored(&store, "NOTE#o", "Go").await.unwrap();
    assert_eq!(note["orgName"], "Go".into());
    let act = Operation::Act {
        action: "rename".into(),
        entity: Some("Org".into()),
        identity: vec!["o".into()],
        given: texts(&[("to", "Bridge")]),
        version: None,
    };
    partita.run(&ann, act).await.unwrap();
    let note = stored(&store, "NOTE#o", "ann-Bridge").await.unwrap();
    assert_eq!(note["orgName"], "Bridge".into(), "what an action causes");
    // The same as an update by a repeated creation, and by a batch.
    let again = create("Org", &[("orgId", "o"), ("name", "Skat")]);
    partita.run(&ann, again).await.unwrap();
    let note = stored(&store, "NOTE#o", "Skat").await.unwrap();
    assert_eq!(note["orgName"], "Skat".into());
    let both = vec![
        create("Org", &[("orgId", "p"), ("name", "Darts")]),
        create("Member", &[("orgId", "p"), ("userId", "bob")]),
    ];
    partita.run_all(&ann, both).await.unwrap();
    let org = stored(&store, "ORG#p", "ORG").await.unwrap();
    assert_eq!(org["members"], Value::from(2));
    assert_eq!(org["greetings"], Value::from(2));
    let note = stored(&store, "NOTE#p", "bob").await.unwrap();
    assert_eq!(note["count"], Value::from(2));
    assert_clean(&partita).await;
}

#[tokio::test]
async fn bring_no_rights() {
    let (_, partita) = clubs().await;
    let org = create("Org", &[("orgId", "o"), ("name", "Chess")]);
    partita.run(&Caller::user("ann"), org).await.unwrap();
    let bob = Caller::user("bob");
    let own = [("orgId", "o"), ("userId", "bob"), ("role", "owner")];
    let answer = partita.run(&bob, create("Member", &own)).await;
    assert!(
        matches!(answer, Err(PlanError::Forbidden { .. })),
        "the rule sees who is a member before the write: {answer:?}"
    );
    let batch = vec![create("Member", &own), create("Member", &own)];
    assert!(partita.run_all(&bob, batch).await.is_err());
}

#[tokio::test]
async fn take_unique_values_and_are_refused_with_them() {
    let (store, partita) = clubs().await;
    let ann = Caller::user("ann");
    let org = |id: &str| create("Org", &[("orgId", id), ("name", "Chess")]);
    partita.run(&ann, org("o")).await.unwrap();
    let bob = create("Member", &[("orgId", "o"), ("userId", "b"), ("badge", "p")]);
    partita.run(&ann, bob).await.unwrap();
    let answer = partita.run(&ann, org("p")).await;
    assert!(answer.is_err(), "the badge `p` is taken: {answer:?}");
    assert!(stored(&store, "ORG#p", "ORG").await.is_none());
    assert!(stored(&store, "ORG#p", "MEMBER#ann").await.is_none());
    assert_clean(&partita).await;
}

#[tokio::test]
async fn of_a_removal_see_what_was_there_and_refer_to_nothing_that_goes() {
    let design = DESIGN.replace(
        "[pattern.members]",
        r#"
[trigger.gone]
on     = "delete Org"
upsert = "Note"
with   = { orgId = "{orgId}", userId = "gone {name}" }

[pattern.members]"#,
    );
    let store = Arc::new(ModelStore::default());
    let partita = open(&design, store.clone(), 2).await;
    let ann = Caller::user("ann");
    let org = create("Org", &[("orgId", "o"), ("name", "Chess")]);
    partita.run(&ann, org).await.unwrap();
    let delete = Operation::Delete {
        entity: "Org".into(),
        identity: vec!["o".into()],
        version: None,
    };
    partita.run(&ann, delete.clone()).await.unwrap();
    let note = stored(&store, "NOTE#o", "gone Chess").await.unwrap();
    assert_eq!(note["orgName"], "Chess".into(), "what is left of it");
    let checked = design.replace("org    = \"Org, unchecked\"", "org    = \"Org\"");
    let store = Arc::new(ModelStore::default());
    let partita = open(&checked, store.clone(), 3).await;
    let org = create("Org", &[("orgId", "o"), ("name", "Chess")]);
    partita.run(&ann, org).await.unwrap();
    let answer = partita.run(&ann, delete).await;
    assert!(
        matches!(answer, Err(PlanError::Invalid { .. })),
        "the note would refer to nothing: {answer:?}"
    );
    assert!(stored(&store, "ORG#o", "ORG").await.is_some());
}

/// Effects on one item one after the other, each with what the one before left.
#[tokio::test]
async fn see_each_other_in_their_order() {
    const DESIGN: &str = r#"
design = "ledger"

[table]
name = "clubs"
key  = ["PK", "SK"]

[entity.Account]
PK = "ACCOUNT#{id}"
SK = "ACCOUNT"

[entity.Account.attributes]
id    = "string"
total = "int default 0"
last  = "int default 0"

[entity.Account.allow]
"*" = "signed-in"

[entity.Order]
PK = "ORDER#{id}"
SK = "ORDER"

[entity.Order.attributes]
id      = "string"
account = "string"
amounts = "list of int ..9"

[entity.Order.refs]
of = "Account(id = account)"

[entity.Order.allow]
"*" = "signed-in"

[trigger.booked]
on     = "create Order"
each   = "amount in amounts"
when   = "of.total < 10"
update = "of"
add    = { total = "{amount}" }

[pattern.orders]
get = "PK = 'ORDER#{id}' AND SK = 'ORDER'"

[pattern.accounts]
get = "PK = 'ACCOUNT#{id}' AND SK = 'ACCOUNT'"
"#;
    let store = Arc::new(ModelStore::default());
    let partita = open(DESIGN, store.clone(), 1).await;
    let ann = Caller::user("ann");
    partita
        .run(&ann, create("Account", &[("id", "a")]))
        .await
        .unwrap();
    let amounts = [6, 5, 4].map(Value::from).to_vec();
    let mut attributes: Map = texts(&[("id", "o"), ("account", "a")]);
    attributes.insert("amounts", Value::L(amounts));
    let entity = "Order".into();
    let order = Operation::Create { entity, attributes };
    partita.run(&ann, order).await.unwrap();
    let account = stored(&store, "ACCOUNT#a", "ACCOUNT").await.unwrap();
    assert_eq!(account["total"], Value::from(11), "the third finds enough");
}
