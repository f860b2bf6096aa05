//! Entity tags of items that effects of other writes change.

use reqwest::{Client, Method, Response};
use serde_json::{Value as Json, json};

use crate::server::Server;

/// A score sets the points of its game, and is counted by it.
const DESIGN: &str = r#"
design = "games"

[table]
name          = "games"
key           = ["PK", "SK"]
discriminator = "Kind"

[entity.Game]
PK = "GAME#{game}"
SK = "GAME"

[entity.Game.attributes]
game    = "string"
points  = "int default 0"
version = "version"

[entity.Game.allow]
"*" = "public"

[entity.Score]
PK = "SCORE#{game}"
SK = "{score}"

[entity.Score.attributes]
game   = "string"
score  = "string"
points = "int"

[entity.Score.refs]
of = "Game, on delete keep"

[entity.Score.allow]
"*" = "public"

[trigger.scored]
on     = "create Score"
update = "of"
set    = { points = "{points}" }

[pattern.scores]
query = "PK = 'SCORE#{game}'"
"#;

struct Games {
    server: Server,
    client: Client,
}

impl Games {
    async fn send(
        &self,
        method: Method,
        path: &str,
        (name, tag): (&str, &str),
        body: Json,
    ) -> Response {
        let url = format!("{}/games/{path}", self.server.base);
        let mut call = self.client.request(method, url).header(name, tag);
        if body != Json::Null {
            call = call.json(&body);
        }
        call.send().await.unwrap()
    }

    async fn tag(&self) -> String {
        let none = ("accept", "application/json");
        let seen = self.send(Method::GET, "Game/g", none, Json::Null).await;
        seen.headers()["etag"].to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn an_effect_moves_the_tag_and_is_not_overwritten() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("games.toml");
    std::fs::write(&file, DESIGN).unwrap();
    let games = Games {
        server: Server::start(data.path(), &[file.to_str().unwrap(), "--memory"]),
        client: Client::new(),
    };
    let none = ("accept", "application/json");
    let game = json!({"game": "g"});
    let made = games.send(Method::POST, "Game", none, game).await;
    assert_eq!(made.status(), 201);
    let old = games.tag().await;
    let score = json!({"game": "g", "score": "s", "points": 9});
    let made = games.send(Method::POST, "Score", none, score).await;
    assert_eq!(made.status(), 201);

    assert_ne!(games.tag().await, old);
    let unless = ("if-none-match", old.as_str());
    let seen = games.send(Method::GET, "Game/g", unless, Json::Null).await;
    assert_eq!(seen.status(), 200, "it looks different");
    let only_if = ("if-match", old.as_str());
    let one = json!({"points": 1});
    let stale = games.send(Method::PATCH, "Game/g", only_if, one.clone());
    assert_eq!(stale.await.status(), 412);
    let new = games.tag().await;
    let only_if = ("if-match", new.as_str());
    let changed = games.send(Method::PATCH, "Game/g", only_if, one).await;
    assert_eq!(changed.status(), 200);
}
