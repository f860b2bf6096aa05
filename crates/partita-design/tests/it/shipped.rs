//! The five shipped designs check without a mistake, and say why each remaining risk is taken.

use partita_design::design::Read;
use partita_design::{Design, Severity, check, shipped};

use crate::lines;

#[test]
fn no_mistake_and_no_risk_that_is_not_accepted() {
    let names: Vec<_> = shipped::all().iter().map(|design| design.name).collect();
    let five = [
        "stories",
        "storyhub",
        "mediahub",
        "holdthatthought",
        "figureforge",
    ];
    assert_eq!(names, five);
    let mut wrong = Vec::new();
    for design in shipped::all() {
        let (compiled, diagnostics) = check(design.source, &|_| None);
        let found = lines(design.source, &diagnostics);
        wrong.extend(found.iter().map(|line| format!("{}: {line}", design.name)));
        let has_errors = diagnostics
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error);
        assert_eq!(compiled.is_none(), has_errors, "{}", design.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_accepted_risk_has_a_reason() {
    for design in shipped::all() {
        for accept in design.source.split("[[accept]]").skip(1) {
            let because = accept
                .lines()
                .find_map(|line| line.strip_prefix("because = "));
            let because = because.unwrap_or_else(|| panic!("{}:{accept}", design.name));
            assert!(because.len() > 20, "{}: {because}", design.name);
        }
    }
}

/// All are nice to call: only what reads an item by its identity has no path beside the item's own.
#[test]
fn entities_and_patterns_have_paths() {
    for design in shipped::all() {
        let (compiled, _) = check(design.source, &|_| None);
        let compiled = compiled.unwrap_or_else(|| panic!("{} has mistakes", design.name));
        for entity in compiled.entities() {
            assert!(entity.path.is_some(), "{}: {}", design.name, entity.name);
        }
        for pattern in &compiled.patterns {
            let is_own = match &pattern.read {
                Read::Get(keys) => {
                    let mut holes = keys.partition.holes().chain(keys.sort.holes());
                    holes.all(|hole| hole.name().is_some())
                }
                _ => false,
            };
            let name = &pattern.name;
            assert_eq!(pattern.path.is_none(), is_own, "{}: {name}", design.name);
        }
    }
}

/// What there is to compile is there: nothing of a file is left behind on the way.
#[test]
fn sections_become_parts_of_the_design() {
    for design in shipped::all() {
        let (compiled, _) = check(design.source, &|_| None);
        let compiled = compiled.unwrap_or_else(|| panic!("{} has mistakes", design.name));
        for (kind, names) in parts(&compiled) {
            let headers: Vec<_> = design
                .source
                .lines()
                .filter_map(|line| line.strip_prefix('[')?.split(']').next())
                .filter_map(|header| header.strip_prefix(kind)?.strip_prefix('.'))
                .filter(|name| !name.contains('.'))
                .collect();
            assert_eq!(names, headers, "{kind} of {}", design.name);
        }
    }
}

/// Lines of `[entity.X.attributes]` become attributes, in their order, and those of `[every]` too.
#[test]
fn lines_become_attributes() {
    for design in shipped::all() {
        let (compiled, _) = check(design.source, &|_| None);
        let every = names_in(design.source, "every.attributes");
        for entity in compiled.unwrap().entities() {
            let mut expected =
                names_in(design.source, &format!("entity.{}.attributes", entity.name));
            let found: Vec<_> = entity
                .attributes
                .iter()
                .map(|it| it.name.as_str())
                .collect();
            let (of_every, own): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|name| every.contains(name));
            expected.retain(|name| !every.contains(name));
            assert_eq!(own, expected, "{} of {}", entity.name, design.name);
            assert_eq!(of_every, every, "{} of {}", entity.name, design.name);
        }
    }
}

/// What stands before `=` in a section.
fn names_in<'s>(source: &'s str, section: &str) -> Vec<&'s str> {
    let header = format!("[{section}]");
    source
        .lines()
        .skip_while(|line| !line.starts_with(&header))
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .collect()
}

fn parts(design: &Design) -> [(&str, Vec<&str>); 5] {
    [
        (
            "entity",
            design.entities().map(|it| it.name.as_str()).collect(),
        ),
        (
            "view",
            design.views().map(|(it, _)| it.name.as_str()).collect(),
        ),
        (
            "pattern",
            design.patterns.iter().map(|it| it.name.as_str()).collect(),
        ),
        (
            "action",
            design.actions.iter().map(|it| it.name.as_str()).collect(),
        ),
        (
            "trigger",
            design.triggers.iter().map(|it| it.name.as_str()).collect(),
        ),
    ]
}
