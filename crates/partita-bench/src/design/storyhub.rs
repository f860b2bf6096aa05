//! Storyhub: chapters that continue chapters, and votes on them.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use partita_core::{Map, Value};
use partita_plan::{Answer, Caller, Operation};
use serde_json::json;

use super::Workload;
use super::population::{Pairs, Population, create, update};

const USERS: u64 = 500;
const STORIES: u64 = 100;
/// The first of each story is its root, and the others continue it.
const CHAPTERS_OF_STORY: u64 = 10;
const CHAPTERS: u64 = STORIES * CHAPTERS_OF_STORY;

/// Fills the table, and says what is measured.
pub(super) async fn fill(population: &Population) -> Result<Vec<Workload>> {
    let profiles = (0..USERS).map(|number| {
        let id = user_id(number);
        let profile =
            json!({"userId": id, "email": format!("{id}@example.org"), "displayName": id});
        (user(number), create("User", profile))
    });
    population.run(profiles).await?;
    population.run((0..STORIES).map(new_story)).await?;
    let published = (0..STORIES).map(|number| {
        let status = json!({ "status": "PUBLISHED" });
        (
            user(number),
            update("Story", vec![story_id(number)], status),
        )
    });
    population.run(published).await?;
    // Chapters of one parent are numbered one after the other, so they are not made at once.
    for within in 0..CHAPTERS_OF_STORY {
        let chapters = (0..STORIES).map(|story| story * CHAPTERS_OF_STORY + within);
        population.run(chapters.map(new_chapter)).await?;
    }
    let votes = Arc::new(Pairs::new(USERS, CHAPTERS));
    let first: Vec<_> = (0..USERS).map(|_| vote(&votes)).collect();
    population.run(first.into_iter()).await?;
    population.run((0..USERS).map(bookmark)).await?;

    let mut workloads = vec![
        Workload::new("create-chapter", |random| {
            branch(random.u64(0..CHAPTERS), random)
        }),
        Workload {
            is_bare_too: true,
            ..Workload::new("vote", move |_| vote(&votes))
        },
        Workload::new("record-read", |random| read_of(random.u64(0..CHAPTERS))),
    ];
    let notification = one_notification(population).await?;
    let values = move |draw: u64, name: &str| -> Option<String> {
        let chapter = chapter_of(draw);
        Some(match name {
            "userId" => user_id(draw),
            "nodeId" => chapter_id(chapter),
            "storyId" => story_id(chapter / CHAPTERS_OF_STORY),
            "parentNodeId" => chapter_id(chapter - chapter % CHAPTERS_OF_STORY),
            "notificationId" => notification.clone(),
            _ => return None,
        })
    };
    let admin = Caller {
        role: Some("admin".to_owned()),
        ..Caller::user("admin")
    };
    let patterns = population.patterns(USERS, Arc::new(values), user, &admin);
    workloads.extend(patterns.await?);
    Ok(workloads)
}

fn user(number: u64) -> Caller {
    Caller::user(user_id(number))
}

fn user_id(number: u64) -> String {
    format!("user-{}", number % USERS)
}

/// ULIDs may consist of digits alone.
fn story_id(number: u64) -> String {
    format!("01JGFJJZ01{number:016}")
}

fn chapter_id(number: u64) -> String {
    format!("01JGFJJZ02{number:016}")
}

/// The chapter that a user has voted on and reads.
fn chapter_of(user: u64) -> u64 {
    Pairs::new(USERS, CHAPTERS).other(user, 0)
}

fn new_story(number: u64) -> (Caller, Operation) {
    let story = json!({
        "storyId": story_id(number),
        "title": format!("Story {number}"),
        "synopsis": "Somebody sets out, and others say what became of it.",
        "authorId": user_id(number),
        "genre": "adventure",
        "ageRating": "12",
    });
    (user(number), create("Story", story))
}

fn new_chapter(number: u64) -> (Caller, Operation) {
    let story = number / CHAPTERS_OF_STORY;
    let mut chapter = json!({
        "nodeId": chapter_id(number),
        "storyId": story_id(story),
        "authorId": user_id(story),
        "title": format!("Chapter {number}"),
        "content": "It was night. ".repeat(40),
    });
    if !number.is_multiple_of(CHAPTERS_OF_STORY) {
        chapter["parentNodeId"] = chapter_id(story * CHAPTERS_OF_STORY).into();
    }
    (user(story), create("ChapterNode", chapter))
}

/// Somebody continues a chapter.
fn branch(parent: u64, random: &mut fastrand::Rng) -> (Caller, Operation) {
    let author = random.u64(0..USERS);
    let chapter = json!({
        "storyId": story_id(parent / CHAPTERS_OF_STORY),
        "parentNodeId": chapter_id(parent),
        "authorId": user_id(author),
        "title": "Another way",
        "content": "It was day. ".repeat(40),
    });
    (user(author), create("ChapterNode", chapter))
}

/// A vote on another chapter each time, until everybody has voted on all.
fn vote(votes: &Pairs) -> (Caller, Operation) {
    let pair = votes.draw();
    let vote = json!({
        "userId": user_id(pair.one),
        "nodeId": chapter_id(pair.other),
        "storyId": story_id(pair.other / CHAPTERS_OF_STORY),
        "voteType": if pair.lap.is_multiple_of(2) { "UPVOTE" } else { "DOWNVOTE" },
    });
    (user(pair.one), create("Vote", vote))
}

/// Somebody reads a chapter.
fn read_of(chapter: u64) -> (Caller, Operation) {
    let operation = Operation::Act {
        action: "recordRead".to_owned(),
        entity: Some("ChapterNode".to_owned()),
        identity: vec![story_id(chapter / CHAPTERS_OF_STORY), chapter_id(chapter)],
        given: Map::new(),
        version: None,
    };
    (user(chapter), operation)
}

fn bookmark(number: u64) -> (Caller, Operation) {
    let chapter = chapter_of(number);
    let bookmark = json!({
        "userId": user_id(number),
        "storyId": story_id(chapter / CHAPTERS_OF_STORY),
        "currentNodeId": chapter_id(chapter),
    });
    (user(number), create("Bookmark", bookmark))
}

/// A notification of the first user, whose story others have voted on.
async fn one_notification(population: &Population) -> Result<String> {
    let query = Operation::Query {
        pattern: "notifications".to_owned(),
        parameters: [("userId".to_owned(), user_id(0))].into(),
        limit: Some(1),
        cursor: None,
    };
    let answer = population.partita.run(&user(0), query).await?;
    let Answer::Page { records, .. } = answer else {
        return Ok(String::new());
    };
    let id = records
        .first()
        .and_then(|one| one.attributes.get("notificationId"));
    let id = id.and_then(Value::as_str);
    Ok(id.context("nobody was notified")?.to_owned())
}
