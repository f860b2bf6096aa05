//! `items`: what is stored, past the rules and without secrets.

use std::collections::BTreeMap;

use partita_core::plain;
use partita_design::design::LIMIT_MAX;
use partita_plan::browse::{Browse, Browsed, BrowsedRow, Named};
use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value as Json, json};

use super::{Allowed, Command, Desk, Events, Failure, StoreUse};

/// Items of a page, unless it is said.
const LIMIT: usize = 50;

/// Asks for one page of items: those of an entity or a view, those of a partition, one of them, or
/// those that refer to one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Items {
    /// The entity or view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// One item of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Vec<String>>,
    /// Only items with these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub having: BTreeMap<String, String>,
    /// Everything under this partition key, in the order of the keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// The table of the partition; the first of the design if it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The items of this entity that refer to the one that is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// By this ref.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The items that this number of the one that is named is counted or summed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// Items of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// One page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ItemsPage {
    /// The items.
    pub items: Vec<StoredItem>,
    /// Where the next page begins, if there may be one.
    pub cursor: Option<String>,
    /// Whether there is more that no cursor leads to.
    pub has_more: bool,
    /// Items that were looked at.
    pub examined: usize,
    /// Those of them that the design does not explain.
    pub unrecognised: usize,
    /// The read units that it took.
    pub read_units: f64,
    /// What was asked of the store.
    pub requests: Json,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredItem {
    /// The entity or view.
    pub record: String,
    /// The parts of its identity; none where one of them is a secret.
    pub identity: Option<Vec<String>>,
    /// Its attributes, without secrets.
    pub attributes: JsonMap<String, Json>,
    /// Its keys, as far as they spell no secret.
    pub keys: JsonMap<String, Json>,
    /// Whether it is soft-deleted.
    pub deleted: bool,
    /// Whether its time is over.
    pub expired: bool,
    /// What it adds to the number that was asked about; none if it is not counted.
    pub adds: Option<Json>,
}

impl Items {
    fn browse(&self) -> Result<Browse, Failure> {
        let Items {
            record, identity, ..
        } = self;
        if let Some(value) = &self.partition {
            return Ok(Browse::Partition {
                table: self.table.clone(),
                value: value.clone(),
            });
        }
        let record = record.clone();
        let record = record.ok_or_else(|| Failure::new("name a record, or a partition"))?;
        let Some(identity) = identity.clone() else {
            return Ok(Browse::Record {
                name: record,
                having: self.having.clone(),
            });
        };
        let named = Named { record, identity };
        Ok(match (&self.of, &self.by, &self.number) {
            (Some(of), Some(by), None) => Browse::Referrers {
                to: named,
                of: of.clone(),
                by: by.clone(),
            },
            (None, None, Some(number)) => Browse::Sources {
                of: named,
                attribute: number.clone(),
            },
            (None, None, None) => Browse::Item(named),
            _ => return Err(Failure::new("name `of` and `by`, or a `number`")),
        })
    }
}

impl From<Browsed> for ItemsPage {
    fn from(found: Browsed) -> Self {
        let units = found.requests.iter().map(|one| one.units().units());
        let requests = found.requests.iter().map(|one| {
            json!({
                "operation": one.operation,
                "index": one.index,
                "items": one.items,
                "bytes": one.bytes,
                "readUnits": one.units().units(),
            })
        });
        ItemsPage {
            read_units: units.sum(),
            requests: requests.collect(),
            items: found.rows.into_iter().map(StoredItem::from).collect(),
            cursor: found.cursor,
            has_more: found.has_more,
            examined: found.examined,
            unrecognised: found.unrecognised,
        }
    }
}

impl From<BrowsedRow> for StoredItem {
    fn from(row: BrowsedRow) -> Self {
        StoredItem {
            record: row.record,
            identity: row.identity,
            attributes: plain::map_to_json(&row.attributes),
            keys: plain::map_to_json(&row.keys),
            deleted: row.is_deleted,
            expired: row.is_expired,
            adds: row.adds.as_ref().map(plain::to_json),
        }
    }
}

impl Command for Items {
    const NAME: &'static str = "items";
    const ABOUT: &'static str = "One page of what is stored, past the rules and without secrets";
    const ALLOWED: Allowed = Allowed::Administrators;
    const STORE: StoreUse = StoreUse::Look;
    type Event = ();
    type Outcome = ItemsPage;

    async fn run(self, desk: Desk, _: Events<Self>) -> Result<ItemsPage, Failure> {
        let what = self.browse()?;
        let partita = desk.partita().await?;
        let limit = self.limit.unwrap_or(LIMIT);
        let found = partita.browse(&what, limit, self.cursor.as_deref()).await?;
        Ok(found.into())
    }

    fn example() -> Self {
        Items {
            record: Some("Story".to_owned()),
            ..Items::default()
        }
    }

    fn schemas() -> [Json; 3] {
        let text = || json!({ "type": "string" });
        let texts = || json!({ "type": "array", "items": { "type": "string" } });
        let values = || json!({ "type": "object", "properties": {}, "additionalProperties": { "type": "string" } });
        let request = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "record": { "type": "string", "description": "An entity or a view; its items, by a scan" },
                "identity": { "type": "array", "items": text(), "description": "One of them" },
                "having": values(),
                "partition": { "type": "string", "description": "Everything under this partition key" },
                "table": text(),
                "of": { "type": "string", "description": "Items of this entity that refer to the one that is named" },
                "by": { "type": "string", "description": "By this ref" },
                "number": { "type": "string", "description": "Items that this number is counted or summed from" },
                "limit": { "type": "integer", "minimum": 1, "maximum": LIMIT_MAX },
                "cursor": text(),
            },
        });
        let item = json!({
            "type": "object",
            "required": ["record", "identity", "attributes", "keys", "deleted", "expired", "adds"],
            "properties": {
                "record": text(),
                "identity": { "anyOf": [texts(), { "type": "null" }] },
                "attributes": { "type": "object" },
                "keys": { "type": "object" },
                "deleted": { "type": "boolean" },
                "expired": { "type": "boolean" },
                "adds": {},
            },
        });
        let outcome = json!({
            "type": "object",
            "required": ["items", "cursor", "hasMore", "examined", "unrecognised", "readUnits", "requests"],
            "properties": {
                "items": { "type": "array", "items": item },
                "cursor": { "type": ["string", "null"] },
                "hasMore": { "type": "boolean" },
                "examined": { "type": "integer" },
                "unrecognised": { "type": "integer" },
                "readUnits": { "type": "number" },
                "requests": { "type": "array", "items": { "type": "object" } },
            },
        });
        [request, Json::Null, outcome]
    }
}
