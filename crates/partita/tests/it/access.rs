//! The access matrix, driven: every route of every design, as six callers, on the real binary.
//!
//! The expected answers come from the matrix, which is worked out from the rules alone and written
//! to `designs/*/access.md`; the requests come from `access/*.calls`. Every answer is checked
//! against the OpenAPI document as well.

mod batches;
mod calls;
pub(crate) mod cast;
pub(crate) mod contract;
mod cursors;
mod elsewhere;
mod followed;
mod interference;
mod signed;
pub(crate) mod theatre;
mod uploads;
mod upserts;

use std::path::Path;

use partita_api::access::{self, Outcome, Persona, Row};
use partita_api::routes::{Routes, Target};
use partita_design::shipped;

use crate::stage;
use cast::Probe;
use theatre::Theatre;

/// `UPDATE=1 cargo test -p partita --all-features access` writes the pages again.
#[test]
fn the_pages_say_what_the_rules_say() {
    for shipped in shipped::all() {
        let design = stage::design(shipped.name, "any");
        let fresh = access::page(&design, &Routes::of(&design));
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../designs")
            .join(shipped.name)
            .join("access.md");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == fresh, "{} is stale", path.display());
    }
}

macro_rules! designs {
    ($($design:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $design() {
            drive(stringify!($design)).await;
        }
    )*};
}

designs! { stories storyhub mediahub holdthatthought figureforge }

async fn drive(design: &str) {
    let mut theatre = Theatre::open(design).await;
    let compiled = stage::design(design, "any");
    let routes = Routes::of(&compiled);
    let mut failures = Vec::new();
    for row in access::matrix(&compiled, &routes) {
        if let Err(failure) = theatre.play(&row).await {
            let route = row.route;
            failures.push(format!("{} {}: {failure}", route.method, route.path));
        }
    }
    failures.extend(theatre.cursors().await);
    failures.extend(theatre.unused());
    failures.extend(theatre.unknown_paths().await);
    let count = failures.len();
    assert!(
        failures.is_empty(),
        "{count} failed\n\n{}",
        failures.join("\n\n")
    );
}

/// Whether a caller must be let pass.
fn is_allowed(row: &Row<'_>, persona: Persona, probe: &Probe) -> Result<bool, String> {
    match row.outcome(persona) {
        Outcome::Yes => Ok(true),
        Outcome::No => Ok(false),
        Outcome::If(condition) => probe.is_open.ok_or(format!(
            "line {} must say whether the item is open, for `{condition}`",
            probe.line
        )),
    }
}

/// Whether a route asks for something that the planner does.
fn is_operation(row: &Row<'_>) -> bool {
    matches!(row.route.target, Target::Operation(_))
}
