//! Tables that exist, compared with what a design needs of them.

use partita_design::Design;
use partita_design::design::{self, Table};
use partita_store::settings::{Encryption, Keeping};
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
    /// Whether no server opens the table like this, so that somebody has to change it first.
    pub is_refused: bool,
}

/// How much a difference matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// Another table is needed.
    Final,
    /// No server opens the table before somebody has changed it.
    Refused,
    /// A server opens the table, or whoever takes it over makes it right.
    Noted,
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
        let mut add = |what: String, weight: Weight| {
            let table = table.name.clone();
            found.push(TableDifference {
                table,
                what,
                is_final: weight == Weight::Final,
                is_refused: weight != Weight::Noted,
            });
        };
        let described = match store.describe_table(&name).await {
            Err(StoreError::TableNotFound { .. }) => {
                add("is not there".to_owned(), Weight::Final);
                continue;
            }
            described => described?,
        };
        let expected = schema(table)?;
        if described.schema.key != expected.key {
            let keys = format!("`{}` and `{}`", table.partition, table.sort);
            add(
                format!("has other keys than {keys}, both texts"),
                Weight::Final,
            );
        }
        for index in &expected.indexes {
            let mut known = described.schema.indexes.iter();
            match known.find(|one| one.name == index.name) {
                None => add(format!("lacks the index `{}`", index.name), Weight::Noted),
                Some(one) if one.partition != index.partition || one.sort != index.sort => {
                    add(
                        format!("has other keys in its index `{}`", index.name),
                        Weight::Refused,
                    );
                }
                Some(one) if one.projection != index.projection => {
                    let what = format!("has another projection in its index `{}`", index.name);
                    add(what, Weight::Noted);
                }
                Some(_) => {}
            }
        }
        let expiry = store.describe_time_to_live(&name).await?;
        match (&expiry, &table.ttl) {
            (None, Some(ttl)) => add(
                format!("does not let items expire by `{ttl}`"),
                Weight::Noted,
            ),
            (Some(found), Some(ttl)) if found != ttl => {
                add(
                    format!("lets items expire by `{found}`, not by `{ttl}`"),
                    Weight::Refused,
                );
            }
            (Some(found), None) => {
                add(
                    format!("lets items expire by `{found}`, of which the design says nothing"),
                    Weight::Noted,
                );
            }
            _ => {}
        }
        let settings = &table.settings;
        if settings.deletion_protection && !described.settings.is_protected {
            add(
                "is not protected from being deleted".to_owned(),
                Weight::Noted,
            );
        }
        for what in kept_otherwise(table, store.describe_keeping(&name).await?) {
            add(what, Weight::Noted);
        }
        if !settings.tags.is_empty() {
            let tags = store.list_tags_of_resource(&name).await?;
            let mut wanted = settings.tags.iter();
            if let Some((key, value)) = wanted.find(|(key, value)| tags.get(*key) != Some(value)) {
                add(format!("lacks the tag `{key}` = `{value}`"), Weight::Noted);
            }
        }
        if let Some(view) = stream_view(table)
            && described.settings.stream != Some(view)
        {
            add(
                "has no stream of the kind that the design says".to_owned(),
                Weight::Noted,
            );
        }
    }
    Ok(found)
}

/// What of the key and the recovery of a table is not as the design says. A table that is kept
/// better than that is no difference.
fn kept_otherwise(table: &Table, found: Option<Keeping>) -> Vec<String> {
    let Some(found) = found else {
        return Vec::new();
    };
    let mut different = Vec::new();
    match (&table.settings.encryption, &found.encryption) {
        (design::Encryption::Owned, _) => {}
        (design::Encryption::Unset(text), _) => different.push(format!(
            "may not be encrypted with `{text}`: give the variable with --set NAME=VALUE"
        )),
        (design::Encryption::Managed, Encryption::Owned) => {
            different.push("is not encrypted with a key of KMS".to_owned());
        }
        (design::Encryption::Managed, _) => {}
        (design::Encryption::Key(key), Encryption::Key(found)) if is_key(key, found) => {}
        (design::Encryption::Key(key), _) => {
            different.push(format!("is not encrypted with the key `{key}`"));
        }
    }
    if table.settings.point_in_time_recovery && !found.has_recovery {
        different.push("cannot be brought back to an earlier moment".to_owned());
    }
    different
}

/// Whether a table's key is the one that a design names. Which key an alias means cannot be told.
fn is_key(named: &str, arn: &str) -> bool {
    let is_alias = named.starts_with("alias/") || named.contains(":alias/");
    is_alias || named == arn || arn.rsplit('/').next() == Some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab";

    fn differences(encryption: &str, has_recovery: bool, found: Keeping) -> Vec<String> {
        let text = format!(
            r#"
            design = "notes"
            [table]
            name = "notes"
            key = ["PK", "SK"]
            {encryption}
            point-in-time-recovery = {has_recovery}
            [entity.Note]
            PK = "NOTE#{{noteId}}"
            SK = "NOTE"
            [entity.Note.attributes]
            noteId = "ulid, generated"
            [entity.Note.allow]
            "*" = "public"
            [pattern.note]
            get = "PK = 'NOTE#{{noteId}}' AND SK = 'NOTE'"
            "#
        );
        let design = partita_design::check(&text, &|_| None).0.unwrap();
        kept_otherwise(&design.tables[0], Some(found))
    }

    fn kept(key: Option<&str>, has_recovery: bool) -> Keeping {
        let encryption = key.map_or(Encryption::Owned, |key| Encryption::Key(key.to_owned()));
        Keeping {
            encryption,
            has_recovery,
        }
    }

    #[test]
    fn a_table_that_is_kept_as_the_design_says_is_no_difference() {
        for encryption in [
            "",
            "encryption = 'kms'",
            "encryption = 'kms:1234abcd-12ab'",
            "encryption = 'kms:alias/archive'",
            "encryption = 'kms:arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab'",
        ] {
            let found = differences(encryption, true, kept(Some(ARN), true));
            assert_eq!(found, Vec::<String>::new(), "{encryption}");
        }
        assert!(differences("", false, kept(None, false)).is_empty());
    }

    #[test]
    fn one_that_is_kept_worse_is() {
        let expect = |encryption: &str, found: Keeping, told: &str| {
            let all = differences(encryption, true, found);
            assert!(all.iter().any(|one| one.contains(told)), "{all:?}");
        };
        expect("", kept(None, false), "earlier moment");
        expect("encryption = 'kms'", kept(None, true), "a key of KMS");
        expect("encryption = 'kms:other'", kept(Some(ARN), true), "`other`");
        expect("encryption = 'kms:{KEY}'", kept(Some(ARN), true), "--set");
    }
}
