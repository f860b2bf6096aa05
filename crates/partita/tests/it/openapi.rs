//! The OpenAPI documents: what they promise is so.

pub(crate) mod judge;

use partita_api::openapi;
use partita_api::routes::Routes;
use partita_design::shipped;
use serde_json::Value as Json;

use crate::stage;
use judge::Judge;

#[test]
fn every_example_fits_its_schema() {
    for shipped in shipped::all() {
        let design = stage::design(shipped.name, "any");
        let routes = Routes::of(&design);
        let examples = fitting_examples(&openapi::document(&design, &routes));
        assert!(examples > 50, "{}: {examples} examples", shipped.name);
        let examples = fitting_examples(&openapi::admin_document(&design, &routes));
        assert!(examples >= 8, "{}: {examples} examples", shipped.name);
    }
}

/// How many examples a document has, each of which fits its schema.
fn fitting_examples(document: &Json) -> usize {
    let judge = Judge { document };
    let mut examples = 0;
    visit(document, "", &mut |way, object| {
        let Some(schema) = object.get("schema") else {
            return;
        };
        let several = object.get("examples").and_then(Json::as_object);
        let several = several.into_iter().flatten().map(|(_, one)| &one["value"]);
        for example in object.get("example").into_iter().chain(several) {
            examples += 1;
            let faults = judge.faults(example, schema);
            let title = &document["info"]["title"];
            assert!(faults.is_empty(), "{title}{way}: {faults:#?}");
        }
    });
    examples
}

/// Shows every object of a document, with the way to it.
fn visit(json: &Json, way: &str, look: &mut impl FnMut(&str, &Json)) {
    match json {
        Json::Object(members) => {
            look(way, json);
            for (name, inside) in members {
                visit(inside, &format!("{way}/{name}"), look);
            }
        }
        Json::Array(list) => {
            for (index, inside) in list.iter().enumerate() {
                visit(inside, &format!("{way}/{index}"), look);
            }
        }
        _ => {}
    }
}
