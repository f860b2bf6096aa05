//! Entering the deleted state is a delete and leaving it a restore, whichever way they are written.

use std::sync::Arc;

use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::ModelStore;

use crate::stage;

const DESIGN: &str = r#"
design = "posts"

[table]
name = "posts"
key  = ["PK", "SK"]

[entity.Post]
PK          = "POST#{postId}"
SK          = "POST"
repeat      = "update"
soft-delete = "status = 'gone'"

[entity.Post.attributes]
postId  = "string"
ownerId = "string"
status  = "enum draft | shown | gone default draft"
log     = "counter"

[entity.Post.allow]
create  = "ownerId = caller"
read    = "public"
update  = "ownerId = caller"
delete  = "caller.role = 'admin'"
restore = "caller.role = 'admin'"
move    = "ownerId = caller"
hide    = "ownerId = caller"
drop    = "ownerId = caller"

[action.move]
entity = "Post"
input  = ["status"]

[action.hide]
entity = "Post"
set    = { status = "gone" }

[action.drop]
entity = "Post"
delete = true

[entity.Log]
PK = "LOG#{postId}"
SK = "{kind}"

[entity.Log.attributes]
postId = "string"
kind   = "string"

[entity.Log.allow]
read = "public"

[trigger.deleted]
on     = "delete Post"
upsert = "Log"
with   = { postId = "{postId}", kind = "deleted" }

[trigger.updated]
on     = "update Post"
upsert = "Log"
with   = { postId = "{postId}", kind = "updated" }

[entity.Flagged]
PK          = "FLAGGED#{flaggedId}"
SK          = "FLAGGED"
soft-delete = "gone"

[entity.Flagged.attributes]
flaggedId = "string"
note      = "string?"
gone      = "bool default false"

[entity.Flagged.allow]
"*"     = "public"
restore = "caller.role = 'admin'"

[entity.Level]
PK          = "LEVEL#{levelId}"
SK          = "LEVEL"
soft-delete = "level = 3"

[entity.Level.attributes]
levelId = "string"
level   = "int default 0"

[entity.Level.allow]
"*"     = "public"
delete  = "caller.role = 'admin'"
restore = "caller.role = 'admin'"

[action.raise]
entity = "Level"
add    = { level = 1 }

[entity.Wake]
PK = "WAKE#{wakeId}"
SK = "WAKE"

[entity.Wake.attributes]
wakeId    = "string"
way       = "string"
postId    = "string default 'p'"
flaggedId = "string default 'f'"
levelId   = "string default 'l'"

[entity.Wake.refs]
post    = "Post"
flagged = "Flagged"
level   = "Level"

[entity.Wake.allow]
"*" = "signed-in"

[trigger.wakeByUpdate]
on     = "create Wake"
when   = "way = 'update'"
update = "post"
set    = { status = "shown" }

[trigger.wakeByUpsert]
on     = "create Wake"
when   = "way = 'upsert'"
upsert = "Post"
with   = { postId = "{postId}", ownerId = "ann", status = "shown" }

[trigger.wakeByCreate]
on     = "create Wake"
when   = "way = 'create'"
create = "Post"
with   = { postId = "{postId}", ownerId = "ann", status = "draft" }

[trigger.wakeFlag]
on     = "create Wake"
when   = "way = 'flag'"
update = "flagged"
set    = { gone = false }

[trigger.wakeLevel]
on     = "create Wake"
when   = "way = 'add'"
update = "level"
add    = { level = 1 }

[trigger.touch]
on     = "create Wake"
when   = "way = 'touch'"
update = "flagged"
set    = { note = "seen" }

[action.wake]
entity = "Wake"

[[action.wake.then]]
update = "post"
set    = { status = "shown" }

"#;

struct Posts(Partita);

impl Posts {
    async fn open() -> Posts {
        let store = Arc::new(ModelStore::default());
        let posts = Posts(stage::open(DESIGN, store, 1).await);
        let post = stage::texts(&[("postId", "p"), ("ownerId", "ann")]);
        posts.run(&ann(), create(post)).await.unwrap();
        posts
    }

    async fn run(&self, caller: &Caller, operation: Operation) -> Result<Answer, PlanError> {
        self.0.run(caller, operation).await
    }

    async fn status(&self) -> String {
        let get = Operation::Get {
            entity: "Post".into(),
            identity: vec!["p".into()],
            with_deleted: true,
        };
        let Ok(Answer::Record(post)) = self.run(&ann(), get).await else {
            panic!("the post is readable");
        };
        post.attributes["status"].as_str().unwrap().to_owned()
    }

    async fn has_log(&self, kind: &str) -> bool {
        let get = Operation::Get {
            entity: "Log".into(),
            identity: vec!["p".into(), kind.into()],
            with_deleted: false,
        };
        self.run(&ann(), get).await.is_ok()
    }
}

fn ann() -> Caller {
    Caller::user("ann")
}

fn root() -> Caller {
    Caller {
        role: Some("admin".into()),
        ..Caller::user("ann")
    }
}

fn create(attributes: Map) -> Operation {
    Operation::Create {
        entity: "Post".into(),
        attributes,
    }
}

fn status(to: &str) -> Map {
    Map::from([("status", Value::from(to))])
}

/// Every way to write a status.
fn ways(to: &str) -> Vec<Operation> {
    let whole = stage::texts(&[("ownerId", "ann"), ("status", to)]);
    let mut named = whole.clone();
    named.insert("postId", Value::from("p"));
    let update = |with_deleted| Operation::Update {
        entity: "Post".into(),
        identity: vec!["p".into()],
        changes: status(to),
        with_deleted,
        version: None,
    };
    vec![
        update(true),
        update(false),
        Operation::Upsert {
            entity: "Post".into(),
            identity: vec!["p".into()],
            attributes: whole,
            version: None,
        },
        create(named),
        Operation::Act {
            action: "move".into(),
            entity: Some("Post".into()),
            identity: vec!["p".into()],
            given: status(to),
            version: None,
        },
    ]
}

fn act(action: &str) -> Operation {
    Operation::Act {
        action: action.into(),
        entity: Some("Post".into()),
        identity: vec!["p".into()],
        given: Map::new(),
        version: None,
    }
}

fn is_refused(answer: &Result<Answer, PlanError>) -> bool {
    matches!(
        answer,
        Err(PlanError::Forbidden { .. } | PlanError::NotFound { .. })
    )
}

#[tokio::test]
async fn whoever_may_only_change_neither_deletes_nor_restores() {
    let posts = Posts::open().await;
    for way in ways("gone").into_iter().chain([act("hide")]) {
        let answer = posts.run(&ann(), way.clone()).await;
        assert!(is_refused(&answer), "{way:?}: {answer:?}");
        let batch = posts.0.run_all(&ann(), vec![way.clone()]).await;
        assert!(batch.is_err(), "{way:?} in a batch");
        assert!(
            !posts.0.can(&ann(), way.clone()).await.unwrap().is_allowed,
            "{way:?}"
        );
        assert_eq!(posts.status().await, "draft");
    }
    let gone = stage::texts(&[("postId", "q"), ("ownerId", "ann"), ("status", "gone")]);
    assert!(is_refused(&posts.run(&ann(), create(gone)).await));

    let delete = Operation::Delete {
        entity: "Post".into(),
        identity: vec!["p".into()],
        version: None,
    };
    posts.run(&root(), delete).await.unwrap();
    for way in ways("shown").into_iter().chain(ways("draft")) {
        let answer = posts.run(&ann(), way.clone()).await;
        assert!(is_refused(&answer), "{way:?}: {answer:?}");
        assert!(posts.0.run_all(&ann(), vec![way]).await.is_err());
        assert_eq!(posts.status().await, "gone");
    }
}

#[tokio::test]
async fn whoever_may_delete_and_restore_may_write_it_as_a_change() {
    for (at, _) in ways("gone").iter().enumerate() {
        let posts = Posts::open().await;
        posts.run(&root(), ways("gone").remove(at)).await.unwrap();
        assert_eq!(posts.status().await, "gone");
        assert!(posts.has_log("deleted").await, "it is a delete to triggers");
        let back = &ways("shown")[0];
        assert!(posts.0.can(&root(), back.clone()).await.unwrap().is_allowed);
        posts.run(&root(), back.clone()).await.unwrap();
        assert_eq!(posts.status().await, "shown");
        assert!(posts.has_log("updated").await);
    }
}

/// An action that says that it deletes has a rule of its own for that.
#[tokio::test]
async fn an_action_that_deletes_is_allowed_by_its_own_rule() {
    let posts = Posts::open().await;
    posts.run(&ann(), act("drop")).await.unwrap();
    assert_eq!(posts.status().await, "gone");
}

fn delete(entity: &str, id: &str) -> Operation {
    Operation::Delete {
        entity: entity.into(),
        identity: vec![id.into()],
        version: None,
    }
}

fn new(entity: &str, attributes: &[(&str, &str)]) -> Operation {
    Operation::Create {
        entity: entity.into(),
        attributes: stage::texts(attributes),
    }
}

/// A post, a flagged item and a level, all of them deleted.
async fn all_deleted() -> Posts {
    let posts = Posts::open().await;
    for (entity, name, id) in [("Flagged", "flaggedId", "f"), ("Level", "levelId", "l")] {
        let create = new(entity, &[(name, id)]);
        posts.run(&root(), create).await.unwrap();
    }
    let wake = new("Wake", &[("wakeId", "first"), ("way", "none")]);
    posts.run(&ann(), wake).await.unwrap();
    for (entity, id) in [("Post", "p"), ("Flagged", "f"), ("Level", "l")] {
        posts.run(&root(), delete(entity, id)).await.unwrap();
    }
    posts
}

impl Posts {
    async fn is_deleted(&self, entity: &str, id: &str) -> bool {
        let get = Operation::Get {
            entity: entity.into(),
            identity: vec![id.into()],
            with_deleted: false,
        };
        self.run(&root(), get).await.is_err()
    }
}

/// Every effect that leaves the deleted state, and the item that it changes.
fn effects() -> Vec<(Operation, (&'static str, &'static str))> {
    let wake = |way| new("Wake", &[("wakeId", way), ("way", way)]);
    let act = Operation::Act {
        action: "wake".into(),
        entity: Some("Wake".into()),
        identity: vec!["first".into()],
        given: Map::new(),
        version: None,
    };
    vec![
        (wake("update"), ("Post", "p")),
        (wake("upsert"), ("Post", "p")),
        (wake("create"), ("Post", "p")),
        (act, ("Post", "p")),
        (wake("flag"), ("Flagged", "f")),
        (wake("add"), ("Level", "l")),
    ]
}

#[tokio::test]
async fn an_effect_restores_only_what_the_caller_of_its_cause_may_restore() {
    for (cause, (entity, id)) in effects() {
        let posts = all_deleted().await;
        let answer = posts.run(&ann(), cause.clone()).await;
        assert!(is_refused(&answer), "{cause:?}: {answer:?}");
        assert!(posts.is_deleted(entity, id).await, "{cause:?}");
        posts.run(&root(), cause.clone()).await.unwrap();
        assert!(!posts.is_deleted(entity, id).await, "{cause:?}");
        // Of a live item it is a change like any other.
        let posts = all_deleted().await;
        let restore = Operation::Restore {
            entity: entity.into(),
            identity: vec![id.into()],
            version: None,
        };
        posts.run(&root(), restore).await.unwrap();
        posts.run(&ann(), cause).await.unwrap();
        assert!(!posts.is_deleted(entity, id).await);
    }
}

#[tokio::test]
async fn an_effect_changes_what_stays_deleted() {
    let posts = all_deleted().await;
    let touch = new("Wake", &[("wakeId", "touch"), ("way", "touch")]);
    posts.run(&ann(), touch).await.unwrap();
    assert!(posts.is_deleted("Flagged", "f").await);
}

/// Where the deleted state is a number, an amount that is added may lead into it.
#[tokio::test]
async fn an_action_that_adds_deletes_only_for_those_who_may() {
    let posts = Posts::open().await;
    posts
        .run(&ann(), new("Level", &[("levelId", "l")]))
        .await
        .unwrap();
    let raise = Operation::Act {
        action: "raise".into(),
        entity: Some("Level".into()),
        identity: vec!["l".into()],
        given: Map::new(),
        version: None,
    };
    for _ in 0..2 {
        posts.run(&ann(), raise.clone()).await.unwrap();
    }
    assert!(is_refused(&posts.run(&ann(), raise.clone()).await));
    assert!(!posts.is_deleted("Level", "l").await);
    posts.run(&root(), raise).await.unwrap();
    assert!(posts.is_deleted("Level", "l").await);
}
