//! Requests about accounts.

use partita_design::Design;
use serde_json::{Map, Value as Json, json};

use super::operation::Described;
use super::parts::{body, one, refer};
use super::record;
use crate::auth::AuthRequest;
use crate::auth::password::PASSWORD_CHARS;

pub(super) fn request(design: &Design, request: AuthRequest) -> Described {
    use AuthRequest as Of;
    let has_mail = design
        .accounts
        .as_ref()
        .and_then(|one| one.sign_in.as_ref())
        .is_some_and(|one| one.verification.is_some());
    let login = || ("login", text());
    let current = || ("password", password(false));
    let token = || ("token", text());
    let cookie = || ("cookie", cookie());
    let (summary, about, body, answers) = match request {
        Of::SignUp if has_mail => (
            "Create an account",
            "Answers the same whether the address has an account or not. A free one gets a link by mail, a taken one a note.",
            Some(sign_up(design)),
            one("202", told()),
        ),
        Of::SignUp => (
            "Create an account",
            "",
            Some(sign_up(design)),
            one("201", opened(design)),
        ),
        Of::SignIn => (
            "Open a session",
            "The token goes into `Authorization: Bearer`. It is good until it is not used for a while.",
            Some(object(
                &[login(), current(), cookie()],
                &["login", "password"],
            )),
            one("200", opened(design)),
        ),
        Of::SignOut => (
            "End the session that is used",
            "",
            None,
            one("204", silent()),
        ),
        Of::Me => ("The caller's own account", "", None, one("200", me(design))),
        Of::Sessions => ("The caller's sessions", "", None, one("200", sessions())),
        Of::EndSession => (
            "End one of the caller's sessions",
            "",
            None,
            one("204", silent()),
        ),
        Of::EndOthers => (
            "End the caller's other sessions",
            "",
            None,
            one("200", ended()),
        ),
        Of::ChangePassword => (
            "Replace the password",
            "The other sessions end.",
            Some(object(
                &[current(), ("newPassword", password(true))],
                &["password", "newPassword"],
            )),
            one("204", silent()),
        ),
        Of::ChangeEmail => (
            "Ask for another address",
            "It counts when it is confirmed by the link that is mailed to it.",
            Some(object(&[current(), login()], &["password", "login"])),
            one("202", told()),
        ),
        Of::Verify => (
            "Confirm an address",
            "Takes the secret of the mailed link, and the password of the account.",
            Some(object(&[token(), current()], &["token", "password"])),
            one("204", silent()),
        ),
        Of::RequestReset => (
            "Ask for a link that replaces the password",
            "Answers the same whether there is an account or not.",
            Some(object(&[login()], &["login"])),
            one("202", told()),
        ),
        Of::Reset => (
            "Replace a password by a link",
            "The address counts as confirmed, all sessions end, and other links are void.",
            Some(object(
                &[token(), ("password", password(true))],
                &["token", "password"],
            )),
            one("204", silent()),
        ),
        Of::Claim => (
            "Become the first administrator",
            "Takes the secret of the link that the server prints while there is no administrator.",
            Some(object(
                &[token(), login(), current()],
                &["token", "login", "password"],
            )),
            one("204", silent()),
        ),
        Of::BeginAtProvider => (
            "Sign in at a provider",
            "Sends a browser there. It comes back with a session: in a cookie and at the path `return`, or without one in the answer, as from a sign-in.",
            None,
            one("303", silent()),
        ),
        Of::ReturnFromProvider => (
            "Come back from a provider",
            "Where a provider sends a browser that has signed in there.",
            None,
            {
                let mut answers = one("200", opened(design));
                answers.extend(one("303", silent()));
                answers
            },
        ),
        Of::Providers => (
            "The providers that sign the caller in",
            "",
            None,
            one("200", providers()),
        ),
        Of::Unlink => (
            "Take a provider from the caller's account",
            "The other sessions end. The last way to sign in is not taken away.",
            None,
            one("204", silent()),
        ),
        Of::VerifyPage => (
            "The page of a link that confirms an address",
            "",
            None,
            one("200", page()),
        ),
        Of::ResetPage => (
            "The page of a link that replaces a password",
            "",
            None,
            one("200", page()),
        ),
        Of::ClaimPage => (
            "The page of the first administrator",
            "",
            None,
            one("200", page()),
        ),
    };
    Described {
        summary: summary.to_owned(),
        about: (!about.is_empty()).then(|| about.to_owned()),
        tag: "accounts".to_owned(),
        parameters: parameters(design, request),
        body: body.map(|schema| self::body(schema, None, true)),
        answers,
        refusals: match request {
            Of::BeginAtProvider | Of::ReturnFromProvider => vec![400, 404, 409, 429, 503],
            _ => vec![404, 409, 413, 415, 422, 429],
        },
    }
}

fn parameters(design: &Design, request: AuthRequest) -> Vec<Json> {
    use AuthRequest as Of;
    // A page is shown whatever its link says; the request that it sends is refused.
    let query = |name: &str| json!({ "name": name, "in": "query", "required": false, "schema": { "type": "string" } });
    let path = |name: &str, schema: Json| json!({ "name": name, "in": "path", "required": true, "schema": schema });
    let provider = || {
        let sign_in = design
            .accounts
            .as_ref()
            .and_then(|one| one.sign_in.as_ref());
        let subjects = sign_in.into_iter().flat_map(|one| &one.subjects);
        let names: Vec<&str> = subjects.map(|(name, _)| name.as_str()).collect();
        path("provider", json!({ "type": "string", "enum": names }))
    };
    match request {
        Of::EndSession => vec![path("session", text())],
        Of::VerifyPage | Of::ResetPage | Of::ClaimPage => vec![query("token")],
        Of::BeginAtProvider => vec![provider(), query("return")],
        Of::Unlink => vec![provider()],
        Of::ReturnFromProvider => vec![
            provider(),
            query("state"),
            query("code"),
            query("error"),
            query("iss"),
        ],
        _ => Vec::new(),
    }
}

fn cookie() -> Json {
    json!({ "anyOf": [{ "type": "boolean" }, { "type": "string", "enum": ["strict"] }], "description": "`true` gives a browser the session as a cookie, and not in the answer; `strict` one that it sends with requests of its own pages alone." })
}

fn text() -> Json {
    json!({ "type": "string", "minLength": 1, "maxLength": 320 })
}

fn password(is_new: bool) -> Json {
    let (least, most) = (PASSWORD_CHARS.start(), PASSWORD_CHARS.end());
    if is_new {
        json!({ "type": "string", "format": "password", "minLength": least, "maxLength": most })
    } else {
        json!({ "type": "string", "format": "password" })
    }
}

fn object(properties: &[(&str, Json)], required: &[&str]) -> Json {
    let properties = properties.iter().cloned();
    let properties: Map<String, Json> = properties
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}

/// The attributes that an owner gives, and the password.
fn sign_up(design: &Design) -> Json {
    let Some(accounts) = &design.accounts else {
        return Json::Null;
    };
    let users = accounts.users(design);
    let new = record::new(design, users, &[]).schema(users.open);
    let Some(sign_in) = &accounts.sign_in else {
        return Json::Null;
    };
    let login = &accounts.attribute(design, sign_in.login).name;
    let kept = accounts.mapped().filter(|id| *id != sign_in.login);
    let kept = kept.chain(accounts.new.iter().map(|(id, _)| *id));
    let mut left_out: Vec<&str> = kept
        .map(|id| accounts.attribute(design, id).name.as_str())
        .collect();
    left_out.extend(
        users
            .identity
            .iter()
            .flat_map(|part| [part.attribute.as_str(), &part.name]),
    );
    for source in [&design.callers.role, &design.callers.groups] {
        if let partita_design::design::CallerSource::Attribute(name) = source {
            left_out.push(name);
        }
    }
    let mut schema = new;
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.retain(|name, _| !left_out.contains(&name.as_str()));
        properties.insert("password".to_owned(), password(true));
        // Elsewhere nobody is signed in by it.
        if sign_in.verification.is_none() {
            properties.insert("cookie".to_owned(), cookie());
        }
    }
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let required = required.into_iter().filter(|name| {
        name.as_str()
            .is_some_and(|name| !left_out.contains(&name) && name != "password" && name != login)
    });
    let always = [Json::from(login.as_str()), Json::from("password")];
    schema["required"] = always.into_iter().chain(required).collect();
    schema
}

fn json_answer(means: &str, schema: Json) -> Json {
    json!({ "description": means, "content": { "application/json": { "schema": schema } } })
}

fn user(design: &Design) -> Json {
    let users = design
        .accounts
        .as_ref()
        .map(|accounts| accounts.users(design));
    users.map_or(
        json!({ "type": "object" }),
        |users| json!({ "anyOf": [refer(&users.name), { "type": "object", "required": ["id"] }] }),
    )
}

fn opened(design: &Design) -> Json {
    let schema = json!({
        "type": "object",
        "required": ["user", "expiresAt"],
        "properties": {
            "user": user(design),
            "token": { "type": "string" },
            "expiresAt": { "type": "string", "format": "date-time" },
        },
    });
    json_answer("A session.", schema)
}

fn session() -> Json {
    json!({
        "type": "object",
        "required": ["id", "createdAt", "expiresAt", "current"],
        "properties": {
            "id": { "type": "string" },
            "createdAt": { "type": "string", "format": "date-time" },
            "expiresAt": { "type": "string", "format": "date-time" },
            "current": { "type": "boolean" },
        },
    })
}

fn me(design: &Design) -> Json {
    let schema = json!({
        "type": "object",
        "required": ["user"],
        "properties": { "user": user(design), "session": session() },
    });
    json_answer("The account, and the session that is used.", schema)
}

fn sessions() -> Json {
    let items = json!({ "type": "array", "items": session() });
    let schema =
        json!({ "type": "object", "required": ["items"], "properties": { "items": items } });
    json_answer("The latest first.", schema)
}

fn providers() -> Json {
    let item = json!({
        "type": "object",
        "required": ["provider", "linked"],
        "properties": { "provider": { "type": "string" }, "linked": { "type": "boolean" } },
    });
    let items = json!({ "type": "array", "items": item });
    let schema =
        json!({ "type": "object", "required": ["items"], "properties": { "items": items } });
    json_answer("Those that the design knows.", schema)
}

fn ended() -> Json {
    let schema = json!({ "type": "object", "required": ["ended", "more"], "properties": { "ended": { "type": "integer" }, "more": { "type": "boolean" } } });
    json_answer("How many were ended, and whether there are more.", schema)
}

fn told() -> Json {
    let schema = json!({ "type": "object", "required": ["detail"], "properties": { "detail": { "type": "string" } } });
    json_answer("There may be a mail.", schema)
}

fn silent() -> Json {
    json!({ "description": "It is done." })
}

fn page() -> Json {
    json!({
        "description": "A page with a button.",
        "content": { "text/html; charset=utf-8": { "schema": { "type": "string" } } },
    })
}
