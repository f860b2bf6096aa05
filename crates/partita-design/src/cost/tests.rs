use std::collections::BTreeMap;

use super::*;
use crate::shipped;

fn costs(design: &str, assumed: &Assumptions) -> Cost {
    let source = shipped::find(design).unwrap().source;
    let design = crate::check(source, &|_| None).0.unwrap();
    cost(&design, assumed)
}

fn write<'c>(cost: &'c Cost, name: &str) -> &'c WriteCost {
    cost.writes.iter().find(|one| one.name == name).unwrap()
}

#[test]
fn a_vote_takes_what_its_plan_does() {
    let cost = costs("storyhub", &Assumptions::default());
    // As `partita plan` has it for a vote on another's chapter, and the numbers that are kept while
    // its author is gone.
    let vote = write(&cost, "create Vote");
    assert_eq!((vote.items, vote.units), (7, 17.0), "{:#?}", vote.loads);
    // The chapter and the story are in one partition, the voter and the author are not.
    let is_story = |load: &&Load| load.key == "STORY#{storyId}";
    let first = vote.loads.iter().find(is_story).unwrap();
    assert_eq!(
        (first.key.as_str(), first.index.as_deref()),
        ("STORY#{storyId}", None)
    );
    assert_eq!((first.units, first.most_per_second), (4.0, 250.0));
    assert!(!first.is_shared);
    let story = write(&cost, "create Story");
    let list = story.loads.iter().find(|load| load.is_shared).unwrap();
    assert_eq!(
        (list.key.as_str(), list.index.as_deref()),
        ("STORY_LIST", Some("GSI1"))
    );
}

#[test]
fn a_fresh_page_reads_its_items_again() {
    let cost = costs("mediahub", &Assumptions::default());
    let albums = cost
        .patterns
        .iter()
        .find(|one| one.name == "albums")
        .unwrap();
    assert_eq!((albums.rows, albums.items), (51, 51));
    assert!(albums.units > 51.0, "{albums:?}");
    // The index is read for half, and the items are elsewhere.
    assert!(albums.load.as_ref().unwrap().units < albums.units - 50.0);
}

#[test]
fn what_was_measured_is_believed() {
    let measured = Assumptions {
        bytes: BTreeMap::from([("ChapterNode".to_owned(), 8_000)]),
        write_units: BTreeMap::from([("update Story".to_owned(), 7.5)]),
        read_units: BTreeMap::from([("browse".to_owned(), 9.0)]),
    };
    let cost = costs("storyhub", &measured);
    assert_eq!(write(&cost, "update Story").units, 7.5);
    // Eight blocks of the chapter in the table, twice, and once in its index.
    assert_eq!(write(&cost, "create Vote").units, 17.0 + 3.0 * 7.0);
    let browse = cost
        .patterns
        .iter()
        .find(|one| one.name == "browse")
        .unwrap();
    assert_eq!(browse.units, 9.0);
}

#[test]
fn a_month_has_its_price_and_what_is_full_first() {
    let cost = costs("storyhub", &Assumptions::default());
    let rate = |per_second, hottest| Rate {
        per_second,
        hottest,
    };
    let rates = BTreeMap::from([
        ("create Vote".to_owned(), rate(10.0, 0.5)),
        ("create Story".to_owned(), rate(1.0, 0.0)),
        ("browse".to_owned(), rate(20.0, 0.0)),
    ]);
    let prices = Prices {
        currency: "EUR".to_owned(),
        million_writes: 1.0,
        million_reads: 0.2,
    };
    let month = cost.month(&rates, Some(&prices));
    let votes = month
        .operations
        .iter()
        .find(|one| one.name == "create Vote");
    assert_eq!(votes.unwrap().units, 10.0 * 2_592_000.0 * 17.0);
    let first = &month.partitions[0];
    assert_eq!(
        (first.key.as_str(), first.is_write),
        ("STORY#{storyId}", true)
    );
    // Five votes in a second on one story, each with four units there, beside half a story.
    assert!((20.0..25.0).contains(&first.units_per_second), "{first:?}");
    assert!(
        month
            .to_text(Some(&prices))
            .contains("full first: one STORY#{storyId}, by writes")
    );
    assert_eq!(cost.month(&rates, None).price, None);
}

#[test]
fn every_shipped_design_has_a_cost() {
    for design in shipped::all() {
        let cost = costs(design.name, &Assumptions::default());
        assert!(
            cost.writes.iter().all(|one| one.units >= 2.0),
            "{}",
            design.name
        );
        let patterns = &cost.patterns;
        assert!(
            patterns.iter().all(|one| one.units >= 0.5),
            "{}",
            design.name
        );
        let text = cost.to_string();
        assert!(text.lines().all(|line| line.len() < 160), "{text}");
        assert!(cost.to_json()["writes"].is_array());
    }
}
