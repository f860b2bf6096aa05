use std::collections::BTreeSet;

use super::*;

fn designs() -> Vec<Design> {
    let shipped = partita_design::shipped::all().iter();
    let checked = shipped.map(|shipped| partita_design::check(shipped.source, &|_| None).0);
    checked
        .map(|design| design.expect("it has no errors"))
        .collect()
}

fn document_of(design: &Design) -> Json {
    document(design, &Routes::of(design))
}

/// Calls back for every object in a document, with the way to it.
fn visit(json: &Json, way: &str, look: &mut impl FnMut(&str, &Map<String, Json>)) {
    match json {
        Json::Object(map) => {
            look(way, map);
            for (name, inside) in map {
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

/// The snapshot is the contract with clients of `stories`.
#[test]
fn stories() {
    let designs = designs();
    let design = designs.iter().find(|design| design.name == "stories");
    let document = document_of(design.expect("it is shipped"));
    insta::assert_snapshot!(format!("{document:#}"));
}

#[test]
fn every_reference_leads_somewhere() {
    for design in designs() {
        let administration = admin_document(&design, &Routes::of(&design));
        visit(&administration, "", &mut |way, object| {
            if let Some(Json::String(target)) = object.get("$ref") {
                let pointer = target.trim_start_matches('#');
                assert!(administration.pointer(pointer).is_some(), "{way}: {target}");
            }
        });
        let document = document_of(&design);
        visit(&document, "", &mut |way, object| {
            if let Some(Json::String(target)) = object.get("$ref") {
                let pointer = target.trim_start_matches('#');
                assert!(document.pointer(pointer).is_some(), "{way}: {target}");
            }
            if let Some(Json::String(operation)) = object
                .get("operationId")
                .filter(|_| way.contains("/links/"))
            {
                let routes = Routes::of(&design);
                let is_there = routes.iter().any(|route| route.operation_id == *operation);
                assert!(is_there, "{way}: {operation}");
            }
        });
    }
}

#[test]
fn everything_that_can_be_asked_for_is_one_operation() {
    for design in designs() {
        let routes = Routes::of(&design);
        let documents = [document_of(&design), admin_document(&design, &routes)];
        let refused = Json::Object(refused_paths(&design, &routes));
        let paths = documents.iter().map(|document| &document["paths"]);
        let paths = paths.chain([&refused]);
        let operations = paths
            .flat_map(|paths| paths.as_object().expect("an object").values())
            .flat_map(|path| path.as_object().expect("an object"));
        let told: Vec<&str> = operations
            .map(|(_, operation)| operation["operationId"].as_str().expect("a name"))
            .collect();
        let expected: BTreeSet<&str> = routes
            .iter()
            .filter(|route| route.is_canonical)
            .map(|route| route.operation_id.as_str())
            .collect();
        assert_eq!(told.len(), expected.len(), "{}", design.name);
        assert_eq!(BTreeSet::from_iter(told), expected, "{}", design.name);
    }
}

#[test]
fn what_nobody_may_do_is_no_operation() {
    for design in designs() {
        let routes = Routes::of(&design);
        let document = document_of(&design).to_string();
        for route in routes.iter().filter(|route| is_closed(&design, route)) {
            let id = json!(route.operation_id).to_string();
            assert!(!document.contains(&id), "{}: {id}", design.name);
        }
    }
}

/// Generators of clients make modules of names with dots.
#[test]
fn names_of_schemas_have_no_dots() {
    for design in designs() {
        let document = document_of(&design);
        let schemas = document["components"]["schemas"].as_object();
        let mut names = schemas.into_iter().flat_map(Map::keys);
        assert_eq!(names.find(|name| name.contains('.')), None);
    }
}

#[test]
fn secrets_are_given_and_never_answered() {
    let designs = designs();
    let design = designs.iter().find(|design| design.name == "mediahub");
    let schemas = &document_of(design.expect("it is shipped"))["components"]["schemas"];
    assert_eq!(
        schemas["UserNew"]["properties"]["salt"]["writeOnly"],
        json!(true)
    );
    assert!(schemas["User"]["properties"].get("passwordHash").is_none());
    // What rules hide from some callers may be missing.
    let required = schemas["User"]["required"].as_array().expect("a list");
    assert!(required.contains(&json!("username")) && !required.contains(&json!("email")));
}

#[test]
fn what_is_given_is_told_apart_from_what_is_kept() {
    let designs = designs();
    let design = designs.iter().find(|design| design.name == "storyhub");
    let schemas = &document_of(design.expect("it is shipped"))["components"]["schemas"];
    let names = |schema: &str| -> Vec<&String> {
        let properties = schemas[schema]["properties"].as_object();
        properties.into_iter().flat_map(Map::keys).collect()
    };
    let new = names("ChapterNodeNew");
    assert_eq!(
        new,
        [
            "authorId",
            "content",
            "nodeId",
            "parentNodeId",
            "storyId",
            "title"
        ]
    );
    assert_eq!(names("ChapterNodeChanges"), ["content", "title"]);
    let stats = &schemas["ChapterNode"]["properties"]["stats"];
    assert_eq!(stats["required"], json!(["reads", "upvotes", "childCount"]));
    let status = &schemas["StoryNew"]["properties"]["status"];
    assert_eq!(
        status["enum"],
        json!(["DRAFT"]),
        "a state begins with its first"
    );
}
