//! Requests about files.

use axum::body::Body;
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use partita_plan::Partita;

use super::{App, path_of};
use crate::auth::identity;
use crate::decode::{self, Brought};
use crate::files::{self, Files};
use crate::intake::Sender;
use crate::problem::Problem;
use crate::request::Request;
use crate::routes::{Found, Target};
use crate::token::Verified;

/// A request about files of a design.
pub(super) struct OnFiles<'a> {
    pub(super) partita: &'a Partita,
    /// The caller; anonymous without a token.
    pub(super) verified: &'a Verified,
    pub(super) request: &'a Request<'a>,
}

/// Whether a request brings the bytes of a file, which are not read into memory and take their
/// time.
pub(super) fn is_upload(head: &Parts) -> bool {
    let mut parts = head.uri.path().split('/').skip(2);
    head.method == Method::PUT && parts.next() == Some("files")
}

impl App {
    /// Takes the bytes of an upload.
    pub(super) async fn upload(
        &self,
        head: &Parts,
        body: &mut Option<Body>,
    ) -> Result<Response, Problem> {
        let request = Request {
            method: &head.method,
            uri: &head.uri,
            headers: &head.headers,
            body: &[],
        };
        let segments = request.segments()?;
        let (design, rest) = segments.split_first().ok_or_else(|| self.no_design(""))?;
        let slot = self.designs.get(design);
        let served = slot.ok_or_else(|| self.no_design(design))?.served();
        let partita = &served.partita;
        let verified = identity::identify(&self.auth, &self.tokens, partita, &request).await?;
        let name = files::whole_name(rest);
        let path = path_of(rest, name.as_deref());
        let found = served.routes.find(request.method, &path)?;
        let name = name_in(&found)?;
        if !files::is_signed(request.uri.query()) {
            return Err(Problem::not_signed());
        }
        let on = OnFiles {
            partita: &served.partita,
            verified: &verified,
            request: &request,
        };
        let verified = on.verified()?;
        let files = self.files()?;
        // The URL says who may send, and it is looked at before a byte is read.
        let hold = self.intake.hold(Sender::Known, files::BYTES_HELD);
        let _hold = hold.map_err(|_| Problem::busy())?;
        let body = body.take().unwrap_or_default();
        files
            .upload(on.partita, verified, on.request, name, body)
            .await
    }

    /// Everything else that is asked about files.
    pub(super) async fn on_files(
        &self,
        on: &OnFiles<'_>,
        target: &Target,
        found: &Found<'_>,
    ) -> Result<Response, Problem> {
        let files = self.files()?;
        let caller = on.verified.caller();
        if let Target::AskUpload { prefix } = target {
            let brought = Brought::of(on.request)?;
            brought.no_parameters()?;
            let asked = brought.attributes()?;
            return files.ask_upload(on.partita, caller, prefix, &asked).await;
        }
        let name = name_in(found)?;
        if files::is_signed(on.request.uri.query()) {
            let verified = on.verified()?;
            return files.download(on.partita, verified, on.request, name).await;
        }
        let redirects = decode::redirects(&on.request.parameters()?)?;
        files.ask_file(on.partita, caller, name, redirects).await
    }

    fn files(&self) -> Result<&Files, Problem> {
        let files = self.files.as_deref();
        files.ok_or_else(|| Problem::no_route("no files are kept here"))
    }
}

impl OnFiles<'_> {
    /// Whose request it is, if it says so. A signed URL needs no token, but is not for others.
    fn verified(&self) -> Result<Option<&Verified>, Problem> {
        Ok(self.request.bearer()?.map(|_| self.verified))
    }
}

/// The name of the file that a path has.
fn name_in<'r>(found: &Found<'r>) -> Result<&'r str, Problem> {
    let name = found.value("name").unwrap_or_default();
    files::check_name(name)?;
    Ok(name)
}
