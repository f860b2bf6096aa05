//! The pages that mailed links lead to. They have a button, because whatever looks through mails
//! opens links; and no script.

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response;

use crate::docs::{escaped, hash, page_under};
use crate::request::Request;

pub(super) const VERIFIED: &str = "Your address is confirmed. You can sign in now.";
pub(super) const RESET: &str = "You have a new password. You can sign in with it now.";
pub(super) const CLAIMED: &str = "You are an administrator now.";

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:24rem;margin:15vh auto;padding:0 1rem}\
input,button{font:inherit;display:block;width:100%;box-sizing:border-box;margin:.25rem 0 1rem;padding:.5rem}";

static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src '{}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        hash(STYLE)
    )
});

/// The page that confirms an address.
pub(super) fn verify(request: &Request<'_>) -> Response {
    let fields = field("Your password", "password", "password", "current-password");
    form(request, "Confirm your address", &fields, "Confirm")
}

/// The page that replaces a password.
pub(super) fn reset(request: &Request<'_>) -> Response {
    let fields = field("Your new password", "password", "password", "new-password");
    form(request, "Choose a new password", &fields, "Save")
}

/// The page that makes the first administrator.
pub(super) fn claim(request: &Request<'_>) -> Response {
    let login = field("What you sign in with", "login", "text", "username");
    let password = field("Your password", "password", "password", "current-password");
    let title = "Become the administrator";
    form(
        request,
        title,
        &format!("{login}{password}"),
        "Become the administrator",
    )
}

/// A page that says something.
pub(super) fn said(status: StatusCode, text: &str) -> Response {
    let mut response = page(&format!("<p>{}</p>", escaped(text)));
    *response.status_mut() = status;
    response
}

fn field(label: &str, name: &str, kind: &str, autocomplete: &str) -> String {
    format!(
        "<label>{label}<input name=\"{name}\" type=\"{kind}\" autocomplete=\"{autocomplete}\" required></label>"
    )
}

/// A form that sends the token of the link back.
fn form(request: &Request<'_>, title: &str, fields: &str, button: &str) -> Response {
    let parameters = request.parameters().unwrap_or_default();
    let token = parameters.get("token").map_or("", String::as_str);
    // The form goes to where the page is: a proxy may have moved that.
    page(&format!(
        "<h1>{title}</h1><form method=\"post\"><input type=\"hidden\" name=\"token\" value=\"{}\">{fields}<button>{button}</button></form>",
        escaped(token)
    ))
}

fn page(content: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Account</title><style>{STYLE}</style></head><body><main>{content}</main></body></html>"
    );
    page_under(&POLICY, html)
}
