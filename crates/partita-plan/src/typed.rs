//! Entities as types of one's own: what [`Partita::run`] does with maps, with `serde`'s types.
//!
//! A type stands for an entity or a view by its name. What is given may be another type than what
//! is answered: a new item has no id yet, and a change only the attributes that change.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use std::sync::Arc;
//!
//! use partita_plan::{Caller, Partita, Typed};
//! use partita_store::ModelStore;
//! use serde::Deserialize;
//! use serde_json::json;
//!
//! #[derive(Deserialize)]
//! struct Story {
//!     id: String,
//!     title: String,
//!     deleted: bool,
//! }
//!
//! impl Typed for Story {
//!     const NAME: &'static str = "Story";
//! }
//!
//! # let (design, _) = partita_design::check(partita_design::shipped::find("stories").unwrap().source, &|_| None);
//! # let design = design.unwrap();
//! let partita = Partita::open(design, Arc::new(ModelStore::default())).await?;
//! let ann = Caller::user("ann");
//!
//! let new = json!({ "userId": "ann", "title": "Dune" });
//! let story = partita.create::<Story>(&ann, &new).await?.expect("ann may read what she creates");
//! let renamed = json!({ "title": "Dune Messiah" });
//! partita.update::<Story>(&ann, &["ann", &story.id], &renamed).await?;
//!
//! let story = partita.get::<Story>(&ann, &["ann", &story.id]).await?.expect("it is there");
//! assert_eq!(story.title, "Dune Messiah");
//! assert!(!story.deleted);
//! assert!(partita.get::<Story>(&Caller::user("bob"), &["bob", &story.id]).await?.is_none());
//! # Ok::<(), partita_plan::TypedError>(()) }).unwrap();
//! ```

use partita_core::wording::one;
use partita_core::{Map, plain};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::error::{Fault, PlanError};
use crate::operation::{Answer, Caller, Operation, Record};
use crate::partita::Partita;

/// A type whose values are records of a design.
pub trait Typed: DeserializeOwned {
    /// The entity or view, as the design names it.
    const NAME: &'static str;
}

/// A page of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The records.
    pub items: Vec<T>,
    /// Where to go on; the end is reached when there is none.
    pub cursor: Option<String>,
}

/// Which page of a pattern is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct PageOf<'p> {
    /// How many records at most; as many as the pattern says without.
    pub limit: Option<usize>,
    /// Where the last page ended.
    pub cursor: Option<&'p str>,
}

/// Why a typed operation gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TypedError {
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] PlanError),
    /// What was given is not an object with attributes in it. Nothing was changed.
    #[error("what is given for {} is not its attributes: {source}", one(.record))]
    Given {
        /// The record.
        record: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A record does not have the form of its type. A write was carried out all the same.
    #[error("{} does not have the form of its type: {source}", one(.record))]
    Form {
        /// The record.
        record: String,
        /// What is wrong.
        source: serde_json::Error,
    },
}

impl Partita {
    /// Creates an item. Whoever may create but not read it is not shown what was created.
    pub async fn create<T: Typed>(
        &self,
        caller: &Caller,
        new: &impl Serialize,
    ) -> Result<Option<T>, TypedError> {
        let operation = Operation::Create {
            entity: T::NAME.to_owned(),
            attributes: attributes::<T>(new)?,
        };
        shown(self.run(caller, operation).await?)
    }

    /// Reads one item; `None` where there is none, or none for this caller.
    pub async fn get<T: Typed>(
        &self,
        caller: &Caller,
        identity: &[&str],
    ) -> Result<Option<T>, TypedError> {
        let operation = Operation::Get {
            entity: T::NAME.to_owned(),
            identity: texts(identity),
            with_deleted: false,
        };
        match self.run(caller, operation).await {
            Err(PlanError::NotFound { .. }) => Ok(None),
            answer => shown(answer?),
        }
    }

    /// Changes the attributes that are given; a null removes one. Fields that are not to change
    /// must not be serialised.
    pub async fn update<T: Typed>(
        &self,
        caller: &Caller,
        identity: &[&str],
        changes: &impl Serialize,
    ) -> Result<Option<T>, TypedError> {
        let operation = Operation::Update {
            entity: T::NAME.to_owned(),
            identity: texts(identity),
            changes: attributes::<T>(changes)?,
            with_deleted: false,
            version: None,
        };
        shown(self.run(caller, operation).await?)
    }

    /// Creates an item, or replaces what is given of the one that is there; a null removes an
    /// attribute.
    pub async fn upsert<T: Typed>(
        &self,
        caller: &Caller,
        identity: &[&str],
        given: &impl Serialize,
    ) -> Result<Option<T>, TypedError> {
        let operation = Operation::Upsert {
            entity: T::NAME.to_owned(),
            identity: texts(identity),
            attributes: attributes::<T>(given)?,
            version: None,
        };
        shown(self.run(caller, operation).await?)
    }

    /// Deletes an item, softly if the design says so.
    pub async fn delete<T: Typed>(
        &self,
        caller: &Caller,
        identity: &[&str],
    ) -> Result<(), TypedError> {
        let operation = Operation::Delete {
            entity: T::NAME.to_owned(),
            identity: texts(identity),
            version: None,
        };
        self.run(caller, operation).await?;
        Ok(())
    }

    /// Carries an action out on an item, with attributes and parameters.
    pub async fn act<T: Typed>(
        &self,
        caller: &Caller,
        action: &str,
        identity: &[&str],
        given: &impl Serialize,
    ) -> Result<Option<T>, TypedError> {
        let operation = Operation::Act {
            action: action.to_owned(),
            entity: Some(T::NAME.to_owned()),
            identity: texts(identity),
            given: attributes::<T>(given)?,
            version: None,
        };
        shown(self.run(caller, operation).await?)
    }

    /// Reads a page of a pattern. The type must fit whatever the pattern returns; an untagged enum
    /// does where that is several records.
    pub async fn pattern<T: DeserializeOwned>(
        &self,
        caller: &Caller,
        pattern: &str,
        parameters: &[(&str, &str)],
        page: PageOf<'_>,
    ) -> Result<Page<T>, TypedError> {
        let parameters = parameters.iter();
        let operation = Operation::Query {
            pattern: pattern.to_owned(),
            parameters: parameters
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            limit: page.limit,
            cursor: page.cursor.map(str::to_owned),
        };
        let (records, cursor) = match self.run(caller, operation).await? {
            Answer::Page { records, cursor } => (records, cursor),
            Answer::Record(record) | Answer::Created(record) => (vec![record], None),
            Answer::Done => (Vec::new(), None),
        };
        let items = records.into_iter().map(typed);
        Ok(Page {
            items: items.collect::<Result<_, _>>()?,
            cursor,
        })
    }
}

fn texts(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

/// A caller's value as attributes.
fn attributes<T: Typed>(given: &impl Serialize) -> Result<Map, TypedError> {
    let given = serde_json::to_value(given).and_then(serde_json::from_value);
    let given = given.map_err(|source| TypedError::Given {
        record: T::NAME,
        source,
    })?;
    plain::map_from_json(given).map_err(|error| {
        let fault = Fault::new(T::NAME, format!("has a number in it: {error}"));
        TypedError::Refused(PlanError::Invalid {
            faults: vec![fault],
        })
    })
}

fn shown<T: Typed>(answer: Answer) -> Result<Option<T>, TypedError> {
    match answer {
        Answer::Record(record) | Answer::Created(record) => typed(record).map(Some),
        Answer::Page { .. } | Answer::Done => Ok(None),
    }
}

fn typed<T: DeserializeOwned>(record: Record) -> Result<T, TypedError> {
    let attributes = Json::Object(plain::map_to_json(&record.attributes));
    serde_json::from_value(attributes).map_err(|source| TypedError::Form {
        record: record.name,
        source,
    })
}

#[cfg(test)]
mod tests;
