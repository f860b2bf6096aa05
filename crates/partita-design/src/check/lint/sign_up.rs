//! Whether people can sign up, and sign in afterwards.

use super::causes::Causes;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Accounts, Attribute, AttributeId, CallerSource, Design, SignIn, Source};
use crate::types::{AttributeType, TextFormat};

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let accounts = design.accounts.as_ref();
    let Some((accounts, sign_in)) = accounts.and_then(|one| Some((one, one.sign_in.as_ref()?)))
    else {
        return;
    };
    let lint = Fit {
        symbols,
        design,
        accounts,
        sign_in,
    };
    lint.reached();
    lint.confirmed();
    lint.own();
    lint.whole();
}

struct Fit<'d> {
    symbols: &'d Symbols,
    design: &'d Design,
    accounts: &'d Accounts,
    sign_in: &'d SignIn,
}

impl<'d> Fit<'d> {
    fn report(&self, attribute: &str, message: String, help: &str) {
        let declared = &self.symbols[self.accounts.entity];
        let span = declared.span_of(attribute);
        declared
            .report(Code::AccountAttribute, span, message)
            .help(help);
    }

    fn attribute(&self, id: AttributeId) -> &'d Attribute {
        self.accounts.attribute(self.design, id)
    }

    /// Mail arrives at the login where links are mailed to it.
    fn reached(&self) {
        let is_mailed = self.sign_in.verification.is_some() || self.sign_in.reset.is_some();
        let login = self.attribute(self.sign_in.login);
        let is_address = matches!(&login.kind, AttributeType::String(text)
            if text.format == Some(TextFormat::Email) || text.pattern.is_some());
        if is_mailed && !is_address {
            let name = &login.name;
            let message = format!("links are mailed to `{name}`, which need not be an address");
            self.report(name, message, "write `string email`");
        }
    }

    /// Who signs up has not confirmed the address, and can.
    fn confirmed(&self) {
        let Some(verified) = self.accounts.verified else {
            return;
        };
        let name = &self.attribute(verified).name;
        if self.sign_in.verification.is_none() && !self.sign_in.unverified {
            let message = format!(
                "an account signs in while `{name}` is true, and no address is ever confirmed"
            );
            let help = "write `[accounts.verification]` too, or `unverified-may-sign-in = true`, or leave `verified` out";
            self.report(name, message, help);
        }
    }

    /// What accounts are told apart by, and what their owners show, is not the same for all.
    fn own(&self) {
        let users = self.accounts.users(self.design);
        let subjects = self.sign_in.subjects.iter().map(|(_, subject)| *subject);
        let own = [self.sign_in.login, self.sign_in.password].into_iter();
        let own = own.chain(self.accounts.verified).chain(subjects);
        let own: Vec<AttributeId> = own.collect();
        for (id, _) in &self.accounts.new {
            let name = &self.attribute(*id).name;
            let mut identity = users.identity.iter();
            if own.contains(id) || identity.any(|part| part.attribute == *name) {
                let message =
                    format!("`{name}` is set by `/auth/` for each account, and not by `new`");
                self.report(name, message, "leave it out of `new` in `[accounts]`");
            }
        }
    }

    /// What is required is given by whoever signs up, or begins by itself.
    fn whole(&self) {
        let users = self.accounts.users(self.design);
        let causes = Causes::new(self.design);
        let set: Vec<&str> = self.set().collect();
        let kept = self.accounts.mapped().map(|id| self.attribute(id));
        let kept = kept.chain(self.design.callers.attributes(users));
        let kept: Vec<&str> = kept.map(|one| one.name.as_str()).collect();
        let is_needed = |one: &&Attribute| {
            let is_open = matches!(one.source, Source::Given { default: None });
            let begins = matches!(one.kind, AttributeType::State(_));
            is_open && !one.optional && !one.is_virtual && !begins
        };
        for attribute in users.attributes.iter().filter(is_needed) {
            let name = attribute.name.as_str();
            let is_given = !kept.contains(&name) && causes.is_writable(users, attribute);
            if !is_given && !set.contains(&name) {
                let message = format!("`{name}` is required, and nobody who signs up may give it");
                let help =
                    format!("give it a default, or write `new = {{ {name} = … }}` in `[accounts]`");
                self.report(name, message, &help);
            }
        }
    }

    /// The attributes that a sign-up sets by itself.
    fn set(&self) -> impl Iterator<Item = &'d str> {
        let accounts = self.accounts;
        let users = accounts.users(self.design);
        let identity = users.identity.iter().map(|part| part.attribute.as_str());
        let ids = [self.sign_in.login, self.sign_in.password].into_iter();
        let ids = ids.chain(accounts.verified);
        let ids = ids.chain(accounts.new.iter().map(|(id, _)| *id));
        let names = ids.map(|id| self.attribute(id).name.as_str());
        let role = match (&accounts.role, &self.design.callers.role) {
            (Some(_), CallerSource::Attribute(name)) => Some(name.as_str()),
            _ => None,
        };
        let names: Vec<&str> = identity.chain(names).chain(role).collect();
        names.into_iter()
    }
}
