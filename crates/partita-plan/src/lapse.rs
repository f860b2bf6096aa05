//! Counters that start again with every period.

use partita_core::Map;
use partita_design::design::{Attribute, Period, Record};
use partita_design::{nested, time};

/// The attribute that has the last time of a counter that starts again with every period, if that
/// period is over.
pub(crate) fn lapsed<'d>(
    record: &'d Record,
    attribute: &'d Attribute,
    item: &Map,
    now_millis: i64,
) -> Option<&'d str> {
    let (period, name) = attribute.per.as_ref()?;
    let form = record.stored(name)?.kind.time_form()?;
    let last = form.read(nested::get(item, name)?)?;
    let form = match period {
        Period::Day => "%Y-%m-%d",
        Period::Month => "%Y-%m",
    };
    let is_over = time::format_as(last, form) != time::format_as(now_millis, form);
    is_over.then_some(name.as_str())
}
