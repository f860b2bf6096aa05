//! The cheaper read that a caller asks for: where it is taken, and where it is refused.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use partita_core::Value;
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::capacity::Metered;
use partita_store::request::{Page, Query, Scan};
use partita_store::{Layer, ModelStore, Store, StoreResult};

const DESIGN: &str = r#"
design = "notes"

[table]
name = "notes"
key  = ["PK", "SK"]

[index]
GSI1 = ["GSI1PK", "GSI1SK"]

[entity.Note]
PK     = "USER#{userId}"
SK     = "NOTE#{noteId}"
GSI1PK = "NOTES"
GSI1SK = "{noteId}"

[entity.Note.attributes]
userId = "string"
noteId = "string"
text   = "string default 'x'"

[entity.Note.allow]
"*" = "userId = caller"

[entity.Sign]
PK = "SIGN#{userId}"
SK = "SIGN#{signId}"

[entity.Sign.attributes]
userId = "string"
signId = "string"
shown  = "bool default true"

[entity.Sign.allow]
"*"  = "userId = caller"
read = "shown = true OR userId = caller"

[pattern.notes]
query = "PK = 'USER#{userId}' AND begins_with(SK, 'NOTE#')"

[pattern.note]
get = "PK = 'USER#{userId}' AND SK = 'NOTE#{noteId}'"

[pattern.all]
scan  = "begins_with(SK, 'NOTE#')"

[pattern.listed]
query = "GSI1PK = 'NOTES'"

[pattern.current]
query = "GSI1PK = 'NOTES'"
fresh = true

[pattern.signs]
query = "PK = 'SIGN#{userId}' AND begins_with(SK, 'SIGN#')"
"#;

/// Notes which reads may miss the last writes.
#[derive(Default)]
struct Noting {
    inner: ModelStore,
    consistent: Mutex<Vec<bool>>,
}

#[async_trait]
impl Layer for Noting {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn query(&self, request: Query) -> StoreResult<Metered<Page>> {
        self.consistent.lock().unwrap().push(request.consistent);
        Store::query(&self.inner, request).await
    }

    async fn scan(&self, request: Scan) -> StoreResult<Metered<Page>> {
        self.consistent.lock().unwrap().push(request.consistent);
        Store::scan(&self.inner, request).await
    }
}

struct Stage {
    store: Arc<Noting>,
    partita: Partita,
}

impl Stage {
    async fn open() -> Stage {
        let (design, diagnostics) = partita_design::check(DESIGN, &|_| None);
        let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        let store = Arc::new(Noting::default());
        let partita = Partita::open(design, store.clone()).await.unwrap();
        for (entity, id) in [("Note", "noteId"), ("Sign", "signId")] {
            let given = [("userId", "ann"), (id, "1")];
            let given = given.map(|(name, text)| (name.to_owned(), Value::from(text)));
            let create = Operation::Create {
                entity: entity.to_owned(),
                attributes: given.into_iter().collect(),
            };
            partita.run(&Caller::user("ann"), create).await.unwrap();
        }
        Stage { store, partita }
    }

    /// How many records there are, and whether all that was listed is as it is now.
    async fn read(
        &self,
        pattern: &str,
        given: &[(&str, &str)],
    ) -> Result<(usize, bool), PlanError> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        self.store.consistent.lock().unwrap().clear();
        let query = Operation::Query {
            pattern: pattern.to_owned(),
            parameters: given.iter().map(owned).collect::<BTreeMap<_, _>>(),
            limit: None,
            cursor: None,
        };
        let records = match self.partita.run(&Caller::user("ann"), query).await? {
            Answer::Page { records, .. } => records.len(),
            Answer::Record(_) => 1,
            answer => panic!("{answer:?}"),
        };
        let consistent = self.store.consistent.lock().unwrap();
        Ok((records, consistent.iter().all(|one| *one)))
    }
}

const ANN: (&str, &str) = ("userId", "ann");
const NOTE: (&str, &str) = ("noteId", "1");
const EVENTUAL: (&str, &str) = ("consistency", "eventual");

#[tokio::test]
async fn it_is_read_so_only_where_a_caller_asks_for_it() {
    let stage = Stage::open().await;
    for (pattern, given) in [("notes", &[ANN][..]), ("note", &[ANN, NOTE]), ("all", &[])] {
        let read = stage.read(pattern, given).await.unwrap();
        assert_eq!(read, (1, true), "{pattern}");
        let given = [given, &[EVENTUAL]].concat();
        let read = stage.read(pattern, &given).await.unwrap();
        assert_eq!(read, (1, false), "{pattern}");
    }
    // An index never shows the last writes for certain, asked or not.
    for given in [&[][..], &[EVENTUAL]] {
        assert_eq!(stage.read("listed", given).await.unwrap(), (1, false));
    }
}

#[tokio::test]
async fn what_is_missed_shows_nobody_what_was_withdrawn() {
    let stage = Stage::open().await;
    for (pattern, given, expected) in [
        (
            "signs",
            &[ANN, EVENTUAL][..],
            "a `Sign` may be read depends on `shown`",
        ),
        ("current", &[EVENTUAL], "`current` is `fresh`"),
        (
            "notes",
            &[ANN, ("consistency", "weak")],
            "must be `eventual`",
        ),
    ] {
        let refused = stage.read(pattern, given).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}
