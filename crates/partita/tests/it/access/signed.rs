//! Files by signed URLs: who may ask for one, who may use it, and what becomes of it when it is
//! altered.

use axum::http::Method;
use partita_api::access::{self, Persona, Row};
use partita_api::routes::Target;
use serde_json::json;

use super::contract::Seen;
use super::is_allowed;
use super::theatre::{Call, Theatre, compare, replaced};
use crate::scenario::{Request, request};

pub(super) const MEDIA_TYPE: &str = "image/jpeg";

impl Theatre {
    /// Sends the bytes of a file and reads one, as everybody.
    pub(super) async fn play_signed(&mut self, row: &Row<'_>) -> Result<(), String> {
        match row.route.target {
            Target::SendFile => self.play_send(row).await,
            _ => self.play_read(row).await,
        }
    }

    async fn play_send(&self, row: &Row<'_>) -> Result<(), String> {
        let owner = self.owner_of_file()?;
        let url = self.ask_upload(&owner).await?;
        let unsigned = url.split('?').next().unwrap_or_default();
        for persona in Persona::ALL {
            let token = self.token(persona, Some(&owner));
            let seen = self.put_bytes(unsigned, token).await;
            self.judge_signed(row, persona, false, &seen)
                .map_err(|failure| format!("without a signature: {failure}"))?;
        }
        for altered in forgeries(&url) {
            for persona in Persona::ALL {
                let token = self.token(persona, Some(&owner));
                let seen = self.put_bytes(&altered, token).await;
                self.judge_signed(row, persona, false, &seen)
                    .map_err(|failure| format!("{altered}: {failure}"))?;
            }
        }
        // What is for writing is not for reading.
        for method in [Method::GET, Method::HEAD] {
            let token = self.token(Persona::Owner, Some(&owner));
            let seen = self.by_url(method, &url, token).await;
            expect(403, &seen)?;
        }
        for persona in Persona::ALL {
            // An upload is sent once, so who is let pass has one of his own.
            let is_his = matches!(persona, Persona::Nobody | Persona::Owner);
            let fresh = self.ask_upload(&owner).await?;
            let url = if is_his { &fresh } else { &url };
            let token = self.token(persona, Some(&owner));
            let seen = self.put_bytes(url, token.clone()).await;
            self.judge_signed(row, persona, is_his, &seen)?;
            if is_his {
                let again = self.put_bytes(url, token).await;
                self.contract.judge(row.route, &again)?;
                expect(409, &again)?;
            }
        }
        // None of all that has been taken for the upload itself.
        let token = self.token(Persona::Owner, Some(&owner));
        expect(201, &self.put_bytes(&url, token).await)
    }

    async fn play_read(&mut self, row: &Row<'_>) -> Result<(), String> {
        let (name, probe) = self.cast.file.clone().ok_or("the cast names no file")?;
        let owner = self.owner_of_file()?;
        let path = format!("files/{}", replaced(&name, &self.shared));
        let design = self.design.clone();
        let item = self.canonical(&probe.verb);
        let decided = access::row(&design, &item);
        for persona in Persona::ALL {
            let call = Call {
                method: Method::GET,
                url: self.url(&path),
                body: None,
            };
            let seen = self.send(&call, self.token(persona, Some(&owner))).await;
            self.contract.judge(row.route, &seen)?;
            compare(persona, is_allowed(&decided, persona, &probe)?, &seen)?;
        }
        let url = self.ask_file(&path, &owner).await?;
        for altered in forgeries(&url) {
            for persona in Persona::ALL {
                let token = self.token(persona, Some(&owner));
                let seen = self.by_url(Method::GET, &altered, token).await;
                self.judge_signed(row, persona, false, &seen)
                    .map_err(|failure| format!("{altered}: {failure}"))?;
            }
        }
        // What is for reading is not for writing.
        let token = self.token(Persona::Owner, Some(&owner));
        expect(403, &self.put_bytes(&url, token).await)?;
        for persona in Persona::ALL {
            let is_his = matches!(persona, Persona::Nobody | Persona::Owner);
            for method in [Method::GET, Method::HEAD] {
                let token = self.token(persona, Some(&owner));
                let seen = self.by_url(method, &url, token).await;
                let expected = match persona {
                    _ if is_his => 200,
                    Persona::Expired | Persona::Forged => 401,
                    _ => 403,
                };
                expect(expected, &seen)
                    .map_err(|failure| format!("{}: {failure}", persona.word()))?;
            }
        }
        Ok(())
    }

    /// The caller whose file it is.
    pub(super) fn owner_of_file(&self) -> Result<Request, String> {
        let (_, probe) = self.cast.file.as_ref().ok_or("the cast names no file")?;
        request(&replaced(&probe.request, &self.shared))
    }

    /// Asks for an upload to the first prefix that takes pictures of this caller.
    pub(super) async fn ask_upload(&self, owner: &Request) -> Result<String, String> {
        for route in self.routes.iter() {
            if !matches!(route.target, Target::AskUpload { .. }) {
                continue;
            }
            let call = Call {
                method: Method::POST,
                url: self.url(&route.path.to_string()),
                body: Some(json!({ "contentType": MEDIA_TYPE, "size": 1 })),
            };
            let seen = self
                .send(&call, self.token(Persona::Owner, Some(owner)))
                .await;
            if let Some(url) = seen.body["upload"]["url"].as_str() {
                return Ok(url.to_owned());
            }
        }
        Err("no prefix takes pictures of the owner".to_owned())
    }

    async fn ask_file(&self, path: &str, owner: &Request) -> Result<String, String> {
        let call = Call {
            method: Method::GET,
            url: self.url(path),
            body: None,
        };
        let seen = self
            .send(&call, self.token(Persona::Owner, Some(owner)))
            .await;
        let url = seen.body["url"].as_str().map(str::to_owned);
        url.ok_or(format!("no URL: {} {}", seen.status, seen.body))
    }

    async fn put_bytes(&self, url: &str, token: Option<String>) -> Seen {
        let url = format!("{}{url}", self.server.base);
        let call = self.client.put(url).header("content-type", MEDIA_TYPE);
        self.seen(call.body("x"), token).await
    }

    async fn by_url(&self, method: Method, url: &str, token: Option<String>) -> Seen {
        let url = format!("{}{url}", self.server.base);
        self.seen(self.client.request(method, url), token).await
    }

    /// Whether a caller was told what he should be, in an answer that the document has. A good
    /// token does not help against a wrong URL, and a bad one is refused with any.
    fn judge_signed(
        &self,
        row: &Row<'_>,
        persona: Persona,
        is_allowed: bool,
        seen: &Seen,
    ) -> Result<(), String> {
        self.contract.judge(row.route, seen)?;
        let expected = match persona {
            Persona::Expired | Persona::Forged => 401,
            _ if is_allowed => 201,
            _ => 403,
        };
        expect(expected, seen).map_err(|failure| format!("{}: {failure}", persona.word()))
    }
}

fn expect(status: u16, seen: &Seen) -> Result<(), String> {
    if seen.status == status {
        Ok(())
    } else {
        Err(format!("expected {status}: {} {}", seen.status, seen.body))
    }
}

/// A signed URL with something else in each of its places.
fn forgeries(url: &str) -> Vec<String> {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut forgeries = vec![
        format!("{folder}/0{name}?{query}"),
        format!("{folder}/other/{name}?{query}"),
        format!("{url}&more=1"),
        format!("{url}&{query}"),
    ];
    let parameters: Vec<&str> = query.split('&').collect();
    for (at, parameter) in parameters.iter().enumerate() {
        let with = |one: Option<String>| {
            let mut parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
            parameters.splice(at..=at, one);
            format!("{path}?{}", parameters.join("&"))
        };
        // One more at either end, one less, and another one in the first place.
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let first = if value.starts_with('1') { "2" } else { "1" };
        let rest = value.get(1..).unwrap_or_default();
        for altered in [
            format!("{name}=1{value}"),
            format!("{name}={value}1"),
            format!("{name}={rest}"),
            format!("{name}={first}{rest}"),
            format!("{name}="),
        ] {
            forgeries.push(with(Some(altered)));
        }
        forgeries.push(with(None));
    }
    forgeries
}
