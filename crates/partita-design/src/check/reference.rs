//! `[entity.X.refs]`: how another item is found from this one.

mod binding;
mod declared;

use partita_core::expression::Span;

use super::check_name;
use super::finder;
use super::names::Names;
use super::world::{Record, World};
use crate::codes::Code;
use crate::design::{ConstantsId, OnDelete, Pattern, PatternId, Ref, RefTarget, RefTo};
use crate::diagnostic::Report;
use crate::document::{Content, Name, Node, Section, section};
use crate::syntax::Word;
use crate::syntax::reference::{self, Line, RawOnDelete};
pub(crate) use binding::bind_readings;
use binding::constant_argument;
use binding::{bind, bind_pattern};
pub(crate) use declared::{DeclaredRef, DeclaredTarget};

/// Reads the lines of a section of refs, and finds their targets.
pub(crate) fn declare(
    section: Option<Section<'_>>,
    world: &World,
    report: &mut Report,
) -> Vec<DeclaredRef> {
    let Some(mut section) = section else {
        return Vec::new();
    };
    let entries = section.all().iter();
    entries
        .map(|(name, node)| {
            check_name(&name.text, name.span, report);
            one(name, node, world, report)
        })
        .collect()
}

fn one(name: &Name, node: &Node, world: &World, report: &mut Report) -> DeclaredRef {
    let mut declared = DeclaredRef {
        name: (name.text.clone(), name.span),
        span: node.span,
        by: None,
        targets: Vec::new(),
    };
    match &node.content {
        Content::Text(text) => {
            let line = reference::parse(text, report);
            declared.targets.push(target(None, line, world, report));
        }
        Content::Table(entries) => {
            let mut section = Section::new(name.text.clone(), name.span, entries);
            let by = section.required_text("by", "\"targetType\"", report);
            declared.by = by.given().map(super::spot);
            for (value, node) in section.all() {
                if value.text == "by" {
                    continue;
                }
                let when = Some((value.text.clone(), value.span));
                let line = match &node.content {
                    Content::Text(text) => reference::parse(text, report),
                    other => {
                        section::report_type(report, node.span, &value.text, "a string", other);
                        None
                    }
                };
                declared.targets.push(target(when, line, world, report));
            }
        }
        other => {
            let expected = "a string, or a table with `by`";
            section::report_type(report, node.span, &name.text, expected, other);
            declared.targets.push(DeclaredTarget::Broken);
        }
    }
    declared
}

fn target(
    when: Option<Word>,
    line: Option<Line>,
    world: &World,
    report: &mut Report,
) -> DeclaredTarget {
    let Some(line) = line else {
        return DeclaredTarget::Broken;
    };
    let (name, _) = &line.target;
    let constants = &world.constants;
    if let Some(table) = constants
        .iter()
        .position(|constants| constants.name == *name)
    {
        return DeclaredTarget::Constants {
            when,
            table: ConstantsId::new(table),
            line,
        };
    }
    match world.resolve(&line.target, report) {
        Some(record) => DeclaredTarget::Record {
            when,
            record: record.id,
            line,
        },
        None => DeclaredTarget::Broken,
    }
}

/// Compiles the references of a record; `None` after a report.
pub(crate) fn compile(
    record: &Record,
    names: &Names<'_>,
    declared: &[DeclaredRef],
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<Vec<Ref>> {
    let compiled: Vec<_> = declared
        .iter()
        .map(|reference| compile_one(record, names, reference, patterns, report))
        .collect();
    compiled.into_iter().collect()
}

fn compile_one(
    record: &Record,
    names: &Names<'_>,
    declared: &DeclaredRef,
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<Ref> {
    let (name, span) = &declared.name;
    if let Some(attribute) = record.find(name) {
        let message = format!("`{name}` is an attribute already");
        report
            .add(Code::DuplicateName, *span, message)
            .related(attribute.span, "the attribute");
    }
    let by = match &declared.by {
        Some(word) => Some(choice(word, declared, record, report)?),
        None => None,
    };
    let targets: Vec<_> = declared
        .targets
        .iter()
        .map(|target| compile_target(record, names, (declared, target), patterns, report))
        .collect();
    let targets: Vec<RefTarget> = targets.into_iter().collect::<Option<_>>()?;
    let has = |flag: fn(&Line) -> Option<Span>| {
        let mut lines = declared.targets.iter().filter_map(DeclaredTarget::line);
        lines.find_map(|(_, line)| flag(line))
    };
    let live = has(|line| line.live);
    needless_live(live, declared, names.world, report);
    Some(Ref {
        name: name.clone(),
        by,
        targets,
        live: live.is_some(),
        unchecked: has(|line| line.unchecked).is_some(),
        optional: declared.is_optional(record, names.world),
    })
}

/// `live` excludes what is soft-deleted, so that the target must be something that can be.
fn needless_live(live: Option<Span>, declared: &DeclaredRef, world: &World, report: &mut Report) {
    let Some(span) = live else { return };
    for target in &declared.targets {
        let DeclaredTarget::Record { record, .. } = target else {
            continue;
        };
        let target = &world[*record];
        if target.soft_delete.is_absent() {
            let title = target.title();
            let message = format!("`live` has no effect, because `{title}` has no soft delete");
            report
                .add(Code::NeedlessKey, span, message)
                .help("leave `live` out");
        }
    }
}

/// The attribute whose words choose a target; the words and the targets must be the same.
fn choice(
    (name, span): &Word,
    declared: &DeclaredRef,
    record: &Record,
    report: &mut Report,
) -> Option<String> {
    let attribute = record.resolve(name, *span, report)?;
    let kind = attribute.kind.as_ref()?;
    let Some(words) = kind.words() else {
        let message = format!("`{name}` is {}, and its values are not known", kind.noun());
        report
            .add(Code::RefVariants, *span, message)
            .help(format!("write `{name} = \"enum a | b\"`"))
            .related(attribute.span, "declared here");
        return None;
    };
    let given: Vec<&Word> = declared
        .targets
        .iter()
        .filter_map(|target| target.line()?.0.as_ref())
        .collect();
    let mut is_good = !declared.is_broken();
    for (word, span) in &given {
        if !words.contains(word) {
            let message = format!("`{name}` is never `{word}`");
            report
                .add(Code::RefVariants, *span, message)
                .suggest(word, words.iter().map(String::as_str));
            is_good = false;
        }
    }
    for word in words {
        if is_good && !given.iter().any(|(known, _)| *known == word) {
            let message = format!("nothing says where this leads when `{name}` is `{word}`");
            report
                .add(Code::RefVariants, declared.name.1, message)
                .help(format!("write `{word} = \"…\"` too"));
            is_good = false;
        }
    }
    is_good.then(|| attribute.name.clone())
}

fn compile_target(
    record: &Record,
    names: &Names<'_>,
    (declared, target): (&DeclaredRef, &DeclaredTarget),
    patterns: &[Option<Pattern>],
    report: &mut Report,
) -> Option<RefTarget> {
    let (when, line) = target.line()?;
    if line.broken {
        return None;
    }
    let world = names.world;
    let via = match &line.via {
        Some(via) => Some(known_pattern(via, world, report)?),
        None => None,
    };
    let (to, arguments) = match target {
        DeclaredTarget::Broken => return None,
        DeclaredTarget::Constants { table, .. } => (
            RefTo::Constants(*table),
            constant_argument(line, names, report)?,
        ),
        DeclaredTarget::Record { record: to, .. } => {
            let to = &world[*to];
            let arguments = match via {
                Some(via) => bind_pattern(line, via, to, names, patterns, declared.span, report)?,
                None => bind(line, &to.identity()?, to, names, declared.span, report)?,
            };
            (RefTo::Record(to.id), arguments)
        }
    };
    let on_delete = on_delete(record, declared, target, world, report)?;
    let compiled = RefTarget {
        when: when.as_ref().map(|(word, _)| word.clone()),
        to,
        arguments,
        via,
        on_delete,
        finder: None,
    };
    let finder = finder::find(record, declared.by.as_ref(), &compiled, world);
    Some(RefTarget { finder, ..compiled })
}

fn known_pattern((via, span): &Word, world: &World, report: &mut Report) -> Option<PatternId> {
    if let Some(found) = world.pattern(via) {
        return Some(found);
    }
    let known = world.patterns.iter().map(|(name, _)| name.as_str());
    let message = format!("there is no pattern `{via}`");
    report
        .add(Code::UnknownPattern, *span, message)
        .suggest(via, known);
    None
}

fn on_delete(
    record: &Record,
    declared: &DeclaredRef,
    target: &DeclaredTarget,
    world: &World,
    report: &mut Report,
) -> Option<OnDelete> {
    let (_, line) = target.line()?;
    let Some((what, span)) = &line.on_delete else {
        return Some(OnDelete::Keep);
    };
    match what {
        RawOnDelete::Keep => Some(OnDelete::Keep),
        RawOnDelete::Cascade => Some(OnDelete::Cascade),
        RawOnDelete::Clear(names) => {
            let mut cleared = Vec::new();
            for (name, span) in names {
                let attribute = record.resolve(name, *span, report)?;
                if !attribute.optional {
                    let message = format!("`{name}` is required and cannot be cleared");
                    report
                        .add(Code::OnDeleteClear, *span, message)
                        .help("write `?` behind its type")
                        .related(attribute.span, "declared here");
                    return None;
                }
                cleared.push(attribute.name.clone());
            }
            Some(OnDelete::Clear(cleared))
        }
        RawOnDelete::Refuse => {
            let DeclaredTarget::Record { record: to, .. } = target else {
                return Some(OnDelete::Keep);
            };
            let to = &world[*to];
            let count = counter(record, &declared.name.0, to);
            if count.is_none() {
                let (title, name) = (record.title(), &declared.name.0);
                let message = format!(
                    "nothing counts how many `{title}` refer to a `{}`",
                    to.title()
                );
                report
                    .add(Code::RefuseWithoutCount, *span, message)
                    .help(format!(
                        "write an attribute of `{}`, such as `{title}Count = \"count of {title} by {name}\"`",
                        to.title()
                    ));
            }
            count.map(|count| OnDelete::Refuse { count })
        }
    }
}

/// The attribute of the target that counts all items of the ref.
fn counter(record: &Record, reference: &str, to: &Record) -> Option<String> {
    let mut attributes = to.attributes.iter();
    let found = attributes.find(|attribute| {
        let Some(crate::syntax::attribute::Head::Aggregate(raw)) = &attribute.line.head else {
            return false;
        };
        let leads: Vec<_> = record
            .refs
            .iter()
            .filter(|one| one.leads_to(to.id))
            .collect();
        let by = match &raw.by {
            Some((name, _)) => name == reference,
            None => leads.len() == 1,
        };
        raw.sum.is_none() && raw.only.is_none() && raw.of.0 == record.title() && by
    });
    found.map(|attribute| attribute.name.clone())
}
