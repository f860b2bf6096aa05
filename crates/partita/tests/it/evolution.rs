//! The real binary while a design changes under its data: served, killed, switched, taken back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use crate::feeds::wire::Events;
use crate::server::{BINARY, Life, Server, make_secret, rounds, token_for};

const PRESS: &str = include_str!("../../../partita-plan/tests/evolution/press.toml");

/// The design of the cases, without the history: a state is kept under its version, which a like
/// does not move.
fn press() -> String {
    let (before, past) = PRESS.split_once("[view.Past]").unwrap();
    let (_, behind) = past.split_once("\n[").unwrap();
    format!("{before}[{behind}")
}

/// A new count, an index over it, a default and a view.
fn changed() -> String {
    let changes = [
        (
            "title     = \"string\"\n",
            "title     = \"string\"\nlikes     = \"count of Like\"\nlanguage  = \"enum en | de default en\"\n",
        ),
        (
            "byAuthor = [\"GSI1PK\", \"GSI1SK\"]\n",
            "byAuthor = [\"GSI1PK\", \"GSI1SK\"]\nbyLikes  = [\"GSI2PK\", \"GSI2SK\"]\n",
        ),
        (
            "GSI1SK = \"STORY#{storyId}\"\n",
            "GSI1SK = \"STORY#{storyId}\"\nGSI2PK = \"LIKED#{authorId}\"\nGSI2SK = \"{likes:010}#{storyId}\"\n",
        ),
    ];
    let more = r#"
[view.Titles]
of   = "Story"
PK   = "TITLES#{authorId}"
SK   = "{title}#{storyId}"
keep = ["storyId", "title", "likes"]

[pattern.byLikes]
query = "GSI2PK = 'LIKED#{authorId}'"
order = "descending"
"#;
    let mut text = press();
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    text + more
}

struct Place {
    data: tempfile::TempDir,
    old: PathBuf,
    new: PathBuf,
}

impl Place {
    fn new() -> Place {
        let data = tempfile::tempdir().unwrap();
        make_secret(data.path());
        let (old, new) = (data.path().join("old.toml"), data.path().join("new.toml"));
        std::fs::write(&old, press()).unwrap();
        std::fs::write(&new, changed()).unwrap();
        Place { data, old, new }
    }

    fn partita(&self, arguments: &[&str], design: &Path) -> Output {
        let mut command = Command::new(BINARY);
        command.args(arguments).arg(design);
        command
            .arg("--data")
            .arg(self.data.path())
            .output()
            .unwrap()
    }

    fn says(&self, arguments: &[&str], design: &Path) -> String {
        let output = self.partita(arguments, design);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn serve(&self, design: &Path, flags: &[&str]) -> Server {
        let design = design.to_str().unwrap();
        let flags: Vec<&str> = flags.iter().copied().chain([design]).collect();
        Server::start(self.data.path(), &flags)
    }

    fn token(&self) -> String {
        let data = self.data.path().to_str().unwrap();
        token_for(self.old.to_str().unwrap(), &["--data", data], "ann")
    }
}

async fn create(base: &str, token: &str, entity: &str, item: Json) -> Option<StatusCode> {
    let url = format!("{base}/press/{entity}");
    let call = Client::new().post(url).bearer_auth(token).json(&item);
    Some(call.send().await.ok()?.status())
}

async fn get(base: &str, token: &str, path: &str) -> (StatusCode, Json) {
    let call = Client::new().get(format!("{base}/press/{path}"));
    let answer = call.bearer_auth(token).send().await.unwrap();
    (answer.status(), answer.json().await.unwrap())
}

async fn story(base: &str, token: &str, id: &str) {
    let item = json!({"storyId": id, "authorId": "a", "title": "T"});
    let status = create(base, token, "Story", item).await;
    assert_eq!(status, Some(StatusCode::CREATED));
}

#[tokio::test]
async fn a_design_changes_while_it_is_served_and_is_taken_back() {
    let place = Place::new();
    let server = place.serve(&place.old, &[]);
    let (base, token) = (server.base.clone(), place.token());
    story(&base, &token, "s1").await;
    for user in ["u1", "u2"] {
        let like = json!({"storyId": "s1", "userId": user});
        create(&base, &token, "Like", like).await.unwrap();
    }
    let plan = place.says(&["migrate", "plan"], &place.new);
    assert!(
        plan.contains("added entity.Story.attributes.likes (line 37)"),
        "{plan}"
    );
    assert_eq!(
        place.says(&["migrate", "start"], &place.new),
        "migration 1: filled\n"
    );

    // Nobody is shown what is not served, and nobody can give it.
    let (_, shown) = get(&base, &token, "query/story?storyId=s1").await;
    assert!(
        shown.get("likes").is_none() && shown.get("language").is_none(),
        "{shown}"
    );
    let item = json!({"storyId": "s2", "authorId": "a", "title": "T", "language": "de"});
    let refused = create(&base, &token, "Story", item).await;
    assert_eq!(refused, Some(StatusCode::UNPROCESSABLE_ENTITY));
    let (status, _) = get(&base, &token, "query/byLikes?authorId=a").await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let followed = Client::new().get(format!("{base}/press/query/story?storyId=s1"));
    let mut feed = Events::open(followed.bearer_auth(&token)).await.unwrap();
    assert_eq!(feed.rows().await.0.len(), 1);
    assert_eq!(
        place.says(&["migrate", "switch"], &place.new),
        "migration 1: switched\n"
    );
    // Who follows begins again, with what is served now.
    assert_eq!(feed.next().await.unwrap().name, "refetch");
    assert_eq!(feed.next().await, None);
    let (_, shown) = get(&base, &token, "query/story?storyId=s1").await;
    assert_eq!(
        (&shown["likes"], &shown["language"]),
        (&json!(2), &json!("en")),
        "{shown}"
    );
    let (status, liked) = get(&base, &token, "query/byLikes?authorId=a").await;
    assert_eq!(
        (status, liked["items"].as_array().map(Vec::len)),
        (StatusCode::OK, Some(1))
    );

    assert_eq!(
        place.says(&["migrate", "rollback"], &place.new),
        "migration 1: rolled back\n"
    );
    let (status, _) = get(&base, &token, "query/byLikes?authorId=a").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let verified = place.says(&["verify"], &place.old);
    assert!(verified.contains("nothing drifted"), "{verified}");
    assert_eq!(server.stop(), Some(0));
}

/// A rule that was opened by mistake is closed again by the text of before, at once.
#[tokio::test]
async fn a_rule_is_changed_and_taken_back_without_a_restart() {
    let place = Place::new();
    let closed = "[entity.Story.allow]\n\"*\" = ";
    let opened = "[entity.Story.allow]\nread = \"public\"\n\"*\" = ";
    let text = press();
    assert!(text.contains(closed), "{text}");
    std::fs::write(&place.new, text.replace(closed, opened)).unwrap();
    let server = place.serve(&place.old, &[]);
    story(&server.base, &place.token(), "s1").await;
    let url = format!("{}/press/query/story?storyId=s1", server.base);
    let stranger = async || reqwest::get(&url).await.unwrap().status();
    assert_eq!(stranger().await, StatusCode::UNAUTHORIZED);

    let said = place.says(&["migrate", "start"], &place.new);
    assert!(said.contains("the design is live (number 2)"), "{said}");
    assert_eq!(stranger().await, StatusCode::OK);
    let differs = place.says(&["diff"], &place.old);
    assert!(
        differs.contains("This text was live before (number 1)"),
        "{differs}"
    );

    let said = place.says(&["migrate", "start"], &place.old);
    assert!(said.contains("the design is live (number 3)"), "{said}");
    assert_eq!(stranger().await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.stop(), Some(0));
    // The next server has it, too, whichever file it is started with.
    let server = place.serve(&place.new, &[]);
    let url = format!("{}/press/query/story?storyId=s1", server.base);
    assert_eq!(
        reqwest::get(&url).await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );
}

/// The steps of a migration and its way back, with what each prints: without a server, beside one,
/// and over `--server` as the operator.
#[tokio::test]
async fn a_migration_says_the_same_three_ways() {
    let mut told: Vec<Vec<(Option<i32>, String)>> = Vec::new();
    for way in ["alone", "beside", "over"] {
        let place = Place::new();
        let server = place.serve(&place.old, &[]);
        story(&server.base, &place.token(), "s1").await;
        let (base, server) = if way == "alone" {
            assert_eq!(server.stop(), Some(0));
            (String::new(), None)
        } else {
            (server.base.clone(), Some(server))
        };
        let mut said = Vec::new();
        for step in [
            "plan", "status", "start", "status", "pause", "resume", "switch", "status", "rollback",
            "status", "start", "switch", "complete", "complete", "status",
        ] {
            let mut words = vec!["migrate", step];
            if way == "over" {
                words.extend(["--server", &base]);
            }
            let output = place.partita(&words, &place.new);
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8(text).unwrap();
            // The log of the process that carries it out is not the command's answer.
            let lines = text.lines().filter(|line| !line.contains(" INFO "));
            let lines: Vec<_> = lines.collect();
            said.push((
                output.status.code(),
                format!("{step}: {}", lines.join("\n")),
            ));
        }
        let followed = place.says(&["verify"], &place.new);
        assert!(followed.contains("nothing drifted"), "{followed}");
        drop(server);
        told.push(said);
    }
    assert_eq!(told[1], told[0], "beside a server");
    assert_eq!(told[2], told[0], "as the operator over HTTP");
    let last = told[0].last().unwrap();
    assert_eq!(last.0, Some(0), "{last:?}");
}

#[tokio::test]
async fn a_changed_design_is_refused_with_the_command_that_goes_on() {
    let place = Place::new();
    let server = place.serve(&place.old, &[]);
    story(&server.base, &place.token(), "s1").await;
    assert_eq!(server.stop(), Some(0));
    let refused = place.partita(&["serve", "--listen", "127.0.0.1:0"], &place.new);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    assert!(said.contains("added index.byLikes (line 11)"), "{said}");
    assert!(said.contains("partita migrate start"), "{said}");
}

/// What a table holds is found by the table, whatever the design is called.
#[tokio::test]
async fn a_design_of_another_name_does_not_migrate_the_data() {
    let place = Place::new();
    let tales = place.data.path().join("tales.toml");
    let text = changed().replace("design = \"press\"", "design = \"tales\"");
    assert!(text.contains("tales"));
    std::fs::write(&tales, text).unwrap();
    let server = place.serve(&place.old, &[]);
    story(&server.base, &place.token(), "s1").await;
    let mut server = Some(server);
    for way in ["beside", "alone"] {
        for step in ["plan", "start"] {
            let refused = place.partita(&["migrate", step], &tales);
            let said = String::from_utf8(refused.stderr).unwrap();
            assert!(!refused.status.success(), "{way} {step}");
            assert!(said.contains("belongs to the design `press`"), "{said}");
        }
        let status = place.says(&["migrate", "status"], &place.new);
        assert_eq!(status, "no migration has begun\n", "{way}");
        server.take().map(Server::stop);
    }
}

/// A migration is moved on with one of its two files.
#[tokio::test]
async fn another_file_does_not_move_a_migration() {
    let place = Place::new();
    let server = place.serve(&place.old, &[]);
    story(&server.base, &place.token(), "s1").await;
    place.says(&["migrate", "start"], &place.new);
    let other = place.data.path().join("other.toml");
    std::fs::write(&other, format!("{}# Another one.\n", changed())).unwrap();
    for step in ["pause", "resume", "switch", "complete", "rollback"] {
        let refused = place.partita(&["migrate", step], &other);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("is neither"), "{step}: {said}");
    }
    let status = place.says(&["migrate", "status"], &other);
    assert_eq!(status, "migration 1: filled\n");
    place.says(&["migrate", "switch"], &place.old);
    place.says(&["migrate", "complete"], &place.new);
}

/// Writes past the designs reach every table, also those of designs that are not served.
#[tokio::test]
async fn raw_writes_and_migrations_exclude_each_other() {
    let place = Place::new();
    let server = place.serve(&place.old, &[]);
    story(&server.base, &place.token(), "s1").await;
    assert_eq!(server.stop(), Some(0));
    let stories = Path::new("stories");
    let server = place.serve(stories, &["--raw-writes"]);
    let refused = place.partita(&["migrate", "start"], &place.new);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("without --raw-writes"), "{said}");
    assert_eq!(server.stop(), Some(0));
    place.says(&["migrate", "start"], &place.new);
    let flags = ["serve", "--listen", "127.0.0.1:0", "--raw-writes"];
    let refused = place.partita(&flags, stories);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("migration 1 of the design `press` is filled"),
        "{said}"
    );
}

/// A design is saved while it is served: mistakes are shown, free changes are live at once, and what
/// needs a migration is named with the command.
#[tokio::test]
async fn a_watched_file_is_followed_when_it_is_saved() {
    let place = Place::new();
    let said = place.data.path().join("said");
    let mut command = Command::new("sh");
    let script = format!("exec \"$0\" \"$@\" 2> '{}'", said.display());
    command.args(["-c", &script, BINARY]);
    let design = place.old.to_str().unwrap();
    let server = Server::start_by(command, place.data.path(), &["--watch", design]);
    let (base, token) = (server.base.clone(), place.token());
    story(&base, &token, "s1").await;
    let says = async |wanted: &str| {
        for _ in 0..400 {
            let text = std::fs::read_to_string(&said).unwrap();
            if text.contains(wanted) {
                return text;
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        panic!("{wanted}: {}", std::fs::read_to_string(&said).unwrap());
    };

    std::fs::write(&place.old, press().replace("\"string?\"", "\"strnig?\"")).unwrap();
    says("the design that is live goes on being served: the design").await;
    let (status, _) = get(&base, &token, "query/story?storyId=s1").await;
    assert_eq!(status, StatusCode::OK);

    let added = "\n[pattern.other]\nget = \"PK = 'STORY#{storyId}' AND SK = 'STORY'\"\n";
    std::fs::write(&place.old, press() + added).unwrap();
    says("the design is live (number 2)").await;
    let (status, _) = get(&base, &token, "query/other?storyId=s1").await;
    assert_eq!(status, StatusCode::OK);

    std::fs::write(&place.old, changed() + added).unwrap();
    let text = says(&format!("partita migrate start {design}")).await;
    assert!(
        text.contains("added entity.Story.attributes.likes"),
        "{text}"
    );
    let (_, shown) = get(&base, &token, "query/story?storyId=s1").await;
    assert!(shown.get("likes").is_none(), "{shown}");
    place.says(&["migrate", "start"], &place.old);
    assert_eq!(server.stop(), Some(0));
}

/// Servers that are killed go on with whichever stage they were in, from either text, until the data
/// follow the new design: nothing that was acknowledged is lost, and each item counts once.
#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_carry_a_migration_to_its_end() {
    let place = Place::new();
    let server = place.serve(&place.old, &[]);
    let token = place.token();
    for id in 0..4 {
        story(&server.base, &token, &format!("s{id}")).await;
    }
    let mut acknowledged: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut sent = 0;
    for like in 0..200 {
        sent += write_like(&server.base, &token, like, &mut acknowledged).await;
    }
    server.kill();
    for round in 0..rounds() {
        let server = place.serve(&place.new, &["--migrate"]);
        let life = Life::of(round);
        let base = server.base.clone();
        let from = 1_000_000 * (round as usize + 1);
        let writing = async {
            let mut mine = BTreeSet::new();
            let mut tried = 0;
            for like in from.. {
                let done = write_like(&base, &token, like, &mut mine).await;
                tried += 1;
                if done == 0 {
                    break;
                }
                life.acknowledge();
            }
            (mine, tried)
        };
        let ((mine, tried), ()) = tokio::join!(writing, life.end(server));
        acknowledged.extend(mine);
        sent += tried;
    }
    let server = place.serve(&place.new, &["--migrate"]);
    let status = loop {
        let status = place.says(&["migrate", "status"], &place.new);
        if status.contains("completed") {
            break status;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(status, "migration 1: completed\n");
    let mut counted = 0;
    for id in 0..4 {
        let (_, shown) = get(&server.base, &token, &format!("query/story?storyId=s{id}")).await;
        counted += shown["likes"].as_u64().unwrap();
    }
    assert!(counted >= acknowledged.len() as u64, "{counted}");
    assert!(counted <= sent as u64, "{counted}");
    let verified = place.says(&["verify"], &place.new);
    assert!(verified.contains("nothing drifted"), "{verified}");
    assert_eq!(server.stop(), Some(0));
    println!(
        "{} acknowledged likes in {} rounds",
        acknowledged.len(),
        rounds()
    );
}

/// Writes a like; 0 if nobody says whether it is there.
async fn write_like(
    base: &str,
    token: &str,
    like: usize,
    acknowledged: &mut BTreeSet<(usize, usize)>,
) -> usize {
    let story = like % 4;
    let item = json!({"storyId": format!("s{story}"), "userId": format!("u{like}")});
    match create(base, token, "Like", item).await {
        Some(StatusCode::CREATED) => {
            acknowledged.insert((story, like));
            1
        }
        Some(_) => 1,
        None => 0,
    }
}
