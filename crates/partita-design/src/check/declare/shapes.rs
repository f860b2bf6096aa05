//! `[shape.X]`: maps with named fields.

use crate::check::declare::sections::check_name;
use crate::check::declare::{Named, collections};
use crate::codes::Code;
use crate::document::{Content, Name, Section};
use crate::syntax::attribute::{self, Head};
use crate::types::{AttributeType, Field, Shape};

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
    for (index, name) in names.iter().enumerate() {
        if contains_itself(index, &shapes) {
            let message = format!("the shape `{}` contains itself", shapes[index].name);
            name.report(Code::ShapeCycle, message)
                .help("write `map` where it does");
            // Nothing of it is filled in, so that what follows ends.
            shapes[index].fields.clear();
            shapes[index].open = true;
        }
    }
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

fn contains_itself(start: usize, shapes: &[Shape]) -> bool {
    let mut seen = vec![false; shapes.len()];
    let mut open = vec![start];
    while let Some(index) = open.pop() {
        for field in &shapes[index].fields {
            let Some(name) = inner(&field.kind) else {
                continue;
            };
            let Some(next) = shapes.iter().position(|shape| shape.name == name) else {
                continue;
            };
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
