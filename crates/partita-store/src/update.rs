//! What changing a table makes of it.
//!
//! The model and the engine share this; what is their own is how an index is built and a stream
//! is kept.

use crate::error::{StoreError, StoreResult};
use crate::index::{IndexKind, IndexSchema};
use crate::request::{TableChange, TableDescription, UpdateTable};
use crate::settings::{Billing, TableSettings};
use crate::stream::StreamView;
use crate::table::TableSchema;

/// A table after an update, and what its store has to do for it.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdatedTable {
    /// Its keys and indexes.
    pub schema: TableSchema,
    /// Everything else about it.
    pub settings: TableSettings,
    /// The index that is to be built.
    pub created: Option<IndexSchema>,
    /// The index that is gone.
    pub deleted: Option<IndexSchema>,
    /// The stream that begins, or the end of the one that there was.
    pub stream: Option<Option<StreamView>>,
}

impl UpdateTable {
    /// Holds the changes against the table as it is described.
    pub fn apply(&self, table: &TableDescription) -> StoreResult<UpdatedTable> {
        self.check_shape()?;
        let mut updated = UpdatedTable {
            schema: table.schema.clone(),
            settings: table.settings.clone(),
            created: None,
            deleted: None,
            stream: None,
        };
        for change in &self.changes {
            match change {
                TableChange::CreateIndex(index) => updated.create_index(index, table)?,
                TableChange::DeleteIndex(name) => updated.delete_index(name, table)?,
                TableChange::Stream(view) => updated.change_stream(*view, table)?,
                TableChange::Billing(billing) => updated.change_billing(billing, table)?,
                TableChange::Protection(is_protected) => {
                    updated.settings.is_protected = *is_protected;
                }
            }
        }
        updated.settings.check(&updated.schema)?;
        Ok(updated)
    }

    /// Checks what can be wrong whatever the table is like.
    fn check_shape(&self) -> StoreResult<()> {
        if self.changes.is_empty() {
            return Err(StoreError::validation(
                "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required",
            ));
        }
        let is_of_index = |change: &&TableChange| {
            matches!(
                change,
                TableChange::CreateIndex(_) | TableChange::DeleteIndex(_)
            )
        };
        if self.changes.iter().filter(is_of_index).count() > 1 {
            Err(one_index_at_once())
        } else {
            Ok(())
        }
    }
}

impl UpdatedTable {
    fn create_index(&mut self, index: &IndexSchema, table: &TableDescription) -> StoreResult<()> {
        if !table.building.is_empty() {
            return Err(one_index_at_once());
        }
        if self.schema.index(&index.name).is_ok() {
            return Err(StoreError::validation(
                "Attempting to create an index which already exists",
            ));
        }
        if index.kind == IndexKind::Local {
            return Err(StoreError::validation(
                "Cannot create a LocalSecondaryIndex on a table that exists",
            ));
        }
        self.schema.indexes.push(index.clone());
        self.schema.check()?;
        self.created = Some(index.clone());
        Ok(())
    }

    /// An index that is being built can be deleted; no other one can meanwhile.
    fn delete_index(&mut self, name: &str, table: &TableDescription) -> StoreResult<()> {
        if table.building.iter().any(|building| building != name) {
            return Err(one_index_at_once());
        }
        let Some(at) = self
            .schema
            .indexes
            .iter()
            .position(|index| index.name == name)
        else {
            return Err(StoreError::IndexNotFound {
                table: table.table.clone(),
                index: name.to_owned(),
            });
        };
        if self.schema.indexes[at].kind == IndexKind::Local {
            return Err(StoreError::validation(format!(
                "Cannot delete an index that is not a GlobalSecondaryIndex: {name}"
            )));
        }
        self.deleted = Some(self.schema.indexes.remove(at));
        if let Billing::Provisioned { indexes, .. } = &mut self.settings.billing {
            indexes.remove(name);
        }
        Ok(())
    }

    fn change_stream(
        &mut self,
        view: Option<StreamView>,
        table: &TableDescription,
    ) -> StoreResult<()> {
        let refuse = |what: &str| {
            let message = format!("{what}: TableName: {}", table.table);
            Err(StoreError::validation(message))
        };
        match (self.settings.stream, view) {
            (Some(_), Some(_)) => refuse("Table already has an enabled stream"),
            (None, None) => refuse("Table has no stream to disable"),
            (_, view) => {
                self.settings.stream = view;
                self.stream = Some(view);
                Ok(())
            }
        }
    }

    fn change_billing(&mut self, billing: &Billing, table: &TableDescription) -> StoreResult<()> {
        if let Some(index) = table.building.first() {
            return Err(StoreError::ResourceInUse {
                message: format!(
                    "Can't update table while indexes are in CREATING status. Table: {} Index: {index}",
                    table.table
                ),
            });
        }
        if let Billing::Provisioned { table: units, .. } = billing
            && *billing == self.settings.billing
        {
            let (read, write) = (units.read, units.write);
            return Err(StoreError::validation(format!(
                "The provisioned throughput for the table will not change. The requested value equals the current value. Current ReadCapacityUnits provisioned for the table: {read}. Requested ReadCapacityUnits: {read}. Current WriteCapacityUnits provisioned for the table: {write}. Requested WriteCapacityUnits: {write}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
            )));
        }
        self.settings.billing = billing.clone();
        Ok(())
    }
}

impl TableSettings {
    /// Refuses settings that do not fit the table's indexes: what is provisioned is provisioned
    /// of every global index, and of nothing else.
    pub fn check(&self, schema: &TableSchema) -> StoreResult<()> {
        let Billing::Provisioned { indexes, .. } = &self.billing else {
            return Ok(());
        };
        let is_global = |index: &&IndexSchema| index.kind == IndexKind::Global;
        let mut global = schema.indexes.iter().filter(is_global);
        if let Some(index) = global.find(|index| !indexes.contains_key(&index.name)) {
            return Err(StoreError::validation(format!(
                "One or more parameter values were invalid: ProvisionedThroughput must be specified for index: {}",
                index.name
            )));
        }
        indexes
            .keys()
            .try_for_each(|name| schema.index(name).map(drop))
    }

    /// Refuses to delete a table that is protected from it.
    pub fn check_deletion(&self) -> StoreResult<()> {
        if self.is_protected {
            Err(StoreError::validation(
                "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
            ))
        } else {
            Ok(())
        }
    }
}

fn one_index_at_once() -> StoreError {
    StoreError::LimitExceeded {
        message: "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table".to_owned(),
    }
}

#[cfg(test)]
mod tests;
