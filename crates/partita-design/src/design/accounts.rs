//! `[accounts]`: people who sign in, on the design's own entities.

use partita_core::Value;

use super::{Attribute, AttributeId, Design, Record, RecordId, Ref, RefTarget, Source, Unique};

/// Which entities and attributes hold accounts, and what becomes of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Accounts {
    /// The entity of users.
    pub entity: RecordId,
    /// The flag of a login that its owner has confirmed.
    pub verified: Option<AttributeId>,
    /// What says that an account may be used.
    pub active: Option<ActiveMark>,
    /// The time of the last sign-in.
    pub signed_in: Option<AttributeId>,
    /// The role of a new account, where it is not the attribute's default.
    pub role: Option<String>,
    /// What else a new account has, whatever is given.
    pub new: Vec<(AttributeId, Value)>,
    /// How an account is made for somebody whom another issuer knows, if it is.
    pub provision: Option<Provision>,
    /// How people sign in here. Without it they bring tokens of another issuer.
    pub sign_in: Option<SignIn>,
}

/// The attribute that says that an account may be used, and the value that says so.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveMark {
    /// The attribute.
    pub attribute: AttributeId,
    /// `true`, or one of its values.
    pub value: Value,
}

/// How an account is made of the claims of another issuer.
#[derive(Clone, Debug, PartialEq)]
pub struct Provision {
    /// For each attribute, what may have its value. The first that is there does.
    pub values: Vec<(AttributeId, Vec<ClaimSource>)>,
}

/// Where a value of a new account comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimSource {
    /// A claim of the token.
    Claim(String),
    /// The id of the new account: `{id}`.
    Id,
    /// The name that the provider has here: `{provider}`.
    Provider,
    /// The same for everybody: what is no text in the design.
    Always(Value),
}

/// How people sign in: with a password, or by a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct SignIn {
    /// The attribute that people sign in with. Its values are trimmed and in lower case.
    pub login: AttributeId,
    /// The attribute that has the hash of the password.
    pub password: AttributeId,
    /// The schemes of hashes that were taken over from elsewhere.
    pub imported: Vec<HashScheme>,
    /// Whether an account that is not verified may sign in.
    pub unverified: bool,
    /// For each provider, the attribute that has the user's id there.
    pub subjects: Vec<(String, AttributeId)>,
    /// The providers whose confirmed addresses are as good as our own.
    pub trusted: Vec<String>,
    /// Where sessions are kept.
    pub session: AccountSession,
    /// Where links to confirm an address are kept, if addresses are confirmed.
    pub verification: Option<AccountLink>,
    /// Where links to replace a forgotten password are kept, if there are such.
    pub reset: Option<AccountLink>,
    /// What mails say.
    pub mails: AccountMails,
}

/// A scheme of hashes of passwords that is not ours. Argon2 needs no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashScheme {
    /// `$2b$12$…`
    Bcrypt,
    /// `$scrypt$ln=14,r=8,p=1$…`
    Scrypt,
    /// `$pbkdf2-sha256$i=600000,l=32$…`, or with SHA-512.
    Pbkdf2,
}

impl HashScheme {
    /// The schemes and their words.
    pub const WORDS: [(HashScheme, &'static str); 3] = [
        (HashScheme::Bcrypt, "bcrypt"),
        (HashScheme::Scrypt, "scrypt"),
        (HashScheme::Pbkdf2, "pbkdf2"),
    ];
}

/// Where sessions are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountSession {
    /// The entity. Its identity is one generated attribute.
    pub entity: RecordId,
    /// The attribute that has the user's id.
    pub user: AttributeId,
    /// The attribute that has the hash of the secret.
    pub secret: AttributeId,
    /// The attribute that has the time of the sign-in.
    pub created: AttributeId,
    /// The attribute that has the time at which it ends.
    pub expires: AttributeId,
    /// The attribute that has the time of its last use.
    pub used: Option<AttributeId>,
    /// The seconds after its last use at which it ends.
    pub lifetime_seconds: u64,
    /// The seconds after the sign-in at which it ends at the latest.
    pub longest_seconds: u64,
}

/// Where links that are mailed are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountLink {
    /// The entity. Its identity is the token's attribute.
    pub entity: RecordId,
    /// The attribute that has the hash of what was mailed.
    pub token: AttributeId,
    /// The attribute that has the user's id.
    pub user: AttributeId,
    /// The attribute that has the address that the link was mailed to.
    pub login: AttributeId,
    /// The attribute that has the time at which it ends.
    pub expires: AttributeId,
    /// The seconds for which it is good.
    pub lifetime_seconds: u64,
}

/// What mails say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountMails {
    /// To a new account: the link that confirms its address.
    pub verify: MailText,
    /// The link that replaces a password.
    pub reset: MailText,
    /// To an address that an account is to have: the link that confirms it.
    pub change: MailText,
    /// To an address that has an account, when somebody signs up with it.
    pub taken: MailText,
    /// To the owner of an account, when a provider signs it in from now on.
    pub linked: MailText,
}

/// Subject and text of a mail. `{link}`, `{login}` and `{design}` stand for what they say, and so
/// does `{provider}` where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailText {
    /// The subject.
    pub subject: String,
    /// The text.
    pub text: String,
}

impl MailText {
    /// The text with what its placeholders stand for.
    pub fn filled(text: &str, design: &str, login: &str, link: &str) -> String {
        let text = text.replace("{design}", design);
        text.replace("{login}", login).replace("{link}", link)
    }
}

impl Default for AccountMails {
    fn default() -> Self {
        let mail = |subject: &str, text: &str| MailText {
            subject: subject.to_owned(),
            text: text.to_owned(),
        };
        AccountMails {
            verify: mail(
                "Confirm your address",
                "Somebody signed up to {design} with this address. If it was you, confirm it \
                 here:\n\n{link}\n\nOtherwise leave this mail unanswered.\n",
            ),
            reset: mail(
                "Choose a new password",
                "Somebody asked for a new password for {login} at {design}. If it was you, choose \
                 one here:\n\n{link}\n\nOtherwise leave this mail unanswered.\n",
            ),
            change: mail(
                "Confirm your new address",
                "This address is to become that of an account at {design}. Confirm it \
                 here:\n\n{link}\n\nOtherwise leave this mail unanswered.\n",
            ),
            taken: mail(
                "You have an account already",
                "Somebody signed up to {design} with {login}, which has an account already. If it \
                 was you, sign in, or ask for a new password. Otherwise leave this mail \
                 unanswered.\n",
            ),
            linked: mail(
                "Somebody signed in with {provider}",
                "Your account {login} at {design} is linked to {provider}: whoever has this \
                 address there signs in here, too. If it was not you, choose a new password and \
                 remove {provider} from your account.\n",
            ),
        }
    }
}

impl Accounts {
    /// The entities of sessions and links, which belong to an account and go with it.
    pub fn own(&self) -> Vec<RecordId> {
        let Some(sign_in) = &self.sign_in else {
            return Vec::new();
        };
        let links = [&sign_in.verification, &sign_in.reset]
            .into_iter()
            .flatten();
        let links = links.map(|link| link.entity);
        std::iter::once(sign_in.session.entity)
            .chain(links)
            .collect()
    }

    /// The users.
    pub fn users<'d>(&self, design: &'d Design) -> &'d Record {
        &design[self.entity]
    }

    /// An attribute of the users.
    pub fn attribute<'d>(&self, design: &'d Design, id: AttributeId) -> &'d Attribute {
        &design[(self.entity, id)]
    }

    /// The attribute that has the login, where people sign in here.
    pub fn login<'d>(&self, design: &'d Design) -> Option<&'d Attribute> {
        let sign_in = self.sign_in.as_ref()?;
        Some(self.attribute(design, sign_in.login))
    }

    /// The guard that one attribute has for itself.
    pub fn guard<'d>(&self, design: &'d Design, attribute: &Attribute) -> Option<&'d Unique> {
        let mut guards = design[self.entity].unique.iter();
        guards.find(|guard| guard.attributes == [attribute.name.clone()])
    }

    /// The ref by which the sessions of a user are found.
    pub fn session_ref<'d>(&self, design: &'d Design) -> Option<(&'d Ref, &'d RefTarget)> {
        let session = &self.sign_in.as_ref()?.session;
        let user = &design[(session.entity, session.user)].name;
        design[session.entity].refs.iter().find_map(|one| {
            let (record, target) = one.single()?;
            let is_by_user =
                matches!(target.arguments.as_slice(), [argument] if argument.path == *user);
            let is_found = record == self.entity && is_by_user && target.finder.is_some();
            is_found.then_some((one, target))
        })
    }

    /// Whether the id of a user is the one that another issuer has: who shows a token of it is that
    /// user, whether there is an item yet or not.
    pub fn is_identity_foreign(&self, design: &Design) -> bool {
        let users = self.users(design);
        let attribute = match users.identity.as_slice() {
            [part] => users.attribute(&part.attribute),
            _ => None,
        };
        attribute.is_some_and(|one| one.source != Source::Generated)
    }

    /// Whether a text can be the id of a user; says what ids are like if it cannot.
    pub fn check_id(&self, design: &Design, id: &str) -> Result<(), String> {
        let users = self.users(design);
        let part = users.identity.first();
        match part.and_then(|part| users.attribute(&part.attribute)) {
            Some(attribute) => attribute.kind.check(&Value::from(id)),
            None => Ok(()),
        }
    }

    /// The attributes of users that only `/auth/` and administrators write.
    pub fn mapped(&self) -> impl Iterator<Item = AttributeId> {
        let active = self.active.as_ref().map(|active| active.attribute);
        let signing = self.sign_in.iter().flat_map(|sign_in| {
            let subjects = sign_in.subjects.iter().map(|(_, attribute)| *attribute);
            [sign_in.login, sign_in.password]
                .into_iter()
                .chain(subjects)
        });
        signing.chain(
            [self.verified, active, self.signed_in]
                .into_iter()
                .flatten(),
        )
    }

    /// The entities of which items are made by `/auth/` alone.
    pub fn kept(&self) -> impl Iterator<Item = RecordId> {
        self.sign_in.iter().flat_map(|sign_in| {
            let links = [&sign_in.verification, &sign_in.reset]
                .into_iter()
                .flatten();
            std::iter::once(sign_in.session.entity).chain(links.map(|link| link.entity))
        })
    }
}
