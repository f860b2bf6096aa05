//! Tables that exist, compared with what a design needs of them.

use partita_design::Design;
use partita_store::table::TableName;
use partita_store::{Store, StoreError};

use crate::blueprint::schema;
use crate::error::PlanError;
use crate::table::stream_view;

/// Something of a table that is not as a design needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDifference {
    /// The table in the store.
    pub table: String,
    /// What is different.
    pub what: String,
    /// Whether nothing can change it: another table is needed.
    pub is_final: bool,
}

/// What of a design's tables is not as the design needs it: keys, indexes, expiry and stream.
/// Indexes that the design does not name are no business of its own.
pub async fn table_differences(
    design: &Design,
    store: &dyn Store,
) -> Result<Vec<TableDifference>, PlanError> {
    let mut found = Vec::new();
    for table in &design.tables {
        let name: TableName = table.name.parse()?;
        let mut add = |what: String, is_final: bool| {
            let table = table.name.clone();
            found.push(TableDifference {
                table,
                what,
                is_final,
            });
        };
        let described = match store.describe_table(&name).await {
            Err(StoreError::TableNotFound { .. }) => {
                add("is not there".to_owned(), true);
                continue;
            }
            described => described?,
        };
        let expected = schema(table)?;
        if described.schema.key != expected.key {
            let keys = format!("`{}` and `{}`", table.partition, table.sort);
            add(format!("has other keys than {keys}, both texts"), true);
        }
        for index in &expected.indexes {
            let mut known = described.schema.indexes.iter();
            match known.find(|one| one.name == index.name) {
                None => add(format!("lacks the index `{}`", index.name), false),
                Some(one) if one.partition != index.partition || one.sort != index.sort => {
                    add(
                        format!("has other keys in its index `{}`", index.name),
                        false,
                    );
                }
                Some(one) if one.projection != index.projection => {
                    let what = format!("has another projection in its index `{}`", index.name);
                    add(what, false);
                }
                Some(_) => {}
            }
        }
        let expiry = store.describe_time_to_live(&name).await?;
        match (&expiry, &table.ttl) {
            (None, Some(ttl)) => add(format!("does not let items expire by `{ttl}`"), false),
            (Some(found), Some(ttl)) if found != ttl => {
                add(
                    format!("lets items expire by `{found}`, not by `{ttl}`"),
                    false,
                );
            }
            (Some(found), None) => {
                add(
                    format!("lets items expire by `{found}`, of which the design says nothing"),
                    false,
                );
            }
            _ => {}
        }
        let settings = &table.settings;
        if settings.deletion_protection && !described.settings.is_protected {
            add("is not protected from being deleted".to_owned(), false);
        }
        if !settings.tags.is_empty() {
            let tags = store.list_tags_of_resource(&name).await?;
            let mut wanted = settings.tags.iter();
            if let Some((key, value)) = wanted.find(|(key, value)| tags.get(*key) != Some(value)) {
                add(format!("lacks the tag `{key}` = `{value}`"), false);
            }
        }
        if let Some(view) = stream_view(table)
            && described.settings.stream != Some(view)
        {
            add(
                "has no stream of the kind that the design says".to_owned(),
                false,
            );
        }
    }
    Ok(found)
}
