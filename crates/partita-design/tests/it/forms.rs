//! Every form of a placeholder in every place that takes one: a design, or errors.

use partita_design::{Severity, check};

const DESIGN: &str = r#"
design = "notes"

[table]
name          = "notes"
key           = ["PK", "SK"]
discriminator = "Kind"
ttl           = "until"

[index]
GSI1 = ["GPK", "GSK"]

[entity.Note]
PK = "NOTE#ENTITY_PK"
SK = "NOTE#ENTITY_SK"
GPK = "G#ENTITY_GPK"
GSK = "G#ENTITY_GSK"

[entity.Note.attributes]
id    = "string"
word  = "string"
maybe = "string?"
order = "int 0.."
at    = "timestamp"
box.w = "string"
tags  = "list of string ..9 default [], each /^[^#]+$/"
until = "expiry?"

[entity.Note.unique]
word = "UNIQUE#ENTITY_UNIQUE"

[entity.Note.allow]
"*" = "public"

[view.V]
of  = "Note"
PK  = "V#VIEW_PK"
SK  = "{id}#VIEW_SK"
GPK = "V#VIEW_GPK"
GSK = "V#VIEW_GSK"

[view.Tagged]
of   = "Note"
each = "tag in tags"
PK   = "TAG#{tag}#EACH_PK"
SK   = "{id}#EACH_SK"

[view.Old]
history-of = "Note"
when       = "changed(word)"
PK         = "OLD#{id}#HISTORY_PK"
SK         = "{made}#HISTORY_SK"

[view.Old.attributes]
made = "timestamp = now, rising"

[trigger.t]
on     = "create Note"
upsert = "Log"
with   = { log = "EFFECT" }

[entity.Log]
PK = "LOG#{log}"
SK = "LOG"

[entity.Log.attributes]
log = "string"

[entity.Log.allow]
"*" = "public"
"#;

const PLACES: [&str; 14] = [
    "ENTITY_PK",
    "ENTITY_SK",
    "ENTITY_GPK",
    "ENTITY_GSK",
    "ENTITY_UNIQUE",
    "VIEW_PK",
    "VIEW_SK",
    "VIEW_GPK",
    "VIEW_GSK",
    "EACH_PK",
    "EACH_SK",
    "HISTORY_PK",
    "HISTORY_SK",
    "EFFECT",
];

const FORMS: [&str; 22] = [
    "x",
    "{word}",
    "{maybe}",
    "{order}",
    "{order:010}",
    "{order:010.2}",
    "{at}",
    "{at:%Y-%m}",
    "{box.w}",
    "{until}",
    "{maybe | 'other'}",
    "{maybe | word}",
    "{lower(word)}",
    "{lower(trim(word))}",
    "{lower(maybe)}",
    "{lower(maybe) | 'x'}",
    "{word:010}",
    "{order + 1:05}",
    "{size(tags)}",
    "{tags}",
    "{nothing}",
    "{at + 1 day}",
];

#[test]
fn of_placeholders_are_a_design_or_errors() {
    let mut good = 0;
    for place in PLACES {
        for form in FORMS {
            let mut source = DESIGN.replace(place, form);
            for other in PLACES {
                let plain = match other {
                    "ENTITY_PK" | "EFFECT" => "{id}",
                    "ENTITY_UNIQUE" => "{word}",
                    _ => "x",
                };
                source = source.replace(other, plain);
            }
            let (design, diagnostics) = check(&source, &|_| None);
            let is_error = |severity: Severity| severity == Severity::Error;
            let has_errors = diagnostics.iter().any(|one| is_error(one.severity));
            assert_eq!(
                design.is_some(),
                !has_errors,
                "{place} {form}: {diagnostics:#?}"
            );
            good += usize::from(design.is_some());
        }
    }
    assert!(good > 100, "{good} designs");
}
