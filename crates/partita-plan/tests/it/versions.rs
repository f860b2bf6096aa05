//! The version of an item moves with everything that changes what callers may overwrite: their own
//! writes, actions, effects of triggers and of actions, and refs that are cleared.

use std::sync::Arc;

use partita_core::{Map, Number, Value};
use partita_plan::{Answer, Operation, Partita, PlanError};
use partita_store::{ModelStore, Store};
use partita_verify::Collected;

use crate::stage::{create, open, run};

const DESIGN: &str = r#"
design = "games"

[table]
name          = "games"
key           = ["PK", "SK"]
discriminator = "Kind"

[index]
GSI1 = ["GPK", "GSK"]

[entity.Team]
PK = "TEAM#{team}"
SK = "TEAM"

[entity.Team.attributes]
team = "string"

[entity.Game]
PK  = "GAME#{game}"
SK  = "GAME"
GPK = "TEAM#{team}"
GSK = "{game}"

[entity.Game.attributes]
game    = "string"
team    = "string?"
points  = "int default 0"
next    = "int = version + 1"
seen    = "counter"
plays   = "count of Play where kind = 'count'"
version = "version"
at      = "timestamp = now on write"

[entity.Game.refs]
by = "Team, on delete clear team"

[entity.Play]
PK = "GAME#{game}"
SK = "PLAY#{play}"

[entity.Play.attributes]
game   = "string"
play   = "string"
kind   = "enum set | add | twice | see | count"
amount = "int default 0"

[entity.Play.refs]
of = "Game, on delete cascade"

[trigger.set]
on     = "create Play"
when   = "kind = 'set' OR kind = 'twice'"
update = "of"
set    = { points = "{amount}" }

[trigger.add]
on     = "create Play"
when   = "kind = 'add' OR kind = 'twice'"
update = "of"
add    = { points = 1 }

[trigger.see]
on     = "create Play"
when   = "kind = 'see'"
update = "of"
add    = { seen = 1 }

[action.score]
entity = "Play"
set    = { amount = 3 }

[[action.score.then]]
update = "of"
set    = { points = 99 }

[pattern.games]
query = "GPK = 'TEAM#{team}'"

[pattern.plays]
query = "PK = 'GAME#{game}' AND begins_with(SK, 'PLAY#')"

[view.GameVersion]
of   = "Game"
PK   = "VERSIONS"
SK   = "{game}"
keep = ["version", "next"]

[pattern.versions]
query = "PK = 'VERSIONS'"
"#;

async fn stage(store: Arc<dyn Store>) -> Partita {
    let mut design = DESIGN.to_owned();
    for record in ["entity.Team", "entity.Game", "entity.Play"] {
        design += &format!("\n[{record}.allow]\n\"*\" = \"signed-in\"\n");
    }
    let partita = open(&design, store, 1).await;
    create(&partita, "Team", &[("team", "t")]).await;
    create(&partita, "Game", &[("game", "g"), ("team", "t")]).await;
    partita
}

fn update(points: i64, version: Option<i64>) -> Operation {
    Operation::Update {
        entity: "Game".into(),
        identity: vec!["g".into()],
        changes: Map::from([("points", Value::from(points))]),
        with_deleted: false,
        version,
    }
}

/// The version and the points of the game.
async fn game(partita: &Partita) -> (i64, i64) {
    let get = Operation::Get {
        entity: "Game".into(),
        identity: vec!["g".into()],
        with_deleted: false,
    };
    let answer = run(partita, get).await.unwrap();
    let Answer::Record(game) = answer else {
        panic!("{answer:?}")
    };
    let number = |name: &str| game.attributes[name].as_number().and_then(Number::to_i64);
    let version = number("version").unwrap();
    assert_eq!(number("next"), Some(version + 1));
    (version, number("points").unwrap())
}

async fn assert_clean(partita: &Partita) {
    let mut found = Collected::default();
    let report = partita.verify(&mut found).await.unwrap();
    assert!(report.is_clean(), "{:?}", found.open);
}

#[tokio::test]
async fn move_once_with_every_write_that_changes_the_item() {
    let partita = stage(Arc::new(ModelStore::default())).await;
    assert_eq!(game(&partita).await, (1, 0));
    let cases = [
        ("add", (2, 1)),
        ("set", (3, 0)),
        ("set", (3, 0)),
        ("twice", (4, 1)),
        ("see", (4, 1)),
        ("count", (4, 1)),
    ];
    for (number, (kind, expected)) in cases.into_iter().enumerate() {
        let play = number.to_string();
        let play = [("game", "g"), ("play", &play), ("kind", kind)];
        create(&partita, "Play", &play).await;
        assert_eq!(game(&partita).await, expected, "{number}: {kind}");
        assert_clean(&partita).await;
    }
    run(&partita, update(7, None)).await.unwrap();
    assert_eq!(game(&partita).await, (5, 7));
    let delete = Operation::Delete {
        entity: "Team".into(),
        identity: vec!["t".into()],
        version: None,
    };
    run(&partita, delete).await.unwrap();
    partita.run_jobs().await.unwrap();
    assert_eq!(game(&partita).await, (6, 7), "its team is cleared");
    assert_clean(&partita).await;
}

/// What an effect has written is not overwritten by who has not seen it.
#[tokio::test]
async fn protect_what_effects_have_written() {
    let partita = stage(Arc::new(ModelStore::default())).await;
    let (seen, _) = game(&partita).await;
    create(
        &partita,
        "Play",
        &[("game", "g"), ("play", "1"), ("kind", "add")],
    )
    .await;
    let stale = run(&partita, update(5, Some(seen))).await;
    assert!(
        matches!(stale, Err(PlanError::StaleVersion { .. })),
        "{stale:?}"
    );
    let (seen, points) = game(&partita).await;
    assert_eq!((seen, points), (2, 1));
    run(&partita, update(5, Some(seen))).await.unwrap();
    let score = Operation::Act {
        action: "score".into(),
        entity: Some("Play".into()),
        identity: vec!["g".into(), "1".into()],
        given: Map::new(),
        version: None,
    };
    run(&partita, score).await.unwrap();
    assert_eq!(game(&partita).await, (4, 99), "by an effect of an action");
    assert_clean(&partita).await;
}
