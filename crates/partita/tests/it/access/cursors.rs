//! Cursors: good for the caller who got them, for the question that they belong to, and as they are.

use axum::http::Method;
use partita_api::access::Persona;
use partita_api::routes::Route;

use super::contract::Seen;
use super::theatre::{Call, Theatre, replaced};
use crate::scenario::{Request, Verb, request};

/// A page that has another one behind it.
struct Page {
    route: Route,
    url: String,
    asked: Request,
    cursor: String,
}

impl Theatre {
    /// Takes a cursor of every pattern that has one, and tries whatever it is not good for.
    pub(crate) async fn cursors(&self) -> Vec<String> {
        let pages = self.pages().await;
        if pages.is_empty() {
            return vec!["no pattern has a second page".to_owned()];
        }
        let mut failures = Vec::new();
        for (index, page) in pages.iter().enumerate() {
            let others = pages.iter().enumerate();
            let others = others.filter(|(other, _)| *other != index);
            let others = others.map(|(_, page)| page.cursor.as_str());
            if let Err(failure) = self.play_cursor(page, others.collect()).await {
                failures.push(format!("{}: {failure}", page.route.operation_id));
            }
        }
        failures
    }

    async fn play_cursor(&self, page: &Page, others: Vec<&str>) -> Result<(), String> {
        let owner = self.token(Persona::Owner, Some(&page.asked));
        let seen = self.at(page, &page.cursor, owner.clone()).await;
        if seen.status != 200 {
            return Err(format!("not good as it is: {} {}", seen.status, seen.body));
        }
        let altered = altered(&page.cursor);
        let altered = altered.iter().map(String::as_str);
        for cursor in altered.chain(others) {
            let seen = self.at(page, cursor, owner.clone()).await;
            self.refuses_cursor(page, &seen)
                .map_err(|failure| format!("{cursor}: {failure}"))?;
        }
        for persona in Persona::ALL {
            if persona == Persona::Owner {
                continue;
            }
            let token = self.token(persona, None);
            // The cursor of somebody who is an administrator already is his own.
            if token.is_some() && token == owner {
                continue;
            }
            let seen = self.at(page, &page.cursor, token).await;
            self.contract.judge(&page.route, &seen)?;
            if !matches!(seen.status, 400 | 401 | 403 | 404) {
                let who = persona.word();
                return Err(format!("{who} is told {}: {}", seen.status, seen.body));
            }
        }
        Ok(())
    }

    /// The first pages of all patterns, of one row each, where there are more.
    async fn pages(&self) -> Vec<Page> {
        let mut pages = Vec::new();
        for probe in &self.cast.probes {
            if !matches!(probe.verb, Verb::Query { .. }) || !probe.before.is_empty() {
                continue;
            }
            let route = self.canonical(&probe.verb);
            let asked = request(&replaced(&probe.request, &self.shared)).unwrap();
            let url = self.fill(&route, &asked).unwrap().url;
            let mark = if url.contains('?') { '&' } else { '?' };
            let url = format!("{url}{mark}limit=1");
            let call = Call {
                method: Method::GET,
                url: url.clone(),
                body: None,
            };
            let seen = self
                .send(&call, self.token(Persona::Owner, Some(&asked)))
                .await;
            if let Some(cursor) = seen.body["cursor"].as_str() {
                pages.push(Page {
                    route,
                    url,
                    cursor: cursor.to_owned(),
                    asked,
                });
            }
        }
        pages
    }

    async fn at(&self, page: &Page, cursor: &str, token: Option<String>) -> Seen {
        let call = Call {
            method: Method::GET,
            url: format!("{}&cursor={cursor}", page.url),
            body: None,
        };
        self.send(&call, token).await
    }

    fn refuses_cursor(&self, page: &Page, seen: &Seen) -> Result<(), String> {
        self.contract.judge(&page.route, seen)?;
        if seen.status == 400 && seen.body["type"] == "urn:partita:problem:bad-cursor" {
            Ok(())
        } else {
            Err(format!("it is taken: {} {}", seen.status, seen.body))
        }
    }
}

/// A cursor with another letter in some of its places, with more and with less.
fn altered(cursor: &str) -> Vec<String> {
    let mut altered = vec![
        format!("{cursor}A"),
        format!("A{cursor}"),
        cursor[1..].to_owned(),
        cursor[..cursor.len() - 1].to_owned(),
        "AAAA".to_owned(),
    ];
    for at in (0..cursor.len()).step_by(16).chain([cursor.len() - 1]) {
        let letter = if cursor.as_bytes()[at] == b'A' {
            'B'
        } else {
            'A'
        };
        altered.push(format!("{}{letter}{}", &cursor[..at], &cursor[at + 1..]));
    }
    altered
}
