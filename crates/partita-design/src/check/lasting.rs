//! Attributes that nothing ever changes once their item is there.

use crate::design::{Attribute, Design, Entity, Source, Timing};

/// The entities of a design, in which such attributes are marked.
pub(super) fn marked(design: &Design) -> Vec<Entity> {
    let mut entities = design.entities.clone();
    for entity in &mut entities {
        let identity = &entity.identity;
        for attribute in &mut entity.attributes {
            // An identity lasts also where it is movable: whatever stands at its address has it.
            let is_identity = identity.iter().any(|part| part.attribute == attribute.name);
            attribute.lasting =
                attribute.fixed || is_identity || is_stamped_once(design, attribute);
        }
    }
    entities
}

fn is_stamped_once(design: &Design, attribute: &Attribute) -> bool {
    let on_create = matches!(
        &attribute.source,
        Source::Computed(computed) if computed.timing == Timing::Create
    );
    on_create && !is_assigned(design, &attribute.name)
}

/// Whether an action or an effect writes an attribute of this name, whichever record it is in.
fn is_assigned(design: &Design, name: &str) -> bool {
    let actions = design.actions.iter();
    let actions = actions.flat_map(|one| {
        one.changes
            .names()
            .chain(one.then.iter().flat_map(|effect| effect.changes.names()))
    });
    let triggers = design.triggers.iter();
    let triggers = triggers.flat_map(|one| one.effect.changes.names());
    actions.chain(triggers).any(|assigned| assigned == name)
}
