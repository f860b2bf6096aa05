//! Copies from items that come after those that refer to them.

use std::sync::Arc;

use partita_core::Value;
use partita_plan::{Caller, Operation, Partita};
use partita_store::{ModelStore, Store};
use partita_verify::Collected;

use crate::stage::{items, open, texts};

const DESIGN: &str = r#"
design = "blog"

[table]
name          = "blog"
key           = ["PK", "SK"]
discriminator = "Kind"

[entity.Author]
PK = "AUTHOR#{author}"
SK = "AUTHOR"

[entity.Author.attributes]
author = "string"
mail   = "string?"

[entity.Author.allow]
"*" = "signed-in"

[entity.Post]
PK = "AUTHOR#{author}"
SK = "POST#{id}"

[entity.Post.attributes]
author = "string"
id     = "string"
mail   = "copy by.mail"

[entity.Post.refs]
by = "Author, on delete keep, unchecked"

[entity.Post.allow]
"*" = "signed-in"
"#;

async fn run(partita: &Partita, operation: Operation) {
    let done = partita.run(&Caller::user("ann"), operation).await;
    done.unwrap();
    partita.run_jobs().await.unwrap();
}

fn create(entity: &str, given: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: texts(given),
    }
}

/// The mails of all posts, each once.
async fn mails(store: &dyn Store) -> Vec<Option<Value>> {
    let items = items(store, "blog").await;
    let posts = items
        .iter()
        .filter(|item| item["Kind"] == Value::from("Post"));
    let mut mails: Vec<_> = posts.map(|post| post.get("mail").cloned()).collect();
    mails.dedup();
    mails
}

#[tokio::test]
async fn follow_an_item_that_is_created_after_them_or_again() {
    // A transaction holds the first number of posts, and a job does the other.
    for posts in [3, 150] {
        let store: Arc<dyn Store> = Arc::new(ModelStore::default());
        let partita = open(DESIGN, store.clone(), 1).await;
        for post in 0..posts {
            let id = format!("p{post:03}");
            run(&partita, create("Post", &[("author", "ann"), ("id", &id)])).await;
        }
        assert_eq!(mails(&*store).await, [None]);
        for mail in ["ann@one.example", "ann@two.example"] {
            let author = [("author", "ann"), ("mail", mail)];
            run(&partita, create("Author", &author)).await;
            assert_eq!(mails(&*store).await, [Some(Value::from(mail))]);
            let delete = Operation::Delete {
                entity: "Author".into(),
                identity: vec!["ann".into()],
                version: None,
            };
            run(&partita, delete).await;
        }
        run(&partita, create("Author", &[("author", "ann")])).await;
        assert_eq!(mails(&*store).await, [None]);
        let mut found = Collected::default();
        let report = partita.verify(&mut found).await.unwrap();
        assert!(report.is_clean(), "{posts}: {:?}", found.open);
    }
}

/// A copy through a ref that may lead nowhere may be missing.
#[tokio::test]
async fn are_missing_where_their_ref_leads_nowhere() {
    let design = DESIGN
        .replace(
            "author = \"string\"\nid     = ",
            "author = \"string?\"\nid     = ",
        )
        .replace("mail   = \"string?\"", "mail   = \"string\"")
        .replace(
            "PK = \"AUTHOR#{author}\"\nSK = \"POST#{id}\"",
            "PK  = \"POST#{id}\"\nSK  = \"POST\"\nGPK = \"AUTHOR#{author}\"\nGSK = \"POST#{id}\"",
        )
        .replace(
            "[entity.Author]",
            "[index]\nposts = [\"GPK\", \"GSK\"]\n\n[entity.Author]",
        )
        .replace("on delete keep, unchecked", "on delete clear author");
    let store: Arc<dyn Store> = Arc::new(ModelStore::default());
    let partita = open(&design, store.clone(), 1).await;
    let author = [("author", "ann"), ("mail", "ann@one.example")];
    run(&partita, create("Author", &author)).await;
    run(&partita, create("Post", &[("id", "p1")])).await;
    assert_eq!(mails(&*store).await, [None]);
    run(&partita, create("Post", &[("id", "p2"), ("author", "ann")])).await;
    let delete = Operation::Delete {
        entity: "Author".into(),
        identity: vec!["ann".into()],
        version: None,
    };
    run(&partita, delete).await;
    assert_eq!(mails(&*store).await, [None]);
}
