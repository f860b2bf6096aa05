//! The tables that designs govern: DynamoDB's clients read them, and are told which request of the
//! API writes them.
//!
//! A write past the design would leave its counts, views and guards behind. A design that is not
//! served governs its tables all the same, and a sidecar is nobody's to make: the design that is
//! recorded there is the one that is served, with its rules.

use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use partita_core::{Item, Value};
use partita_design::{Design, Occupant, occupant, sidecar};
use partita_plan::recorded_designs;
use partita_store::guarded::{Change, Guard};
use partita_store::table::TableName;
use partita_store::{Store, StoreError, StoreResult};

/// The tables of designs, and those beside them that are Partita's own.
pub(crate) struct Governed {
    designs: Designs,
    store: Arc<dyn Store>,
}

/// The designs whose data are in a store.
struct Designs {
    served: Vec<Design>,
    /// Those that are recorded there and were not served when the server started.
    others: Vec<Design>,
}

impl Governed {
    /// The tables of the served designs and of all others whose data are in the store.
    pub(crate) async fn by(served: Vec<Design>, store: Arc<dyn Store>) -> Result<Governed> {
        let mut others = recorded_designs(store.clone()).await?;
        others.retain(|design| {
            let mut served = served.iter();
            !served.any(|one| sidecar::name(one) == sidecar::name(design))
        });
        let designs = Designs { served, others };
        Ok(Governed { designs, store })
    }

    /// Whether a table is the first of a design, known or not.
    async fn has_sidecar(&self, table: &TableName) -> StoreResult<bool> {
        let Ok(sidecar) = sidecar::beside(table.as_str()).parse() else {
            return Ok(false);
        };
        match self.store.describe_table(&sidecar).await {
            Ok(_) => Ok(true),
            Err(StoreError::TableNotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Guard for Governed {
    async fn refusal(&self, table: &TableName, change: Change<'_>) -> StoreResult<Option<String>> {
        if let Some(refusal) = self.designs.refusal(table.as_str(), change) {
            return Ok(Some(refusal));
        }
        let is_governed = self.has_sidecar(table).await?;
        Ok(is_governed.then(|| {
            let sidecar = sidecar::beside(table.as_str());
            format!(
                "the design that {sidecar} records governs the table {table}: serve that design and use its API, or start the server with --raw-writes"
            )
        }))
    }
}

impl Designs {
    fn refusal(&self, table: &str, change: Change<'_>) -> Option<String> {
        if sidecar::is_name(table) {
            return Some(format!(
                "the table {table} is Partita's own, as all whose names end in {}: choose another name, or start the server with --raw-writes",
                sidecar::SUFFIX
            ));
        }
        let governs = |design: &&Design| design.tables.iter().any(|one| one.name == table);
        if let Some(design) = self.served.iter().find(governs) {
            let instead = match change {
                Change::Table => "change the design and start the server again".to_owned(),
                Change::Put(item) | Change::Update(item) | Change::Delete(item) => {
                    request_instead(design, table, change, item)
                }
            };
            let name = &design.name;
            return Some(format!(
                "the design {name} governs the table {table}: {instead}, or start the server with --raw-writes"
            ));
        }
        let design = self.others.iter().find(governs)?;
        let name = &design.name;
        Some(format!(
            "the design {name}, which is not served now, governs the table {table}: serve it and use its API, or start the server with --raw-writes"
        ))
    }
}

/// The request of the API that makes such a change, with everything that the design keeps for it.
fn request_instead(design: &Design, table: &str, change: Change<'_>, item: &Item) -> String {
    let name = &design.name;
    let keys = design.tables.iter().find(|one| one.name == table);
    let part = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    let found =
        keys.and_then(|keys| occupant(design, table, part(&keys.partition), part(&keys.sort)));
    match found {
        Some(Occupant::Record { record, identity }) => {
            if let Some(view) = &record.view {
                let (view, of) = (&record.name, &design[view.of].name);
                return format!(
                    "the item is a {view} that follows its {of}; write that under /{name}/{of}"
                );
            }
            let entity = &record.name;
            let identity = identity.join("/");
            match change {
                Change::Put(_) => format!(
                    "use PUT /{name}/{entity}/{identity} to create or change it, or POST /{name}/{entity} to create one"
                ),
                Change::Delete(_) => format!("use DELETE /{name}/{entity}/{identity}"),
                Change::Update(_) | Change::Table => {
                    format!("use PATCH /{name}/{entity}/{identity}")
                }
            }
        }
        Some(Occupant::Guard { entity }) => {
            let entity = &entity.name;
            format!("the item keeps a value of {entity} unique; write that under /{name}/{entity}")
        }
        None => format!("use the API under /{name}, by whose keys this is no item"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_design::shipped;
    use partita_store::table::string_key;

    fn refusal(
        table: &str,
        change: impl Fn(&Item) -> Change<'_>,
        key: (&str, &str),
    ) -> Option<String> {
        let designs = ["storyhub", "stories"].map(|name| {
            let source = shipped::find(name).unwrap().source;
            partita_design::check(source, &|_| None).0.unwrap()
        });
        let item = string_key(("PK", key.0), ("SK", key.1));
        let [served, other] = designs;
        let designs = Designs {
            served: vec![served],
            others: vec![other],
        };
        designs.refusal(table, change(&item))
    }

    #[test]
    fn a_refusal_names_the_request_that_would_do_it() {
        let table = "nlmonorepo-tsh-datatable-dev";
        let story = ("STORY#01JGFJJZ00000000000000DVNE", "METADATA");
        let told = |change: fn(&Item) -> Change<'_>, key| refusal(table, change, key).unwrap();
        let put = told(|item| Change::Put(item), story);
        assert!(
            put.contains(
                "use PUT /storyhub/Story/01JGFJJZ00000000000000DVNE to create or change it"
            ),
            "{put}"
        );
        assert!(
            put.contains("or POST /storyhub/Story to create one"),
            "{put}"
        );
        let update = told(|item| Change::Update(item), story);
        assert!(
            update.contains("use PATCH /storyhub/Story/01JGFJJZ00000000000000DVNE"),
            "{update}"
        );
        let delete = told(|item| Change::Delete(item), ("USER#ann", "PROFILE#ann"));
        assert!(
            delete.contains("use DELETE /storyhub/User/ann, or start"),
            "{delete}"
        );
        let view = told(
            |item| Change::Put(item),
            ("USER#ann", "STORY#01JGFJJZ00000000000000DVNE"),
        );
        assert!(
            view.contains("a AuthorStoryRef that follows its Story"),
            "{view}"
        );
        let stranger = told(|item| Change::Put(item), ("what", "ever"));
        assert!(
            stranger.contains("use the API under /storyhub"),
            "{stranger}"
        );
        let whole = told(|_| Change::Table, story);
        assert!(whole.contains("change the design"), "{whole}");
    }

    #[test]
    fn other_tables_are_nobodys() {
        let put: fn(&Item) -> Change<'_> = |item| Change::Put(item);
        assert_eq!(refusal("mine", put, ("a", "b")), None);
        assert_eq!(refusal("stories-2", put, ("a", "b")), None);
        let unserved = refusal("stories", put, ("a", "b")).unwrap();
        assert!(unserved.contains("which is not served now"), "{unserved}");
        for name in ["stories-partita", "any-partita"] {
            let sidecar = refusal(name, put, ("JOB", "1")).unwrap();
            assert!(sidecar.contains("Partita's own"), "{sidecar}");
        }
    }
}
