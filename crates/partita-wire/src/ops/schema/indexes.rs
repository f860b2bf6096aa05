//! Secondary indexes: those of a new table, and one that a table gets later.

use partita_store::index::{IndexKind, IndexProjection, IndexSchema};
use partita_store::settings::Throughput;
use partita_store::table::KeySchema;
use serde::Deserialize;

use super::billing::{BillingMode, Units};
use super::keys::{self, Definitions, KeyElement, KeyRole};
use crate::constraints::{Choice, Constraints};
use crate::messages;
use crate::parameters;
use crate::refusal::Refusal;

/// An index. Only a global one has throughput of its own.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(in crate::ops) struct IndexInput {
    index_name: Option<String>,
    key_schema: Option<Vec<KeyElement>>,
    projection: Option<ProjectionInput>,
    provisioned_throughput: Option<Units>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProjectionInput {
    projection_type: Option<String>,
    non_key_attributes: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProjectionType {
    All,
    Include,
    KeysOnly,
}

impl Choice for ProjectionType {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("ALL", ProjectionType::All),
        ("INCLUDE", ProjectionType::Include),
        ("KEYS_ONLY", ProjectionType::KeysOnly),
    ];
}

/// Attributes of both sides of a global index's key.
const GLOBAL_KEY_ATTRIBUTES_MAX: usize = 8;
const LOCAL_KEY_ATTRIBUTES_MAX: usize = 2;
const GLOBAL_INDEXES_MAX: usize = 20;
const LOCAL_INDEXES_MAX: usize = 5;
/// Attributes that one index includes.
const INCLUDED_MAX: usize = 20;

/// The indexes of one kind, each with all that it needs.
pub(in crate::ops) struct NamedIndexes<'a> {
    kind: IndexKind,
    indexes: Vec<Whole<'a>>,
}

/// An index that lacks nothing.
pub(in crate::ops) struct Whole<'a> {
    name: &'a str,
    keys: Vec<(&'a str, KeyRole)>,
    projects: Option<ProjectionType>,
    included: Option<&'a [String]>,
    throughput: Option<Throughput>,
}

/// What is there of one kind. One that lacks something has failed a constraint.
pub(in crate::ops) fn named<'a>(
    constraints: &mut Constraints,
    kind: IndexKind,
    list: &'a Option<Vec<IndexInput>>,
) -> Option<NamedIndexes<'a>> {
    let parameter = match kind {
        IndexKind::Local => "localSecondaryIndexes",
        IndexKind::Global => "globalSecondaryIndexes",
    };
    let mut indexes = Vec::new();
    for (index, it) in list.as_ref()?.iter().enumerate() {
        let at = format!("{parameter}.{}.member", index + 1);
        indexes.extend(it.whole(constraints, kind, &at));
    }
    Some(NamedIndexes { kind, indexes })
}

impl IndexInput {
    pub(in crate::ops) fn whole(
        &self,
        constraints: &mut Constraints,
        kind: IndexKind,
        at: &str,
    ) -> Option<Whole<'_>> {
        let name_at = format!("{at}.indexName");
        constraints.required(&name_at, &self.index_name);
        if let Some(name) = &self.index_name {
            parameters::check_name(constraints, &name_at, name, 3);
        }
        let keys_at = format!("{at}.keySchema");
        let keys_max = match kind {
            IndexKind::Local => LOCAL_KEY_ATTRIBUTES_MAX,
            IndexKind::Global => GLOBAL_KEY_ATTRIBUTES_MAX,
        };
        let keys = keys::elements(constraints, &keys_at, &self.key_schema, keys_max);
        let projection_at = format!("{at}.projection");
        constraints.required(&projection_at, &self.projection);
        let projection = self.projection.as_ref();
        let projects = projection.and_then(|it| it.check(constraints, &projection_at));
        let units = self.provisioned_throughput.as_ref();
        let units = units.filter(|_| kind == IndexKind::Global);
        let throughput_at = format!("{at}.provisionedThroughput");
        let throughput = Units::check(constraints, &throughput_at, units);
        Some(Whole {
            name: self.index_name.as_deref()?,
            keys: keys?,
            projects,
            included: projection?.non_key_attributes.as_deref(),
            throughput,
        })
    }
}

impl ProjectionInput {
    fn check(&self, constraints: &mut Constraints, at: &str) -> Option<ProjectionType> {
        if let Some(names) = &self.non_key_attributes {
            let at = format!("{at}.nonKeyAttributes");
            let shown = || format!("[{}]", names.join(", "));
            constraints.length(&at, names.len(), 1..=INCLUDED_MAX, shown);
        }
        constraints.choice(&format!("{at}.projectionType"), &self.projection_type)
    }
}

/// The schemas of the indexes of one kind.
pub(in crate::ops) fn schemas(
    named: &NamedIndexes<'_>,
    definitions: &Definitions<'_>,
    table: &KeySchema,
    billing: BillingMode,
) -> Result<Vec<IndexSchema>, Refusal> {
    if named.indexes.is_empty() {
        return Err(Refusal::validation(messages::no_indexes(named.kind)));
    }
    let most = match named.kind {
        IndexKind::Local => LOCAL_INDEXES_MAX,
        IndexKind::Global => GLOBAL_INDEXES_MAX,
    };
    if named.indexes.len() > most {
        let message = messages::too_many_indexes(named.kind, most);
        return Err(Refusal::validation(message));
    }
    let schemas = named.indexes.iter().map(|index| {
        let schema = index.schema(named.kind, definitions)?;
        match named.kind {
            IndexKind::Local => check_local(&schema, table)?,
            IndexKind::Global => index.check_billing(billing)?,
        }
        Ok(schema)
    });
    schemas.collect()
}

impl NamedIndexes<'_> {
    /// What was provisioned for each, by name.
    pub(in crate::ops) fn throughputs(&self) -> impl Iterator<Item = (String, Throughput)> {
        let indexes = self.indexes.iter();
        indexes.filter_map(|index| Some((index.name.to_owned(), index.throughput?)))
    }
}

impl Whole<'_> {
    pub(in crate::ops) fn name(&self) -> &str {
        self.name
    }

    pub(in crate::ops) fn throughput(&self) -> Option<Throughput> {
        self.throughput
    }

    pub(in crate::ops) fn schema(
        &self,
        kind: IndexKind,
        definitions: &Definitions<'_>,
    ) -> Result<IndexSchema, Refusal> {
        let (partition, sort) = keys::index_key(definitions, &self.keys)?;
        Ok(IndexSchema {
            name: self.name.to_owned(),
            kind,
            partition,
            sort,
            projection: self.projection()?,
        })
    }

    fn projection(&self) -> Result<IndexProjection, Refusal> {
        let message = match (self.projects, self.included) {
            (Some(ProjectionType::All), None) => return Ok(IndexProjection::All),
            (Some(ProjectionType::KeysOnly), None) => return Ok(IndexProjection::KeysOnly),
            (Some(ProjectionType::Include), Some(names)) => {
                return Ok(IndexProjection::Include(names.to_vec()));
            }
            (Some(ProjectionType::All), Some(_)) => messages::INCLUDED_BESIDE_ALL,
            (Some(ProjectionType::KeysOnly), Some(_)) => messages::INCLUDED_BESIDE_KEYS,
            (Some(ProjectionType::Include), None) => messages::NOTHING_INCLUDED,
            (None, _) => messages::NO_PROJECTION_TYPE,
        };
        Err(Refusal::validation(message))
    }

    fn check_billing(&self, billing: BillingMode) -> Result<(), Refusal> {
        Err(Refusal::validation(
            match (billing, self.throughput.is_some()) {
                (BillingMode::PayPerRequest, true) => messages::index_throughput(self.name),
                (BillingMode::Provisioned, false) => messages::no_index_throughput(self.name),
                _ => return Ok(()),
            },
        ))
    }
}

/// A local index sorts the table's own partitions.
fn check_local(index: &IndexSchema, table: &KeySchema) -> Result<(), Refusal> {
    if table.sort.is_none() {
        return Err(Refusal::validation(messages::NOTHING_SORTED));
    }
    if index.sort.is_empty() {
        return Err(Refusal::validation(messages::no_range_key(&index.name)));
    }
    match &index.partition[..] {
        [own] if *own != table.partition => {
            let (own, tables) = (&own.name, &table.partition.name);
            let message = messages::other_hash_key(&index.name, own, tables);
            Err(Refusal::validation(message))
        }
        _ => Ok(()),
    }
}
