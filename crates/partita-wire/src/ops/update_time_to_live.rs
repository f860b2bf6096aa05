//! UpdateTimeToLive.

use bytes::Bytes;
use partita_store::request::UpdateTimeToLive;
use serde::{Deserialize, Serialize};

use super::{Context, table};
use crate::constraints::Constraints;
use crate::json;
use crate::parameters;
use crate::refusal::Refusal;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Input {
    table_name: Option<String>,
    time_to_live_specification: Option<Specification>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Specification {
    attribute_name: Option<String>,
    enabled: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    time_to_live_specification: Updated,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Updated {
    attribute_name: String,
    enabled: bool,
}

/// Characters of an attribute's name, as of a key's.
const NAME_CHARS_MAX: usize = 255;

pub(crate) async fn run(context: Context<'_>, body: &[u8]) -> Result<Bytes, Refusal> {
    let request = decode(body)?;
    let updated = Updated {
        attribute_name: request.attribute.clone(),
        enabled: request.is_enabled,
    };
    let done = context.store.update_time_to_live(request).await;
    done.map_err(table::refusal)?;
    Ok(json::write(&Output {
        time_to_live_specification: updated,
    }))
}

fn decode(body: &[u8]) -> Result<UpdateTimeToLive, Refusal> {
    let input: Input = json::read(body)?;
    let mut constraints = Constraints::default();
    let table = parameters::table(&mut constraints, &input.table_name)?;
    let specification = input.time_to_live_specification;
    constraints.required("timeToLiveSpecification", &specification);
    let pair = specification.map(|it| it.check(&mut constraints));
    let (table, pair) = constraints.finish((table, pair.flatten()))?;
    let (attribute, is_enabled) = pair;
    Ok(UpdateTimeToLive {
        table,
        attribute,
        is_enabled,
    })
}

impl Specification {
    fn check(self, constraints: &mut Constraints) -> Option<(String, bool)> {
        let name_at = "timeToLiveSpecification.attributeName";
        constraints.required(name_at, &self.attribute_name);
        if let Some(name) = &self.attribute_name {
            let chars = name.chars().count();
            constraints.length(name_at, chars, 1..=NAME_CHARS_MAX, || name.clone());
        }
        constraints.required("timeToLiveSpecification.enabled", &self.enabled);
        self.attribute_name.zip(self.enabled)
    }
}
