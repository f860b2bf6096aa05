//! `[entity.X.refs]`: how another item is found from this one.

use partita_core::expression::Span;

use super::check_name;
use super::finder;
use super::names::Names;
use super::value::Values;
use super::world::{Record, Uses, World};
use crate::codes::Code;
use crate::design::{
    Argument, Construct, IdentityPart, OnDelete, Pattern, RecordName, Ref, RefTarget, TargetName,
};
use crate::diagnostic::Report;
use crate::document::{Content, Name, Node, Section, section};
use crate::expression::Reading;
use crate::syntax::Word;
use crate::syntax::reference::{self, Line, RawOnDelete};

/// A reference, as far as it could be read.
#[derive(Debug)]
pub(crate) struct DeclaredRef {
    pub(crate) name: Word,
    /// The place of its line.
    pub(crate) span: Span,
    /// The attribute that chooses one of the targets.
    pub(crate) by: Option<Word>,
    pub(crate) targets: Vec<DeclaredTarget>,
}

/// One target of a reference.
#[derive(Debug)]
pub(crate) enum DeclaredTarget {
    Record {
        /// The value of `by` that chooses it.
        when: Option<Word>,
        record: usize,
        line: Line,
    },
    Constants {
        when: Option<Word>,
        table: usize,
        line: Line,
    },
    /// Something with a mistake.
    Broken,
}

impl DeclaredTarget {
    fn line(&self) -> Option<(&Option<Word>, &Line)> {
        match self {
            DeclaredTarget::Record { when, line, .. }
            | DeclaredTarget::Constants { when, line, .. } => Some((when, line)),
            DeclaredTarget::Broken => None,
        }
    }
}

impl DeclaredRef {
    /// The ref of every view to the item that it is derived from.
    pub(crate) fn source(record: usize, span: Span) -> DeclaredRef {
        let line = Line {
            target: (String::new(), span),
            arguments: Vec::new(),
            via: None,
            on_delete: None,
            live: None,
            unchecked: None,
            broken: false,
        };
        DeclaredRef {
            name: ("source".to_owned(), span),
            span,
            by: None,
            targets: vec![DeclaredTarget::Record {
                when: None,
                record,
                line,
            }],
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        let is_broken = |target: &DeclaredTarget| matches!(target, DeclaredTarget::Broken);
        self.targets.iter().any(is_broken)
    }

    /// Whether one of its targets is that record.
    pub(crate) fn leads_to(&self, name: &RecordName, world: &World) -> bool {
        self.targets.iter().any(|target| match target {
            DeclaredTarget::Record { record, .. } => world.records[*record].name == *name,
            DeclaredTarget::Constants { .. } | DeclaredTarget::Broken => false,
        })
    }

    /// The own attributes that it is made of.
    pub(crate) fn arguments(&self, record: &Record, world: &World) -> Vec<String> {
        let mut names: Vec<String> = self.by.iter().map(|(by, _)| by.clone()).collect();
        for target in &self.targets {
            let Some((_, line)) = target.line() else {
                continue;
            };
            names.extend(line.arguments.iter().map(|one| one.path.names.join(".")));
            // The other parts are found by their names.
            if let DeclaredTarget::Record { record, .. } = target {
                let identity = world.records[*record].identity().unwrap_or_default();
                let others = identity.into_iter().filter(|part| {
                    let is_given = |given: &str| given == part.name || given == part.attribute;
                    !line.arguments.iter().any(|one| is_given(&one.part.0))
                });
                names.extend(others.map(|part| part.name));
            }
        }
        let stored = names
            .iter()
            .filter_map(|name| Some(record.find(name)?.name.clone()));
        stored.collect()
    }

    /// Whether it may lead nowhere, because an argument of it may be missing.
    pub(crate) fn is_optional(&self, record: &Record) -> bool {
        let is_loose = self
            .targets
            .iter()
            .filter_map(DeclaredTarget::line)
            .any(|(_, line)| line.via.is_some() || line.unchecked.is_some());
        let is_constant =
            |target: &DeclaredTarget| matches!(target, DeclaredTarget::Constants { .. });
        is_loose
            || self.targets.iter().any(is_constant)
            || !self.optional_arguments(record).is_empty()
    }

    /// The arguments that may be missing.
    pub(crate) fn optional_arguments(&self, record: &Record) -> Vec<String> {
        let lines = self.targets.iter().filter_map(DeclaredTarget::line);
        let names = lines.flat_map(|(_, line)| &line.arguments);
        let found = names.filter_map(|argument| record.find(&argument.path.names.join(".")));
        let optional = found.filter(|attribute| attribute.optional);
        optional.map(|attribute| attribute.name.clone()).collect()
    }
}

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
        return DeclaredTarget::Constants { when, table, line };
    }
    match world.resolve(&line.target, report) {
        Some((record, _)) => DeclaredTarget::Record { when, record, line },
        None => DeclaredTarget::Broken,
    }
}

/// Compiles the references of a record; `None` after a report.
pub(crate) fn compile(
    record: &Record,
    names: &Names<'_>,
    declared: &[DeclaredRef],
    uses: &mut Uses,
    report: &mut Report,
) -> Option<Vec<Ref>> {
    let compiled: Vec<_> = declared
        .iter()
        .map(|reference| compile_one(record, names, reference, uses, report))
        .collect();
    compiled.into_iter().collect()
}

fn compile_one(
    record: &Record,
    names: &Names<'_>,
    declared: &DeclaredRef,
    uses: &mut Uses,
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
        Some(word) => {
            uses.note(
                Construct::PolymorphicRef,
                format!("a ref with several targets (`{name}`)"),
                *span,
            );
            Some(choice(word, declared, record, report)?)
        }
        None => None,
    };
    let targets: Vec<_> = declared
        .targets
        .iter()
        .map(|target| compile_target(record, names, declared, target, uses, report))
        .collect();
    let targets: Vec<RefTarget> = targets.into_iter().collect::<Option<_>>()?;
    let has = |flag: fn(&Line) -> Option<Span>| {
        let mut lines = declared.targets.iter().filter_map(DeclaredTarget::line);
        lines.find_map(|(_, line)| flag(line))
    };
    let live = has(|line| line.live);
    needless_live(live, declared, names.world, report);
    if has(|line| line.unchecked).is_some() {
        uses.note(
            Construct::Unchecked,
            format!("`unchecked` (`{name}`)"),
            *span,
        );
    }
    Some(Ref {
        name: name.clone(),
        by,
        targets,
        live: live.is_some(),
        unchecked: has(|line| line.unchecked).is_some(),
        optional: declared.is_optional(record),
    })
}

/// `live` excludes what is soft-deleted, so that the target must be something that can be.
fn needless_live(live: Option<Span>, declared: &DeclaredRef, world: &World, report: &mut Report) {
    let Some(span) = live else { return };
    for target in &declared.targets {
        let DeclaredTarget::Record { record, .. } = target else {
            continue;
        };
        let target = &world.records[*record];
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
    declared: &DeclaredRef,
    target: &DeclaredTarget,
    uses: &mut Uses,
    report: &mut Report,
) -> Option<RefTarget> {
    let (name, span) = &declared.name;
    let mut note =
        |construct, words: &str| uses.note(construct, format!("{words} (`{name}`)"), *span);
    let (when, line) = target.line()?;
    if line.broken {
        return None;
    }
    let world = names.world;
    let (to, arguments) = match target {
        DeclaredTarget::Broken => return None,
        DeclaredTarget::Constants { table, .. } => {
            note(Construct::ConstantRef, "a ref to constants");
            let constants = world.constants[*table].name.clone();
            (
                TargetName::Constants(constants),
                constant_argument(line, names, report)?,
            )
        }
        DeclaredTarget::Record { record: to, .. } => {
            let to = &world.records[*to];
            let arguments = match &line.via {
                Some(via) => {
                    note(Construct::RefByPattern, "`via`");
                    known_pattern(via, world, report)?;
                    Vec::new()
                }
                None => bind(line, &to.identity()?, to, names, declared.span, report)?,
            };
            if to.view.is_some() {
                note(Construct::ViewRef, "a ref to a view");
            }
            (TargetName::Record(to.name.clone()), arguments)
        }
    };
    if arguments.iter().any(|argument| argument.many) {
        note(Construct::ManyRef, "a ref to many");
    }
    let on_delete = on_delete(record, declared, target, world, report)?;
    if on_delete != OnDelete::Keep {
        note(Construct::OnDelete, "`on delete`");
    }
    let compiled = RefTarget {
        when: when.as_ref().map(|(word, _)| word.clone()),
        to,
        arguments,
        via: line.via.as_ref().map(|(pattern, _)| pattern.clone()),
        on_delete,
        finder: None,
    };
    let finder = finder::find(record, declared.by.as_ref(), &compiled, world);
    Some(RefTarget { finder, ..compiled })
}

fn known_pattern((via, span): &Word, world: &World, report: &mut Report) -> Option<()> {
    if world.patterns.iter().any(|(name, _)| name == via) {
        return Some(());
    }
    let known = world.patterns.iter().map(|(name, _)| name.as_str());
    let message = format!("there is no pattern `{via}`");
    report
        .add(Code::UnknownPattern, *span, message)
        .suggest(via, known);
    None
}

/// The one argument of a ref to constants: which row.
fn constant_argument(line: &Line, names: &Names<'_>, report: &mut Report) -> Option<Vec<Argument>> {
    let [argument] = line.arguments.as_slice() else {
        let (name, span) = &line.target;
        let message = "a row of constants is found by one value";
        report
            .add(Code::RefSyntax, *span, message)
            .help(format!("write `{name}(attribute)`"));
        return None;
    };
    let mut values = Values::new(names);
    values.path(&argument.path, report)?;
    let reading = values.reads.pop()?;
    Some(vec![Argument {
        part: argument.part.0.clone(),
        path: reading.path.to_string(),
        many: false,
    }])
}

/// For each part of the target's identity, what holds it; `None` after a report.
pub(crate) fn bind(
    line: &Line,
    identity: &[IdentityPart],
    to: &Record,
    names: &Names<'_>,
    span: Span,
    report: &mut Report,
) -> Option<Vec<Argument>> {
    let bound = bind_readings(line, identity, to, names, span, report)?;
    let arguments = bound.into_iter().map(|(part, reading, many)| Argument {
        part,
        path: reading.path.to_string(),
        many,
    });
    Some(arguments.collect())
}

/// For each part of an identity: the part, what holds it, and whether that is a list.
pub(crate) fn bind_readings(
    line: &Line,
    identity: &[IdentityPart],
    to: &Record,
    names: &Names<'_>,
    span: Span,
    report: &mut Report,
) -> Option<Vec<(String, Reading, bool)>> {
    let is_part = |part: &IdentityPart, name: &str| part.name == name || part.attribute == name;
    let title = to.title();
    let mut is_good = true;
    for (index, argument) in line.arguments.iter().enumerate() {
        let (part, part_span) = &argument.part;
        let earlier = &line.arguments[..index];
        if earlier.iter().any(|other| other.part.0 == *part) {
            let message = format!("`{part}` is given twice");
            report.add(Code::RefSyntax, *part_span, message);
            is_good = false;
        }
        if !identity.iter().any(|known| is_part(known, part)) {
            let message = format!("`{part}` is no part of the identity of `{title}`");
            report
                .add(Code::UnknownPart, *part_span, message)
                .suggest(part, identity.iter().map(|known| known.name.as_str()));
            is_good = false;
        }
    }
    let mut bound = Vec::new();
    for part in identity {
        let argument = line
            .arguments
            .iter()
            .find(|argument| is_part(part, &argument.part.0));
        let mut values = Values::new(names);
        let (reading, many, at) = match argument {
            Some(argument) => {
                let found = values.path(&argument.path, report);
                is_good &= found.is_some();
                (values.reads.pop(), argument.many, argument.path.span)
            }
            None => {
                let found = by_name(part, names);
                // With a wrong argument it is unknown which part it was meant for.
                if found.is_none() && is_good && names.record.is_some_and(|one| !one.is_broken) {
                    unbound(part, title, span, report);
                }
                is_good &= found.is_some();
                (found, false, span)
            }
        };
        if let Some(reading) = reading {
            is_good &= is_same_type(part, to, &reading, many, at, report);
            bound.push((part.attribute.clone(), reading, many));
        }
    }
    is_good.then_some(bound)
}

/// The attribute or alias of the same name as a part.
fn by_name(part: &IdentityPart, names: &Names<'_>) -> Option<Reading> {
    let mut silent = Report::default();
    let path = crate::template::dotted(&part.name);
    let found = names.resolve(&path, Span::default(), &mut silent);
    found.or_else(|| {
        let path = crate::template::dotted(&part.attribute);
        // An alias of the target says what the name `id` alone does not.
        let is_alias = part.name != part.attribute;
        match is_alias {
            true => None,
            false => names.resolve(&path, Span::default(), &mut silent),
        }
    })
}

/// What refers to an identity must be of the identity's type.
fn is_same_type(
    part: &IdentityPart,
    to: &Record,
    reading: &Reading,
    many: bool,
    span: Span,
    report: &mut Report,
) -> bool {
    let Some(expected) = to.find(&part.attribute).and_then(|one| one.kind.as_ref()) else {
        return true;
    };
    let given = match (&reading.kind, many) {
        (crate::types::AttributeType::List { element, .. }, true) => element,
        (kind, false) => kind,
        (kind, true) => {
            let message = format!("`{}` is {}, not a list", reading.path, kind.noun());
            report.add(Code::RefType, span, message);
            return false;
        }
    };
    let (one, two) = (expected.stored_as(), given.stored_as());
    if one == two || one.is_none() || two.is_none() {
        return true;
    }
    let message = format!(
        "`{}` is {}, but `{}` of `{}` is {}",
        reading.path,
        given.noun(),
        part.name,
        to.title(),
        expected.noun()
    );
    report
        .add(Code::RefType, span, message)
        .help("give the two attributes one type");
    false
}

fn unbound(part: &IdentityPart, target: &str, span: Span, report: &mut Report) {
    let name = &part.name;
    let message = format!("nothing says which `{name}` of `{target}` is meant");
    report.add(Code::UnboundPart, span, message).help(format!(
        "write `{target}({name} = …)` with an attribute of this entity, or give it an attribute `{name}`"
    ));
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
            let to = &world.records[*to];
            let count = counter(record, &declared.name.0, to, world);
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
fn counter(record: &Record, reference: &str, to: &Record, world: &World) -> Option<String> {
    let mut attributes = to.attributes.iter();
    let found = attributes.find(|attribute| {
        let Some(crate::syntax::attribute::Head::Aggregate(raw)) = &attribute.line.head else {
            return false;
        };
        let leads: Vec<_> = record
            .refs
            .iter()
            .filter(|one| one.leads_to(&to.name, world))
            .collect();
        let by = match &raw.by {
            Some((name, _)) => name == reference,
            None => leads.len() == 1,
        };
        raw.sum.is_none() && raw.only.is_none() && raw.of.0 == record.title() && by
    });
    found.map(|attribute| attribute.name.clone())
}

/// Binds the parameters of the patterns by which refs are found; called when patterns are known.
pub(crate) fn bind_patterns(
    record: &Record,
    refs: &mut [Ref],
    names: &Names<'_>,
    patterns: &[Option<Pattern>],
    report: &mut Report,
) {
    let mut silent = Report::default();
    for (declared, compiled) in record.refs.iter().zip(refs) {
        for (declared_target, target) in declared.targets.iter().zip(&mut compiled.targets) {
            let Some((_, line)) = declared_target.line() else {
                continue;
            };
            let Some((via, span)) = &line.via else {
                continue;
            };
            let found = patterns
                .iter()
                .flatten()
                .find(|pattern| pattern.name == *via);
            let Some(pattern) = found else { continue };
            let finds = TargetName::Record(match pattern.returns.as_slice() {
                [one] => one.clone(),
                _ => RecordName::Entity(String::new()),
            });
            if !pattern.one || finds != target.to {
                let message = format!("`{via}` does not find one `{}`", line.target.0);
                report
                    .add(Code::UnknownPattern, *span, message)
                    .help("a ref is found by a pattern with `one = true` that returns its target");
                continue;
            }
            for parameter in &pattern.parameters {
                let argument = line
                    .arguments
                    .iter()
                    .find(|argument| argument.part.0 == parameter.name);
                let path = match argument {
                    Some(argument) => argument.path.names.join("."),
                    None => parameter.name.clone(),
                };
                let path = crate::template::dotted(&path);
                match names.resolve(&path, *span, &mut silent) {
                    Some(reading) => target.arguments.push(Argument {
                        part: parameter.name.clone(),
                        path: reading.path.to_string(),
                        many: false,
                    }),
                    None => {
                        let part = IdentityPart {
                            name: parameter.name.clone(),
                            attribute: parameter.name.clone(),
                        };
                        unbound(&part, &line.target.0, declared.span, report);
                    }
                }
            }
            target.finder = finder::find(record, declared.by.as_ref(), target, names.world);
        }
    }
}
