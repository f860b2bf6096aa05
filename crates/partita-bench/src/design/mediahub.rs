//! Mediahub: albums that are liked, and shown or not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use partita_core::plain;
use partita_plan::{Caller, Operation};
use serde_json::{Value as Json, json};

use super::Workload;
use super::population::{Pairs, Population, create, update};

const USERS: u64 = 500;
const ALBUMS: u64 = 500;

/// Fills the table, and says what is measured. Album, media, link, comment and follow of a number
/// belong together.
pub(super) async fn fill(population: &Population) -> Result<Vec<Workload>> {
    let admin = make_admin(population).await?;
    let users = (0..USERS).map(|number| (admin.clone(), new_user(number)));
    population.run(users).await?;
    population.run((0..ALBUMS).map(new_media)).await?;
    population.run((0..ALBUMS).map(new_album)).await?;
    population.run((0..ALBUMS).map(link)).await?;
    population.run((0..ALBUMS).map(comment)).await?;
    population.run((0..USERS).map(follow)).await?;
    let likes = Arc::new(Pairs::new(USERS, ALBUMS));
    let first: Vec<_> = (0..USERS).map(|_| like(&likes)).collect();
    population.run(first.into_iter()).await?;

    let visible: Vec<AtomicBool> = (0..ALBUMS).map(|_| AtomicBool::new(true)).collect();
    let mut workloads = vec![
        Workload::new("like", move |_| like(&likes)),
        Workload::new("change-visibility", move |random| {
            let album = random.u64(0..ALBUMS);
            let was_visible = visible[album as usize].fetch_not(Ordering::Relaxed);
            let changes = json!({ "isPublic": (!was_visible).to_string() });
            let identity = vec![id(PatternKind::Album, album)];
            (user(album), update("Album", identity, changes))
        }),
    ];
    let patterns = population.patterns(USERS, Arc::new(value), user, &admin);
    workloads.extend(patterns.await?);
    Ok(workloads)
}

#[derive(Clone, Copy)]
enum PatternKind {
    User,
    Album,
    Media,
    Comment,
}

fn id(kind: PatternKind, number: u64) -> String {
    format!("00000000-0000-4000-8{:03}-{number:012}", kind as u64)
}

fn user(number: u64) -> Caller {
    Caller::user(user_id(number))
}

fn user_id(number: u64) -> String {
    id(PatternKind::User, number % USERS)
}

fn tag(number: u64) -> String {
    format!("tag-{}", number % 50)
}

/// A parameter of a pattern, for the user that was drawn.
fn value(draw: u64, name: &str) -> Option<String> {
    let liked = Pairs::new(USERS, ALBUMS).other(draw, 0);
    Some(match name {
        "userId" | "createdBy" | "targetUserId" | "followerId" => user_id(draw),
        "followedId" => user_id(draw + 1),
        "albumId" => id(PatternKind::Album, draw),
        "mediaId" | "coverImageMediaId" => id(PatternKind::Media, draw),
        "commentId" => id(PatternKind::Comment, draw),
        "targetId" => id(PatternKind::Album, liked),
        "targetType" => "album".to_owned(),
        "interactionType" => "like".to_owned(),
        "normalizedTag" => tag(draw),
        "isPublic" => "true".to_owned(),
        "type" => "image".to_owned(),
        "plan" => "free".to_owned(),
        "username" => format!("user-{draw}"),
        "email" => format!("user-{draw}@example.org"),
        _ => return None,
    })
}

fn new_user(number: u64) -> Operation {
    let user = json!({
        "userId": user_id(number),
        "email": format!("user-{number}@example.org"),
        "username": format!("user-{number}"),
        "provider": "email",
        "emailPreferences": {},
    });
    create("User", user)
}

/// Makes the first administrator past the rules: no rule of the design lets a caller do it.
async fn make_admin(population: &Population) -> Result<Caller> {
    let number = USERS;
    let id = id(PatternKind::User, number);
    let profile = json!({
        "userId": id,
        "email": "admin@example.org",
        "username": "admin",
        "provider": "email",
        "emailPreferences": {},
        "role": "admin",
    });
    let Json::Object(profile) = profile else {
        unreachable!("an object is written here")
    };
    let profile = plain::map_from_json(profile)?;
    population
        .partita
        .create_past_rules("User", profile)
        .await?;
    Ok(Caller::user(id))
}

fn new_media(number: u64) -> (Caller, Operation) {
    let media = json!({
        "id": id(PatternKind::Media, number),
        "filename": "sea.jpg",
        "originalFilename": "sea.jpg",
        "mimeType": "image/jpeg",
        "createdBy": user_id(number),
    });
    (user(number), create("Media", media))
}

fn new_album(number: u64) -> (Caller, Operation) {
    let album = json!({
        "id": id(PatternKind::Album, number),
        "title": format!("Album {number}"),
        "tags": [tag(number), tag(number + 1), tag(number + 2)],
        "coverImageMediaId": id(PatternKind::Media, number),
        "createdBy": user_id(number),
    });
    (user(number), create("Album", album))
}

fn link(number: u64) -> (Caller, Operation) {
    let link = json!({
        "albumId": id(PatternKind::Album, number),
        "mediaId": id(PatternKind::Media, number),
    });
    (user(number), create("AlbumMedia", link))
}

fn comment(number: u64) -> (Caller, Operation) {
    let comment = json!({
        "id": id(PatternKind::Comment, number),
        "content": "Where is that?",
        "targetType": "album",
        "targetId": id(PatternKind::Album, number),
        "userId": user_id(number),
    });
    (user(number), create("Comment", comment))
}

fn follow(number: u64) -> (Caller, Operation) {
    let follow = json!({
        "followerId": user_id(number),
        "followedId": user_id(number + 1),
    });
    (user(number), create("Follow", follow))
}

/// A like of another album each time, until everybody likes all.
fn like(likes: &Pairs) -> (Caller, Operation) {
    let pair = likes.draw();
    let like = json!({
        "userId": user_id(pair.one),
        "interactionType": "like",
        "targetType": "album",
        "targetId": id(PatternKind::Album, pair.other),
    });
    (user(pair.one), create("UserInteraction", like))
}
