//! Feeds: they begin with what a read shows, and show nothing to whom it shows nothing.

use partita_api::routes::{Route, Target, Verb};
use partita_design::design::Pattern;
use partita_plan::feed::no_feed;
use serde_json::Value as Json;

use super::contract::Seen;
use super::theatre::{Call, Theatre};
use crate::feeds::wire::Events;

impl Theatre {
    /// Compares the rows of a feed with everything that a read shows, page by page.
    pub(super) async fn follows(
        &self,
        route: &Route,
        call: &Call,
        token: Option<String>,
        seen: &Seen,
    ) -> Result<(), String> {
        let mut request = self.client.get(&call.url);
        if let Some(token) = &token {
            request = request.bearer_auth(token);
        }
        let rows = match Events::open(request).await {
            Ok(_) if !self.has_feed(route) => return Err("this has no feed".to_owned()),
            Ok(mut feed) => feed.rows().await.0,
            Err(refused) => {
                let status = refused.status().as_u16();
                let problem: Json = refused.json().await.unwrap();
                let kind = &problem["type"];
                let is_alike = status == seen.status && *kind == seen.body["type"];
                let is_none = status == 501 && *kind == "urn:partita:problem:no-feed";
                if is_alike || (is_none && !self.has_feed(route)) {
                    return Ok(());
                }
                return Err(format!("a feed is refused: {problem}"));
            }
        };
        let read = self.every_page(call, token, seen).await;
        if rows == read {
            return Ok(());
        }
        Err(format!("a feed shows {rows:?} and not {read:?}"))
    }

    /// What is read with this beginning and all pages after it.
    async fn every_page(&self, call: &Call, token: Option<String>, seen: &Seen) -> Vec<Json> {
        let Some(Json::Array(first)) = seen.body.get("items") else {
            let is_shown = seen.status == 200;
            return is_shown.then(|| seen.body.clone()).into_iter().collect();
        };
        let mut rows = first.clone();
        let mut cursor = seen.body.get("cursor").cloned();
        while let Some(Json::String(after)) = cursor {
            let mut url = reqwest::Url::parse(&call.url).unwrap();
            url.query_pairs_mut().append_pair("cursor", &after);
            let page = self.seen(self.client.get(url), token.clone()).await;
            rows.extend(page.body["items"].as_array().unwrap().iter().cloned());
            cursor = page.body.get("cursor").cloned();
        }
        rows
    }

    fn has_feed(&self, route: &Route) -> bool {
        let design = &self.design;
        match route.target {
            Target::Operation(Verb::Query(pattern)) => no_feed(design, &design[pattern]).is_none(),
            Target::Operation(Verb::Get(entity)) => {
                no_feed(design, &Pattern::of_item(&design[entity], false)).is_none()
            }
            _ => false,
        }
    }
}
