//! The transaction that a write would become, and what it would cost, without the write; and what a
//! read takes.

mod print;
mod reads;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use partita_core::Item;
use partita_store::capacity::{Consumed, Metered};
use partita_store::error::StoreResult;
use partita_store::request::{PutItem, ReturnValues, TransactAction, TransactWriteItems};
use partita_store::table::{Key, TableName, TableSchema};
use partita_store::write::{self, Tables};
use partita_store::{ErrorKind, StoreError};

use crate::commit::run::refused;
use crate::commit::{Committed, WritePlan};
use crate::error::PlanError;
use crate::job::Job;
use crate::operation::{Caller, Operation};
use crate::partita::Partita;
use crate::running::Running;
pub use reads::{ReadPreview, ReadRequest};
pub(crate) use reads::{measured, note};

/// What a write would become.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    /// Its actions. A read has none, and neither has a write that changes nothing.
    pub actions: Vec<TransactAction>,
    /// Whether the actions only count, so that each is an update of its own and there is no
    /// transaction.
    pub is_tally: bool,
    /// What is left for a job, which the transaction records.
    pub job: Option<Left>,
    /// The capacity units of the actions by table, with those of its indexes.
    pub consumed: BTreeMap<TableName, Consumed>,
    /// The names of the tables' keys.
    keys: BTreeMap<TableName, Vec<String>>,
}

/// What a write leaves for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// All that does not fit into its transaction.
    Rest,
    /// To look once more, before the write is answered, for items that came to refer to what it
    /// removes or changes while it was planned.
    LookAgain,
}

impl Left {
    fn of(job: &Job) -> Left {
        match job.lease {
            Some(_) => Left::LookAgain,
            None => Left::Rest,
        }
    }
}

impl Partita {
    /// Plans a write and does not carry it out. It is refused as the write would be.
    ///
    /// Times and generated ids are those of this moment; the write draws its own.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// # use std::sync::Arc;
    /// # use partita_core::{Map, Value};
    /// # use partita_plan::{Caller, Operation, Partita};
    /// # let (design, _) = partita_design::check(partita_design::shipped::find("stories").unwrap().source, &|_| None);
    /// # let store = Arc::new(partita_store::ModelStore::default());
    /// # let partita = Partita::open(design.unwrap(), store).await?;
    /// let attributes = Map::from([("userId", Value::from("ann")), ("title", Value::from("Dune"))]);
    /// let create = Operation::Create { entity: "Story".into(), attributes };
    /// let preview = partita.preview(&Caller::user("ann"), create).await?;
    /// // The story and its index record.
    /// assert_eq!(preview.actions.len(), 2);
    /// assert!(preview.to_string().starts_with("TransactWriteItems, 2 actions, 4 write units"));
    /// # Ok::<(), partita_plan::PlanError>(()) }).unwrap();
    /// ```
    pub fn preview<'a>(&'a self, caller: &'a Caller, operation: Operation) -> Running<'a, Preview> {
        Box::pin(self.look_ahead(caller, operation))
    }

    async fn look_ahead(
        &self,
        caller: &Caller,
        operation: Operation,
    ) -> Result<Preview, PlanError> {
        let Some(request) = self.request(operation)? else {
            return Ok(Preview::default());
        };
        let plan = self.plan(caller, &request, Vec::new(), 0).await?;
        if plan.steps.is_empty() {
            return Ok(Preview::default());
        }
        let stage = self.stage(&plan).await?;
        Ok(Preview {
            consumed: cost(&plan, &stage)?,
            keys: stage.keys(),
            is_tally: plan.is_tally,
            job: plan.left.first().map(Left::of),
            actions: plan.steps.into_iter().map(|step| step.action).collect(),
        })
    }

    /// The tables and the items that a plan writes to.
    async fn stage(&self, plan: &WritePlan) -> Result<Stage, PlanError> {
        let mut stage = Stage::default();
        let mut keys = Vec::new();
        let mut addresses = Vec::new();
        for step in &plan.steps {
            let table = step.action.table();
            if !stage.schemas.contains_key(table) {
                let found = self.runner.store.describe_table(table).await?;
                stage.schemas.insert(table.clone(), Arc::new(found.schema));
            }
            let schema = stage.schema(table)?;
            keys.push((table.clone(), step.action.key(&schema.key)?));
            addresses.push(self.blueprint.place_of(&step.action));
        }
        let items = self.runner.read_items(&addresses).await?;
        let found = keys.into_iter().zip(items);
        stage.items = found
            .filter_map(|(place, item)| Some((place, item?)))
            .collect();
        // A write claims the places of its files before it is committed, where they are free.
        let sidecar = &self.blueprint.sidecar;
        for copy in self.claimed_places(&plan.placements) {
            if let Ok(schema) = stage.schema(sidecar) {
                let put = PutItem::new(sidecar.clone(), copy.clone());
                let key = TransactAction::Put(put).key(&schema.key)?;
                stage.items.entry((sidecar.clone(), key)).or_insert(copy);
            }
        }
        Ok(stage)
    }
}

/// What a plan would consume: it is carried out in thought, on the items as they are.
fn cost(plan: &WritePlan, stage: &Stage) -> Result<BTreeMap<TableName, Consumed>, PlanError> {
    let actions = plan.steps.iter().map(|step| step.action.clone());
    if plan.is_tally {
        let mut all = Metered::<()>::default();
        for action in actions {
            let (_, metered) = write::single(&action, ReturnValues::None, stage)?;
            all.add(&metered.consumed);
        }
        return Ok(all.consumed);
    }
    let request = TransactWriteItems {
        actions: actions.collect(),
        token: None,
    };
    match write::transaction(&request, stage) {
        Ok(metered) => Ok(metered.consumed),
        Err(error) if error.kind() == ErrorKind::ConditionFailed => {
            Err(match refused(&plan.steps, error) {
                Err(refusal) => refusal,
                Ok(Committed::NotYet { cause, .. }) => cause,
                Ok(Committed::Done) => PlanError::Conflict,
            })
        }
        Err(error) => Err(error.into()),
    }
}

/// What a plan finds: some tables with some items.
#[derive(Default)]
struct Stage {
    schemas: HashMap<TableName, Arc<TableSchema>>,
    items: HashMap<(TableName, Key), Item>,
}

impl Stage {
    fn keys(&self) -> BTreeMap<TableName, Vec<String>> {
        let schemas = self.schemas.iter();
        let keys = schemas.map(|(table, schema)| {
            let names = schema.key.attributes().map(|one| one.name.clone());
            (table.clone(), names.collect())
        });
        keys.collect()
    }
}

impl Tables for Stage {
    fn schema(&self, table: &TableName) -> StoreResult<Arc<TableSchema>> {
        let found = self.schemas.get(table).cloned();
        found.ok_or_else(|| StoreError::TableNotFound {
            table: table.clone(),
        })
    }

    fn read(&self, table: &TableName, key: &Key) -> StoreResult<Option<Item>> {
        Ok(self.items.get(&(table.clone(), key.clone())).cloned())
    }
}

#[cfg(test)]
mod tests;
