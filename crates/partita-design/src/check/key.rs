//! The key templates of entities and views.

use partita_core::expression::Span;

use super::entity::{self, Scope};
use super::shape::Shape;
use super::table::{self, Discriminator};
use super::view;
use crate::codes::Code;
use crate::design::{KeyTemplates, RecordName, Source};
use crate::diagnostic::Report;
use crate::document::{Field, Section, Text};
use crate::syntax::template::{self, Piece};
use crate::template::{Part, Template};
use crate::types::AttributeType;

/// One key template.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// With the names under which attributes are stored.
    pub(crate) template: Template,
    pub(crate) shape: Shape,
    /// As the file has it.
    pub(crate) written: String,
    /// Its place.
    pub(crate) span: Span,
    /// The placeholders as they are written: name, stored name, place.
    pub(crate) holes: Vec<(String, String, Span)>,
}

/// The two keys of a record; each is `None` after a report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    pub(crate) partition: Option<Key>,
    pub(crate) sort: Option<Key>,
}

impl Keys {
    pub(crate) fn both(&self) -> Option<(&Key, &Key)> {
        Some((self.partition.as_ref()?, self.sort.as_ref()?))
    }

    pub(crate) fn compile(&self) -> Option<KeyTemplates> {
        let (partition, sort) = self.both()?;
        Some(KeyTemplates {
            partition: partition.template.clone(),
            sort: sort.template.clone(),
        })
    }

    /// The placeholders of both keys, in order.
    pub(crate) fn holes(&self) -> impl Iterator<Item = &(String, String, Span)> {
        let keys = self.partition.iter().chain(&self.sort);
        keys.flat_map(|key| &key.holes)
    }
}

/// An entity or a view, as collisions and patterns see it.
pub(crate) struct Record<'d> {
    pub(crate) name: RecordName,
    /// Its name in `[[accept]]`, such as `entity.Story`.
    pub(crate) place: &'d str,
    pub(crate) keys: &'d Keys,
    pub(crate) discriminator: Option<&'d (String, Span)>,
    /// The attributes of the entity, or of the view's source; `None` when that is unknown.
    pub(crate) scope: Option<&'d Scope>,
    /// What a view copies; `None` for an entity, which has everything.
    pub(crate) keep: Option<&'d [String]>,
}

impl Record<'_> {
    pub(crate) fn title(&self) -> &str {
        match &self.name {
            RecordName::Entity(name) | RecordName::View(name) => name,
        }
    }

    /// Whether its items have the attribute: stored, or in their keys.
    pub(crate) fn has(&self, attribute: &str) -> bool {
        let is_stored = |keep: &[String]| keep.iter().any(|kept| kept == attribute);
        self.keep.is_none_or(is_stored)
            || self.keys.holes().any(|(_, stored, _)| stored == attribute)
    }
}

/// All records of a design, entities first.
pub(crate) fn records<'d>(
    entities: &'d [entity::Draft<'_>],
    views: &'d [view::Draft],
) -> Vec<Record<'d>> {
    let entities = entities.iter().map(|entity| Record {
        name: RecordName::Entity(entity.name.clone()),
        place: &entity.place,
        keys: &entity.keys,
        discriminator: entity.discriminator.as_ref(),
        scope: Some(&entity.scope),
        keep: None,
    });
    let views = views.iter().map(|view| Record {
        name: RecordName::View(view.name.clone()),
        place: &view.place,
        keys: &view.keys,
        discriminator: view.discriminator.as_ref(),
        scope: view.scope.as_ref(),
        keep: Some(&view.keep),
    });
    entities.chain(views).collect()
}

/// Reads the two key templates of a section. Without a scope, because the view's source is
/// unknown, they are only parsed.
pub(crate) fn check(
    section: &mut Section<'_>,
    table: &table::Draft,
    scope: Option<&Scope>,
    report: &mut Report,
) -> Keys {
    let Some(names) = &table.keys else {
        return Keys::default();
    };
    let [partition, sort] = names.each_ref().map(|name| {
        let native = scope.and_then(|scope| scope.find(name));
        match (section.text(name, report), native) {
            (Field::Given(text), _) => read(text, scope, report),
            // An attribute under the name of a key was reported where it is declared.
            (Field::Absent, Some(_)) => None,
            (Field::Absent, None) => {
                section.missing(name, "\"STORY#{storyId}\"", report);
                None
            }
            (Field::Broken, _) => None,
        }
    });
    if let Some(sort) = &sort {
        warn_of_numbers(sort, &section.place, &names[1], report);
    }
    Keys { partition, sort }
}

/// Reads the value of the discriminator, which is the record's name when it is not written.
pub(crate) fn discriminator(
    section: &mut Section<'_>,
    table: &table::Draft,
    (name, span): (&str, Span),
    report: &mut Report,
) -> Option<(String, Span)> {
    let Discriminator::Named(attribute) = &table.discriminator else {
        return None;
    };
    match section.text(attribute, report) {
        Field::Absent => Some((name.to_owned(), span)),
        Field::Broken => None,
        Field::Given(text) => Some(super::spot(text)),
    }
}

fn read(text: &Text, scope: Option<&Scope>, report: &mut Report) -> Option<Key> {
    if text.as_str().is_empty() {
        report.add(Code::TemplateSyntax, text.span(), "a key may not be empty");
        return None;
    }
    let pieces = template::parse(text, report)?;
    let scope = scope?;
    let mut template = Template::default();
    let mut holes = Vec::new();
    let mut is_good = true;
    for piece in pieces {
        template.parts.push(match piece {
            Piece::Text(text) => Part::Text(text),
            Piece::Hole(name, span) => match part(&name, span, scope, report) {
                Some(stored) => {
                    holes.push((name, stored.clone(), span));
                    Part::Value(stored)
                }
                None => {
                    is_good = false;
                    continue;
                }
            },
        });
    }
    is_good.then(|| Key {
        shape: Shape::new(&template, |name| scope.kind(name)),
        template,
        written: text.as_str().to_owned(),
        span: text.span(),
        holes,
    })
}

/// The stored name of a placeholder; `None` after a report, also one elsewhere.
fn part(name: &str, span: Span, scope: &Scope, report: &mut Report) -> Option<String> {
    let attribute = scope.resolve(name, span, report)?;
    let kind = attribute.kind.as_ref()?;
    if !matches!(
        kind,
        AttributeType::Bool | AttributeType::List(_) | AttributeType::Any
    ) {
        return Some(attribute.name.clone());
    }
    let what = super::noun(kind);
    report
        .add(
            Code::KeyPartType,
            span,
            format!("`{name}` is {what} and cannot stand in a key"),
        )
        .help("use a `string`, `ulid`, `timestamp` or `number`")
        .related(attribute.span, "declared here");
    None
}

/// Numbers are written into keys as they are, and keys sort as text.
fn warn_of_numbers(key: &Key, place: &str, attribute: &str, report: &mut Report) {
    for hole in key
        .shape
        .segments
        .iter()
        .filter_map(|segment| segment.hole())
    {
        if hole.kind != Some(AttributeType::Number) {
            continue;
        }
        let written = key.holes.iter().find(|(_, stored, _)| *stored == hole.name);
        let (name, span) = written.map_or((&hole.name, key.span), |(name, _, span)| (name, *span));
        report
            .add(
                Code::UnpaddedNumber,
                span,
                format!("`{name}` is a number, and keys sort as text: 10 comes before 9"),
            )
            .acceptable(vec![vec![format!("{place}.{attribute}")]]);
    }
}

/// Reports what a primary key of an entity may not have.
pub(crate) fn check_identity(keys: &Keys, scope: &Scope, report: &mut Report) {
    for (name, stored, span) in keys.holes() {
        let Some(attribute) = scope.find(stored) else {
            continue;
        };
        if attribute.optional {
            report
                .add(
                    Code::OptionalKeyPart,
                    *span,
                    format!("`{name}` may be missing, but it is part of the primary key"),
                )
                .help("take the `?` away")
                .related(attribute.span, "declared here");
        }
        if attribute.source == Source::NowOnWrite {
            report
                .add(
                    Code::ChangingKeyPart,
                    *span,
                    format!("`{name}` changes with every write, but it tells the item apart"),
                )
                .help("use an attribute that stays, such as one with `= now on create`")
                .related(attribute.span, "declared here");
        }
    }
}
