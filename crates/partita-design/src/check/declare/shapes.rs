//! `[shape.X]`: maps with named fields.

use std::collections::{BTreeMap, BTreeSet};

use crate::check::declare::sections::check_name;
use crate::check::declare::{Named, collections};
use crate::codes::Code;
use crate::document::{Content, Name, Section};
use crate::syntax::attribute::{self, Head};
use crate::types::{AttributeType, Field, Shape};

/// Fields of a shape, those of the shapes inside it included.
const FIELDS_MAX: usize = 500;
/// Shapes inside one another.
const DEPTH_MAX: usize = 16;

/// Reads the shapes, with the fields of the shapes inside them.
pub(crate) fn check(sections: Vec<Named<'_>>) -> Vec<Shape> {
    let names = sections.iter().map(|(name, _)| *name);
    let names: Vec<&Name> = names.collect();
    // A shape inside another is only named so far.
    let unfilled = names.iter().map(|name| Shape {
        name: name.text.clone(),
        fields: Vec::new(),
        open: false,
    });
    let unfilled: Vec<Shape> = unfilled.collect();
    let shapes = sections.into_iter();
    let shapes = shapes.map(|(name, section)| one(name, section, &unfilled));
    let mut shapes: Vec<Shape> = shapes.collect();
    let mut insides = insides(&shapes);
    for (index, name) in names.iter().enumerate() {
        if contains_itself(index, &insides) {
            let message = format!("the shape `{}` contains itself", shapes[index].name);
            name.report(Code::ShapeCycle, message)
                .help("write `map` where it does");
            // Nothing of it is filled in, so that what follows ends.
            shapes[index].fields.clear();
            shapes[index].open = true;
            insides[index].clear();
        }
    }
    bound(&names, &mut shapes, &insides);
    let plain = shapes.clone();
    for shape in &mut shapes {
        for field in &mut shape.fields {
            fill(&mut field.kind, &plain);
        }
    }
    shapes
}

fn one(name: &Name, mut section: Section<'_>, shapes: &[Shape]) -> Shape {
    let open = match section.entry("open") {
        Some((_, node)) if matches!(node.content, Content::Bool(_)) => {
            section.bool("open").given().unwrap_or(false)
        }
        _ => false,
    };
    let mut fields = Vec::new();
    for (field, node) in section.all() {
        let Content::Text(text) = &node.content else {
            if field.text != "open" || !matches!(node.content, Content::Bool(_)) {
                node.refuse(&field.text, "a string");
            }
            continue;
        };
        check_name(&field.text, field.span, &field.report);
        let line = attribute::parse(text, &[], shapes);
        if let Some(Head::Typed(kind)) = &line.head {
            let place = format!("shape.{}.{}", name.text, field.text);
            collections::warn(&field.text, Some(kind), place, field.span, &section.report);
        }
        if let Some(span) = line.elsewhere {
            let message = "a field of a shape is a file in a prefix, and nowhere else";
            section
                .report(Code::AttributeSyntax, span, message)
                .help("leave `or elsewhere` out, or write a field of its own for addresses");
        }
        match line.head {
            Some(Head::Typed(kind)) if line.value.is_none() => fields.push(Field {
                name: field.text.clone(),
                kind,
                optional: line.optional,
                file_in: line.file_in.map(|(prefix, _)| prefix),
            }),
            None => {}
            Some(_) => {
                let message = "a field of a shape has a type and no value";
                section.report(Code::AttributeSyntax, text.span(), message);
            }
        }
    }
    section.finish();
    Shape {
        name: name.text.clone(),
        fields,
        open,
    }
}

/// For every shape, the shapes that its fields are.
fn insides(shapes: &[Shape]) -> Vec<BTreeSet<usize>> {
    let places = shapes.iter().enumerate();
    let places: BTreeMap<&str, usize> = places
        .map(|(index, shape)| (shape.name.as_str(), index))
        .collect();
    let insides = shapes.iter().map(|shape| {
        let names = shape.fields.iter().filter_map(|field| inner(&field.kind));
        let found = names.filter_map(|name| places.get(name).copied());
        found.collect()
    });
    insides.collect()
}

fn contains_itself(start: usize, insides: &[BTreeSet<usize>]) -> bool {
    let mut seen = vec![false; insides.len()];
    let mut open = vec![start];
    while let Some(index) = open.pop() {
        for &next in &insides[index] {
            if next == start {
                return true;
            }
            if !seen[next] {
                seen[next] = true;
                open.push(next);
            }
        }
    }
    false
}

/// How large a shape is with the shapes inside it.
#[derive(Clone, Copy, Default)]
struct Extent {
    fields: usize,
    depth: usize,
}

/// Refuses shapes that are too large or too deep with the shapes inside them: they are filled in
/// wherever they are named, and three of a shape in each of the next would be too many soon.
fn bound(names: &[&Name], shapes: &mut [Shape], insides: &[BTreeSet<usize>]) {
    let places = names.iter().enumerate();
    let places: BTreeMap<&str, usize> = places
        .map(|(index, name)| (name.text.as_str(), index))
        .collect();
    let mut extents: Vec<Option<Extent>> = vec![None; shapes.len()];
    for start in 0..shapes.len() {
        // Inner shapes come first; no shape contains itself any more.
        let mut open = vec![start];
        while let Some(&index) = open.last() {
            let missing = insides[index].iter().find(|one| extents[**one].is_none());
            if let Some(&missing) = missing {
                open.push(missing);
                continue;
            }
            open.pop();
            if extents[index].is_none() {
                let mut extent = extent(&shapes[index], &places, &extents);
                if extent.fields > FIELDS_MAX || extent.depth > DEPTH_MAX {
                    let message = format!(
                        "a shape has at most {FIELDS_MAX} fields and {DEPTH_MAX} levels, with the shapes inside it"
                    );
                    names[index]
                        .report(Code::TooLarge, message)
                        .help("write `map` for what is inside");
                    shapes[index].fields.clear();
                    shapes[index].open = true;
                    extent = Extent::default();
                }
                extents[index] = Some(extent);
            }
        }
    }
}

fn extent(shape: &Shape, places: &BTreeMap<&str, usize>, known: &[Option<Extent>]) -> Extent {
    let mut extent = Extent::default();
    for field in &shape.fields {
        let index = inner(&field.kind).and_then(|name| places.get(name));
        let inside = index.and_then(|index| known[*index]).unwrap_or_default();
        extent.fields = extent.fields.saturating_add(1 + inside.fields);
        extent.depth = extent.depth.max(1 + inside.depth);
    }
    extent
}

/// The shape that a type is, or that its elements are.
fn inner(kind: &AttributeType) -> Option<&str> {
    match kind {
        AttributeType::Shape(shape) => Some(&shape.name),
        AttributeType::List { element, .. } => inner(element),
        _ => None,
    }
}

/// Puts the fields into the shapes of a type, which are only named so far.
fn fill(kind: &mut AttributeType, shapes: &[Shape]) {
    match kind {
        AttributeType::Shape(shape) => {
            if let Some(known) = shapes.iter().find(|known| known.name == shape.name) {
                *shape = known.clone();
                for field in &mut shape.fields {
                    fill(&mut field.kind, shapes);
                }
            }
        }
        AttributeType::List { element, .. } => fill(element, shapes),
        _ => {}
    }
}
