//! What the API counts: requests by design, operation and status, how long they took, and feeds.
//!
//! There is a place for each operation of each design from the start, so that nothing is locked
//! and no client can make them grow. What has no operation is counted under none.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use axum::http::StatusCode;
use partita_plan::{Current, Partita};
use partita_store::exposition::{Exposition, REQUEST_MICROS};
use partita_store::meters::Histogram;

use crate::feed::FeedMeters;
use crate::routes::Routes;

/// What a request asked for, known once its route is found.
#[derive(Debug, Default)]
pub struct Asked(OnceLock<(String, String)>);

impl Asked {
    /// Notes the design and the operation down; the first word counts.
    pub fn set(&self, design: &str, operation: &str) {
        let _ = self.0.set((design.to_owned(), operation.to_owned()));
    }

    /// The design and the operation, or `none`.
    pub fn get(&self) -> (&str, &str) {
        let known = self.0.get();
        known.map_or((NONE, NONE), |(design, operation)| (design, operation))
    }
}

const NONE: &str = "none";

/// What was counted.
#[derive(Debug)]
pub struct ApiMeters {
    operations: BTreeMap<(String, String), OperationMeters>,
    others: OperationMeters,
    feeds: BTreeMap<String, Arc<FeedMeters>>,
    /// What the designs count at their keys.
    keys: Keys,
}

/// Designs that count at their keys.
#[derive(Default)]
struct Keys(Vec<Arc<Current>>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} designs", self.0.len())
    }
}

#[derive(Debug)]
struct OperationMeters {
    micros: Histogram,
    /// In the order of [`STATUSES`], and one for whatever is none of them.
    statuses: [AtomicU64; STATUSES.len() + 1],
}

/// What the API answers with.
const STATUSES: [u16; 21] = [
    200, 201, 202, 204, 206, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 428, 429, 500,
    501, 503,
];

impl Default for OperationMeters {
    fn default() -> Self {
        OperationMeters {
            micros: Histogram::new(REQUEST_MICROS),
            statuses: [const { AtomicU64::new(0) }; STATUSES.len() + 1],
        }
    }
}

impl ApiMeters {
    /// Places for the operations of these designs.
    pub fn new<'r>(designs: impl IntoIterator<Item = (&'r str, &'r Routes)>) -> Self {
        let mut feeds: BTreeMap<String, Arc<FeedMeters>> = BTreeMap::new();
        let operations = designs.into_iter().flat_map(|(design, routes)| {
            feeds.entry(design.to_owned()).or_default();
            let key = |operation: &str| (design.to_owned(), operation.to_owned());
            let keys: Vec<_> = routes
                .iter()
                .map(|route| key(&route.operation_id))
                .collect();
            keys
        });
        let operations = operations.map(|key| (key, OperationMeters::default()));
        ApiMeters {
            operations: operations.collect(),
            others: OperationMeters::default(),
            feeds,
            keys: Keys::default(),
        }
    }

    /// Shows what these designs count at their keys, too.
    #[must_use]
    pub fn with_keys(mut self, designs: impl IntoIterator<Item = Arc<Current>>) -> Self {
        self.keys.0.extend(designs);
        self
    }

    /// What the feeds of a design count.
    pub(crate) fn of_feeds(&self, design: &str) -> Arc<FeedMeters> {
        self.feeds.get(design).cloned().unwrap_or_default()
    }

    /// Counts a request that was answered.
    pub fn count(&self, asked: &Asked, status: StatusCode, micros: i64) {
        let (design, operation) = asked.get();
        let key = (design.to_owned(), operation.to_owned());
        let meters = self.operations.get(&key).unwrap_or(&self.others);
        // After the clock was set back, the difference means nothing, and counts as 0.
        meters.micros.observe(u64::try_from(micros).unwrap_or(0));
        let at = STATUSES.iter().position(|known| *known == status.as_u16());
        meters.statuses[at.unwrap_or(STATUSES.len())].fetch_add(1, Ordering::Relaxed);
    }

    /// Writes what was counted, of operations that somebody has asked for.
    pub fn expose(&self, text: &mut Exposition) {
        let operations = self.operations.iter();
        let operations = operations
            .map(|((design, operation), meters)| ((design.as_str(), operation.as_str()), meters));
        let asked: Vec<_> = operations
            .chain([((NONE, NONE), &self.others)])
            .map(|(names, meters)| (names, meters, meters.micros.read()))
            .filter(|(_, _, micros)| micros.count() > 0)
            .collect();
        let name = "partita_api_requests_total";
        text.family(
            name,
            "counter",
            "Requests of the API, by design, operation and status.",
        );
        for ((design, operation), meters, _) in &asked {
            let labels = STATUSES.map(|status| status.to_string());
            let labels = labels.iter().map(String::as_str).chain(["other"]);
            for (status, count) in labels.zip(&meters.statuses) {
                let count = count.load(Ordering::Relaxed);
                if count > 0 {
                    let labels = [
                        ("design", *design),
                        ("operation", *operation),
                        ("status", status),
                    ];
                    text.sample(name, &labels, count);
                }
            }
        }
        let name = "partita_api_request_seconds";
        text.family(
            name,
            "histogram",
            "How long requests of the API took, from the head to the whole answer.",
        );
        for ((design, operation), _, micros) in &asked {
            let labels = [("design", *design), ("operation", *operation)];
            text.histogram(name, &labels, micros, 1e-6);
        }
        FeedMeters::expose(&self.feeds, text);
        let designs: Vec<Arc<Partita>> = self.keys.0.iter().map(|one| one.get()).collect();
        Partita::expose_keys(designs.iter().map(|one| &**one), text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_design::shipped;

    #[test]
    fn requests_are_counted_by_design_operation_and_status() {
        let source = shipped::find("stories").unwrap().source;
        let design = partita_design::check(source, &|_| None).0.unwrap();
        let meters = ApiMeters::new([("stories", &Routes::of(&design))]);
        let asked = Asked::default();
        asked.set("stories", "Story.get");
        meters.count(&asked, StatusCode::OK, 80);
        meters.count(&asked, StatusCode::NOT_FOUND, 3_000);
        meters.count(&asked, StatusCode::IM_A_TEAPOT, -5);
        meters.count(&Asked::default(), StatusCode::UNAUTHORIZED, 7);
        let mut text = Exposition::default();
        meters.expose(&mut text);
        let text = text.into_text();
        for line in [
            r#"partita_api_requests_total{design="stories",operation="Story.get",status="200"} 1"#,
            r#"partita_api_requests_total{design="stories",operation="Story.get",status="404"} 1"#,
            r#"partita_api_requests_total{design="stories",operation="Story.get",status="other"} 1"#,
            r#"partita_api_requests_total{design="none",operation="none",status="401"} 1"#,
            r#"partita_api_request_seconds_bucket{design="stories",operation="Story.get",le="0.0001"} 2"#,
            r#"partita_api_request_seconds_count{design="stories",operation="Story.get"} 3"#,
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
        }
        assert!(!text.contains("Story.update"), "{text}");
    }
}
