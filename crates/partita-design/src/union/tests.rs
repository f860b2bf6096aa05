//! What goes together, and what does not.

use super::{Disagreement, Served, union};
use crate::design::Design;

const NOTES: &str = r#"
design = "notes"
[table]
name = "notes"
key  = ["PK", "SK"]
[index]
byUser = ["GSI1PK", "GSI1SK"]
[entity.User]
PK = "USER#{userId}"
SK = "USER"
[entity.User.attributes]
userId = "string"
[entity.Note]
PK     = "USER#{userId}"
SK     = "NOTE#{noteId}"
GSI1PK = "USER#{userId}"
GSI1SK = "{noteId}"
[entity.Note.attributes]
userId = "string"
noteId = "string"
words  = "int default 0"
[entity.Note.refs]
user = "User"
[view.Long]
of   = "Note"
when = "words > 100"
PK   = "LONG#{userId}"
SK   = "{noteId}"
keep = ["noteId"]
"#;

fn compiled(text: &str) -> Design {
    let (design, diagnostics) = crate::check(text, &|_| None);
    design.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

fn with(replaced: &str, by: &str) -> Design {
    assert!(NOTES.contains(replaced));
    compiled(&NOTES.replace(replaced, by))
}

fn disagreements(other: &Design) -> Vec<String> {
    let wrong = union(&compiled(NOTES), other, Served::Old).unwrap_err();
    let wrong = wrong.into_iter();
    wrong
        .map(|Disagreement { place, message }| format!("{place} {message}"))
        .collect()
}

#[test]
fn a_design_with_itself_is_itself() {
    let notes = compiled(NOTES);
    let both = union(&notes, &notes, Served::Old).unwrap();
    assert_eq!(both.design, notes);
    assert!(both.aside.is_empty(&notes));
    assert!(both.aside.places(&notes).is_empty());
}

#[test]
fn what_only_the_other_has_is_behind_what_the_served_one_has() {
    let notes = compiled(NOTES);
    let text = NOTES.replace(
        "userId = \"string\"\n[entity.Note]",
        "userId = \"string\"\nnotes = \"count of Note\"\n[entity.Note]",
    );
    let text = format!(
        "{text}\n[view.Short]\nof = \"Note\"\nwhen = \"words < 3\"\nPK = \"SHORT#{{userId}}\"\nSK = \"{{noteId}}\"\nkeep = [\"noteId\"]\n"
    );
    let both = union(&notes, &compiled(&text), Served::Old).unwrap();
    let places: Vec<String> = both.aside.places(&both.design).into_iter().collect();
    assert_eq!(places, ["entity.User.attributes.notes", "view.Short"]);
    for (own, found) in notes.records.iter().zip(&both.design.records) {
        assert_eq!(own.name, found.name);
        assert_eq!(own.attributes, found.attributes[..own.attributes.len()]);
    }
    let note = both.design.find_entity("Note").unwrap();
    let aside = both.design.reactions.of(note.id).iter();
    let aside = aside.filter(|one| both.aside.has_reaction(one)).count();
    assert_eq!(aside, 2);
    // Nobody is shown it before its design is served.
    let user = both.design.find_entity("User").unwrap();
    assert!(user.stored("notes").unwrap().secret);
}

#[test]
fn names_that_mean_two_things_do_not_go_together() {
    let text = NOTES.replace("[entity.Note.refs]\nuser = \"User\"\n", "");
    let text = text.replace("words  =", "user = \"string?\"\nwords  =");
    assert_eq!(
        disagreements(&compiled(&text)),
        ["entity.Note.attributes.user is the name of something else in the other design"]
    );
    let other = with("name = \"notes\"", "name = \"others\"");
    assert_eq!(
        disagreements(&other),
        ["table is another table, or has other keys"]
    );
}

#[test]
fn records_that_could_have_one_key_do_not_go_together() {
    let text = format!(
        "{NOTES}\n[entity.Draft]\nPK = \"LONG#{{userId}}\"\nSK = \"DRAFT#{{draftId}}\"\n[entity.Draft.attributes]\nuserId = \"string\"\ndraftId = \"string\"\n"
    );
    union(&compiled(NOTES), &compiled(&text), Served::Old).unwrap();
    let text = text
        .replace("[view.Long]", "[view.Longer]")
        .replace("PK   = \"LONG#{userId}\"", "PK   = \"LONG#{noteId}\"")
        .replace("SK   = \"{noteId}\"", "SK   = \"{userId}\"");
    let other = compiled(&text);
    assert_eq!(
        disagreements(&other),
        ["view.Longer can have the key of `view.Long` in the other design",]
    );
}
