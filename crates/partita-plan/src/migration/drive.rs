//! The work of a stage, until the next command.

use std::time::Duration;

use partita_store::request::{CreateTable, TableChange, UpdateTable};
use partita_store::table::TableName;
use partita_store::{Store, StoreError};

use super::changes::given_defaults;
use super::removal::Leaving;
use super::{Current, Migration, Stage, removal};
use crate::blueprint::{index_schema, schema};
use crate::error::PlanError;
use crate::partita::Partita;

/// How often it is looked whether an index is built.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Told how far a migration is.
pub type OnProgress<'w> = &'w mut (dyn FnMut(&Migration) + Send);

impl Current {
    /// Does what is to be done in the stage of the migration, and in those that follow by themselves.
    /// Answers the migration as it is when nothing is left to do but by command; none if there is
    /// none.
    pub async fn drive(&self, on_progress: OnProgress<'_>) -> Result<Option<Migration>, PlanError> {
        let _alone = self.driving.lock().await;
        loop {
            let Some(mut migration) = self.migration().await? else {
                return Ok(None);
            };
            on_progress(&migration);
            match migration.stage {
                Stage::Kept | Stage::Naming if migration.is_paused => return Ok(Some(migration)),
                Stage::Kept => {
                    self.fill(&mut migration, Stage::Filled, on_progress)
                        .await?;
                }
                Stage::Naming => {
                    self.fill(&mut migration, Stage::Clearing, on_progress)
                        .await?;
                }
                Stage::Filled | Stage::Switched => {
                    self.sweep(&mut migration).await?;
                    return Ok(Some(migration));
                }
                Stage::Completing => {
                    let designs = self.designs(&migration).await?;
                    self.clear(&migration, designs.after_completing()).await?;
                }
                Stage::Clearing => self.clear(&migration, Stage::Completed).await?,
                Stage::RollingBack => self.clear(&migration, Stage::RolledBack).await?,
                Stage::Completed | Stage::RolledBack => return Ok(Some(migration)),
            }
        }
    }

    /// Gives all items what they lack, and moves on if all of them have it.
    async fn fill(
        &self,
        migration: &mut Migration,
        then: Stage,
        on_progress: OnProgress<'_>,
    ) -> Result<(), PlanError> {
        create_indexes(&self.get()).await?;
        if self.backfill(migration, on_progress).await? {
            let designs = self.designs(migration).await?;
            let blueprint = designs.blueprint(&migration.at(then))?;
            self.advance(migration, then, blueprint, None, Vec::new())
                .await?;
        }
        Ok(())
    }

    /// Removes marks that nobody asks for any more.
    async fn sweep(&self, migration: &mut Migration) -> Result<(), PlanError> {
        if migration.is_swept {
            return Ok(());
        }
        let partita = self.get();
        removal::remove_marks(&partita, migration.number).await?;
        migration.is_swept = true;
        let update = migration.progress(&partita.blueprint.sidecar);
        partita.update_migration(&update).await
    }

    /// Removes everything of the design that is no longer planned with.
    async fn clear(&self, migration: &Migration, then: Stage) -> Result<(), PlanError> {
        let partita = self.get();
        let designs = self.designs(migration).await?;
        let union = designs.union(migration.stage)?;
        let leaving = match migration.stage {
            Stage::Completing => Leaving {
                drops: migration.drops.clone(),
                defaults: given_defaults(&designs.old, &designs.new),
            },
            _ => Leaving::default(),
        };
        removal::remove_aside(&partita, &union, &leaving).await?;
        removal::remove_marks(&partita, migration.number).await?;
        removal::delete_indexes(&partita, &union).await?;
        let blueprint = designs.blueprint(&migration.at(then))?;
        self.advance(migration, then, blueprint, None, Vec::new())
            .await?;
        Ok(())
    }
}

/// Creates the tables and indexes that only the other design has, and waits until they are built.
async fn create_indexes(partita: &Partita) -> Result<(), PlanError> {
    let blueprint = &partita.blueprint;
    let Some(beside) = &blueprint.beside else {
        return Ok(());
    };
    let store = &*partita.runner.store;
    for (position, (table, name)) in blueprint.tables().enumerate() {
        let found = match store.describe_table(name).await {
            Err(StoreError::TableNotFound { .. }) => {
                store
                    .create_table(CreateTable::new(name.clone(), schema(table)?))
                    .await?
            }
            found => found?,
        };
        let known = found.schema.indexes;
        for index in beside.aside.indexes(table, position) {
            if known.iter().all(|one| one.name != index.name) {
                let change = TableChange::CreateIndex(index_schema(index)?);
                change_table(store, name, change).await?;
            }
        }
        wait_until_built(store, name).await?;
    }
    Ok(())
}

pub(crate) async fn change_table(
    store: &dyn Store,
    table: &TableName,
    change: TableChange,
) -> Result<(), PlanError> {
    let request = UpdateTable {
        table: table.clone(),
        changes: vec![change],
    };
    store.update_table(request).await?;
    wait_until_built(store, table).await
}

async fn wait_until_built(store: &dyn Store, table: &TableName) -> Result<(), PlanError> {
    while !store.describe_table(table).await?.building.is_empty() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}
