//! The cheaper read that a caller asks for.
//!
//! Amazon charges half for a read that may miss the last writes. What a caller may read is never
//! decided on what it missed: such a read is refused where that rests on a value of the row which
//! can be withdrawn.

use std::collections::BTreeMap;

use partita_core::Item;
use partita_core::wording::one;
use partita_design::Design;
use partita_design::design::Pattern;
use partita_store::request::Query;

use super::PatternRead;
use crate::error::{Fault, PlanError};
use crate::evaluate::keys;

/// The parameter that asks for it, unless the design has one of that name.
const CONSISTENCY: &str = "consistency";

/// Takes it out of the parameters, and says whether it is asked for.
pub(super) fn take(
    design: &Design,
    pattern: &Pattern,
    parameters: &mut BTreeMap<String, String>,
) -> Result<bool, PlanError> {
    if pattern.parameters.iter().any(|own| own.name == CONSISTENCY) {
        return Ok(false);
    }
    let Some(asked) = parameters.remove(CONSISTENCY) else {
        return Ok(false);
    };
    let message = match (asked.as_str(), why_not(design, pattern)) {
        ("eventual", None) => return Ok(true),
        ("eventual", Some(why)) => format!("cannot be chosen, because {why}"),
        _ => "must be `eventual`".to_owned(),
    };
    Err(PlanError::Invalid {
        faults: vec![Fault::new(CONSISTENCY, message)],
    })
}

/// Why the last writes must not be missed, if they must not.
fn why_not(design: &Design, pattern: &Pattern) -> Option<String> {
    if pattern.fresh {
        return Some(format!("`{}` is `fresh`", pattern.name));
    }
    let (record, path) = design.withdrawable(pattern)?;
    Some(format!(
        "whether {} may be read depends on `{path}`, which can be withdrawn",
        one(&record.name)
    ))
}

impl PatternRead<'_> {
    /// The item under a key, as it is or was lately.
    pub(super) async fn stored_lately(
        &self,
        partition: String,
        sort: String,
    ) -> Result<Vec<Item>, PlanError> {
        let (table, name) = self.blueprint().table(self.pattern.table);
        let key = [(&table.partition, partition), (&table.sort, sort)];
        let key = key.map(|(name, text)| (name.clone(), text.into()));
        let request = Query {
            consistent: false,
            ..Query::new(name.clone(), keys(key.into(), None))
        };
        let page = self.runner.query(&request).await?;
        Ok(page.items)
    }
}
