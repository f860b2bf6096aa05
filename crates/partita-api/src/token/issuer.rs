//! Tokens of other issuers: Cognito, Google, or anybody who publishes a key set.

use jsonwebtoken::{Header, Validation, decode};
use partita_core::plain;
use partita_plan::{Caller, Claims};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use super::TokenError;
use super::keys::Keys;

/// How far the clocks of two machines may be apart.
const SKEW_SECONDS: i64 = 60;

/// The most groups that a caller can be in, and the longest name of one.
const GROUPS_MAX: usize = 200;
const GROUP_BYTES_MAX: usize = 256;

/// What is expected of the tokens of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Who makes them: the claim `iss`.
    pub issuer: String,
    /// Whom they are for: one of these is in the claim `aud`, or is the claim `client_id` where
    /// there is no `aud`, as in the access tokens of Cognito.
    pub audiences: Vec<String>,
    /// The claim that is the caller's role.
    pub role_claim: String,
    /// The claims that may list the caller's groups; the first that is there does.
    pub group_claims: Vec<String>,
}

/// Somebody else whose tokens are good.
pub struct Issuer {
    expected: Expected,
    keys: Keys,
}

#[derive(Deserialize)]
struct Shown {
    /// The library compares it, and also takes lists; an issuer is one.
    iss: String,
    sub: String,
    exp: i64,
    nbf: Option<i64>,
    #[serde(default, deserialize_with = "given")]
    aud: Option<Audience>,
    client_id: Option<String>,
    #[serde(flatten)]
    others: Map<String, Json>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// A claim that is there has a value: `null` is not the same as none.
fn given<'de, D, T>(claim: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(claim).map(Some)
}

impl Issuer {
    /// An issuer whose tokens are verified with these keys.
    pub fn new(expected: Expected, keys: Keys) -> Self {
        Issuer { expected, keys }
    }

    /// Who calls, by a token of this issuer.
    pub(super) async fn verify(
        &self,
        header: &Header,
        token: &str,
        now_seconds: i64,
    ) -> Result<(Caller, Claims), TokenError> {
        let shown = self.shown(header, token, now_seconds).await?;
        if !self.is_for_us(&shown) {
            return Err(TokenError::Invalid);
        }
        self.caller(shown)
    }

    /// Who has signed in, by an id token that was made for a sign-in of this nonce.
    #[cfg(feature = "https")]
    pub(crate) async fn verify_sign_in(
        &self,
        token: &str,
        nonce: &str,
        now_seconds: i64,
    ) -> Result<Claims, TokenError> {
        let header = super::header_of(token)?;
        let shown = self.shown(&header, token, now_seconds).await?;
        let client = self.expected.audiences.first();
        let is_client = |one: &str| client.is_some_and(|client| client == one);
        let party = shown.others.get("azp");
        let is_theirs = match &shown.aud {
            Some(Audience::One(one)) => is_client(one),
            // Of several, one has signed in, and the token says which.
            Some(Audience::Several(all)) => {
                all.iter().any(|one| is_client(one)) && (all.len() == 1 || party.is_some())
            }
            None => false,
        };
        let is_party = party.is_none_or(|party| party.as_str().is_some_and(is_client));
        let is_fresh = shown.others.get("nonce").and_then(Json::as_str) == Some(nonce);
        if !is_theirs || !is_party || !is_fresh {
            return Err(TokenError::Invalid);
        }
        claimed(shown.sub, shown.others)
    }

    /// What a token says whose signature, issuer and time are good.
    async fn shown(
        &self,
        header: &Header,
        token: &str,
        now_seconds: i64,
    ) -> Result<Shown, TokenError> {
        let id = header.kid.as_deref().ok_or(TokenError::Invalid)?;
        let key = self.keys.find(id).await.ok_or(TokenError::Invalid)?;
        // The algorithm is the key's; a header that names another is refused.
        let mut validation = Validation::new(key.algorithm);
        validation.set_issuer(&[&self.expected.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "sub"]);
        // These are looked at below: the time comes in as a parameter, and Cognito has an
        // audience of its own.
        validation.validate_exp = false;
        validation.validate_aud = false;
        let claims = decode::<Shown>(token, &key.key, &validation)
            .map_err(|_| TokenError::Invalid)?
            .claims;
        if claims.exp <= now_seconds {
            return Err(TokenError::Expired);
        }
        let is_early = claims
            .nbf
            .is_some_and(|from| from > now_seconds.saturating_add(SKEW_SECONDS));
        let is_theirs = claims.iss == self.expected.issuer;
        if is_early || !is_theirs || claims.sub.is_empty() {
            return Err(TokenError::Invalid);
        }
        Ok(claims)
    }

    fn is_for_us(&self, claims: &Shown) -> bool {
        let is_ours = |one: &String| self.expected.audiences.contains(one);
        match (&claims.aud, &claims.client_id) {
            (Some(Audience::One(one)), _) => is_ours(one),
            (Some(Audience::Several(all)), _) => all.iter().any(is_ours),
            (None, Some(client)) => is_ours(client),
            (None, None) => false,
        }
    }

    fn caller(&self, claims: Shown) -> Result<(Caller, Claims), TokenError> {
        let role = claims.others.get(&self.expected.role_claim);
        let role = role.and_then(Json::as_str).map(str::to_owned);
        let mut lists = self.expected.group_claims.iter();
        let groups = lists.find_map(|name| claims.others.get(name));
        let groups = match groups {
            Some(Json::Array(groups)) => {
                let names = groups.iter().map(|group| group.as_str().map(str::to_owned));
                names.collect::<Option<Vec<String>>>()
            }
            Some(Json::String(group)) => Some(vec![group.clone()]),
            Some(_) => None,
            None => Some(Vec::new()),
        };
        let is_short = |groups: &Vec<String>| {
            let mut lengths = groups.iter().map(String::len);
            groups.len() <= GROUPS_MAX && lengths.all(|length| length <= GROUP_BYTES_MAX)
        };
        let caller = Caller {
            id: Some(claims.sub.clone()),
            role,
            groups: groups.filter(is_short).ok_or(TokenError::Invalid)?,
        };
        Ok((caller, claimed(claims.sub, claims.others)?))
    }
}

/// What a token says of somebody. They signed in at `auth_time`, or else when the token was made.
pub(crate) fn claimed(
    subject: String,
    mut others: Map<String, Json>,
) -> Result<Claims, TokenError> {
    let seconds = |name: &str| others.get(name).and_then(Json::as_i64);
    let signed_in = seconds("auth_time").or_else(|| seconds("iat"));
    others.insert("sub".to_owned(), subject.as_str().into());
    Ok(Claims {
        subject,
        signed_in_millis: signed_in.and_then(|seconds| seconds.checked_mul(1000)),
        others: plain::map_from_json(others).map_err(|_| TokenError::Invalid)?,
    })
}
