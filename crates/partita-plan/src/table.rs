//! The tables that a design lives in: created with everything that the design says of them, or
//! found as the design needs them.

use partita_design::Design;
use partita_design::cloudformation::PROVISIONED_UNITS;
use partita_design::design::{self, Table};
use partita_store::request::{CreateTable, TableChange, UpdateTimeToLive};
use partita_store::settings::{Billing, Encryption, Keeping, Throughput};
use partita_store::stream::StreamView;
use partita_store::table::{TableName, TableSchema};
use partita_store::{Store, StoreError};

use crate::blueprint::{Blueprint, schema};
use crate::error::PlanError;
use crate::migration::change_table;
use crate::sidecar;

/// The tables of a design with their keys and indexes, and the one beside them.
pub fn schemas(design: &Design) -> Result<Vec<(TableName, TableSchema)>, PlanError> {
    let mut schemas = Vec::new();
    for table in &design.tables {
        schemas.push((table.name.parse()?, schema(table)?));
    }
    schemas.push((sidecar::name(design)?, sidecar::keys().into()));
    Ok(schemas)
}

/// Creates the tables of a design that are not there, and refuses those that are not the design's.
/// Nothing is recorded in them.
pub async fn prepare(design: &Design, store: &dyn Store) -> Result<(), PlanError> {
    let blueprint = Blueprint::new(design.clone())?;
    let design = &blueprint.design.name;
    for (table, name) in blueprint.tables() {
        prepare_one(design, table, name, store).await?;
        prepare_expiry(table, name, store).await?;
    }
    let keeping = blueprint.design.tables.first().map(keeping);
    sidecar::prepare(&blueprint.sidecar, keeping.unwrap_or_default(), store).await
}

/// As [`prepare`], for tables that other code made: indexes that they lack are added.
pub async fn prepare_adoption(design: &Design, store: &dyn Store) -> Result<(), PlanError> {
    add_indexes(design, store).await?;
    prepare(design, store).await
}

/// Adds the indexes that tables of a design lack, and waits until they are built.
async fn add_indexes(design: &Design, store: &dyn Store) -> Result<(), PlanError> {
    for designed in &design.tables {
        let name: TableName = designed.name.parse()?;
        let found = match store.describe_table(&name).await {
            Err(StoreError::TableNotFound { .. }) => continue,
            found => found?.schema.indexes,
        };
        for index in schema(designed)?.indexes {
            if found.iter().all(|one| one.name != index.name) {
                change_table(store, &name, TableChange::CreateIndex(index)).await?;
            }
        }
    }
    Ok(())
}

/// How the design wants a table to be kept. A key whose variable has no value is left to Amazon;
/// `compared` reports it.
pub(crate) fn keeping(designed: &Table) -> Keeping {
    Keeping {
        encryption: match &designed.settings.encryption {
            design::Encryption::Owned | design::Encryption::Unset(_) => Encryption::Owned,
            design::Encryption::Managed => Encryption::Managed,
            design::Encryption::Key(key) => Encryption::Key(key.clone()),
        },
        has_recovery: designed.settings.point_in_time_recovery,
    }
}

async fn prepare_one(
    design: &str,
    designed: &Table,
    table: &TableName,
    store: &dyn Store,
) -> Result<(), PlanError> {
    let mut request = CreateTable::new(table.clone(), schema(designed)?);
    request.settings.stream = stream_view(designed);
    request.settings.billing = billing(designed);
    request.settings.is_protected = designed.settings.deletion_protection;
    request.keeping = keeping(designed);
    request.tags = designed.settings.tags.clone();
    let expected = request.schema.clone();
    let found = match store.describe_table(table).await {
        // Another process may create it at the same moment.
        Err(StoreError::TableNotFound { .. }) => match store.create_table(request).await {
            Err(StoreError::TableExists { .. }) => store.describe_table(table).await?,
            created => created?,
        },
        described => described?,
    };
    let refuse = |what: String| Err(refusal(table, &what));
    if found.schema.key != expected.key {
        return refuse(format!("has other keys than the design `{design}`"));
    }
    // Indexes that somebody added are no business of the design's.
    for index in &expected.indexes {
        match found
            .schema
            .indexes
            .iter()
            .find(|one| one.name == index.name)
        {
            None => return refuse(format!("lacks the index `{}`", index.name)),
            Some(one) if one.partition != index.partition || one.sort != index.sort => {
                return refuse(format!("has other keys in its index `{}`", index.name));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// How a new table is charged for. What is provisioned is for whoever knows the load to say.
fn billing(designed: &Table) -> Billing {
    if designed.settings.pay_per_request {
        return Billing::OnDemand;
    }
    let units = Throughput {
        read: PROVISIONED_UNITS,
        write: PROVISIONED_UNITS,
    };
    let indexes = designed.indexes.iter();
    Billing::Provisioned {
        table: units,
        indexes: indexes.map(|index| (index.name.clone(), units)).collect(),
    }
}

/// Lets items expire by the attribute that the design names.
async fn prepare_expiry(
    designed: &Table,
    table: &TableName,
    store: &dyn Store,
) -> Result<(), PlanError> {
    let Some(attribute) = &designed.ttl else {
        return refuse_expiry(table, store).await;
    };
    match store.describe_time_to_live(table).await? {
        Some(found) if found == *attribute => Ok(()),
        Some(found) => {
            let what = format!("lets items expire by `{found}`, not by `{attribute}`");
            Err(refusal(table, &what))
        }
        None => expire_by(attribute, table, store).await,
    }
}

/// Refuses a table whose items expire where the design says nothing of it: somebody made it so before
/// the design was first served, and what callers give would vanish. Whoever has the table of an account
/// at Amazon may have reasons, and is told.
async fn refuse_expiry(table: &TableName, store: &dyn Store) -> Result<(), PlanError> {
    if store.is_shared() {
        return Ok(());
    }
    match store.describe_time_to_live(table).await? {
        None => Ok(()),
        Some(found) => {
            let what = format!("lets items expire by `{found}`, of which the design says nothing");
            Err(refusal(table, &what))
        }
    }
}

/// Lets the items of a table expire by an attribute.
pub(crate) async fn expire_by(
    attribute: &str,
    table: &TableName,
    store: &dyn Store,
) -> Result<(), PlanError> {
    let request = UpdateTimeToLive {
        table: table.clone(),
        attribute: attribute.to_owned(),
        is_enabled: true,
    };
    let Err(error) = store.update_time_to_live(request).await else {
        return Ok(());
    };
    // Another process may have done it at the same moment.
    match store.describe_time_to_live(table).await? {
        Some(found) if found == attribute => Ok(()),
        _ => Err(error.into()),
    }
}

/// What the table's stream tells of a change, in the design's words.
pub(crate) fn stream_view(table: &Table) -> Option<StreamView> {
    match table.settings.stream.as_deref()? {
        "off" => None,
        "keys-only" => Some(StreamView::KeysOnly),
        "new-image" => Some(StreamView::NewImage),
        "old-image" => Some(StreamView::OldImage),
        _ => Some(StreamView::NewAndOldImages),
    }
}

fn refusal(table: &TableName, what: &str) -> PlanError {
    PlanError::Store(StoreError::validation(format!(
        "the table `{table}` {what}; name another table"
    )))
}

#[cfg(test)]
mod tests {
    use partita_store::ModelStore;

    use super::*;
    use crate::compared::table_differences;

    const NOTES: &str = r#"
        design = "notes"
        [table]
        name = "notes"
        key = ["PK", "SK"]
        billing = "provisioned"
        stream = "keys-only"
        deletion-protection = true
        [table.tags]
        team = "archive"
        [index.GSI1]
        key = ["GSI1PK", "GSI1SK"]
        [entity.Note]
        PK = "NOTE#{noteId}"
        SK = "NOTE"
        GSI1PK = "NOTES"
        GSI1SK = "{noteId}"
        [entity.Note.attributes]
        noteId = "ulid, generated"
        [entity.Note.allow]
        "*" = "public"
        [pattern.note]
        get = "PK = 'NOTE#{noteId}' AND SK = 'NOTE'"
    "#;

    /// A table is made as the design says, and one that is not so is reported.
    #[tokio::test]
    async fn a_table_is_what_the_design_says() {
        let design = partita_design::check(NOTES, &|_| None).0.unwrap();
        let name: TableName = "notes".parse().unwrap();
        let store = ModelStore::default();
        prepare(&design, &store).await.unwrap();
        let found = store.describe_table(&name).await.unwrap().settings;
        assert_eq!(found.billing, billing(&design.tables[0]));
        assert_ne!(found.billing, Billing::OnDemand);
        assert!(found.is_protected);
        assert_eq!(found.stream, Some(StreamView::KeysOnly));
        let tags = store.list_tags_of_resource(&name).await.unwrap();
        assert_eq!(tags, design.tables[0].settings.tags);

        let other = ModelStore::default();
        let plain = CreateTable::new(name, schema(&design.tables[0]).unwrap());
        other.create_table(plain).await.unwrap();
        let differences = table_differences(&design, &other).await.unwrap();
        let told: Vec<&str> = differences.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(
            told,
            [
                "is not protected from being deleted",
                "lacks the tag `team` = `archive`",
                "has no stream of the kind that the design says"
            ]
        );
    }

    /// Nothing vanishes by an attribute that the design does not name for that.
    #[tokio::test]
    async fn a_table_whose_items_expire_unasked_is_refused() {
        let design = partita_design::check(NOTES, &|_| None).0.unwrap();
        let name: TableName = "notes".parse().unwrap();
        let store = ModelStore::default();
        prepare(&design, &store).await.unwrap();
        expire_by("price", &name, &store).await.unwrap();
        let refused = prepare(&design, &store).await.unwrap_err().to_string();
        assert!(
            refused.contains("lets items expire by `price`"),
            "{refused}"
        );
    }
}
