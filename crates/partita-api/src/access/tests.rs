use super::*;

/// The outcomes of a route for the six callers, in one line.
fn told(design: &str, operation: &str) -> String {
    let source = partita_design::shipped::find(design).expect("it is shipped");
    let (design, _) = partita_design::check(source.source, &|_| None);
    let design = design.expect("it has no errors");
    let routes = Routes::of(&design);
    let route = routes.iter().find(|route| route.operation_id == operation);
    let row = row(&design, route.expect("it has such a route"));
    let outcomes = row.outcomes.iter().map(|outcome| match outcome {
        Outcome::Yes => "yes".to_owned(),
        Outcome::No => "no".to_owned(),
        Outcome::If(condition) => format!("if {condition}"),
    });
    outcomes.collect::<Vec<_>>().join(" | ")
}

#[test]
fn a_rule_is_worked_out_as_far_as_it_goes() {
    for (design, operation, expected) in [
        ("stories", "Story.get", "no | no | no | no | yes | no"),
        ("storyhub", "User.get", "yes | yes | no | no | yes | yes"),
        ("storyhub", "Story.delete", "no | no | no | no | no | yes"),
        (
            "storyhub",
            "Notification.create",
            "no | no | no | no | no | no",
        ),
        (
            "holdthatthought",
            "Letter.get",
            "no | yes | no | no | yes | yes",
        ),
        (
            "holdthatthought",
            "Letter.delete",
            "no | no | no | no | no | yes",
        ),
        (
            "holdthatthought",
            "ConversationMeta.get",
            "no | no | no | no | yes | no",
        ),
        (
            "storyhub",
            "Story.get",
            "if status <> 'DRAFT' | if status <> 'DRAFT' | no | no | yes | if status <> 'DRAFT'",
        ),
        (
            "figureforge",
            "Image.get",
            "if public = true AND flag_status = 'clean' | if public = true AND flag_status = 'clean' | no | no | yes | if public = true AND flag_status = 'clean'",
        ),
    ] {
        assert_eq!(told(design, operation), expected, "{design} {operation}");
    }
}

/// A row is shown where its own rule and that of what it leads to allow it.
#[test]
fn of_a_list_every_row_is_asked() {
    let open = "(album.isPublic = 'true' AND media.isPublic = 'true') AND isPublic = 'true'";
    let expected = format!("if {open} | if {open} | no | no | yes | yes");
    assert_eq!(told("mediahub", "query.mediaOfAlbum"), expected);
    // Of a view that is followed, only the source is asked.
    let open = "if status <> 'DRAFT'";
    let expected = format!("{open} | {open} | no | no | yes | {open}");
    assert_eq!(told("storyhub", "query.storiesOfUser"), expected);
}

#[test]
fn actions_have_rules_of_their_own() {
    for (design, operation, expected) in [
        (
            "storyhub",
            "ChapterNode.recordRead",
            "if story.status <> 'DRAFT' | if story.status <> 'DRAFT' | no | no | yes | if story.status <> 'DRAFT'",
        ),
        (
            "storyhub",
            "action.markRead",
            "no | no | no | no | yes | no",
        ),
        (
            "holdthatthought",
            "ConversationMember.markConversationRead",
            "no | no | no | no | yes | no",
        ),
        (
            "figureforge",
            "Report.review",
            "no | no | no | no | no | no",
        ),
    ] {
        assert_eq!(told(design, operation), expected, "{design} {operation}");
    }
}
