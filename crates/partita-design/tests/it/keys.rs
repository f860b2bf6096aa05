//! The keys of items, and values that may not stand in them.

use partita_core::{Map, Value};
use partita_design::{Design, check, keys, shipped};

const STORY: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const NODE: &str = "01BX5ZZKBKACTAV9WEVGEMMVRZ";

fn design() -> Design {
    check(shipped::find("stories").unwrap().source, &|_| None)
        .0
        .unwrap()
}

/// Keys as `Record PK / SK`, or the faults.
fn told(entity: &str, attributes: &[(&str, Value)]) -> Result<Vec<String>, Vec<String>> {
    let attributes: Map = attributes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let records = keys(&design(), entity, &attributes)
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let text = |record: partita_design::RecordKeys| {
        let name = &record.record;
        let values: Vec<_> = record
            .keys
            .iter()
            .map(|(_, value)| value.as_str().unwrap_or_default())
            .collect();
        format!("{name} {}", values.join(" / "))
    };
    Ok(records.into_iter().map(text).collect())
}

#[test]
fn a_story_and_the_view_that_exists() {
    let story = [("userId", "ann".into()), ("storyId", STORY.into())];
    let own = format!("Story USER#ann#STORY#{STORY} / METADATA");
    assert_eq!(
        told("Story", &story),
        Ok(vec![
            own.clone(),
            format!("StoryIndex USER#ann / STORY#{STORY}")
        ])
    );
    let deleted = [
        ("userId", "ann".into()),
        ("id", STORY.into()),
        ("deleted", true.into()),
    ];
    assert_eq!(
        told("Story", &deleted),
        Ok(vec![
            own,
            format!("DeletedStoryIndex DELETED#USER#ann / STORY#{STORY}")
        ])
    );
}

#[test]
fn a_node() {
    let node = [
        ("userId", "ann".into()),
        ("storyId", STORY.into()),
        ("nodeId", NODE.into()),
        ("anything", 1_i64.into()),
    ];
    let expected = format!("Node USER#ann#STORY#{STORY} / NODE#{NODE}");
    assert_eq!(told("Node", &node), Ok(vec![expected]));
}

/// P000-01: `a` with `b#STORY#c` and `a#STORY#b` with `c` would be one key. Ids with the delimiter
/// are refused, so that no caller can forge the key of another.
#[test]
fn ids_with_the_delimiter_are_refused() {
    for forged in ["a#STORY#b", "#", "a#"] {
        let story = [("userId", forged.into()), ("storyId", STORY.into())];
        assert_eq!(
            told("Story", &story),
            Err(vec![
                "`userId` is part of a key and may not contain `#`".to_owned()
            ])
        );
    }
    let story = [("userId", "".into()), ("storyId", STORY.into())];
    assert_eq!(
        told("Story", &story),
        Err(vec![
            "`userId` is part of a key and may not be empty".to_owned()
        ])
    );
}

#[test]
fn all_faults_at_once() {
    let faulty = [
        ("storyId", "42".into()),
        ("titel", "Dune".into()),
        ("deleted", "no".into()),
    ];
    let faults = told("Story", &faulty).unwrap_err();
    assert_eq!(
        faults,
        [
            "`deleted` must be true or false",
            "`storyId` must be a ULID: 26 characters from 0-9 and A-Z without I, L, O and U",
            "there is no attribute `titel`; did you mean `title`?",
            "`userId` is part of the key and is missing",
        ]
    );
    let twice = [
        ("userId", "ann".into()),
        ("id", STORY.into()),
        ("storyId", STORY.into()),
    ];
    assert_eq!(
        told("Story", &twice),
        Err(vec!["`id` is given twice, once as `storyId`".to_owned()])
    );
    assert_eq!(
        told("Storry", &[]),
        Err(vec![
            "there is no entity `Storry`; did you mean `Story`?".to_owned()
        ])
    );
}
