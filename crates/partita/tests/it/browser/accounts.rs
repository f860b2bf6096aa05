//! Somebody signs up and in with a real browser, and pages of others cannot write in their name.

use std::path::Path;

use axum::response::Html;
use serde_json::{Value as Json, json};

use super::webdriver::Browser;
use crate::accounts::PASSWORD;
use crate::accounts::binary::Logged;
use crate::accounts::provider::{CLIENT, OpenId, SECRET};
use crate::outbox::is_installed;
use crate::stage;

/// Sends a request from the page that is open. Says the status and the kind of problem, if it is one.
async fn fetch(browser: &Browser, path: &str, body: &Json) -> Json {
    let asked = json!({"method": "POST", "headers": {"content-type": "application/json"}, "body": body.to_string()});
    let script = format!(
        "const answer = await fetch({}, {asked}); return [answer.status, await answer.text()];",
        json!(path)
    );
    browser.run_body(&script).await
}

/// A page of somebody else, with a form that ends the session of whoever opens it.
async fn foreign_page(host: &str, target: &str) -> String {
    let listener = tokio::net::TcpListener::bind(format!("{host}:0"))
        .await
        .unwrap();
    let port = listener.local_addr().unwrap().port();
    let page = format!("<form method=post action=\"{target}\"><button>Win</button></form>");
    let router = axum::Router::new().fallback(async move || Html(page.clone()));
    tokio::spawn(partita_api::serve(
        listener,
        partita_api::server::service(router),
        partita_api::Limits::default(),
        std::future::pending(),
    ));
    format!("http://{host}:{port}/")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_writes_for_pages_of_our_own() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let circle = stage::folder("circle").join("circle.toml");
    let server = Logged::of_design(&circle, &folder.path().join("data"), &[]);
    let base = &server.base;

    // Sign up on a page of the server, open the link, confirm.
    browser.open(&format!("{base}/docs")).await;
    let ann = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
    assert_eq!(fetch(&browser, "auth/sign-up", &ann).await[0], 202);
    let token = server.mailed("verify-email").await;
    browser
        .open(&format!("{base}/auth/verify-email?token={token}"))
        .await;
    browser.type_into("input[name=password]", PASSWORD).await;
    browser.click("button").await;
    browser.shows("main", "confirmed").await;

    // Sign in by a cookie, which no script sees, and write.
    browser.open(&format!("{base}/docs")).await;
    let sign_in = json!({"login": "ann@example.org", "password": PASSWORD, "cookie": true});
    let answer = fetch(&browser, "auth/sign-in", &sign_in).await;
    assert_eq!(answer[0], 200, "{answer}");
    let session: Json = serde_json::from_str(answer[1].as_str().unwrap()).unwrap();
    assert_eq!(browser.run_body("return document.cookie;").await, "");
    let note = json!({"userId": session["user"]["userId"], "text": "Buy milk"});
    let answer = fetch(&browser, "Note", &note).await;
    assert_eq!(answer[0], 201, "{answer}");

    // A page of another port is of the same site: the cookie comes along, and the origin does not
    // fit. To a page of another site the browser does not even give the cookie.
    let target = format!("{base}/auth/sign-out");
    for (host, refused) in [
        ("127.0.0.1", "bad-origin"),
        ("localhost", "unauthenticated"),
    ] {
        browser.open(&foreign_page(host, &target).await).await;
        browser.click("button").await;
        let problem = format!("urn:partita:problem:{refused}");
        browser.shows("body", &problem).await;
    }
    // The session is as good as it was.
    browser.open(&format!("{base}/docs")).await;
    let answer = browser
        .run_body("return (await fetch('auth/me')).status;")
        .await;
    assert_eq!(answer, 200);
    let answer = browser
        .run_body("return (await fetch('auth/sign-out', { method: 'POST' })).status;")
        .await;
    assert_eq!(answer, 204);
    assert_eq!(
        browser
            .run_body("return (await fetch('auth/me')).status;")
            .await,
        401
    );
    browser.stop().await;
}

/// A browser is sent to a provider that others wrote, and comes back signed in.
#[tokio::test(flavor = "multi_thread")]
async fn somebody_comes_back_from_a_provider() {
    if !is_installed("oidc") {
        return;
    }
    let Some(browser) = Browser::start().await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    // The provider knows the address to come back to before the server has it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let base = format!("http://{address}/mediahub");
    let provider = OpenId::start_for(&base);
    let secret = folder.path().join("secret");
    std::fs::write(&secret, SECRET).unwrap();
    let flags = [
        "--oidc".to_owned(),
        format!("google={}", provider.issuer),
        "--oidc-client".to_owned(),
        format!("google={CLIENT}"),
        "--oidc-secret-file".to_owned(),
        format!("google={}", secret.display()),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let data = folder.path().join("data");
    let server = Logged::at(&address, Path::new("mediahub"), &data, &flags);

    let begin = format!("{base}/auth/oidc/google?return=/mediahub/docs");
    browser.open(&begin).await;
    browser.type_into("input[name=login]", "ann").await;
    browser.type_into("input[name=password]", "any").await;
    browser.click("button[type=submit]").await;
    browser.wait_for("input[name=prompt][value=consent]").await;
    browser.click("button[type=submit]").await;
    let script = "return location.pathname === '/mediahub/docs';";
    browser.until(script, &[]).await;
    let me = "const answer = await fetch('auth/me'); return [answer.status, await answer.json()];";
    let me = browser.run_body(me).await;
    assert_eq!(
        (&me[0], &me[1]["user"]["email"]),
        (&json!(200), &json!("ann@example.org"))
    );
    assert_eq!(browser.run_body("return document.cookie;").await, "");
    assert!(server.has_logged("an account was made of claims"));
    browser.stop().await;
}
