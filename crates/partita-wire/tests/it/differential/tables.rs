//! The tables that generated requests are about: keys of every type, local and global indexes,
//! every projection.

use serde_json::{Value as Json, json};

use super::Request;

/// An attribute and its type: `("pk", "S")`.
pub(super) type Key = (&'static str, &'static str);

/// A table, or an index of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) partition: Key,
    pub(super) sort: Option<Key>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Index {
    pub(super) name: &'static str,
    pub(super) keys: Keys,
    pub(super) is_local: bool,
    /// `ALL`, `KEYS_ONLY`, or else the attributes that are included.
    pub(super) projection: &'static [&'static str],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) keys: Keys,
    pub(super) indexes: &'static [Index],
}

const fn keys(partition: Key, sort: Option<Key>) -> Keys {
    Keys { partition, sort }
}

/// The keys of indexes. Wherever an attribute of this name is generated it has this type, but
/// for the odd mistake.
pub(super) const INDEXED: [Key; 4] = [("g", "S"), ("n", "N"), ("s", "S"), ("b", "B")];

pub(super) const TABLES: [Table; 4] = [
    Table {
        name: "plain",
        keys: keys(("pk", "S"), None),
        indexes: &[],
    },
    Table {
        name: "indexed",
        keys: keys(("pk", "S"), Some(("sk", "N"))),
        indexes: &[
            Index {
                name: "local-all",
                keys: keys(("pk", "S"), Some(("s", "S"))),
                is_local: true,
                projection: &["ALL"],
            },
            Index {
                name: "local-keys",
                keys: keys(("pk", "S"), Some(("n", "N"))),
                is_local: true,
                projection: &["KEYS_ONLY"],
            },
            Index {
                name: "global-all",
                keys: keys(("g", "S"), Some(("n", "N"))),
                is_local: false,
                projection: &["ALL"],
            },
            Index {
                name: "global-some",
                keys: keys(("s", "S"), None),
                is_local: false,
                projection: &["a", "l"],
            },
            Index {
                name: "global-keys",
                keys: keys(("b", "B"), Some(("g", "S"))),
                is_local: false,
                projection: &["KEYS_ONLY"],
            },
        ],
    },
    Table {
        name: "binary",
        keys: keys(("pk", "B"), Some(("sk", "S"))),
        indexes: &[],
    },
    Table {
        name: "numbers",
        keys: keys(("pk", "N"), Some(("sk", "B"))),
        indexes: &[Index {
            name: "global-sorts",
            keys: keys(("g", "S"), Some(("sk", "B"))),
            is_local: false,
            projection: &["ALL"],
        }],
    },
];

impl Keys {
    pub(super) fn all(self) -> impl Iterator<Item = Key> {
        [Some(self.partition), self.sort].into_iter().flatten()
    }

    fn schema(self) -> Json {
        let roles = ["HASH", "RANGE"].into_iter();
        let elements = self
            .all()
            .zip(roles)
            .map(|((name, _), role)| json!({"AttributeName": name, "KeyType": role}));
        elements.collect()
    }
}

impl Index {
    fn definition(&self) -> Json {
        let projection = match self.projection {
            [kind @ ("ALL" | "KEYS_ONLY")] => json!({"ProjectionType": kind}),
            names => json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": names}),
        };
        json!({"IndexName": self.name, "KeySchema": self.keys.schema(), "Projection": projection})
    }
}

impl Table {
    fn definition(&self) -> Json {
        let mut attributes: Vec<Key> = self.keys.all().collect();
        attributes.extend(self.indexes.iter().flat_map(|index| index.keys.all()));
        attributes.sort_unstable();
        attributes.dedup();
        let attributes: Json = attributes
            .iter()
            .map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}))
            .collect();
        let mut table = json!({
            "TableName": self.name,
            "KeySchema": self.keys.schema(),
            "AttributeDefinitions": attributes,
            "BillingMode": "PAY_PER_REQUEST",
        });
        for (name, is_local) in [
            ("LocalSecondaryIndexes", true),
            ("GlobalSecondaryIndexes", false),
        ] {
            let indexes = self.indexes.iter().filter(|it| it.is_local == is_local);
            let indexes: Vec<Json> = indexes.map(Index::definition).collect();
            if !indexes.is_empty() {
                table[name] = indexes.into();
            }
        }
        table
    }
}

/// The requests that create them.
pub(super) fn create() -> impl Iterator<Item = Request> {
    TABLES.iter().map(|table| Request {
        operation: "CreateTable",
        body: table.definition(),
    })
}
