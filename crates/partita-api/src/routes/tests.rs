use std::collections::BTreeSet;

use partita_design::design::Segment;
use partita_design::shipped;

use super::*;

fn design(name: &str) -> Design {
    let source = shipped::find(name).unwrap().source;
    partita_design::check(source, &|_| None).0.unwrap()
}

/// The operation id of a request on storyhub, or why it has no route.
fn asked(method: &str, path: &str) -> Result<String, Miss> {
    let routes = Routes::of(&design("storyhub"));
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let path: Vec<&str> = path.split('/').collect();
    let found = routes.find(&method, &path)?;
    Ok(found.route.operation_id.clone())
}

#[test]
fn requests_find_their_routes() {
    for (method, path, id) in [
        ("POST", "Story", "Story.create"),
        ("GET", "ChapterNode/1/2", "ChapterNode.get"),
        ("HEAD", "ChapterNode/1/2", "ChapterNode.get"),
        ("PATCH", "ChapterNode/1/2", "ChapterNode.update"),
        ("PUT", "ChapterNode/1/2", "ChapterNode.upsert"),
        ("DELETE", "ChapterNode/1/2", "ChapterNode.delete"),
        ("PUT", "stories/1/chapters/2", "ChapterNode.upsert.byPath"),
        ("POST", "batch", "batch"),
        ("GET", "query/childBranches", "query.childBranches"),
        ("POST", "admin/jobs", "admin.jobs"),
        ("GET", "admin/openapi.json", "admin.openapi"),
    ] {
        assert_eq!(asked(method, path).as_deref(), Ok(id), "{method} {path}");
    }
}

#[test]
fn other_methods_are_told() {
    for (method, path, allowed) in [
        ("GET", "Story", "POST"),
        ("POST", "query/childBranches", "GET, HEAD"),
        ("OPTIONS", "admin/jobs", "POST"),
        ("POST", "ChapterNode/1/2", "DELETE, GET, HEAD, PATCH, PUT"),
    ] {
        let miss = asked(method, path).unwrap_err();
        let Miss::NoMethod { allowed: methods } = miss else {
            panic!("{method} {path}: {miss:?}")
        };
        let methods: Vec<_> = methods.iter().map(Method::as_str).collect();
        assert_eq!(methods.join(", "), allowed, "{method} {path}");
    }
}

#[test]
fn a_prefix_takes_uploads_and_is_no_file() {
    let routes = Routes::of(&design("holdthatthought"));
    let find = |method: Method, path: &[&'static str]| match routes.find(&method, path) {
        Ok(found) => found.route.operation_id.clone(),
        Err(Miss::NoMethod { allowed }) => format!("{allowed:?}"),
        Err(Miss::NoPath { detail }) => detail,
    };
    for (method, name, expected) in [
        (Method::POST, "letters", "files.upload.letters"),
        (Method::GET, "letters", "[POST]"),
        (Method::PUT, "letters", "[POST]"),
        (Method::GET, "letters/1.txt", "files.read"),
        (Method::PUT, "letters/1.txt", "files.send"),
        (Method::DELETE, "letters/1.txt", "[GET, HEAD, PUT]"),
    ] {
        assert_eq!(
            find(method.clone(), &["files", name]),
            expected,
            "{method} {name}"
        );
    }
}

#[test]
fn what_is_missing_is_told_with_what_was_meant() {
    for (path, detail) in [
        ("", "there is nothing at ``"),
        (
            "Stroy/1",
            "there is nothing at `Stroy/1`; did you mean `Story/1`?",
        ),
        (
            "query/childBranch",
            "there is nothing at `query/childBranch`; did you mean `query/childBranches`?",
        ),
        (
            "ChapterNode/1",
            "there is nothing at `ChapterNode/1`; there is `ChapterNode/{storyId}/{nodeId}`",
        ),
        ("something", "there is nothing at `something`"),
        // No value is empty.
        (
            "Story/",
            "there is nothing at `Story/`; there is `Story` and `Story/{storyId}`",
        ),
    ] {
        let miss = asked("GET", path).unwrap_err();
        let Miss::NoPath { detail: told } = miss else {
            panic!("{path}: {miss:?}")
        };
        assert!(told.starts_with(detail), "{path}: {told}");
    }
}

#[test]
fn no_two_routes_answer_the_same_request_or_share_a_name() {
    for shipped in shipped::all() {
        let routes = Routes::of(&design(shipped.name));
        let ids: BTreeSet<_> = routes.iter().map(|route| &route.operation_id).collect();
        assert_eq!(ids.len(), routes.iter().count(), "{}", shipped.name);
        for (at, one) in routes.iter().enumerate() {
            for other in routes.iter().skip(at + 1) {
                let is_clash = one.method == other.method && one.path.overlaps(&other.path);
                assert!(!is_clash, "{} and {}", one.operation_id, other.operation_id);
            }
        }
    }
}

#[test]
fn every_route_is_found_with_its_values() {
    for shipped in shipped::all() {
        let routes = Routes::of(&design(shipped.name));
        for route in &routes {
            let parts = route.path.segments.iter().map(|segment| match segment {
                Segment::Literal(word) => word.clone(),
                Segment::Parameter(name) => format!("the {name}"),
            });
            let parts: Vec<String> = parts.collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let found = routes.find(&route.method, &parts).unwrap();
            assert_eq!(found.route, route);
            for (name, value) in found.values() {
                assert_eq!(value, format!("the {name}"), "{}", route.operation_id);
            }
        }
    }
}
