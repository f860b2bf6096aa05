use super::*;
use crate::{check, shipped};

fn design(name: &str) -> Design {
    let source = shipped::find(name).expect("it ships").source;
    let (design, _) = check(source, &|_| None);
    design.expect("it has no mistakes")
}

/// What a write to a record sets off: where that is declared, and what it reads.
fn reactions(design: &Design, record: &str) -> Vec<(String, String)> {
    let record = design.find_record(record).expect("the design has it");
    let reactions = design.reactions.of(record.id).iter();
    let shown = reactions.map(|one| (one.declared_at(design), one.reads.join(" ")));
    shown.collect()
}

/// What happens to the chapter and its author comes before the notification, which may read them.
#[test]
fn numbers_come_before_effects() {
    let storyhub = design("storyhub");
    let declared: Vec<String> = reactions(&storyhub, "Vote")
        .into_iter()
        .map(|(declared, _)| declared)
        .collect();
    let first = |start: &str| declared.iter().position(|one| one.starts_with(start));
    let (number, trigger) = (first("entity."), first("trigger."));
    assert!(number.is_some() && number < trigger, "{declared:?}");
}

/// A view that keeps a title is made again when that changes, and not for a number that it lacks.
#[test]
fn a_view_reads_what_it_is_made_of() {
    let stories = design("stories");
    let reactions = reactions(&stories, "Story");
    let index = reactions.iter().find(|(one, _)| one == "view.StoryIndex");
    let (_, reads) = index.expect("the design has it");
    let reads: Vec<&str> = reads.split(' ').collect();
    assert!(
        reads.contains(&"title") && reads.contains(&"deleted"),
        "{reads:?}"
    );
    assert!(!reads.contains(&"id"), "an id does not change: {reads:?}");
}

/// The planner relies on it: records are kept of what the other reactions leave.
#[test]
fn records_are_kept_last() {
    for shipped in shipped::all() {
        let design = design(shipped.name);
        for record in &design.records {
            let reactions = design.reactions.of(record.id);
            assert!(reactions.iter().all(|one| one.record == record.id));
            assert!(reactions.is_sorted_by_key(|one| one.does.keeps_records()));
        }
    }
}
