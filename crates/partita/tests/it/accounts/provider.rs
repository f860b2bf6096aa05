//! Sign-in at a provider, with the real binary and a provider that others wrote; and providers that
//! lie.

mod liar;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use reqwest::{Client, Method, Response, redirect};
use serde_json::{Value as Json, json};

use super::{PASSWORD, kind};
use crate::outbox::{is_installed, script};
use crate::server::Server;
use crate::stage;

/// Where browsers reach the server, as they think.
const PUBLIC: &str = "https://app.example";
pub(crate) const CLIENT: &str = "partita of tests";
pub(crate) const SECRET: &str = "a secret: with & and %";

/// The provider, in a process of its own.
pub(crate) struct OpenId {
    child: Child,
    pub(crate) issuer: String,
}

impl OpenId {
    /// Starts it for the client of some designs.
    fn start(design: &str) -> OpenId {
        OpenId::start_for(&format!("{PUBLIC}/{design}"))
    }

    /// Starts it for a design at a URL.
    pub(crate) fn start_for(url: &str) -> OpenId {
        let mut child = Command::new(script())
            .args(["oidc", CLIENT, SECRET])
            .arg(format!("{url}/auth/oidc/google/callback"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let issuer = format!("http://127.0.0.1:{}", line.trim());
        OpenId { child, issuer }
    }
}

impl Drop for OpenId {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of a design at which people sign in by a provider.
struct Site {
    server: Server,
    design: String,
}

impl Site {
    fn start(design: &Path, issuers: &[(&str, &str)], data: &Path, more: &[&str]) -> Site {
        let secret = data.with_extension("oidc-secret");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        let mut flags = vec![
            design.to_str().unwrap().to_owned(),
            "--public-url".to_owned(),
            PUBLIC.to_owned(),
        ];
        for (name, issuer) in issuers {
            flags.extend(["--oidc".to_owned(), format!("{name}={issuer}")]);
            flags.extend(["--oidc-client".to_owned(), format!("{name}={CLIENT}")]);
            let secret = format!("{name}={}", secret.display());
            flags.extend(["--oidc-secret-file".to_owned(), secret]);
        }
        flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Site {
            server: Server::start(data, &flags),
            design: design.file_stem().unwrap().to_str().unwrap().to_owned(),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{PUBLIC}/{}/{path}", self.design)
    }
}

/// A browser: it has cookies, and follows redirects when it is told to.
struct Browser<'s> {
    site: &'s Site,
    client: Client,
    /// By the beginning of a URL, and their name.
    cookies: BTreeMap<(String, String), String>,
}

impl<'s> Browser<'s> {
    fn new(site: &'s Site) -> Browser<'s> {
        let client = Client::builder().redirect(redirect::Policy::none());
        Browser {
            site,
            client: client.build().unwrap(),
            cookies: BTreeMap::new(),
        }
    }

    async fn send(&mut self, method: Method, url: &str, form: Option<&str>) -> Response {
        let host = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        // The name leads to the server, as it would through a proxy.
        let real = url.replace(PUBLIC, &self.site.server.base);
        let mine = self.cookies.iter().filter(|((known, _), _)| *known == host);
        let mine: Vec<String> = mine
            .map(|((_, name), value)| format!("{name}={value}"))
            .collect();
        let mut request = self.client.request(method, real);
        if !mine.is_empty() {
            request = request.header("cookie", mine.join("; "));
        }
        if let Some(form) = form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header("content-type", kind).body(form.to_owned());
        }
        let answer = request.send().await.unwrap();
        for cookie in answer.headers().get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (pair, rest) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').unwrap();
            let key = (host.clone(), name.to_owned());
            if rest.contains("Max-Age=0") || value.is_empty() {
                self.cookies.remove(&key);
            } else {
                self.cookies.insert(key, value.to_owned());
            }
        }
        answer
    }

    async fn get(&mut self, url: &str) -> Response {
        self.send(Method::GET, url, None).await
    }

    /// Begins a sign-in. Says where the provider is.
    async fn begin(&mut self, provider: &str, query: &str) -> String {
        let url = self.site.url(&format!("auth/oidc/{provider}{query}"));
        let answer = self.get(&url).await;
        assert_eq!(answer.status(), 303);
        location(&answer)
    }

    /// Signs in at the provider under a name. Says where it sends the browser back to.
    async fn pass(&mut self, mut url: String, name: &str) -> String {
        let origin = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        for _ in 0..12 {
            if url.starts_with(PUBLIC) {
                return url;
            }
            if url.starts_with('/') {
                url = format!("{origin}{url}");
            }
            let answer = self.get(&url).await;
            if answer.status().is_redirection() {
                url = location(&answer);
                continue;
            }
            let page = answer.text().await.unwrap();
            let is_login = page.contains("value=\"login\"");
            let form = match is_login {
                true => format!("prompt=login&login={name}&password=any"),
                false => "prompt=consent".to_owned(),
            };
            let answer = self.send(Method::POST, &url, Some(&form)).await;
            assert!(answer.status().is_redirection(), "{page}");
            url = location(&answer);
        }
        panic!("the provider sends the browser round and round");
    }

    /// Signs in, and answers what the server says in the end.
    async fn sign_in(&mut self, name: &str, query: &str) -> Response {
        let there = self.begin("google", query).await;
        let back = self.pass(there, name).await;
        self.get(&back).await
    }

    async fn me(&mut self) -> (u16, Json) {
        let answer = self.get(&self.site.url("auth/me")).await;
        (answer.status().as_u16(), answer.json().await.unwrap())
    }
}

fn location(answer: &Response) -> String {
    answer.headers()["location"].to_str().unwrap().to_owned()
}

async fn told(answer: Response) -> (u16, Json) {
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(json!(text)))
}

fn mediahub() -> PathBuf {
    stage::folder("mediahub").join("mediahub.toml")
}

/// Google's users of `mediahub`, from the first sign-in on.
pub(crate) async fn google(data: &Path, more: &[&str]) {
    if !is_installed("oidc") {
        return;
    }
    let provider = OpenId::start("mediahub");
    let site = Site::start(&mediahub(), &[("google", &provider.issuer)], data, more);

    // A browser is sent away and comes back with a cookie, to where it wanted to go.
    let mut ann = Browser::new(&site);
    let answer = ann.sign_in("ann", "?return=/mediahub/docs").await;
    assert_eq!(answer.status(), 303, "{:?}", answer.text().await);
    assert_eq!(location(&answer), format!("{PUBLIC}/mediahub/docs"));
    let cookies: Vec<&str> = answer
        .headers()
        .get_all("set-cookie")
        .iter()
        .map(|one| one.to_str().unwrap())
        .collect();
    let session = cookies
        .iter()
        .find(|one| one.starts_with("partita-mediahub="))
        .unwrap();
    assert!(
        session.contains("HttpOnly; SameSite=Lax; Secure"),
        "{session}"
    );
    let (status, me) = ann.me().await;
    assert_eq!(status, 200, "{me}");
    let user = &me["user"];
    assert_eq!(
        (&user["email"], &user["provider"], &user["googleId"]),
        (
            &json!("ann@example.org"),
            &json!("google"),
            &json!("subject-of-ann")
        )
    );
    assert_eq!(
        (&user["isEmailVerified"], &user["role"], &user["firstName"]),
        (&json!(true), &json!("user"), &json!("ann"))
    );
    assert_eq!(user["username"], user["userId"]);

    // Without `return` the answer is that of a sign-in; it is the same account.
    let mut again = Browser::new(&site);
    let (status, session) = told(again.sign_in("ann", "").await).await;
    assert_eq!(
        (status, &session["user"]["userId"]),
        (200, &user["userId"]),
        "{session}"
    );
    let token = session["token"].as_str().unwrap();
    let call = Client::new().get(format!("{}/mediahub/auth/sessions", site.server.base));
    let sessions: Json = call
        .bearer_auth(token)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 2, "{sessions}");

    // Who tells no address, or one that is not confirmed, gets no account.
    for name in ["bob.unconfirmed", "bob.silent"] {
        let (status, refused) = told(Browser::new(&site).sign_in(name, "").await).await;
        assert_eq!(
            (status, kind(&refused)),
            (403, "not-provisioned"),
            "{refused}"
        );
    }
    // A password does not open an account that has none.
    let body = json!({"login": "ann@example.org", "password": PASSWORD});
    let call = Client::new().post(format!("{}/mediahub/auth/sign-in", site.server.base));
    assert_eq!(call.json(&body).send().await.unwrap().status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn people_of_mediahub_come_from_google() {
    let folder = tempfile::tempdir().unwrap();
    google(&folder.path().join("data"), &[]).await;
}

/// What somebody tries who has something of a sign-in, but not all of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_is_good_once_and_in_its_browser() {
    if !is_installed("oidc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let provider = OpenId::start("circle");
    let circle = stage::folder("circle").join("circle.toml");
    let issuers = [
        ("google", provider.issuer.as_str()),
        ("forge", "http://127.0.0.1:9"),
    ];
    let site = Site::start(&circle, &issuers, &data, &["--mail", "log"]);
    let refused = async |answer: Response| {
        let (status, told) = told(answer).await;
        (status, kind(&told).to_owned())
    };
    let not_begun = (403, "sign-in-invalid".to_owned());

    let mut ann = Browser::new(&site);
    let there = ann.begin("google", "").await;
    let back = ann.pass(there, "ann").await;
    // Another browser, also one that has begun a sign-in of its own.
    let mut eve = Browser::new(&site);
    assert_eq!(refused(eve.get(&back).await).await, not_begun);
    eve.begin("google", "").await;
    assert_eq!(refused(eve.get(&back).await).await, not_begun);
    // A state that is not the one of the browser.
    let state = back
        .split("state=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    let other = back.replace(state, &state.to_lowercase());
    let cookies = ann.cookies.clone();
    assert_eq!(refused(ann.get(&other).await).await, not_begun);
    // The path of another provider, and the word of another issuer.
    ann.cookies = cookies.clone();
    let other = back.replace("/google/callback", "/forge/callback");
    assert_eq!(refused(ann.get(&other).await).await, not_begun);
    ann.cookies = cookies.clone();
    let (before, _) = back.split_once("&iss=").unwrap();
    for other in [
        before.to_owned(),
        format!("{before}&iss=https%3A%2F%2Felsewhere.example"),
    ] {
        ann.cookies = cookies.clone();
        assert_eq!(
            refused(ann.get(&other).await).await,
            (403, "provider-refused".to_owned())
        );
    }
    // It works, once: the browser forgets it, and the provider takes a code once.
    ann.cookies = cookies.clone();
    assert_eq!(ann.get(&back).await.status(), 200);
    assert_eq!(refused(ann.get(&back).await).await, not_begun);
    ann.cookies = cookies;
    assert_eq!(
        refused(ann.get(&back).await).await,
        (403, "provider-refused".to_owned())
    );

    // Nobody is sent to another site.
    for path in [
        "https://evil.example",
        "//evil.example",
        "/%5Cevil.example",
        "%2F%2Fevil.example",
        "/%0d%0aSet-Cookie:a=b",
    ] {
        let url = site.url(&format!("auth/oidc/google?return={path}"));
        assert_eq!(
            refused(eve.get(&url).await).await,
            (400, "bad-request".to_owned()),
            "{path}"
        );
    }
    let nobody = site.url("auth/oidc/nobody");
    assert_eq!(
        refused(eve.get(&nobody).await).await,
        (404, "no-route".to_owned())
    );
    let away = site.url("auth/oidc/forge");
    assert_eq!(
        refused(eve.get(&away).await).await,
        (503, "provider-unavailable".to_owned())
    );
    // Who says no at the provider is told so, on a page.
    eve.begin("google", "?return=/circle/docs").await;
    let there = eve.begin("google", "?return=/circle/docs").await;
    let state = there
        .split("state=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    let url = site.url(&format!(
        "auth/oidc/google/callback?error=access_denied&state={state}"
    ));
    let answer = eve.get(&url).await;
    assert_eq!(answer.status(), 403);
    assert!(answer.text().await.unwrap().contains("access_denied"));
}
