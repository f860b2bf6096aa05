//! What Partita asks of a store: DynamoDB's operations, as a trait.
//!
//! | module | what it holds |
//! |---|---|
//! | [`store`] | [`Store`]: one method for each operation |
//! | [`snapshot`] | [`Snapshot`]: reads of one moment, where a store has them; [`Moment`]: its name |
//! | [`request`] | what the operations take and answer |
//! | [`found`] | [`FoundItem`]: an item that was read, in parts or as stored text |
//! | [`table`] | names, key schemas and keys |
//! | [`index`] | secondary indexes: their keys, and what they hold |
//! | [`update`] | what changing a table makes of it: shared by every store that is not Amazon's |
//! | [`expiry`], [`tags`] | time to live and tags: shared likewise |
//! | [`settings`] | what may be changed of a table besides its indexes |
//! | [`stream`] | the changes of a table's items |
//! | [`capacity`] | the units that operations consume |
//! | [`meters`] | what a store counts while it works |
//! | [`exposition`] | what was counted, for Prometheus |
//! | [`error`] | [`StoreError`], in DynamoDB's vocabulary |
//! | [`mod@write`] | what one write makes of one item: shared by every store that is not Amazon's |
//! | `item` | what an item may hold: shared likewise |
//! | [`read`] | what a query asks of a table's keys, and how a page is filled: shared likewise |
//! | [`model`] | [`ModelStore`]: the reference, a map in memory |
//! | [`layer`] | [`Layer`]: what wraps a store and lets most operations pass |
//! | [`guarded`] | [`GuardedStore`]: wraps a store and asks before anything is changed |
//! | [`settling`] | [`SettlingStore`]: wraps a store whose tables then take a while to be there and to go |
//! | [`surroundings`] | [`Clock`] and [`Entropy`]: time and randomness come in from outside |
//!
//! ```
//! # futures::executor::block_on(async {
//! use partita_core::{Item, Value};
//! use partita_store::{ModelStore, Store, request::*, table::*};
//!
//! let store = ModelStore::default();
//! let table: TableName = "notes".parse()?;
//! store.create_table(CreateTable::new(table.clone(), KeySchema::strings("PK", "SK"))).await?;
//! let item = Item::from([("PK", Value::from("a")), ("SK", Value::from("b"))]);
//! store.put_item(PutItem::new(table.clone(), item.clone()), ReturnValues::None).await?;
//! let found = store.get_item(GetItem::new(table, item.clone())).await?;
//! assert_eq!(found.answer, Some(item.into()));
//! # Ok::<(), partita_store::StoreError>(()) }).unwrap();
//! ```
//!
//! Everything above sees `Arc<dyn Store>` and never knows which store it has.

pub mod capacity;
pub mod error;
pub mod expiry;
pub mod exposition;
pub mod found;
pub mod guarded;
pub mod index;
mod item;
pub mod layer;
pub mod meters;
pub mod model;
pub mod read;
pub mod request;
pub mod settings;
pub mod settling;
pub mod snapshot;
pub mod store;
pub mod stream;
pub mod surroundings;
pub mod table;
pub mod tags;
pub mod update;
pub mod write;

pub use error::{ErrorKind, StoreError, StoreResult};
pub use found::FoundItem;
pub use guarded::GuardedStore;
pub use layer::Layer;
pub use model::ModelStore;
pub use settling::SettlingStore;
pub use snapshot::{Moment, Snapshot};
pub use store::Store;
pub use surroundings::{Clock, Entropy};
