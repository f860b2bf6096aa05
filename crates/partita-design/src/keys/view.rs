//! The keys of a view's records, asked for by the view's own attributes or by its source's.

use partita_core::{Map, Value};

use super::{KeyFault, Maker, RecordKeys, completed, derived, given};
use crate::design::{Design, EachOver, Record, View};
use crate::expression::With;
use crate::nested;
use crate::template::{Template, dotted};

/// The keys of a view's records, from attributes of the view, of its source, or of both.
///
/// Where they name the source's item, there is a record for each element, or one, while the view's
/// `when` holds. Otherwise they speak of one record, which may have been left by an earlier state of
/// the item; so it is with a history always. All faults are reported at once.
pub(super) fn keys(
    design: &Design,
    (record, view): (&Record, &View),
    attributes: &Map,
) -> Result<Vec<RecordKeys>, Vec<KeyFault>> {
    let source = &design[view.of];
    let (own, rest, mut faults) = apart((record, view), source, attributes);
    let (given, wrong) = given(source, &rest);
    faults.extend(wrong);
    let mut identity = source.identity.iter();
    let names_item = identity.all(|part| dotted(&part.attribute).find(&given).is_some());
    // Of a view for each element, the list or one of its records.
    let names_record = view.each.as_ref().is_some_and(|each| {
        let lists = matches!(&each.over, EachOver::List { reading, .. }
            if reading.path.find(&given).is_some());
        !lists && attributes.keys().any(|name| !rest.contains_key(name))
    });
    let mut maker = Maker {
        table: &design[record.table],
        item: completed(source, given),
        faults,
    };
    let mut records = Vec::new();
    if names_item && !names_record && !view.history {
        maker.view(record, view, &own, &mut records);
    } else {
        let scope = maker.item.clone();
        let mut inner = match view.each.as_ref() {
            Some(each) if attributes.contains_key(&each.name) => {
                let (name, rest) = (each.name.as_str(), &scope);
                let value = attributes.get(name).unwrap_or(&Value::Null);
                derived(record, rest, &With { name, value, rest })
            }
            _ => derived(record, &scope, &scope),
        };
        overlay(&mut inner, &own);
        maker.demand(&record.key.partition, &inner);
        maker.demand(&record.key.sort, &inner);
        records.extend(maker.record(record, Some(&inner)));
    }
    if maker.faults.is_empty() {
        Ok(records)
    } else {
        Err(maker.faults)
    }
}

/// What is given of the view itself, what is given of its source, and what is wrong with the former.
fn apart(
    (record, view): (&Record, &View),
    source: &Record,
    attributes: &Map,
) -> (Map, Map, Vec<KeyFault>) {
    let (mut own, mut rest, mut faults) = (Map::new(), Map::new(), Vec::new());
    for (name, value) in attributes {
        let declared = record.stored(name).filter(|one| one.is_declared());
        let is_element = view.each.iter().any(|each| each.name == *name);
        if let Some(attribute) = declared {
            if let Err(expected) = attribute.kind.check(value) {
                let name = name.to_string();
                faults.push(KeyFault::Type { name, expected });
            }
            own.insert(name.clone(), value.clone());
        }
        // One name may be the view's, and what templates call an attribute of its source.
        if source.attribute(name).is_some() || (declared.is_none() && !is_element) {
            rest.insert(name.clone(), value.clone());
        }
    }
    (own, rest, faults)
}

/// Puts what is given of a view in front of what follows from its source.
pub(super) fn overlay(inner: &mut Map, own: &Map) {
    for (name, value) in own {
        nested::set(inner, name, value.clone());
    }
}

impl Maker<'_> {
    /// Reports the parts of a key that are missing.
    fn demand(&mut self, template: &Template, item: &Map) {
        for name in template.names() {
            let fault = KeyFault::Missing { name: name.clone() };
            if dotted(&name).find(item).is_none() && !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
    }
}
