//! A browser through WebDriver, as far as the tests need it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use serde_json::{Value as Json, json};

/// A browser without a window; driver and browser end with it.
pub(crate) struct Browser {
    driver: Child,
    client: reqwest::Client,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
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
            .post("/timeouts", json!({ "implicit": 10_000 }))
            .await;
        Some(browser)
    }

    pub(crate) async fn open(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    pub(crate) async fn click(&self, selector: &str) {
        let element = self.find(selector).await;
        self.post(&format!("/element/{element}/click"), json!({}))
            .await;
    }

    pub(crate) async fn type_into(&self, selector: &str, text: &str) {
        let element = self.find(selector).await;
        let keys = json!({ "text": text });
        self.post(&format!("/element/{element}/value"), keys).await;
    }

    /// Replaces what a field holds.
    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        let element = self.find(selector).await;
        self.post(&format!("/element/{element}/clear"), json!({}))
            .await;
        self.type_into(selector, text).await;
    }

    pub(crate) async fn wait_for(&self, selector: &str) {
        self.find(selector).await;
    }

    pub(crate) async fn text(&self, selector: &str) -> String {
        let element = self.find(selector).await;
        let text = self.get(&format!("/element/{element}/text")).await;
        text.as_str().unwrap().to_owned()
    }

    pub(crate) async fn count(&self, selector: &str) -> u64 {
        let script = "return document.querySelectorAll(arguments[0]).length";
        let run = json!({ "script": script, "args": [selector] });
        self.post("/execute/sync", run).await.as_u64().unwrap()
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
        let call = self.client.post(format!("{}{path}", self.session));
        value(path, call.json(&body)).await
    }

    async fn get(&self, path: &str) -> Json {
        value(path, self.client.get(format!("{}{path}", self.session))).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

async fn value(path: &str, call: reqwest::RequestBuilder) -> Json {
    let answer = call.send().await.unwrap();
    let status = answer.status();
    let answer: Json = answer.json().await.unwrap();
    assert!(status.is_success(), "{path}: {answer:#}");
    answer["value"].clone()
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
