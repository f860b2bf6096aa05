//! A browser through WebDriver, as far as the tests need it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use serde_json::{Value as Json, json};

/// Finds what has a role and a name. The browser's own word for both is asked by `axe-core`.
const NAMED: &str = r#"
const [role, name] = arguments;
const kinds = {
  button: "button", link: "a[href]", heading: "h1, h2, h3", option: "[role=option]",
  textbox: "input, textarea", combobox: "select, [role=combobox]", group: "summary",
};
const dialogs = [...document.querySelectorAll("dialog[open]")];
const within = dialogs.at(-1) ?? document;
const called = (element) => {
  const labels = [...(element.labels ?? [])].map((one) => one.innerText).join(" ");
  const text = element.getAttribute("aria-label") || labels || element.innerText || "";
  return text.replace(/\s+/g, " ").replace(/ required$/, "").trim();
};
const fits = (element) => called(element) === name && element.checkVisibility() && !element.disabled;
return [...within.querySelectorAll(kinds[role])].find(fits) ?? null;
"#;

/// The key, as WebDriver calls it.
const CONTROL: char = '\u{e009}';

/// How an element is found.
#[derive(Clone, Copy)]
enum Wanted<'w> {
    /// By a selector.
    By(&'w str),
    /// By its role and name, as people find it.
    Called(&'w str, &'w str),
}

/// A browser without a window; driver and browser end with it.
pub(crate) struct Browser {
    driver: Child,
    client: reqwest::Client,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// What an async function of the page comes to.
    pub(crate) async fn run_body(&self, body: &str) -> Json {
        let script = format!(
            "const done = arguments[0]; (async () => {{ {body} }})().then(done, (error) => done(`${{error}}`));"
        );
        self.run_async(&script, &[]).await
    }

    /// Starts one; none where the machine has no Chromium, which CI does not accept.
    pub(crate) async fn start() -> Option<Browser> {
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = match driver {
            Ok(driver) => driver,
            Err(error) if std::env::var_os("CI").is_none() => {
                // Past the capture of the test harness, which shows nothing of a test that passes.
                let _ = writeln!(std::io::stderr(), "skipped: no chromedriver ({error})");
                return None;
            }
            Err(error) => panic!("under CI nothing may be skipped: {error}"),
        };
        let port = port(&mut driver);
        let profile = tempfile::tempdir().unwrap();
        let client = reqwest::Client::new();
        let mut browser = Browser {
            driver,
            client,
            session: format!("http://127.0.0.1:{port}/session"),
            _profile: profile,
        };
        let profile = browser._profile.path().display();
        let options = json!({ "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--window-size=1280,900", format!("--user-data-dir={profile}"),
        ] });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = browser.post("", wanted).await;
        let id = made["sessionId"].as_str().unwrap().to_owned();
        browser.session = format!("{}/{id}", browser.session);
        // Everything that is looked for may take a moment to appear.
        browser
            .post(
                "/timeouts",
                json!({ "implicit": 10_000, "script": 120_000 }),
            )
            .await;
        Some(browser)
    }

    pub(crate) async fn open(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.on(Wanted::By(selector), &[("click", json!({}))]).await;
    }

    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        let keys = json!({ "text": text });
        self.on(Wanted::By(selector), &[("value", keys)]).await;
    }

    /// Replaces what a field holds.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        let keys = json!({ "text": text });
        let steps = [("clear", json!({})), ("value", keys)];
        self.on(Wanted::By(selector), &steps).await;
    }

    pub(crate) async fn wait_for(&self, selector: &str) {
        self.find(selector).await;
    }

    pub(crate) async fn text(&self, selector: &str) -> String {
        let element = self.find(selector).await;
        let text = self.get(&format!("/element/{element}/text")).await;
        text.as_str().unwrap().to_owned()
    }

    /// Waits until what a selector finds shows this text: after a click the page before is there for
    /// a while.
    pub(crate) async fn shows(&self, selector: &str, text: &str) {
        let script =
            "return document.querySelector(arguments[0])?.innerText.includes(arguments[1])";
        self.until(script, &[json!(selector), json!(text)]).await;
    }

    pub(crate) async fn count(&self, selector: &str) -> u64 {
        let script = "return document.querySelectorAll(arguments[0]).length";
        let run = json!({ "script": script, "args": [selector] });
        self.post("/execute/sync", run).await.as_u64().unwrap()
    }

    /// Runs a script in the page, and waits for what it answers.
    pub(crate) async fn run(&self, script: &str, arguments: &[Json]) -> Json {
        let run = json!({ "script": script, "args": arguments });
        self.post("/execute/sync", run).await
    }

    /// Runs a script that calls its last argument when it is done.
    pub(crate) async fn run_async(&self, script: &str, arguments: &[Json]) -> Json {
        let run = json!({ "script": script, "args": arguments });
        self.post("/execute/async", run).await
    }

    /// Waits until a script answers something that is true. A script that the browser ends because
    /// the page goes is run again on the page that comes.
    pub(crate) async fn until(&self, script: &str, arguments: &[Json]) -> Json {
        let run = json!({ "script": script, "args": arguments });
        for _ in 0..600 {
            match self.try_post("/execute/sync", &run).await {
                Ok(Json::Null | Json::Bool(false)) | Err(_) => {}
                Ok(found) => return found,
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let text = self.run("return document.body.innerText", &[]).await;
        panic!("never: {script} {arguments:?}\n{}", text.as_str().unwrap());
    }

    /// Presses what has this role and name, as people find it; in a dialog, while there is one.
    pub(crate) async fn press(&self, role: &str, name: &str) {
        let wanted = Wanted::Called(role, name);
        self.on(wanted, &[("click", json!({}))]).await;
    }

    /// Replaces what the field of this name holds.
    pub(crate) async fn enter(&self, name: &str, text: &str) {
        let keys = json!({ "text": text });
        let steps = [("clear", json!({})), ("value", keys)];
        self.on(Wanted::Called("textbox", name), &steps).await;
    }

    /// Presses keys one after the other, wherever the focus is. Control stays down to the end.
    pub(crate) async fn keys(&self, keys: &str) {
        let mut actions = Vec::new();
        let mut held = Vec::new();
        for key in keys.chars() {
            actions.push(json!({ "type": "keyDown", "value": key }));
            let released = json!({ "type": "keyUp", "value": key });
            if key == CONTROL {
                held.push(released);
            } else {
                actions.push(released);
            }
        }
        actions.extend(held);
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        let pressed = json!({ "actions": [keyboard] });
        self.post("/actions", pressed).await;
    }

    /// Does something to an element; from the start to the one that took its place, where the page
    /// was drawn again meanwhile.
    async fn on(&self, wanted: Wanted<'_>, steps: &[(&str, Json)]) {
        'again: for _ in 0..100 {
            let element = match wanted {
                Wanted::By(selector) => self.find(selector).await,
                Wanted::Called(role, name) => self.named(role, name).await,
            };
            for (verb, body) in steps {
                let path = format!("/element/{element}/{verb}");
                match self.try_post(&path, body).await {
                    Err(why) if why.contains("stale element reference") => continue 'again,
                    done => _ = done.unwrap(),
                }
            }
            return;
        }
        panic!("the page is drawn again and again");
    }

    async fn named(&self, role: &str, name: &str) -> String {
        let found = self.until(NAMED, &[json!(role), json!(name)]).await;
        let mut ids = found.as_object().unwrap().values();
        ids.next().unwrap().as_str().unwrap().to_owned()
    }

    /// The cookies of the page's server, whichever paths they are for.
    pub(crate) async fn cookies(&self) -> Json {
        let command = json!({ "cmd": "Network.getAllCookies", "params": {} });
        let found = self.post("/goog/cdp/execute", command).await;
        found["cookies"].clone()
    }

    /// Has pages see a dark or a light system.
    pub(crate) async fn prefer(&self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let parameters = json!({ "features": features });
        let command = json!({ "cmd": "Emulation.setEmulatedMedia", "params": parameters });
        self.post("/goog/cdp/execute", command).await;
    }

    /// Gives pages the width of a phone.
    pub(crate) async fn become_phone(&self) {
        let parameters =
            json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
        let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": parameters });
        self.post("/goog/cdp/execute", command).await;
    }

    /// What the browser has to say of the page: errors, and what was blocked.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" })).await;
        let lines = log.as_array().unwrap().iter();
        let bad = lines.filter(|line| line["level"] == "SEVERE");
        bad.map(|line| line["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Writes what the browser shows to a file.
    pub(crate) async fn screenshot(&self, folder: &Path, name: &str) {
        let picture = self.get("/screenshot").await;
        let picture = base64::engine::general_purpose::STANDARD.decode(picture.as_str().unwrap());
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), picture.unwrap()).unwrap();
    }

    pub(crate) async fn stop(self) {
        let _ = self.client.delete(&self.session).send().await;
    }

    async fn find(&self, selector: &str) -> String {
        let by = json!({ "using": "css selector", "value": selector });
        let found = self.post("/element", by).await;
        let mut ids = found.as_object().unwrap().values();
        ids.next().unwrap().as_str().unwrap().to_owned()
    }

    async fn post(&self, path: &str, body: Json) -> Json {
        self.try_post(path, &body).await.unwrap()
    }

    async fn try_post(&self, path: &str, body: &Json) -> Result<Json, String> {
        let call = self.client.post(format!("{}{path}", self.session));
        value(path, call.json(body)).await
    }

    async fn get(&self, path: &str) -> Json {
        let call = self.client.get(format!("{}{path}", self.session));
        value(path, call).await.unwrap()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

async fn value(path: &str, call: reqwest::RequestBuilder) -> Result<Json, String> {
    let answer = call.send().await.unwrap();
    let status = answer.status();
    let mut answer: Json = answer.json().await.unwrap();
    if status.is_success() {
        Ok(answer["value"].take())
    } else {
        Err(format!("{path}: {answer:#}"))
    }
}

/// The port that the driver has chosen; it says so when it is ready.
fn port(driver: &mut Child) -> u16 {
    let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let line = lines
        .find(|line| line.contains("started successfully"))
        .unwrap();
    let digits: String = line
        .chars()
        .rev()
        .skip_while(|letter| !letter.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.chars().rev().collect::<String>().parse().unwrap()
}
