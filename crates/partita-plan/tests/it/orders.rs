//! Lists from either end.

use std::collections::BTreeMap;
use std::sync::Arc;

use partita_core::Value;
use partita_plan::{Answer, Caller, Operation, Partita, PlanError, Surroundings};
use partita_store::ModelStore;

const DESIGN: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[entity.Note]
PK = "USER#{userId}"
SK = "NOTE#{noteId}"

[entity.Note.attributes]
userId = "string"
noteId = "string"

[entity.Note.allow]
"*" = "public"

[pattern.notes]
query = "PK = 'USER#{userId}' AND begins_with(SK, 'NOTE#')"

[pattern.latest]
query = "PK = 'USER#{userId}' AND begins_with(SK, 'NOTE#')"
order = "descending"

[pattern.sorted]
query = "PK = 'USER#{userId}' AND begins_with(SK, 'NOTE#')"
sort  = ["-noteId"]
whole = 100

[pattern.all]
scan = "begins_with(SK, 'NOTE#')"

[pattern.note]
get = "PK = 'USER#{userId}' AND SK = 'NOTE#{noteId}'"
"#;

/// A server of a design, which reads the cursors of others.
async fn served(text: &str, store: &Arc<ModelStore>) -> Partita {
    let (design, diagnostics) = partita_design::check(text, &|_| None);
    let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let surroundings = Surroundings {
        cursor_key: [7; 32],
        ..Surroundings::default()
    };
    let opened = Partita::open_with(design, store.clone(), surroundings);
    opened.await.unwrap()
}

async fn notes() -> Partita {
    notes_in(&Arc::default()).await
}

async fn notes_in(store: &Arc<ModelStore>) -> Partita {
    let partita = served(DESIGN, store).await;
    for id in ["1", "2", "3", "4", "5"] {
        let given = [("userId", "ann"), ("noteId", id)];
        let given = given.map(|(name, text)| (name.to_owned(), Value::from(text)));
        let create = Operation::Create {
            entity: "Note".to_owned(),
            attributes: given.into_iter().collect(),
        };
        partita.run(&Caller::user("ann"), create).await.unwrap();
    }
    partita
}

/// The ids on a page, and its cursor.
async fn page(
    partita: &Partita,
    pattern: &str,
    parameters: &[(&str, &str)],
    cursor: Option<String>,
) -> Result<(String, Option<String>), PlanError> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let query = Operation::Query {
        pattern: pattern.to_owned(),
        parameters: parameters.iter().map(owned).collect::<BTreeMap<_, _>>(),
        limit: Some(2),
        cursor,
    };
    let answer = partita.run(&Caller::user("ann"), query).await?;
    let Answer::Page { records, cursor } = answer else {
        panic!("{answer:?}")
    };
    let id = |value: Option<&Value>| match value {
        Some(Value::S(text)) => text.to_string(),
        other => panic!("{other:?}"),
    };
    let ids = records.iter().map(|one| id(one.attributes.get("noteId")));
    Ok((ids.collect(), cursor))
}

#[tokio::test]
async fn a_list_is_read_from_either_end_to_the_other() {
    let partita = notes().await;
    for (pattern, order, expected) in [
        ("notes", "asc", ["12", "34", "5"]),
        ("notes", "desc", ["54", "32", "1"]),
        ("latest", "asc", ["12", "34", "5"]),
        ("latest", "desc", ["54", "32", "1"]),
    ] {
        let parameters = [("userId", "ann"), ("order", order)];
        let mut cursor = None;
        for (number, expected) in expected.into_iter().enumerate() {
            let (ids, next) = page(&partita, pattern, &parameters, cursor).await.unwrap();
            assert_eq!(ids, expected, "{pattern} {order}");
            assert_eq!(next.is_none(), number == 2, "{pattern} {order}");
            cursor = next;
        }
    }
}

#[tokio::test]
async fn a_cursor_belongs_to_its_order() {
    let partita = notes().await;
    let plain = [("userId", "ann")];
    let asc = [("userId", "ann"), ("order", "asc")];
    let desc = [("userId", "ann"), ("order", "desc")];
    let (_, from_first) = page(&partita, "notes", &plain, None).await.unwrap();
    let (_, from_last) = page(&partita, "notes", &desc, None).await.unwrap();
    for (parameters, cursor) in [
        (&desc[..], &from_first),
        (&plain[..], &from_last),
        (&asc[..], &from_last),
    ] {
        let refused = page(&partita, "notes", parameters, cursor.clone()).await;
        assert!(matches!(refused, Err(PlanError::BadCursor)), "{refused:?}");
    }
    // To name the order that it has anyway makes no difference.
    let (ids, _) = page(&partita, "notes", &asc, from_first).await.unwrap();
    assert_eq!(ids, "34");
}

#[tokio::test]
async fn a_cursor_belongs_to_the_text_of_the_design() {
    let store = Arc::default();
    let partita = notes_in(&store).await;
    let ann = [("userId", "ann")];
    let (_, cursor) = page(&partita, "notes", &ann, None).await.unwrap();
    let same = served(DESIGN, &store).await;
    let (ids, _) = page(&same, "notes", &ann, cursor.clone()).await.unwrap();
    assert_eq!(ids, "34");
    let narrower = DESIGN.replace("\"public\"", "\"userId = caller\"");
    let changed = served(&narrower, &store).await;
    let refused = page(&changed, "notes", &ann, cursor).await;
    assert!(matches!(refused, Err(PlanError::BadCursor)), "{refused:?}");
}

#[tokio::test]
async fn what_has_one_order_refuses_another() {
    let partita = notes().await;
    for (pattern, parameters, expected) in [
        (
            "sorted",
            &[("userId", "ann"), ("order", "asc")][..],
            "`sorted` is sorted after it is read",
        ),
        (
            "all",
            &[("order", "desc")][..],
            "`all` goes through the whole table",
        ),
        (
            "note",
            &[("userId", "ann"), ("noteId", "1"), ("order", "asc")][..],
            "`note` is one item",
        ),
        (
            "notes",
            &[("userId", "ann"), ("order", "up")][..],
            "must be `asc` or `desc`",
        ),
    ] {
        let refused = page(&partita, pattern, parameters, None).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}
