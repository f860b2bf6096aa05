//! `[accounts]`: people who sign in, on the design's own entities. Whether the parts fit together is
//! looked at when the design is complete, by the lint of the same name.

use partita_core::expression::{Comparator, Condition, Operand};
use partita_core::{Map, Type, Value};

use crate::check::compile::bucket::duration;
use crate::check::declare::sections::spot;
use crate::check::declare::symbols::{DeclaredRecord, Symbols};
use crate::check::resolve::condition;
use crate::codes::Code;
use crate::design::accounts::{
    AccountLink, AccountMails, AccountSession, Accounts, ActiveMark, ClaimSource, HashScheme,
    MailText, Provision, SignIn,
};
use crate::design::{AttributeId, CallerSource};
use crate::document::{Content, Name, Node, Section, Text};
use crate::types::AttributeType;

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
/// A session that is not used for so long ends.
const SESSION_SECONDS: u64 = 7 * DAY;
/// A session ends so long after its sign-in at the latest.
const SESSION_SECONDS_MAX: u64 = 30 * DAY;

/// Keys of `[accounts]` that belong to signing in.
const SIGN_IN: [&str; 10] = [
    "login",
    "password",
    "imported",
    "session",
    "unverified-may-sign-in",
    "subjects",
    "trusted",
    "verification",
    "reset",
    "mail",
];

/// Reads the section; `None` after a report, and `Some(None)` where there is none.
pub(crate) fn check(root: &mut Section<'_>, symbols: &Symbols) -> Option<Option<Accounts>> {
    if root.entry("accounts").is_none() {
        return Some(None);
    }
    let mut section = root.section("accounts")?;
    let users = Part::open(&mut section, "\"User\"", symbols);
    // What is inside is read even where the users are not known, so that it is reported too.
    let provision = section.key_span("provision").is_some();
    let signing = SIGN_IN.iter().any(|key| section.key_span(key).is_some()) || !provision;
    let parts = signing.then(|| sign_in_parts(&mut section, symbols));
    section.touch(&SIGN_IN);
    let read = users.map(|users| {
        let sign_in = match parts {
            Some(parts) => sign_in(&mut section, &users, parts).map(Some),
            None => Some(None),
        };
        of_users(&mut section, &users, symbols, sign_in)
    });
    section.touch(&["provision"]);
    section.finish();
    Some(Some(read??))
}

/// The sections about signing in, of which each may be broken.
struct SignInParts {
    session: Option<Option<AccountSession>>,
    verification: Option<Option<AccountLink>>,
    reset: Option<Option<AccountLink>>,
    mails: Option<AccountMails>,
}

fn sign_in_parts(section: &mut Section<'_>, symbols: &Symbols) -> SignInParts {
    let session = inside(section, "session", |part| session(part, symbols));
    if section.key_span("session").is_none() {
        section.missing("session", "{ entity = \"Session\", … }");
    }
    let verification = inside(section, "verification", |one| link(one, DAY, symbols));
    let reset = inside(section, "reset", |one| link(one, HOUR, symbols));
    if let (Some(Some(_)), Some(None), Some(span)) =
        (&reset, &verification, section.key_span("reset"))
    {
        let message = "a password is replaced by mail, and no address is ever confirmed";
        section
            .report(Code::AccountAttribute, span, message)
            .help("write `[accounts.verification]` too, or leave `[accounts.reset]` out");
    }
    SignInParts {
        session,
        verification,
        reset,
        mails: mails(section),
    }
}

/// How people sign in; `None` after a report.
fn sign_in(section: &mut Section<'_>, users: &Part<'_>, parts: SignInParts) -> Option<SignIn> {
    let login = users.required(section, "login", TEXT);
    let password = users.required(section, "password", PASSWORD);
    let imported = imported(section);
    let unverified = section.bool("unverified-may-sign-in").optional();
    let subjects = subjects(section, users);
    let trusted = trusted(section, subjects.as_deref());
    Some(SignIn {
        login: login?,
        password: password?,
        imported: imported?,
        unverified: unverified?.unwrap_or_default(),
        subjects: subjects?,
        trusted: trusted?,
        session: parts.session??,
        verification: parts.verification?,
        reset: parts.reset?,
        mails: parts.mails?,
    })
}

/// A section and the entity that it is about.
struct Part<'s> {
    record: &'s DeclaredRecord,
}

/// What an attribute must be, and the words for it.
type Demand = (fn(&AttributeType) -> bool, &'static str);

const TEXT: Demand = (|kind| kind.stored_as() == Some(Type::S), "a string");
const FLAG: Demand = (|kind| *kind == AttributeType::Bool, "a boolean");
const TIME: Demand = (|kind| kind.time_form().is_some(), "a time");
const PASSWORD: Demand = (|kind| *kind == AttributeType::Password, "a password");

impl<'s> Part<'s> {
    fn open(section: &mut Section<'_>, example: &str, symbols: &'s Symbols) -> Option<Self> {
        let text = section.required_text("entity", example).given()?;
        let record = symbols.resolve(&spot(text))?;
        if record.view.is_some() {
            let message = format!("`{}` is a view, and accounts are items", record.name);
            text.report_here(Code::AccountAttribute, message)
                .help("name the entity that it is of");
            return None;
        }
        Some(Part { record })
    }

    /// The attribute that a key must name.
    fn required(&self, section: &mut Section<'_>, key: &str, fits: Demand) -> Option<AttributeId> {
        let text = section.required_text(key, &format!("\"{key}\"")).given()?;
        self.attribute(text, fits)
    }

    /// The attribute that a key may name; `None` after a report.
    fn optional(
        &self,
        section: &mut Section<'_>,
        key: &str,
        fits: Demand,
    ) -> Option<Option<AttributeId>> {
        let text = section.text(key).optional()?;
        match text {
            Some(text) => self.attribute(text, fits).map(Some),
            None => Some(None),
        }
    }

    fn attribute(&self, text: &Text, (fits, expected): Demand) -> Option<AttributeId> {
        let attribute = self.record.resolve(text.as_str(), text.span())?;
        let kind = attribute.kind.as_ref()?;
        if !fits(kind) {
            let message = format!("`{}` is {}, not {expected}", text.as_str(), kind.noun());
            text.report_here(Code::ValueType, message)
                .related(attribute.span, "declared here");
            return None;
        }
        self.record.attribute_id(attribute)
    }
}

/// A section inside this one that may be left out; `None` after a report.
fn inside<'d, T>(
    section: &mut Section<'d>,
    key: &str,
    read: impl FnOnce(Section<'d>) -> Option<T>,
) -> Option<Option<T>> {
    if section.key_span(key).is_none() {
        section.touch(&[key]);
        return Some(None);
    }
    let inner = section.section(key)?;
    read(inner).map(Some)
}

/// What is said of the users themselves.
fn of_users(
    section: &mut Section<'_>,
    users: &Part<'_>,
    symbols: &Symbols,
    sign_in: Option<Option<SignIn>>,
) -> Option<Accounts> {
    let verified = users.optional(section, "verified", FLAG);
    let active = active(section, users);
    let signed_in = users.optional(section, "signed-in", TIME);
    let role = role(section, users, symbols);
    let new = new(section, users);
    let provision = inside(section, "provision", |part| provision(part, users));
    Some(Accounts {
        entity: users.record.id,
        verified: verified?,
        active: active?,
        signed_in: signed_in?,
        role: role?,
        new: new?,
        provision: provision?,
        sign_in: sign_in?,
    })
}

/// A flag, or an attribute and the value that says that an account may be used.
fn active(section: &mut Section<'_>, users: &Part<'_>) -> Option<Option<ActiveMark>> {
    let Some(text) = section.text("active").optional()? else {
        return Some(None);
    };
    if !text.as_str().contains([' ', '=']) {
        let attribute = users.attribute(text, FLAG)?;
        let value = Value::Bool(true);
        return Some(Some(ActiveMark { attribute, value }));
    }
    let tree = condition::parse(text)?;
    let Condition::Compare(Operand::Path(path), Comparator::Equal, Operand::Value(value, at)) =
        tree
    else {
        let message = "an account is active while one attribute has one value";
        text.report_here(Code::AccountAttribute, message)
            .help("write `active = \"isActive\"`, or `active = \"status = 'active'\"`");
        return None;
    };
    let name = path.to_string();
    let attribute = users.record.resolve(&name, text.locate(path.span))?;
    if let Err(expected) = attribute.kind.as_ref()?.check(&value) {
        let message = format!("`{name}` is never this: it must be {expected}");
        text.report(Code::ComparisonType, text.locate(at), message);
        return None;
    }
    let attribute = users.record.attribute_id(attribute)?;
    Some(Some(ActiveMark { attribute, value }))
}

/// Where the values of an account come from that is made of claims.
fn provision(mut section: Section<'_>, users: &Part<'_>) -> Option<Provision> {
    let read = section.all().iter().map(|(name, node)| {
        let attribute = users.record.resolve(&name.text, name.span);
        let sources = match &node.content {
            Content::Text(text) => claim_sources(text),
            content => attribute
                .and_then(|one| constant(name, node, content, one.kind.as_ref()?))
                .map(|value| vec![ClaimSource::Always(value)]),
        };
        let id = attribute.and_then(|one| users.record.attribute_id(one));
        id.zip(sources)
    });
    let read: Vec<Option<_>> = read.collect();
    let values = read.into_iter().collect::<Option<Vec<_>>>()?;
    Some(Provision { values })
}

/// `true`, `7` or `{}`: what everybody has.
fn constant(name: &Name, node: &Node, content: &Content, kind: &AttributeType) -> Option<Value> {
    let value = match content {
        Content::Table(table) if table.is_empty() => Value::M(Map::new()),
        _ => node.scalar(&name.text)?,
    };
    if let Err(expected) = kind.check(&value) {
        let message = format!("`{}` must be {expected}", name.text);
        node.report(Code::ValueType, node.span, message);
        return None;
    }
    Some(value)
}

/// `name | preferred_username | {id}`.
fn claim_sources(text: &Text) -> Option<Vec<ClaimSource>> {
    let words = text.as_str().split('|').map(str::trim);
    let sources: Vec<Option<ClaimSource>> = words
        .map(|word| match word {
            "" => None,
            "{id}" => Some(ClaimSource::Id),
            "{provider}" => Some(ClaimSource::Provider),
            word if word.contains(['{', '}', ' ']) => None,
            word => Some(ClaimSource::Claim(word.to_owned())),
        })
        .collect();
    let sources = sources.into_iter().collect::<Option<Vec<_>>>();
    if sources.is_none() {
        let message = "this is neither a claim nor several of them";
        text.report_here(Code::ValueType, message).help(
            "write the name of a claim, `{id}` or `{provider}`, and `|` before the next to try",
        );
    }
    sources
}

/// The schemes of hashes that were taken over.
fn imported(section: &mut Section<'_>) -> Option<Vec<HashScheme>> {
    let names = section
        .texts("imported", false)
        .optional()?
        .unwrap_or_default();
    let schemes = names.into_iter().map(|name| {
        let mut known = HashScheme::WORDS.iter();
        let found = known.find(|(_, word)| *word == name.as_str());
        if found.is_none() {
            let message = format!(
                "`{}` is no scheme of hashes that is taken over",
                name.as_str()
            );
            let words = HashScheme::WORDS.map(|(_, word)| word);
            name.report_here(Code::UnknownWord, message)
                .suggest(name.as_str(), words);
        }
        found.map(|(scheme, _)| *scheme)
    });
    let schemes: Vec<Option<HashScheme>> = schemes.collect();
    schemes.into_iter().collect()
}

/// The providers whose confirmed addresses count.
fn trusted(
    section: &mut Section<'_>,
    subjects: Option<&[(String, AttributeId)]>,
) -> Option<Vec<String>> {
    let names = section
        .texts("trusted", false)
        .optional()?
        .unwrap_or_default();
    let known = || {
        subjects
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
    };
    let mut is_good = true;
    for name in &names {
        if subjects.is_some() && !known().any(|one| one == name.as_str()) {
            let message = format!("`{}` is no provider of `subjects`", name.as_str());
            name.report_here(Code::AccountAttribute, message)
                .suggest(name.as_str(), known());
            is_good = false;
        }
    }
    let names = names.iter().map(|name| name.as_str().to_owned());
    is_good.then(|| names.collect())
}

/// The role of a new account, which the attribute that `[caller]` names can have.
fn role(section: &mut Section<'_>, users: &Part<'_>, symbols: &Symbols) -> Option<Option<String>> {
    let Some(text) = section.text("role").optional()? else {
        return Some(None);
    };
    let attribute = match &symbols.callers.role {
        CallerSource::Attribute(name) if symbols.callers.entity == Some(users.record.id) => {
            users.record.find(name)
        }
        _ => {
            let message = "`role` is for designs in which `[caller]` takes roles from these items";
            text.report_here(Code::NeedlessKey, message)
                .help("write `role = \"role\"` in `[caller]`, or leave this out");
            return None;
        }
    };
    let kind = attribute.and_then(|one| one.kind.as_ref())?;
    fits(text, kind, &Value::from(text.as_str()))?;
    Some(Some(text.as_str().to_owned()))
}

fn fits(text: &Text, kind: &AttributeType, value: &Value) -> Option<()> {
    if let Err(expected) = kind.check(value) {
        let message = format!("`{}` is not {expected}", text.as_str());
        text.report_here(Code::ValueType, message);
        return None;
    }
    Some(())
}

/// What every new account has.
fn new(section: &mut Section<'_>, users: &Part<'_>) -> Option<Vec<(AttributeId, Value)>> {
    let values = inside(section, "new", |mut new| {
        let mut values = Vec::new();
        let mut is_good = true;
        for (name, node) in new.all() {
            let attribute = users.record.resolve(&name.text, name.span);
            let kind = attribute.and_then(|one| one.kind.as_ref());
            let value = kind.and_then(|kind| match &node.content {
                Content::Text(text) => {
                    let value = Value::from(text.as_str());
                    fits(text, kind, &value).map(|()| value)
                }
                content => constant(name, node, content, kind),
            });
            match attribute
                .and_then(|one| users.record.attribute_id(one))
                .zip(value)
            {
                Some(found) => values.push(found),
                None => is_good = false,
            }
        }
        is_good.then_some(values)
    });
    Some(values?.unwrap_or_default())
}

/// The attribute that has the user's id at a provider, by provider.
fn subjects(section: &mut Section<'_>, users: &Part<'_>) -> Option<Vec<(String, AttributeId)>> {
    let subjects = inside(section, "subjects", |mut subjects| {
        let found = subjects.all().iter().map(|(name, node)| {
            let attribute = users.attribute(node.text(&name.text)?, TEXT)?;
            Some((name.text.clone(), attribute))
        });
        let found: Vec<Option<_>> = found.collect();
        found.into_iter().collect::<Option<Vec<_>>>()
    });
    Some(subjects?.unwrap_or_default())
}

fn session(mut section: Section<'_>, symbols: &Symbols) -> Option<AccountSession> {
    let part = Part::open(&mut section, "\"Session\"", symbols);
    let lifetime = section.text("lifetime").and_then(duration);
    let longest = section.text("longest").and_then(duration);
    let read = part.map(|part| {
        let user = part.required(&mut section, "user", TEXT);
        let secret = part.required(&mut section, "secret", TEXT);
        let created = part.required(&mut section, "created", TIME);
        let expires = part.required(&mut section, "expires", TIME);
        let used = part.optional(&mut section, "used", TIME);
        Some(AccountSession {
            entity: part.record.id,
            user: user?,
            secret: secret?,
            created: created?,
            expires: expires?,
            used: used?,
            lifetime_seconds: SESSION_SECONDS,
            longest_seconds: SESSION_SECONDS_MAX,
        })
    });
    section.finish();
    let session = read??;
    Some(AccountSession {
        lifetime_seconds: lifetime.optional()?.unwrap_or(session.lifetime_seconds),
        longest_seconds: longest.optional()?.unwrap_or(session.longest_seconds),
        ..session
    })
}

fn link(mut section: Section<'_>, seconds: u64, symbols: &Symbols) -> Option<AccountLink> {
    let part = Part::open(&mut section, "\"PasswordReset\"", symbols);
    let lifetime = section.text("lifetime").and_then(duration);
    let read = part.map(|part| {
        let token = part.required(&mut section, "token", TEXT);
        let user = part.required(&mut section, "user", TEXT);
        let login = part.required(&mut section, "login", TEXT);
        let expires = part.required(&mut section, "expires", TIME);
        Some(AccountLink {
            entity: part.record.id,
            token: token?,
            user: user?,
            login: login?,
            expires: expires?,
            lifetime_seconds: seconds,
        })
    });
    section.finish();
    let link = read??;
    Some(AccountLink {
        lifetime_seconds: lifetime.optional()?.unwrap_or(link.lifetime_seconds),
        ..link
    })
}

fn mails(section: &mut Section<'_>) -> Option<AccountMails> {
    let read = inside(section, "mail", |mut mails| {
        let standard = AccountMails::default();
        let verify = mail(&mut mails, "verify", standard.verify, Some("link"));
        let reset = mail(&mut mails, "reset", standard.reset, Some("link"));
        let change = mail(&mut mails, "change", standard.change, Some("link"));
        let taken = mail(&mut mails, "taken", standard.taken, None);
        let linked = mail(&mut mails, "linked", standard.linked, Some("provider"));
        mails.finish();
        Some(AccountMails {
            verify: verify?,
            reset: reset?,
            change: change?,
            taken: taken?,
            linked: linked?,
        })
    });
    Some(read?.unwrap_or_default())
}

fn mail(
    mails: &mut Section<'_>,
    key: &str,
    standard: MailText,
    about: Option<&'static str>,
) -> Option<MailText> {
    let read = inside(mails, key, |mut mail| {
        let subject = mail.text("subject").optional();
        let text = mail.text("text").optional();
        mail.finish();
        let (subject, text) = (subject?, text?);
        let written = [subject, text].into_iter().flatten();
        let is_good: Vec<bool> = written.map(|text| has_known_places(text, about)).collect();
        if let (Some(text), Some(about)) = (text, about)
            && !text.as_str().contains(&format!("{{{about}}}"))
        {
            let message = format!("this mail has no {about} in it");
            text.report_here(Code::MissingPlaceholder, message)
                .help(format!("write `{{{about}}}` where the {about} belongs"));
            return None;
        }
        is_good.iter().all(|good| *good).then(|| MailText {
            subject: subject.map_or(standard.subject.clone(), |text| text.as_str().to_owned()),
            text: text.map_or(standard.text.clone(), |text| text.as_str().to_owned()),
        })
    });
    Some(read?.unwrap_or(standard))
}

/// Whether every placeholder of a mail stands for something.
fn has_known_places(text: &Text, about: Option<&'static str>) -> bool {
    let known: Vec<&str> = about.into_iter().chain(["login", "design"]).collect();
    let places = text.as_str().split('{').skip(1);
    let mut places = places.filter_map(|rest| rest.split_once('}'));
    let Some((place, _)) = places.find(|(place, _)| !known.contains(place)) else {
        return true;
    };
    let message = format!("a mail has no placeholder `{{{place}}}`");
    text.report_here(Code::UnknownPlaceholder, message)
        .suggest(place, known);
    false
}
