//! Types instead of maps.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{PageOf, Typed, TypedError};
use crate::planner::tests::{NODE, STORY, storyhub};
use crate::{Caller, PlanError};

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chapter {
    node_id: String,
    title: String,
    depth: u32,
    parent_node_id: Option<String>,
    stats: Stats,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    upvotes: u64,
    child_count: u64,
}

impl Typed for Chapter {
    const NAME: &'static str = "ChapterNode";
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewChapter<'n> {
    story_id: &'n str,
    author_id: &'n str,
    parent_node_id: Option<&'n str>,
    title: &'n str,
    content: &'n str,
}

#[tokio::test]
async fn a_branch_is_created_read_renamed_and_listed() {
    let partita = storyhub().await;
    let bob = Caller::user("bob");
    let new = NewChapter {
        story_id: STORY,
        author_id: "bob",
        parent_node_id: Some(NODE),
        title: "Two",
        content: "…",
    };
    let branch = partita
        .create::<Chapter>(&bob, &new)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (branch.depth, branch.parent_node_id.as_deref()),
        (1, Some(NODE))
    );
    let identity = [STORY, branch.node_id.as_str()];
    let title = json!({ "title": "Dos" });
    let renamed = partita
        .update::<Chapter>(&bob, &identity, &title)
        .await
        .unwrap();
    assert_eq!(renamed.unwrap().title, "Dos");
    let parent = partita
        .get::<Chapter>(&bob, &[STORY, NODE])
        .await
        .unwrap()
        .unwrap();
    let stats = Stats {
        upvotes: 0,
        child_count: 1,
    };
    assert_eq!(parent.stats, stats);

    let one = PageOf {
        limit: Some(1),
        ..PageOf::default()
    };
    let parameters = [("storyId", STORY)];
    let page = partita
        .pattern::<Chapter>(&bob, "chapters", &parameters, one)
        .await
        .unwrap();
    let next = PageOf {
        cursor: page.cursor.as_deref(),
        ..one
    };
    let rest = partita
        .pattern::<Chapter>(&bob, "chapters", &parameters, next)
        .await
        .unwrap();
    let titles = page
        .items
        .iter()
        .chain(&rest.items)
        .map(|one| one.title.as_str());
    let mut titles: Vec<_> = titles.collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Dos", "One"]);
}

#[tokio::test]
async fn what_does_not_fit_is_told() {
    #[derive(Debug, Deserialize)]
    struct Other {
        #[expect(dead_code, reason = "nobody gets as far as reading it")]
        title: u32,
    }
    impl Typed for Other {
        const NAME: &'static str = "ChapterNode";
    }
    let partita = storyhub().await;
    let ann = Caller::user("ann");
    let got = partita.get::<Other>(&ann, &[STORY, NODE]).await;
    assert!(matches!(got, Err(TypedError::Form { .. })), "{got:?}");
    let given = partita.create::<Chapter>(&ann, &"a text").await;
    assert!(matches!(given, Err(TypedError::Given { .. })), "{given:?}");
    let missing = partita
        .create::<Chapter>(&ann, &json!({ "storyId": STORY }))
        .await;
    let Err(TypedError::Refused(PlanError::Invalid { faults })) = missing else {
        panic!("{missing:?}");
    };
    assert!(
        faults.iter().any(|fault| fault.attribute == "title"),
        "{faults:?}"
    );
    let none = partita.get::<Chapter>(&ann, &[STORY, STORY]).await.unwrap();
    assert_eq!(none, None);
}
