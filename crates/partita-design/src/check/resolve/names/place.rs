//! The way along one path: from where it begins, through refs and into maps and lists.

use partita_core::expression::{Path, Span, Step};

use super::{Meaning, Names};
use crate::check::declare::reference::DeclaredRef;
use crate::check::declare::symbols::DeclaredRecord;
use crate::codes::Code;
use crate::design::{CallerSource, ConstantsId, RefId, RefTo};
use crate::expression::{Hop, Origin, Reading};
use crate::syntax::template::is_name;
use crate::types::{AttributeType, Count};

/// Refs in a row. More would read an item for each.
const HOPS_MAX: usize = 8;

/// A path that is being resolved.
pub(super) struct Place<'n, 'w> {
    pub(super) names: &'n Names<'w>,
    pub(super) written: &'n Path,
    pub(super) span: Span,
}

impl Place<'_, '_> {
    pub(super) fn reading(&self, origin: Origin, kind: AttributeType) -> Reading {
        Reading {
            path: self.written.clone(),
            origin,
            hops: Vec::new(),
            attribute: String::new(),
            kind,
            optional: false,
            by_key: false,
            secret: false,
        }
    }

    pub(super) fn extra(&self, meaning: &Meaning, rest: &[Step]) -> Option<Reading> {
        match meaning {
            Meaning::Value {
                kind,
                optional,
                origin,
                stored,
            } => {
                let (kind, inner) = self.descend(kind, rest)?;
                let attribute = stored.clone().unwrap_or_default();
                Some(Reading {
                    attribute,
                    optional: *optional || inner,
                    ..self.reading(origin.clone(), kind)
                })
            }
            Meaning::Item(record, origin) => {
                let record = &self.names.symbols[*record];
                if rest.is_empty() {
                    return self.refuse_item();
                }
                let mut reading = self.inside(record, origin.clone(), rest, Vec::new())?;
                // The element stays in front of the path.
                let mut steps = vec![Step::Field(reading.path.root.clone())];
                steps.append(&mut reading.path.steps);
                reading.path = Path {
                    root: self.written.root.clone(),
                    steps,
                    span: self.written.span,
                };
                Some(reading)
            }
        }
    }

    pub(super) fn caller(&self, rest: &[Step]) -> Option<Reading> {
        let callers = &self.names.symbols.callers;
        let field = match rest {
            [] => return Some(self.reading(Origin::Caller, AttributeType::string())),
            [Step::Field(name)] => name.as_str(),
            _ => "",
        };
        let kind = match field {
            "role" if callers.roles.is_empty() => AttributeType::string(),
            "role" => AttributeType::Enum(callers.roles.clone()),
            "groups" => AttributeType::List {
                element: Box::new(AttributeType::string()),
                count: Count::default(),
            },
            _ => {
                let message = format!("there is no `{}`", self.written);
                self.names
                    .report(Code::UnknownAttribute, self.span, message)
                    .help("write `caller` for the caller's id, `caller.role` or `caller.groups`");
                return None;
            }
        };
        let source = match field {
            "role" => &callers.role,
            _ => &callers.groups,
        };
        // The roles of the token are listed; those of an attribute have the attribute's type.
        let kind = match (source, &callers.entity) {
            (CallerSource::Attribute(name), Some(entity)) => {
                let found = self.names.symbols[*entity].find(name);
                let found = found.and_then(|declared| declared.kind.clone());
                found.unwrap_or(kind)
            }
            _ => kind,
        };
        Some(Reading {
            attribute: field.to_owned(),
            optional: true,
            ..self.reading(Origin::Caller, kind)
        })
    }

    /// A path that begins in a record.
    pub(super) fn inside(
        &self,
        record: &DeclaredRecord,
        origin: Origin,
        steps: &[Step],
        mut hops: Vec<Hop>,
    ) -> Option<Reading> {
        let Some(Step::Field(first)) = steps.first() else {
            return None;
        };
        let is_attribute = record.find(first).is_some() || record.has_inside(first);
        let own = hops.is_empty() && origin == Origin::Item;
        let found = record
            .reference(first)
            .map(|(id, found)| (Some((record.id, id)), found));
        let mut extra = self.names.refs.iter().enumerate().filter(|_| own);
        let extra = || {
            let (at, found) = extra.find(|(_, one)| one.name.0 == *first)?;
            // A view has those of its source behind the one to its source.
            let id = self.names.view.map(|view| (view, RefId::new(at + 1)));
            Some((id, found))
        };
        match found.or_else(extra) {
            Some((id, reference)) if !is_attribute => {
                hops.push(Hop {
                    name: reference.name.0.clone(),
                    reference: id,
                });
                self.through(record, origin, reference, &steps[1..], hops)
            }
            _ => self.attribute_of(record, origin, steps, hops),
        }
    }

    /// A path through a ref. Where the ref has several targets, the rest must be in all of them.
    fn through(
        &self,
        record: &DeclaredRecord,
        origin: Origin,
        reference: &DeclaredRef,
        rest: &[Step],
        hops: Vec<Hop>,
    ) -> Option<Reading> {
        if !self.names.with_refs {
            let message = format!(
                "`{}` leads to another item, and this is computed from the item alone",
                self.written
            );
            self.names
                .report(Code::PathNotHere, self.span, message)
                .help("store the value in an attribute, such as `name = \"string = ref.name\"`");
            return None;
        }
        if rest.is_empty() {
            return self.refuse_item();
        }
        if hops.len() > HOPS_MAX {
            let message = format!("a path goes through at most {HOPS_MAX} refs");
            self.names.report(Code::PathNotHere, self.span, message);
            return None;
        }
        let mut found: Option<Reading> = None;
        for target in &reference.targets {
            let reading = match &target.as_ref()?.to {
                RefTo::Record(record) => {
                    let target = &self.names.symbols[*record];
                    let mut reading = self.inside(target, origin.clone(), rest, hops.clone())?;
                    reading.by_key |=
                        reading.hops.len() == hops.len() && target.is_identity(&reading.attribute);
                    reading
                }
                RefTo::Constants(table) => {
                    self.constant(*table, origin.clone(), rest, hops.clone())?
                }
            };
            found = Some(match found {
                None => reading,
                Some(first) => self.agree(first, reading)?,
            });
        }
        let mut reading = found?;
        let is_known = self.leads_somewhere(record, reference, &hops);
        reading.optional |= !is_known && reference.is_optional(record, self.names.symbols);
        let mut steps = vec![Step::Field(reading.path.root)];
        steps.append(&mut reading.path.steps);
        reading.path = Path {
            root: reference.name.0.as_str().into(),
            steps,
            span: self.written.span,
        };
        Some(reading)
    }

    /// Whether conditions say that an optional ref leads somewhere: something is known to be
    /// behind it, or what it is made of is known to be there.
    fn leads_somewhere(
        &self,
        record: &DeclaredRecord,
        reference: &DeclaredRef,
        hops: &[Hop],
    ) -> bool {
        let way: Vec<&str> = hops.iter().map(|hop| hop.name.as_str()).collect();
        let behind = format!("{}.", way.join("."));
        let present = &self.names.present;
        if present.iter().any(|path| path.starts_with(&behind)) {
            return true;
        }
        let optional = reference.optional_arguments(record, self.names.symbols);
        hops.len() == 1
            && !optional.is_empty()
            && optional.iter().all(|argument| present.contains(argument))
    }

    /// One reading for two targets of a ref.
    fn agree(&self, one: Reading, two: Reading) -> Option<Reading> {
        if one.path == two.path && one.kind.stored_as() == two.kind.stored_as() {
            let optional = one.optional || two.optional;
            let by_key = one.by_key && two.by_key;
            let secret = one.secret || two.secret;
            return Some(Reading {
                optional,
                by_key,
                secret,
                ..one
            });
        }
        let message = format!(
            "`{}` is not the same in all targets: `{}`, {} in one, `{}`, {} in another",
            self.written,
            one.path,
            one.kind.noun(),
            two.path,
            two.kind.noun()
        );
        self.names.report(Code::PathNotHere, self.span, message);
        None
    }

    /// A field of a row of constants. Not every row has every field.
    fn constant(
        &self,
        table: ConstantsId,
        origin: Origin,
        rest: &[Step],
        hops: Vec<Hop>,
    ) -> Option<Reading> {
        let constants = &self.names.symbols[table];
        let [Step::Field(field)] = rest else {
            return self.refuse_item();
        };
        let mut values = constants.rows.values().filter_map(|row| row.get(field));
        let Some(value) = values.next() else {
            let mut fields: Vec<&str> = Vec::new();
            let all = constants.rows.values().flat_map(|row| row.keys());
            all.for_each(|name| {
                if !fields.contains(&name.as_str()) {
                    fields.push(name);
                }
            });
            let message = format!("no row of `{}` has `{field}`", constants.name);
            self.names
                .report(Code::UnknownAttribute, self.span, message)
                .suggest(field, fields);
            return None;
        };
        let kind = match value {
            partita_core::Value::N(_) => AttributeType::Number(Default::default()),
            partita_core::Value::Bool(_) => AttributeType::Bool,
            partita_core::Value::S(_) => AttributeType::string(),
            _ => AttributeType::Any,
        };
        let everywhere = constants.rows.values().all(|row| row.contains_key(field));
        Some(Reading {
            path: Path::attribute(field.clone()),
            hops,
            attribute: field.to_string(),
            optional: !everywhere,
            ..self.reading(origin, kind)
        })
    }

    pub(super) fn attribute_of(
        &self,
        record: &DeclaredRecord,
        origin: Origin,
        steps: &[Step],
        hops: Vec<Hop>,
    ) -> Option<Reading> {
        let fields: Vec<&str> = steps
            .iter()
            .map_while(|step| match step {
                Step::Field(name) => Some(name.as_str()),
                Step::Index(_) => None,
            })
            .collect();
        // The longest name wins: `stats.reads` before `stats`.
        for length in (1..=fields.len()).rev() {
            let name = fields[..length].join(".");
            if let Some(declared) = record.find(&name) {
                record.refuse_password(declared, self.span)?;
                let kind = declared.kind.clone().unwrap_or(AttributeType::Any);
                let rest = &steps[length..];
                let (kind, inner) = self.descend(&kind, rest)?;
                let mut path = crate::template::dotted(&declared.name);
                path.steps.extend(rest.iter().cloned());
                path.span = self.written.span;
                if origin == Origin::Old {
                    path.steps.insert(0, Step::Field(path.root));
                    path.root = "old".into();
                }
                let is_missing = declared.optional && !declared.has_default();
                return Some(Reading {
                    path,
                    hops,
                    attribute: declared.name.clone(),
                    optional: is_missing || inner || origin == Origin::Old,
                    secret: declared.secret,
                    ..self.reading(origin, kind)
                });
            }
        }
        let whole = fields.join(".");
        if record.has_inside(&whole) {
            for inside in record.inside(&whole) {
                record.refuse_password(inside, self.span)?;
            }
            return Some(Reading {
                path: self.written.clone(),
                hops,
                attribute: whole,
                ..self.reading(origin, AttributeType::Map)
            });
        }
        self.unknown(record, &fields)
    }

    fn unknown(&self, record: &DeclaredRecord, fields: &[&str]) -> Option<Reading> {
        if record.is_broken {
            return None;
        }
        let name = fields.join(".");
        let message = format!("`{}` has no attribute `{name}`", record.title());
        let extra = self.names.extra.iter().map(|(name, _)| name.as_str());
        let extra = extra.filter(|name| fields.len() == 1 && is_name(name));
        let mut known: Vec<&str> = Vec::new();
        for name in record.names().chain(extra) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        let finding = self
            .names
            .report(Code::UnknownAttribute, self.span, message);
        if name.contains('-') {
            finding.help("a minus has spaces on both sides")
        } else {
            finding.suggest(&name, known)
        };
        None
    }

    /// The type behind further steps, and whether what is there may be missing.
    fn descend(&self, kind: &AttributeType, rest: &[Step]) -> Option<(AttributeType, bool)> {
        let Some((first, rest)) = rest.split_first() else {
            return Some((kind.clone(), false));
        };
        match (kind, first) {
            (AttributeType::Shape(shape), Step::Field(name)) => match shape.field(name) {
                Some(field) => {
                    let (kind, optional) = self.descend(&field.kind, rest)?;
                    Some((kind, optional || field.optional))
                }
                None if shape.open => Some((AttributeType::Any, true)),
                None => {
                    let message = format!("the shape `{}` has no field `{name}`", shape.name);
                    let fields = shape.fields.iter().map(|field| field.name.as_str());
                    self.names
                        .report(Code::UnknownAttribute, self.span, message)
                        .suggest(name, fields);
                    None
                }
            },
            (AttributeType::List { element, .. }, Step::Index(_)) => {
                let (kind, _) = self.descend(element, rest)?;
                Some((kind, true))
            }
            (AttributeType::Map | AttributeType::Any, _) => Some((AttributeType::Any, true)),
            _ => {
                let message = format!("`{}` has no parts", self.written.root);
                self.names
                    .report(Code::UnknownAttribute, self.span, message);
                None
            }
        }
    }

    fn refuse_item(&self) -> Option<Reading> {
        let message = format!("`{}` is an item, not a value", self.written);
        self.names
            .report(Code::PathNotHere, self.span, message)
            .help(format!("name one of its attributes: `{}.…`", self.written));
        None
    }
}
