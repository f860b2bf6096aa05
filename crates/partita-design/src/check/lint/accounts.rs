//! Whether the entities that `[accounts]` names fit together, and whether only `/auth/` and
//! administrators write what it maps.

use super::causes::Causes;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{
    AccountLink, AccountSession, Accounts, Attribute, AttributeId, Design, Record, RecordId,
    SignIn, Source, Timing,
};
use crate::types::AttributeType;

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let Some(accounts) = &design.accounts else {
        return;
    };
    let lint = Fit {
        symbols,
        design,
        accounts,
        causes: Causes::new(design),
    };
    lint.users();
    if let Some(sign_in) = &accounts.sign_in {
        lint.signing(sign_in);
        lint.session(&sign_in.session);
        for link in [&sign_in.verification, &sign_in.reset] {
            link.iter().for_each(|link| lint.link(link));
        }
    }
    if lint.entities_differ() {
        accounts.kept().for_each(|entity| lint.closed(entity));
    }
    lint.mapped();
}

struct Fit<'d> {
    symbols: &'d Symbols,
    design: &'d Design,
    accounts: &'d Accounts,
    causes: Causes<'d>,
}

impl Fit<'_> {
    /// Reports an attribute that cannot be what it is mapped to.
    fn unfit(&self, record: RecordId, attribute: &str, message: String, help: &str) {
        let declared = &self.symbols[record];
        declared
            .report(Code::AccountAttribute, declared.span_of(attribute), message)
            .help(help);
    }

    fn users(&self) {
        let (design, accounts) = (self.design, self.accounts);
        let users = accounts.users(design);
        if design.callers.entity != Some(users.id) {
            let message = format!(
                "`{}` signs in, and `[caller]` does not say that callers are such",
                users.name
            );
            self.unfit(
                users.id,
                "",
                message,
                &format!("write `type = \"{}\"` in `[caller]`", users.name),
            );
        }
        if users.identity.len() != 1 {
            let message = format!(
                "`{}` signs in, and its identity has several parts",
                users.name
            );
            let help = "a caller has one id: give the entity a key with one placeholder";
            self.unfit(users.id, "", message, help);
        }
        let active = accounts.active.as_ref().map(|active| active.attribute);
        let flags = [accounts.verified, active, accounts.signed_in];
        for id in flags.into_iter().flatten() {
            let flag = accounts.attribute(design, id);
            // A time that begins with the item moves with later sign-ins.
            let is_stamp = accounts.signed_in == Some(id) && is_stamp(flag);
            if !is_given(flag) && !is_stamp {
                let message = format!("`{}` is computed, and `/auth/` sets it", flag.name);
                self.unfit(
                    users.id,
                    &flag.name,
                    message,
                    "leave the value out, or write `default`",
                );
            }
        }
    }

    fn signing(&self, sign_in: &SignIn) {
        let (design, accounts) = (self.design, self.accounts);
        let users = accounts.users(design);
        let login = accounts.attribute(design, sign_in.login);
        if login.optional || !is_given(login) || users.is_identified_by(&login.name) {
            let message = format!(
                "people sign in with `{}`, so every account has one, and it may change",
                login.name
            );
            self.unfit(
                users.id,
                &login.name,
                message,
                "make it required, not computed, and no part of the identity",
            );
        }
        let subjects = sign_in.subjects.iter().map(|(_, subject)| *subject);
        for found_by in std::iter::once(sign_in.login).chain(subjects) {
            let attribute = accounts.attribute(design, found_by);
            if accounts.guard(design, attribute).is_none() {
                self.not_unique(users, attribute);
            }
        }
        if sign_in.verification.is_some() && accounts.verified.is_none() {
            let message = format!(
                "addresses of `{}` are confirmed, and nothing says which are",
                users.name
            );
            self.unfit(
                users.id,
                "",
                message,
                "write `verified = \"…\"` in `[accounts]`: a boolean of it",
            );
        }
    }

    fn not_unique(&self, users: &Record, attribute: &Attribute) {
        let name = &attribute.name;
        let message = format!("an account is found by `{name}`, and two could have the same");
        let help = format!(
            "write `{name} = \"UNIQUE#{}#{{{name}}}\"` in `[entity.{}.unique]`",
            name.to_uppercase(),
            users.name
        );
        self.unfit(users.id, name, message, &help);
    }

    fn session(&self, session: &AccountSession) {
        let design = self.design;
        let record = &design[session.entity];
        let generated = match record.identity.as_slice() {
            [part] => record
                .attribute(&part.attribute)
                .filter(|one| one.source == Source::Generated),
            _ => None,
        };
        if generated.is_none() {
            let message = format!(
                "`{}` is for sessions, and its identity is not one generated attribute",
                record.name
            );
            self.unfit(
                record.id,
                "",
                message,
                "give it a key with one placeholder, `generated`",
            );
        }
        let secret = &design[(record.id, session.secret)];
        if !secret.secret || !is_given(secret) || record.is_identified_by(&secret.name) {
            let message = format!(
                "`{}` holds the hash of a session's secret, and is not hidden",
                secret.name
            );
            self.unfit(
                record.id,
                &secret.name,
                message,
                "write `string?, secret`, and keep it out of the identity",
            );
        }
        if self.accounts.session_ref(design).is_none() {
            let message = format!(
                "the sessions of a user cannot be found: `{}` has no ref to the user that can be followed back",
                record.name
            );
            self.unfit(
                record.id,
                "",
                message,
                "write a ref to the entity of users with `on delete cascade`",
            );
        }
        let created = &design[(record.id, session.created)];
        if !is_stamp(created) {
            let message = format!(
                "`{}` is the time of the sign-in, and is not set by it",
                created.name
            );
            self.unfit(
                record.id,
                &created.name,
                message,
                "write `timestamp = now on create`",
            );
        }
        self.owner(record.id, session.user);
        self.expiry(record, session.expires);
    }

    fn link(&self, link: &AccountLink) {
        let record = &self.design[link.entity];
        let token = &self.design[(record.id, link.token)];
        let is_identity =
            matches!(record.identity.as_slice(), [part] if part.attribute == token.name);
        if !is_identity || !token.secret || !is_given(token) {
            let message = format!(
                "`{}` is found by `{}`, which must be its whole identity, given and secret",
                record.name, token.name
            );
            self.unfit(
                record.id,
                &token.name,
                message,
                "write `string, secret`, and use it as the only placeholder of the key",
            );
        }
        let login = &self.design[(record.id, link.login)];
        if !is_given(login) {
            let message = format!(
                "`{}` is the address that a link was mailed to, and is computed",
                login.name
            );
            self.unfit(record.id, &login.name, message, "leave the value out");
        }
        self.owner(record.id, link.user);
        self.expiry(record, link.expires);
    }

    /// The attribute with the user's id is given when the item is made.
    fn owner(&self, record: RecordId, user: AttributeId) {
        let user = &self.design[(record, user)];
        if !is_given(user) {
            let message = format!("`{}` is the user, and is computed", user.name);
            self.unfit(record, &user.name, message, "leave the value out");
        }
    }

    /// An item goes when its time is over.
    fn expiry(&self, record: &Record, expires: AttributeId) {
        let ends = &self.design[(record.id, expires)];
        let ttl = self.design[record.table].ttl.as_deref();
        let expiry = ttl.and_then(|ttl| record.stored(ttl));
        let follows = expiry.is_some_and(|expiry| {
            let mut reads = expiry.reads().iter();
            expiry.name == ends.name || reads.any(|reading| reading.attribute == ends.name)
        });
        if !follows || !is_given(ends) {
            let message = format!(
                "`{}` ends at `{}`, and does not expire then",
                record.name, ends.name
            );
            self.unfit(
                record.id,
                &ends.name,
                message,
                "give the entity an `expiry` under the table's `ttl` that is computed from it",
            );
        }
    }

    fn entities_differ(&self) -> bool {
        let mut known = vec![self.accounts.entity];
        for entity in self.accounts.kept() {
            if known.contains(&entity) {
                let record = &self.design[entity];
                let message = format!(
                    "`{}` cannot be two of the entities of `[accounts]`",
                    record.name
                );
                self.unfit(
                    entity,
                    "",
                    message,
                    "users, sessions and each kind of link have an entity of their own",
                );
                return false;
            }
            known.push(entity);
        }
        true
    }

    /// Sessions and links are made and used by `/auth/`, which takes secrets and hashes them. A rule
    /// that opens them to others would let a stored hash in.
    fn closed(&self, entity: RecordId) {
        let record = &self.design[entity];
        if let Some(way) = self.causes.of_effects_on(entity) {
            let declared = &self.symbols[entity];
            let message = format!(
                "`{}` belongs to `[accounts]`, and `{}` writes it for others than administrators",
                record.name, way.by
            );
            declared
                .report(Code::AccountRule, declared.span, message)
                .help("leave that effect out, or let only administrators cause it: only `/auth/` makes and deletes such items");
        }
        let mut open = record.rules.all().filter(|rule| self.causes.may_hold(rule));
        if let Some(rule) = open.next() {
            let declared = &self.symbols[entity];
            let message = format!(
                "`{}` belongs to `[accounts]`, and the rule `{}` opens it to others than administrators",
                record.name,
                rule.text()
            );
            declared
                .report(Code::AccountRule, declared.span, message)
                .help(format!("write `\"*\" = \"never\"` in `[entity.{}.allow]`, or a rule for administrators", record.name));
        }
    }

    /// What `[accounts]` maps of users is written by `/auth/` and by administrators.
    fn mapped(&self) {
        let accounts = self.accounts;
        let users = accounts.users(self.design);
        let mapped = accounts
            .mapped()
            .map(|id| accounts.attribute(self.design, id));
        for attribute in mapped
            .chain(self.design.callers.attributes(users))
            .filter(|one| one.kind != AttributeType::Password)
        {
            let Some(way) = self.causes.of_attribute(users, attribute) else {
                continue;
            };
            let (name, by) = (&attribute.name, &way.by);
            let declared = &self.symbols[users.id];
            let message = match &way.through {
                None => format!(
                    "`{name}` belongs to `[accounts]`, and `{by}` lets others than administrators write it"
                ),
                Some(what) => format!(
                    "`{name}` belongs to `[accounts]`, and follows `{what}`, which `{by}` lets others than administrators decide"
                ),
            };
            let help = match &way.through {
                Some(what) => format!(
                    "leave `{what}` out of its value, or let only administrators write that"
                ),
                None if way.is_effect => {
                    "leave that effect out, or let only administrators cause it".to_owned()
                }
                None => format!(
                    "write `\"write {name}\" = \"…\"` in `[entity.{}.allow]`: `never`, or a rule for administrators",
                    users.name
                ),
            };
            declared
                .report(Code::AccountRule, declared.span_of(name), message)
                .help(help);
        }
    }
}

/// Whether a value comes from whoever creates the item.
pub(super) fn is_given(attribute: &Attribute) -> bool {
    matches!(attribute.source, Source::Given { .. }) && !attribute.is_virtual
}

/// Whether it is the time at which the item was made.
fn is_stamp(attribute: &Attribute) -> bool {
    matches!(&attribute.source, Source::Computed(one) if one.timing == Timing::Create)
}
