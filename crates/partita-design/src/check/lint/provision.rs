//! Whether an account can be made of the claims of another issuer, without asking anybody.

use super::accounts::is_given;
use crate::check::declare::symbols::Symbols;
use crate::codes::Code;
use crate::design::{Accounts, Attribute, CallerSource, ClaimSource, Design, Provision, Source};
use crate::types::AttributeType;

pub(crate) fn check(symbols: &Symbols, design: &Design) {
    let Some(accounts) = &design.accounts else {
        return;
    };
    if let Some(provision) = &accounts.provision {
        let lint = Fit {
            symbols,
            design,
            accounts,
            provision,
        };
        lint.reach();
        lint.values();
        lint.whole();
    }
}

struct Fit<'d> {
    symbols: &'d Symbols,
    design: &'d Design,
    accounts: &'d Accounts,
    provision: &'d Provision,
}

impl Fit<'_> {
    fn report(&self, attribute: &str, message: String, help: &str) {
        let declared = &self.symbols[self.accounts.entity];
        let span = declared.span_of(attribute);
        declared
            .report(Code::AccountProvision, span, message)
            .help(help);
    }

    /// Somebody is found again: by the id of the token, or by an attribute that has it.
    fn reach(&self) {
        let sign_in = self.accounts.sign_in.as_ref();
        let has_subjects = sign_in.is_some_and(|one| !one.subjects.is_empty());
        if self.accounts.is_identity_foreign(self.design) || has_subjects {
            return;
        }
        let users = self.accounts.users(self.design);
        let message = format!(
            "`{}` is made of claims, and nothing holds the id that its issuer has for it",
            users.name
        );
        let help =
            "let callers give the identity, or name attributes in `subjects` of `[accounts]`";
        self.report("", message, help);
    }

    /// What is taken from claims is for owners to have, and nothing that makes somebody powerful.
    fn values(&self) {
        let users = self.accounts.users(self.design);
        let powers: Vec<&Attribute> = self.design.callers.attributes(users).collect();
        let login = self.accounts.login(self.design);
        let mapped: Vec<&Attribute> = self
            .accounts
            .mapped()
            .map(|id| self.accounts.attribute(self.design, id))
            .filter(|one| login.is_none_or(|login| login.name != one.name))
            .collect();
        for (id, sources) in &self.provision.values {
            let attribute = self.accounts.attribute(self.design, *id);
            let is_in = |all: &[&Attribute]| all.iter().any(|one| one.name == attribute.name);
            let name = &attribute.name;
            let mut identity = users.identity.iter();
            if is_in(&powers) {
                let message = format!(
                    "`{name}` is what `[caller]` reads of users, and a claim would decide it"
                );
                let help = "leave it out here: it begins with its default, or let `[caller]` take it from the token";
                self.report(name, message, help);
            } else if is_in(&mapped) || identity.any(|part| part.attribute == *name) {
                let message = format!("`{name}` is set by `/auth/`, and not by a claim");
                self.report(name, message, "leave it out here");
            } else if !is_given(attribute) {
                let message = format!("`{name}` is computed, and cannot come from a claim");
                self.report(name, message, "leave it out here");
            } else if login.is_some_and(|login| login.name == *name) && !is_address(sources) {
                let message = format!(
                    "`{name}` is what people sign in with, and issuers confirm no claim but `email`"
                );
                self.report(name, message, &format!("write `{name} = \"email\"`"));
            }
        }
    }

    /// Nobody fills in what is missing.
    fn whole(&self) {
        let users = self.accounts.users(self.design);
        let known: Vec<&str> = self.known().collect();
        let is_needed = |one: &&Attribute| {
            let is_open = matches!(one.source, Source::Given { default: None });
            let begins = matches!(one.kind, AttributeType::State(_));
            is_open && !one.optional && !one.is_virtual && !begins
        };
        for attribute in users.attributes.iter().filter(is_needed) {
            if known.contains(&attribute.name.as_str()) {
                continue;
            }
            let name = &attribute.name;
            let message = format!(
                "`{name}` is required, and an account that is made of claims would not have it"
            );
            let help = format!(
                "write `{name} = \"…\"` in `[accounts.provision]`: the claim that has it; or give it a default"
            );
            self.report(name, message, &help);
        }
    }

    /// The attributes that a new account gets.
    fn known(&self) -> impl Iterator<Item = &str> {
        let accounts = self.accounts;
        let users = accounts.users(self.design);
        let identity = users.identity.iter().map(|part| part.attribute.as_str());
        let claims = self.provision.values.iter().map(|(id, _)| *id);
        let new = accounts.new.iter().map(|(id, _)| *id);
        let active = accounts.active.as_ref().map(|active| active.attribute);
        let set = [accounts.verified, active, accounts.signed_in];
        let ids = claims.chain(new).chain(set.into_iter().flatten());
        let names = ids.map(|id| accounts.attribute(self.design, id).name.as_str());
        let role = match (&accounts.role, &self.design.callers.role) {
            (Some(_), CallerSource::Attribute(name)) => Some(name.as_str()),
            _ => None,
        };
        identity.chain(names).chain(role)
    }
}

/// Whether a login comes from the claim that `email_verified` speaks of, and from nothing else.
fn is_address(sources: &[ClaimSource]) -> bool {
    matches!(sources, [ClaimSource::Claim(name)] if name == "email")
}
