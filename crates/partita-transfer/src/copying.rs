//! Tables of one store in another, equal, also while they are written.
//!
//! ```text
//! fill      every item of the source is written to the target
//! compare   both are read, page by page, and what differs is mended, until nothing does
//! switch    the source takes no more writes, the last ones follow, and the target is whole
//! ```
//!
//! From the embedded store, the writes to the source are followed all the while by its commits:
//! before a page is compared, the target is brought to the very commit that the page was read at.
//! So the two are equal at a commit, and stay so by what follows it. A source that cannot be followed
//! must be left alone meanwhile; if it is not, the comparison shows it.
//!
//! A copy that was interrupted begins again, and writes only what differs.
//!
//! | module | what it holds |
//! |---|---|
//! | `tables` | the tables themselves: created as they are in the source |
//! | `pages` | items, page by page: both ways, at one moment |
//! | `following` | the commits of the source, carried out in the target |

mod following;
mod pages;
mod tables;

use std::sync::Arc;

use partita_core::Item;
use partita_engine::EngineStore;
use partita_store::request::{DeleteItem, PutItem, ReturnValues};
use partita_store::table::TableName;
use partita_store::{Clock, Store};

use self::following::Follower;
use self::pages::Pages;
use self::tables::MovedTable;
use crate::error::TransferError;

/// Where the tables are.
#[derive(Clone)]
pub enum Source {
    /// The embedded store, whose writes are followed.
    Embedded(Arc<EngineStore>),
    /// Another one, which nobody writes to meanwhile.
    Other(Arc<dyn Store>),
}

impl Source {
    /// The source as a store.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Source::Embedded(engine) => engine.clone(),
            Source::Other(store) => store.clone(),
        }
    }
}

/// What says in each of the two stores how far the copy is. It is never copied itself.
#[derive(Clone, Debug)]
pub struct Marks {
    /// The table that has it; it is among those that are copied.
    pub table: TableName,
    /// Its key.
    pub key: Item,
    /// The target is not whole.
    pub arriving: Item,
    /// The source was left.
    pub gone: Item,
    /// What the source has there before it is left.
    pub before: Option<Item>,
    /// What the target has there once it is whole.
    pub whole: Option<Item>,
}

/// A copy.
#[derive(Clone)]
pub struct Copying {
    /// Where the tables are.
    pub source: Source,
    /// Where they go.
    pub target: Arc<dyn Store>,
    /// The tables.
    pub tables: Vec<TableName>,
    /// The marks of the copy.
    pub marks: Marks,
    /// Whether the target takes the place of the source: then the source takes no more writes.
    pub switches: bool,
    /// What is said to those who write to the source from then on.
    pub reason: String,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Items are written.
    Filling,
    /// Both are compared.
    Comparing,
    /// The last writes follow.
    Switching,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Items that were looked at in this stage.
    pub items: u64,
    /// About how many there are.
    pub of: u64,
}

/// What a copy came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The items of the source when they were compared last.
    pub items: u64,
    /// The items that were written to the target or removed there, as often as they were.
    pub written: u64,
    /// How often both were compared.
    pub rounds: u32,
    /// The commit of the embedded source that the target is equal to.
    pub commit: Option<u64>,
    /// For how long nobody could write, if the target took the source's place.
    pub switch_millis: Option<i64>,
}

/// Hears how far a copy is, and ends it by an error.
pub type OnStep<'a> = &'a mut (dyn FnMut(Progress) -> Result<(), TransferError> + Send);

impl Copying {
    /// Copies. The tables of the target are missing, empty, or those of a copy that was interrupted;
    /// or whoever asks wants them replaced.
    pub async fn carry_out(self, on_step: OnStep<'_>) -> Result<Copied, TransferError> {
        let tables = tables::describe(&*self.source.store(), &self.tables).await?;
        let is_new = self.prepare(&tables).await?;
        let follower = match &self.source {
            Source::Embedded(engine) => {
                Some(Follower::begin(engine.clone(), &tables, &self.marks)?)
            }
            Source::Other(_) => None,
        };
        let mut pages = Pages {
            copying: &self,
            tables: &tables,
            follower,
            on_step,
            written: 0,
        };
        if is_new {
            pages.fill().await?;
        }
        match &self.source {
            Source::Other(source) if self.switches => {
                // Whoever starts on the source from now on is refused, unless this comes to nothing.
                self.put_mark(&**source, &self.marks.gone, TransferError::Source)
                    .await?;
                let concluded = self.conclude(&mut pages).await;
                if concluded.is_err() {
                    self.come_back(&**source).await?;
                }
                concluded
            }
            _ => self.conclude(&mut pages).await,
        }
    }

    /// Compares until nothing differs, and lets the target be used.
    async fn conclude(&self, pages: &mut Pages<'_>) -> Result<Copied, TransferError> {
        let (items, rounds) = pages.settle().await?;
        tables::complete(&*self.target, pages.tables).await?;
        let switch_millis = match (&self.source, self.switches) {
            (Source::Embedded(engine), true) => Some(self.switch(engine, pages).await?),
            (Source::Other(_), true) => Some(0),
            (_, false) => None,
        };
        // One mark takes the place of the other, so that there is no moment without.
        let target = &*self.target;
        self.set_mark(target, self.marks.whole.as_ref(), TransferError::Target)
            .await?;
        Ok(Copied {
            items,
            written: pages.written,
            rounds,
            commit: pages.follower.as_ref().map(Follower::commit),
            switch_millis,
        })
    }

    /// Creates what is missing in the target and marks it. Whether all of it is empty.
    async fn prepare(&self, tables: &[MovedTable]) -> Result<bool, TransferError> {
        let target = &*self.target;
        // The table with the mark first, so that no table is there without it.
        let (marked, others): (Vec<_>, Vec<_>) = tables
            .iter()
            .partition(|table| table.name == self.marks.table);
        for table in marked {
            tables::create(target, table).await?;
        }
        self.put_mark(target, &self.marks.arriving, TransferError::Target)
            .await?;
        for table in others {
            tables::create(target, table).await?;
        }
        for table in tables {
            if tables::has_items(target, table, &self.marks).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets the target take the place of the source. For how long nobody could write until then.
    async fn switch(
        &self,
        engine: &EngineStore,
        pages: &mut Pages<'_>,
    ) -> Result<i64, TransferError> {
        self.put_mark(engine, &self.marks.gone, TransferError::Source)
            .await?;
        let begun = self.clock.now_millis();
        let followed = async {
            let frozen = engine.freeze(&self.tables, &self.reason).await;
            frozen.map_err(TransferError::Source)?;
            pages.catch_up().await
        };
        if let Err(error) = followed.await {
            engine.thaw(&self.tables);
            self.come_back(engine).await?;
            return Err(error);
        }
        // From here on the target is whole: the source stays frozen, whatever happens.
        Ok(self.clock.now_millis() - begun)
    }

    /// Marks the source as it was before it was left.
    async fn come_back(&self, source: &dyn Store) -> Result<(), TransferError> {
        let before = self.marks.before.as_ref();
        self.set_mark(source, before, TransferError::Source).await
    }

    async fn set_mark(
        &self,
        store: &dyn Store,
        mark: Option<&Item>,
        failed: fn(partita_store::StoreError) -> TransferError,
    ) -> Result<(), TransferError> {
        match mark {
            Some(mark) => self.put_mark(store, mark, failed).await,
            None => self.remove_mark(store, failed).await,
        }
    }

    async fn put_mark(
        &self,
        store: &dyn Store,
        mark: &Item,
        failed: fn(partita_store::StoreError) -> TransferError,
    ) -> Result<(), TransferError> {
        let put = PutItem::new(self.marks.table.clone(), mark.clone());
        let done = store.put_item(put, ReturnValues::None).await;
        done.map(drop).map_err(failed)
    }

    async fn remove_mark(
        &self,
        store: &dyn Store,
        failed: fn(partita_store::StoreError) -> TransferError,
    ) -> Result<(), TransferError> {
        let delete = DeleteItem {
            table: self.marks.table.clone(),
            key: self.marks.key.clone(),
            condition: None,
            return_item_on_failure: false,
        };
        let done = store.delete_item(delete, ReturnValues::None).await;
        done.map(drop).map_err(failed)
    }
}

#[cfg(test)]
mod tests;
