//! Who does not get in.

use reqwest::Client;
use serde_json::{Value as Json, json};

use super::{go, partita, settle, shown};
use crate::accounts::PASSWORD;
use crate::accounts::binary::Logged;
use crate::browser::webdriver::Browser;
use crate::server::{Server, token, token_for};

/// The secret of a link is good once, from this machine, and for pages of this server.
#[tokio::test]
async fn a_link_opens_once_and_only_here() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories"]);
    let url = format!("{}/console/session", server.base);
    let client = Client::new();
    let secret = || {
        let link = partita(data.path(), &["console", "stories"]);
        let (start, rest) = link.split_once("#link=").unwrap();
        assert_eq!(start, format!("{}/console", server.base));
        rest.split('&').next().unwrap().to_owned()
    };
    let exchange = async |secret: &str, headers: &[(&'static str, &str)]| {
        let mut call = client.post(&url).json(&json!({ "secret": secret }));
        for (name, value) in headers {
            call = call.header(*name, *value);
        }
        let answer = call.send().await.unwrap();
        (
            answer.status().as_u16(),
            answer.json::<Json>().await.unwrap(),
        )
    };
    let good = secret();
    assert_eq!(exchange("", &[]).await.0, 401);
    assert_eq!(exchange("guessed", &[]).await.0, 401);
    for header in [
        ("origin", "https://example.org"),
        ("origin", "null"),
        ("host", "example.org"),
        ("x-forwarded-for", "10.0.0.1"),
    ] {
        assert_eq!(exchange(&good, &[header]).await.0, 401, "{header:?}");
    }
    // None of them has used it up.
    let (status, answer) = exchange(&good, &[("origin", &server.base)]).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(exchange(&good, &[]).await.0, 401);
    let credential = answer["credential"].as_str().unwrap();
    let ask = async |credential: &str, headers: &[(&'static str, &str)]| {
        let url = format!("{}/stories/admin/describe", server.base);
        let mut call = client.post(url).json(&json!({})).bearer_auth(credential);
        for (name, value) in headers {
            call = call.header(*name, *value);
        }
        call.send().await.unwrap().status().as_u16()
    };
    assert_eq!(ask(credential, &[]).await, 200);
    assert_eq!(
        ask(credential, &[("origin", "https://example.org")]).await,
        401
    );
    assert_eq!(ask(&format!("{credential}x"), &[]).await, 401);
    assert_eq!(ask(&good, &[]).await, 401);
    // To the rules its owner is nobody.
    let create = client.post(format!("{}/stories/Story", server.base));
    let create = create
        .bearer_auth(credential)
        .json(&json!({ "userId": "ann", "title": "Dune" }));
    assert_eq!(create.send().await.unwrap().status().as_u16(), 401);
    let end = client
        .delete(&url)
        .bearer_auth(credential)
        .send()
        .await
        .unwrap();
    assert_eq!(end.status().as_u16(), 204);
    assert_eq!(ask(credential, &[]).await, 401);
}

/// The page holds nothing, and its policy lets nothing in.
#[tokio::test]
async fn everybody_gets_the_page_and_nothing_else() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories", "mediahub"]);
    let client = Client::new();
    let page = client
        .get(format!("{}/console", server.base))
        .send()
        .await
        .unwrap();
    assert_eq!(page.status().as_u16(), 200);
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe"), "{policy}");
    let tag = page.headers()["etag"].clone();
    let again = client
        .get(format!("{}/console", server.base))
        .header("if-none-match", tag);
    assert_eq!(again.send().await.unwrap().status().as_u16(), 304);
    for path in ["console/none.js", "console/session", "console/a/b"] {
        let answer = client
            .get(format!("{}/{path}", server.base))
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 404, "{path}");
    }
    // Who is no administrator is told nothing of the design by what the console asks for.
    let user = token(data.path(), "ann");
    let forged = {
        let elsewhere = tempfile::tempdir().unwrap();
        crate::server::make_secret(elsewhere.path());
        let path = elsewhere.path().to_str().unwrap().to_owned();
        token_for("stories", &["--role", "admin", "--data", &path], "root")
    };
    for (token, status) in [(None, 401), (Some(user), 403), (Some(forged), 401)] {
        for command in ["describe", "items"] {
            let url = format!("{}/stories/admin/{command}", server.base);
            let mut call = client.post(url).json(&json!({ "record": "Story" }));
            if let Some(token) = &token {
                call = call.bearer_auth(token);
            }
            assert_eq!(
                call.send().await.unwrap().status().as_u16(),
                status,
                "{command}"
            );
        }
    }
}

/// A token of an administrator opens the console, that of a user does not.
#[tokio::test]
async fn a_token_opens_what_its_owner_may_see() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["stories"]);
    browser.open(&format!("{}/console", server.base)).await;
    settle(&browser).await;
    browser.enter("Token", &token(data.path(), "ann")).await;
    browser.press("button", "Open the console").await;
    browser
        .until("return document.querySelector('.trouble')", &[])
        .await;
    let text = shown(&browser).await;
    assert!(text.contains("administrators"), "{text}");
    assert!(!text.contains("wholeStory"), "{text}");
    let path = data.path().to_str().unwrap();
    let admin = token_for("stories", &["--role", "admin", "--data", path], "root");
    browser.enter("Token", &admin).await;
    browser.press("button", "Open the console").await;
    browser
        .until("return document.querySelector('.cards')", &[])
        .await;
    settle(&browser).await;
    let text = shown(&browser).await;
    assert!(
        text.contains("wholeStory") && text.contains("root"),
        "{text}"
    );
    // It is in the tab, and nowhere else.
    assert_eq!(
        browser
            .run("return document.cookie + JSON.stringify(localStorage)", &[])
            .await,
        json!("{}")
    );
    browser.press("group", "root").await;
    browser.press("button", "Leave the console").await;
    browser
        .until("return document.querySelector('.enter')", &[])
        .await;
    assert_eq!(
        browser.run("return sessionStorage.length", &[]).await,
        json!(0)
    );
    browser.stop().await;
}

/// An administrator signs in with an account. The cookie is the browser's, for pages of the console
/// alone, and no script sees it.
#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_signs_in() {
    let Some(browser) = Browser::start().await else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Logged::start(&folder.path().join("data"), &[]);
    let (login, password) = ("ann@example.org", PASSWORD);
    let body = json!({"email": login, "password": password, "handle": "ann"});
    server.post("auth/sign-up", None, body).await;
    server.mailed("verify-email").await;
    let link = server.administrator().unwrap();
    let claim = json!({"token": link, "login": login, "password": password});
    let (status, said) = server.post("auth/administrator", None, claim).await;
    assert_eq!(status.as_u16(), 204, "{said}");

    let base = server.base.strip_suffix("/circle").unwrap();
    browser.open(&format!("{base}/console#/circle")).await;
    settle(&browser).await;
    browser.enter("Login", login).await;
    browser.enter("Password", "a wrong password").await;
    browser.press("button", "Sign in").await;
    browser
        .until("return document.querySelector('.trouble')", &[])
        .await;
    browser.enter("Password", password).await;
    browser.press("button", "Sign in").await;
    browser
        .until("return document.querySelector('.cards')", &[])
        .await;
    settle(&browser).await;
    go(&browser, "#/circle/data/User").await;
    assert!(shown(&browser).await.contains("ann"));
    let seen = "return document.cookie + JSON.stringify(localStorage)";
    assert_eq!(browser.run(seen, &[]).await, json!("{}"));
    let cookies = browser.cookies().await;
    assert_eq!(cookies[0]["sameSite"], "Strict", "{cookies}");
    assert_eq!(cookies[0]["httpOnly"], true, "{cookies}");
    assert_eq!(cookies.as_array().unwrap().len(), 1, "{cookies}");
    browser.stop().await;
}
