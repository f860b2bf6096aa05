//! What leaves the system: `mail` and `send`.

use crate::check::resolve::names::Names;
use crate::check::resolve::value;
use crate::codes::Code;
use crate::design::{EffectKind, EffectTarget, MailForm};
use crate::document::{Section, Text};
use crate::expression::Formula;
use crate::types::AttributeType;

/// Reads a mail or an event; `None` after a report.
pub(super) fn target(
    section: &mut Section<'_>,
    kind: EffectKind,
    text: &Text,
    names: &Names<'_>,
) -> Option<EffectTarget> {
    match kind {
        EffectKind::Mail => mail(section, names),
        _ => receiver(section, text, names),
    }
}

fn mail(section: &mut Section<'_>, names: &Names<'_>) -> Option<EffectTarget> {
    let to = line(section, "mail", "\"{email}\"", names);
    let subject = line(section, "subject", "\"Welcome, {name}\"", names);
    let text = line(section, "text", "\"…\"", names);
    let (to, subject) = (to?, subject?);
    // The text is sealed; address and subject are shown to administrators and pass other servers.
    open(section, "mail", &to, names)?;
    open(section, "subject", &subject, names)?;
    Some(EffectTarget::Mail(Box::new(MailForm {
        to,
        subject,
        text: text?,
    })))
}

/// A text of a mail.
fn line(section: &mut Section<'_>, key: &str, example: &str, names: &Names<'_>) -> Option<Formula> {
    let Some(node) = section.node(key) else {
        section.missing(key, example);
        return None;
    };
    let kind = AttributeType::string();
    let (formula, optional) = value::formula(key, node, Some(&kind), names)?;
    if optional {
        let message = format!("`{key}` is required, but this may be missing");
        names
            .report(Code::MissingValue, node.span, message)
            .help("write what to take then, such as `{name | ''}`, or a `when` that excludes it");
        return None;
    }
    Some(formula)
}

fn receiver(section: &mut Section<'_>, text: &Text, names: &Names<'_>) -> Option<EffectTarget> {
    let name = text.as_str();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() || name.len() > 60 || !name.chars().all(is_letter) {
        let message = format!("`{name}` cannot be the name of a receiver");
        text.report_here(Code::ReceiverName, message)
            .help("use letters, digits, hyphens and dots; the address is a setting of the server");
        section.touch(&["with"]);
        return None;
    }
    let mut with = Vec::new();
    if section.key_span("with").is_some() {
        let mut values = section.section("with")?;
        for (key, node) in values.all() {
            let (formula, _) = value::formula(&key.text, node, None, names)?;
            open(section, &key.text, &formula, names)?;
            with.push((key.text.clone(), formula));
        }
    } else {
        section.touch(&["with"]);
    }
    Some(EffectTarget::Receiver {
        name: name.to_owned(),
        with,
    })
}

/// Refuses a value with a secret in it, where others read it.
fn open(section: &Section<'_>, key: &str, value: &Formula, names: &Names<'_>) -> Option<()> {
    let Some(secret) = value.reads.iter().find(|reading| reading.secret) else {
        return Some(());
    };
    let message = format!("`{}` is secret, and `{key}` shows it", secret.path);
    let span = section.key_span(key).unwrap_or(section.span);
    names
        .report(Code::SecretSent, span, message)
        .help("leave it out; only the `text` of a mail may have secrets");
    None
}
