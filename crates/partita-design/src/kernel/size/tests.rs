use super::*;
use crate::{check, shipped};

/// The size of a write to an entity of a shipped design, with its parts.
fn size(design: &str, access: Access, entity: &str) -> Size {
    let source = shipped::find(design).expect("it ships").source;
    let (design, _) = check(source, &|_| None);
    let design = design.expect("it has no mistakes");
    let entity = design.find_entity(entity).expect("the design has it");
    let write = Write::Access(access, entity.id);
    let found = sizes(&design).into_iter().find(|size| size.write == write);
    found.expect("the design has the write")
}

/// The vote, its user and its chapter; the sums of the story and of the author, and what is kept
/// for an author who is gone; the notification and whom it is for.
#[test]
fn sums_of_counts_are_followed() {
    assert_eq!(size("storyhub", Access::Create, "Vote").actions, 8);
}

/// 49 records of a view follow the time of the last message, and the same 49 count it as unread.
/// Ten attachments have a record each where they were uploaded and where they come to be; the
/// rest is the message, its conversation and its sender.
#[test]
fn a_record_that_is_touched_twice_is_one_action() {
    let size = size("holdthatthought", Access::Create, "Message");
    assert_eq!(size.parts[0].actions, 49);
    assert_eq!(size.parts[0].cause, "view.ConversationMember");
    assert_eq!(size.actions, 49 + 2 * 10 + 3, "{size:?}");
}

/// Replacing all tags: 49 out, 49 in.
#[test]
fn an_element_in_a_key_is_deleted_and_put() {
    let size = size("mediahub", Access::Update, "Album");
    assert_eq!(size.parts[0].cause, "view.AlbumTag");
    assert_eq!(size.parts[0].actions, 98);
    assert_eq!(
        size.parts.iter().map(|part| part.actions).sum::<usize>(),
        size.actions
    );
}

/// A report changes the image that it is about, and none of the records of its tags.
#[test]
fn only_what_follows_from_a_change_is_touched() {
    assert_eq!(size("figureforge", Access::Create, "Report").actions, 2);
}

#[test]
fn what_has_no_bound_is_a_job() {
    let size = size("mediahub", Access::Delete, "Album");
    assert!(size.has_jobs);
    assert_eq!(size.actions, 50);
}

/// The user, the row of the outbox, and the one that keeps the rows of the user in order.
#[test]
fn a_message_is_an_action_and_its_order_another() {
    let source = shipped::find("mediahub").expect("it ships").source;
    let design = check(source, &|_| None).0.expect("it has no mistakes");
    let action = design.find_action("digestSent").expect("the design has it");
    let write = Write::Action(action.id);
    let found = sizes(&design).into_iter().find(|size| size.write == write);
    assert_eq!(found.map(|size| size.actions), Some(3));
}
