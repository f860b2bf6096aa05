//! A design on a store.

use std::collections::HashMap;
use std::sync::Arc;

use partita_core::{Item as StoredItem, Map};
use partita_design::Design;
use partita_design::design::{Access, Entity};
use partita_store::request::{CreateTable, ItemAddress};
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{Clock, Entropy, Store, StoreError};
use ulid::Ulid;

use crate::access::{Subject, Verdict};
use crate::cursor::CursorSeal;
use crate::error::PlanError;
use crate::input::{Changes, Input};
use crate::operation::{Answer, Caller, Operation};
use crate::record::Blueprint;
use crate::run::{Committed, Patience, Runner};
use crate::view::is_deleted;
use crate::write::{Existing, WritePlan};

/// What a design takes from its surroundings.
pub struct Surroundings {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness for ids, pauses and seals.
    pub entropy: Arc<dyn Entropy>,
    /// The secret that cursors are sealed with. Processes that share it share cursors.
    pub cursor_key: [u8; 32],
    /// How long conflicts are tried again.
    pub patience: Patience,
}

impl Default for Surroundings {
    /// The machine's clock and randomness, and a cursor key that nobody else has.
    fn default() -> Self {
        let entropy = SystemEntropy;
        let mut cursor_key = [0; 32];
        entropy.fill(&mut cursor_key);
        Surroundings {
            clock: Arc::new(SystemClock),
            entropy: Arc::new(entropy),
            cursor_key,
            patience: Patience::default(),
        }
    }
}

/// A design on a store.
pub struct Partita {
    pub(crate) blueprint: Blueprint,
    pub(crate) runner: Runner,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: CursorSeal,
}

impl Partita {
    /// Opens a design on a store, and creates its table if it is not there.
    pub async fn open(
        design: Design,
        store: Arc<dyn Store>,
        surroundings: Surroundings,
    ) -> Result<Self, PlanError> {
        let blueprint = Blueprint::new(design)?;
        prepare_table(&blueprint, &*store).await?;
        let Surroundings {
            clock,
            entropy,
            cursor_key,
            patience,
        } = surroundings;
        Ok(Partita {
            blueprint,
            runner: Runner {
                store,
                entropy,
                patience,
            },
            clock,
            seal: CursorSeal::new(&cursor_key),
        })
    }

    /// The design.
    pub fn design(&self) -> &Design {
        &self.blueprint.design
    }

    /// Carries an operation out for a caller.
    pub async fn run(&self, caller: &Caller, operation: Operation) -> Result<Answer, PlanError> {
        match operation {
            Operation::Create { entity, attributes } => {
                self.create(caller, self.blueprint.entity(&entity)?, attributes)
                    .await
            }
            Operation::Get {
                entity,
                identity,
                with_deleted,
            } => {
                self.item(caller, &entity, identity)?
                    .get(with_deleted)
                    .await
            }
            Operation::Update {
                entity,
                identity,
                changes,
                with_deleted,
            } => {
                let item = self.item(caller, &entity, identity)?;
                item.update(changes, with_deleted).await
            }
            Operation::Delete { entity, identity } => {
                self.item(caller, &entity, identity)?
                    .change(Intent::Delete)
                    .await
            }
            Operation::Restore { entity, identity } => {
                self.item(caller, &entity, identity)?
                    .change(Intent::Restore)
                    .await
            }
            Operation::Query {
                pattern,
                parameters,
                limit,
                cursor,
            } => {
                self.query(caller, &pattern, &parameters, limit, cursor.as_deref())
                    .await
            }
        }
    }

    fn item<'a>(
        &'a self,
        caller: &'a Caller,
        entity: &str,
        identity: Vec<String>,
    ) -> Result<Item<'a>, PlanError> {
        let entity = self.blueprint.entity(entity)?;
        Ok(Item {
            partita: self,
            caller,
            entity,
            identity: self.input(entity).identity(&identity)?,
        })
    }

    async fn create(
        &self,
        caller: &Caller,
        entity: &Entity,
        given: Map,
    ) -> Result<Answer, PlanError> {
        let attributes = self.input(entity).create(given, || self.new_id())?;
        let subject = Subject {
            caller,
            attributes: &attributes,
            complete: true,
        };
        self.write(Write::Create { entity, subject }).await
    }

    /// Plans and commits, again from the start whenever what was read has changed meanwhile.
    async fn write(&self, write: Write<'_>) -> Result<Answer, PlanError> {
        let mut last = PlanError::Conflict;
        for attempt in 0..self.runner.patience.attempts {
            let plan = match &write {
                Write::Create { entity, subject } => self.blueprint.create(entity, *subject)?,
                Write::Change { item, intent } => item.plan(intent).await?,
            };
            match self.runner.commit(&plan).await? {
                Committed::Done => return Ok(plan.answer),
                Committed::NotYet(cause) => last = cause,
            }
            self.runner.pause(attempt).await;
        }
        Err(last)
    }

    pub(crate) fn input<'a>(&'a self, entity: &'a Entity) -> Input<'a> {
        Input {
            entity,
            table: &self.blueprint.design.table,
            now_millis: self.clock.now_millis(),
        }
    }

    fn new_id(&self) -> String {
        let mut random = [0; 16];
        self.runner.entropy.fill(&mut random);
        let millis = u64::try_from(self.clock.now_millis()).unwrap_or(0);
        Ulid::from_parts(millis, u128::from_le_bytes(random)).to_string()
    }
}

/// A write that a caller asks for.
enum Write<'a> {
    Create {
        entity: &'a Entity,
        subject: Subject<'a>,
    },
    Change {
        item: Item<'a>,
        intent: Intent,
    },
}

/// What is to become of an item that is there.
enum Intent {
    Update {
        changes: Changes,
        with_deleted: bool,
    },
    Delete,
    Restore,
}

/// One item that a caller names by its identity.
struct Item<'a> {
    partita: &'a Partita,
    caller: &'a Caller,
    entity: &'a Entity,
    identity: Map,
}

impl<'a> Item<'a> {
    async fn get(&self, with_deleted: bool) -> Result<Answer, PlanError> {
        let existing = self.read(Access::Read).await?;
        self.must_be_visible(&existing, with_deleted)?;
        let record = self
            .partita
            .blueprint
            .record(self.entity, existing.attributes);
        Ok(Answer::Record(record))
    }

    async fn update(self, given: Map, with_deleted: bool) -> Result<Answer, PlanError> {
        let input = self.partita.input(self.entity);
        let changes = input.update(given, &self.identity)?;
        self.change(Intent::Update {
            changes,
            with_deleted,
        })
        .await
    }

    async fn change(self, intent: Intent) -> Result<Answer, PlanError> {
        let partita = self.partita;
        partita.write(Write::Change { item: self, intent }).await
    }

    /// Reads the item and plans what is to become of it.
    async fn plan(&self, intent: &Intent) -> Result<WritePlan, PlanError> {
        let blueprint = &self.partita.blueprint;
        match intent {
            Intent::Update {
                changes,
                with_deleted,
            } => {
                let existing = self.read(Access::Update).await?;
                self.must_be_visible(&existing, *with_deleted)?;
                Ok(self.shown(blueprint.update(&existing, changes)?))
            }
            Intent::Delete => {
                let existing = self.read(Access::Delete).await?;
                self.must_be_visible(&existing, false)?;
                match self.flag(true) {
                    Some(changes) => Ok(WritePlan {
                        answer: Answer::Done,
                        ..blueprint.update(&existing, &changes)?
                    }),
                    None => blueprint.remove_item(&existing),
                }
            }
            Intent::Restore => {
                let entity = self.entity.name.clone();
                let Some(changes) = self.flag(false) else {
                    return Err(PlanError::NotRestorable { entity });
                };
                let existing = self.read(Access::Restore).await?;
                match is_deleted(self.entity, &existing.attributes) {
                    true => Ok(self.shown(blueprint.update(&existing, &changes)?)),
                    false => Err(PlanError::NotDeleted { entity }),
                }
            }
        }
    }

    /// Whoever may write an item but not read it is not shown what became of it.
    fn shown(&self, plan: WritePlan) -> WritePlan {
        let may_read = match &plan.answer {
            Answer::Record(record) => self.may_read(&record.attributes),
            Answer::Page { .. } | Answer::Done => true,
        };
        match may_read {
            true => plan,
            false => WritePlan {
                answer: Answer::Done,
                ..plan
            },
        }
    }

    fn may_read(&self, attributes: &Map) -> bool {
        let subject = Subject {
            caller: self.caller,
            attributes,
            complete: true,
        };
        subject.verdict(self.entity, Access::Read) == Verdict::Allowed
    }

    /// What a soft delete or its opposite writes.
    fn flag(&self, deleted: bool) -> Option<Changes> {
        let soft_delete = self.entity.soft_delete.as_ref()?;
        let mut set = self.partita.input(self.entity).written();
        set.insert(soft_delete.attribute().to_owned(), deleted.into());
        Some(Changes {
            set,
            ..Changes::default()
        })
    }

    /// Reads the item with the targets of its live references, if the caller may do this to it.
    async fn read(&self, access: Access) -> Result<Existing<'a>, PlanError> {
        let Partita {
            blueprint, runner, ..
        } = self.partita;
        let mut subject = Subject {
            caller: self.caller,
            attributes: &self.identity,
            complete: false,
        };
        subject.demand(self.entity, access)?;
        let is_decided = subject.verdict(self.entity, access) == Verdict::Allowed;
        let address = blueprint.address(&self.entity.key, &self.identity)?;
        let (_, known_targets) = blueprint.live_targets(self.entity, &self.identity)?;
        let mut addresses = vec![address.clone()];
        addresses.extend(known_targets);
        let mut items = runner.read_items(addresses.clone()).await?;
        let item = items[0].take().ok_or_else(|| self.not_found(false))?;
        let attributes = blueprint.attributes(self.entity, &item)?;
        subject.attributes = &attributes;
        subject.complete = true;
        if let Err(refusal) = subject.demand(self.entity, access) {
            // Where the item decides, a refusal would tell that it is there.
            return Err(match is_decided || self.may_read(&attributes) {
                true => refusal,
                false => self.not_found(false),
            });
        }
        let read = addresses.into_iter().zip(items).skip(1).collect();
        self.must_have_live_targets(&attributes, read).await?;
        Ok(Existing {
            entity: self.entity,
            address,
            attributes,
            access,
        })
    }

    /// Refuses an item that a live reference hides. Targets that only the item names are read now.
    async fn must_have_live_targets(
        &self,
        attributes: &Map,
        mut read: HashMap<ItemAddress, Option<StoredItem>>,
    ) -> Result<(), PlanError> {
        let Partita {
            blueprint, runner, ..
        } = self.partita;
        let (refs, targets) = blueprint.live_targets(self.entity, attributes)?;
        let missing: Vec<_> = targets
            .iter()
            .filter(|target| !read.contains_key(target))
            .cloned()
            .collect();
        if !missing.is_empty() {
            let items = runner.read_items(missing.clone()).await?;
            read.extend(missing.into_iter().zip(items));
        }
        let mut pairs = refs.into_iter().zip(&targets);
        match pairs.any(|(reference, target)| blueprint.hides(reference, read[target].as_ref())) {
            true => Err(self.not_found(false)),
            false => Ok(()),
        }
    }

    fn must_be_visible(
        &self,
        existing: &Existing<'_>,
        with_deleted: bool,
    ) -> Result<(), PlanError> {
        match !with_deleted && is_deleted(self.entity, &existing.attributes) {
            true => Err(self.not_found(true)),
            false => Ok(()),
        }
    }

    fn not_found(&self, deleted: bool) -> PlanError {
        PlanError::NotFound {
            entity: self.entity.name.clone(),
            deleted,
        }
    }
}

async fn prepare_table(blueprint: &Blueprint, store: &dyn Store) -> Result<(), PlanError> {
    let (table, key) = (&blueprint.table, blueprint.schema());
    let request = CreateTable::new(table.clone(), key.clone());
    let found = match store.describe_table(table).await {
        // Another process may create it at the same moment.
        Err(StoreError::TableNotFound { .. }) => match store.create_table(request).await {
            Err(StoreError::TableExists { .. }) => store.describe_table(table).await?,
            created => created?,
        },
        described => described?,
    };
    // Indexes that somebody added are no business of the design's.
    match found.schema.key == key {
        true => Ok(()),
        false => Err(PlanError::Store(StoreError::validation(format!(
            "the table `{table}` has other keys than the design `{}`; name another table",
            blueprint.design.name
        )))),
    }
}
