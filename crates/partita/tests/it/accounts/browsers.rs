//! Cookies, forms and pages.

use reqwest::{Method, StatusCode};
use serde_json::{Value as Json, json};

use super::{Circle, PASSWORD, kind};

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_counts_for_pages_of_our_own() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await;
    let body = json!({"login": login, "password": PASSWORD, "cookie": true});
    let sent = circle
        .request(Method::POST, "auth/sign-in", None)
        .json(&body)
        .send()
        .await
        .unwrap();
    let cookie = sent.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        cookie.contains("; HttpOnly; SameSite=Lax") && cookie.contains("Path=/circle"),
        "{cookie}"
    );
    let told: Json = sent.json().await.unwrap();
    assert_eq!(told.get("token"), None);
    let id = told["user"]["userId"].as_str().unwrap().to_owned();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let send = |method: Method, path: &str, origin: Option<&str>| {
        let request = circle.request(method, path, None).header("cookie", &cookie);
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        request.json(&json!({"userId": id, "text": "Milk"})).send()
    };
    assert_eq!(
        send(Method::GET, "auth/me", None).await.unwrap().status(),
        StatusCode::OK
    );
    for (origin, status) in [
        (None, 403),
        (Some("https://elsewhere.example"), 403),
        (Some("http://127.0.0.1:8000"), 201),
    ] {
        let sent = send(Method::POST, "Note", origin).await.unwrap();
        assert_eq!(sent.status(), status, "{origin:?}");
    }
    assert_eq!(
        send(Method::POST, "auth/sign-out", Some("http://127.0.0.1:8000"))
            .await
            .unwrap()
            .status(),
        204
    );
    assert_eq!(
        send(Method::GET, "auth/me", None).await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );
}

/// Pages of others can send forms, and would sign their readers in as somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_page_sets_no_cookie() {
    let circle = Circle::in_memory().await;
    let login = circle.member("ann").await.replace('@', "%40");
    let password = PASSWORD.replace(' ', "+");
    let form = format!("login={login}&password={password}&cookie=strict");
    for (origin, status) in [
        (None, 403),
        (Some("null"), 403),
        (Some("https://elsewhere.example"), 403),
        (Some("http://127.0.0.1:8000"), 200),
    ] {
        let request = circle.request(Method::POST, "auth/sign-in", None);
        let request = match origin {
            Some(origin) => request.header("origin", origin),
            None => request,
        };
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let sent = request.body(form.clone()).send().await.unwrap();
        assert_eq!(sent.status(), status, "{origin:?}");
        let has_cookie = sent.headers().contains_key("set-cookie");
        assert_eq!(has_cookie, status == 200, "{origin:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mailed_link_leads_to_a_page_with_a_button() {
    let circle = Circle::in_memory().await;
    let body = json!({"email": "ann@example.org", "password": PASSWORD, "handle": "ann"});
    circle.post("auth/sign-up", None, body).await;
    let token = circle.link("ann@example.org", "verify-email").await;
    let page = circle
        .request(
            Method::GET,
            &format!("auth/verify-email?token={token}"),
            None,
        )
        .send()
        .await
        .unwrap();
    let policy = page.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(
        policy.contains("default-src 'none'") && !policy.contains("script"),
        "{policy}"
    );
    assert_eq!(page.headers()["cache-control"], "no-store");
    let html = page.text().await.unwrap();
    assert!(
        html.contains(&token) && html.contains("method=\"post\""),
        "{html}"
    );
    // Opening it does nothing. Sending the form does.
    assert_eq!(
        kind(&circle.sign_in("ann@example.org", PASSWORD).await.1),
        "unverified"
    );
    let form = [("token", token.as_str()), ("password", PASSWORD)];
    let form = form
        .map(|(name, value)| format!("{name}={}", value.replace(' ', "+")))
        .join("&");
    let send = || {
        let request = circle.request(Method::POST, "auth/verify-email", None);
        request
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form.clone())
            .send()
    };
    let page = send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    assert!(page.text().await.unwrap().contains("confirmed"));
    assert_eq!(send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(
        circle.sign_in("ann@example.org", PASSWORD).await.0,
        StatusCode::OK
    );
    let evil = circle
        .request(Method::GET, "auth/reset?token=%22%3E%3Cscript%3E", None)
        .send()
        .await
        .unwrap();
    assert!(!evil.text().await.unwrap().contains("<script"));
}
