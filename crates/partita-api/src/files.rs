//! Files: uploads, signed URLs, and the objects behind them.
//!
//! | request, below `/{design}` | what it is |
//! |---|---|
//! | `POST files/{prefix}` | asks for an upload: answers a name and a signed URL to send the bytes to |
//! | `PUT files/{name…}?…&signature=…` | sends the bytes |
//! | `GET files/{name…}` | asks for a file: answers a signed URL to read it from |
//! | `GET files/{name…}?…&signature=…` | reads it |
//!
//! | module | what it holds |
//! |---|---|
//! | [`place`] | where buckets are: directories, or S3 |
//! | [`objects`] | the objects of all buckets, for the planner too |
//! | `sign` | signed URLs: made and verified |
//! | `upload` | bytes that come in |
//! | `download` | bytes that go out |
//! | `refusals` | problems that only files have |
//! | `s3_client` | S3's requests through our own client |
//!
//! Who may have what is decided by the planner ([`partita_plan::files`]); here it is turned into
//! URLs that are valid by themselves for a while. The names of objects are the server's own. What a
//! client calls its file, it keeps in an attribute if it needs it.

mod directory;
mod download;
pub mod objects;
pub mod place;
mod refusals;
#[cfg(feature = "s3")]
mod s3_client;
pub(crate) mod sign;
mod upload;

pub(crate) use upload::BYTES_HELD;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt as _;
use partita_core::{Map, Value};
use partita_design::{media_type, time};
use partita_plan::{Caller, Fault, Partita, PlanError, Readable, UploadLimits};
use partita_store::Clock;
use serde_json::json;

use crate::encode;
use crate::problem::Problem;
use crate::request::Request;
use crate::secret::Secrets;
use crate::shares::Shares;
use crate::token::Verified;

pub use directory::KEPT;
pub use objects::Buckets;
#[cfg(feature = "s3")]
pub use place::s3_bucket;
pub use place::{Place, PlaceError};

use sign::{Grant, Signer, SizeLimit};

/// What the server grants clients, beside what designs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimits {
    /// Bytes of an upload. A prefix may take less.
    pub upload_bytes: u64,
    /// Uploads at a time. Each holds up to two parts in memory.
    pub uploads: usize,
    /// Downloads at a time. Each holds a file open.
    pub downloads: usize,
    /// Uploads of one caller that no item has taken over yet.
    pub uploads_per_caller: usize,
    /// Whether a signed URL is good only with a token of the caller that it was made for. Without
    /// this, anybody who has it can use it, as in an `<img>`, but not with another user's token.
    pub is_bound: bool,
}

impl Default for FileLimits {
    fn default() -> Self {
        FileLimits {
            upload_bytes: 100_000_000,
            uploads: 32,
            downloads: 128,
            uploads_per_caller: 100,
            is_bound: false,
        }
    }
}

/// How many callers it takes to have all places for uploads or downloads.
const CALLERS_MIN: usize = 4;

/// The files of a server.
pub struct Files {
    buckets: Buckets,
    signer: Signer,
    limits: FileLimits,
    /// Places for uploads.
    uploads: Arc<Shares>,
    /// Places for downloads.
    downloads: Arc<Shares>,
    clock: Arc<dyn Clock>,
}

impl Files {
    /// Files in these buckets, with URLs that the first of the secrets signs.
    pub fn new(
        buckets: Buckets,
        secrets: &Secrets,
        limits: FileLimits,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Files {
            buckets,
            signer: Signer::new(secrets.ring(|secret| sign::key(&secret.file_key()))),
            limits,
            uploads: Shares::new(limits.uploads, limits.uploads / CALLERS_MIN),
            downloads: Shares::new(limits.downloads, limits.downloads / CALLERS_MIN),
            clock,
        }
    }

    /// Asks for an upload.
    pub(crate) async fn ask_upload(
        &self,
        partita: &Partita,
        caller: &Caller,
        prefix: &str,
        asked: &Map,
    ) -> Result<Response, Problem> {
        let asked = UploadWish::read(asked)?;
        let limits = UploadLimits {
            bytes: self.limits.upload_bytes,
            open: self.limits.uploads_per_caller,
        };
        let staged = partita.allow_upload(caller, prefix, &asked.media_type, asked.bytes, limits);
        let upload = staged.await?;
        let design = &partita.design().name;
        let seconds = self.url_seconds(partita, &upload.bucket);
        let grant = Grant {
            method: "PUT",
            design,
            bucket: &upload.bucket,
            name: &upload.name,
            media_type: &upload.media_type,
            size: upload
                .bytes
                .map_or(SizeLimit::AtMost(upload.bytes_max), SizeLimit::Exactly),
            caller: caller.id.as_deref(),
            expires: self.now_seconds().saturating_add(seconds),
        };
        let answer = json!({
            "name": upload.name,
            "until": time::format_millis(upload.due_millis),
            "upload": {
                "method": "PUT",
                "url": self.signer.url(&grant),
                "headers": { "Content-Type": upload.media_type },
                "size": grant.size.largest(),
                "expires": time::format_millis(grant.expires.saturating_mul(1000)),
            },
        });
        Ok(encode::json_response(StatusCode::CREATED, &answer))
    }

    /// Asks for a file: a URL that it can be read from, or the way there.
    pub(crate) async fn ask_file(
        &self,
        partita: &Partita,
        caller: &Caller,
        name: &str,
        redirects: bool,
    ) -> Result<Response, Problem> {
        let file = partita.file(caller, name).await?;
        let expires = self
            .now_seconds()
            .saturating_add(i64::try_from(file.seconds).unwrap_or(i64::MAX));
        let url = self.read_url(partita, caller, &file, expires).await?;
        if redirects {
            let mut response = encode::empty(StatusCode::TEMPORARY_REDIRECT);
            let location = HeaderValue::from_str(&url).map_err(|_| Problem::internal())?;
            response.headers_mut().insert(header::LOCATION, location);
            return Ok(response);
        }
        let answer = json!({
            "url": url,
            "expires": time::format_millis(expires.saturating_mul(1000)),
            "contentType": file.media_type,
        });
        Ok(encode::json_response(StatusCode::OK, &answer))
    }

    async fn read_url(
        &self,
        partita: &Partita,
        caller: &Caller,
        file: &Readable,
        expires: i64,
    ) -> Result<String, Problem> {
        let design = &partita.design().name;
        let foreign = self.buckets.presigned(design, file).await;
        if let Some(url) = foreign.map_err(PlanError::from)? {
            return Ok(url);
        }
        Ok(self.signer.url(&Grant {
            method: "GET",
            design,
            bucket: &file.bucket,
            name: &file.name,
            media_type: &file.media_type,
            size: SizeLimit::AtMost(0),
            caller: caller.id.as_deref(),
            expires,
        }))
    }

    /// Takes the bytes of an upload.
    pub(crate) async fn upload(
        &self,
        partita: &Partita,
        verified: Option<&Verified>,
        request: &Request<'_>,
        name: &str,
        body: Body,
    ) -> Result<Response, Problem> {
        let signed = self.signed(partita, verified, "PUT", request, name)?;
        let store = self.buckets.store(&partita.design().name, &signed.bucket)?;
        let place = self.uploads.take(signed.caller_code(), 1);
        let place = place.map_err(Problem::no_place)?;
        let upload = upload::Incoming {
            partita,
            store: &store,
            signed: &signed,
            name,
        };
        let named = upload.receive(request.headers, body).await?;
        drop(place);
        let answer = json!({ "name": named });
        Ok(encode::json_response(StatusCode::CREATED, &answer))
    }

    /// Sends an object.
    pub(crate) async fn download(
        &self,
        partita: &Partita,
        verified: Option<&Verified>,
        request: &Request<'_>,
        name: &str,
    ) -> Result<Response, Problem> {
        let signed = self.signed(partita, verified, "GET", request, name)?;
        let store = self.buckets.store(&partita.design().name, &signed.bucket)?;
        let left = signed.expires.saturating_sub(self.now_seconds());
        let place = self.downloads.take(signed.caller_code(), 1);
        let place = place.map_err(Problem::no_place)?;
        let sent = download::send(&store, &signed, name, request, left).await?;
        // The file is open until the last byte is sent.
        Ok(sent.map(|body| {
            let body = body.map_frame(move |frame| {
                let _held = &place;
                frame
            });
            Body::new(body)
        }))
    }

    /// What a signed URL allows, if it is one for this and its time is not over.
    fn signed(
        &self,
        partita: &Partita,
        verified: Option<&Verified>,
        method: &'static str,
        request: &Request<'_>,
        name: &str,
    ) -> Result<sign::Signed, Problem> {
        let query = request.uri.query().unwrap_or_default();
        let design = &partita.design().name;
        let signed = self.signer.verify(method, design, name, query);
        let signed = signed.ok_or_else(Problem::bad_signature)?;
        if signed.expires <= self.now_seconds() {
            return Err(Problem::url_expired());
        }
        let caller = verified.map(|verified| verified.caller().id.as_deref());
        let is_for_caller = match caller {
            Some(caller) => self.signer.is_for(&signed, caller),
            None => !self.limits.is_bound,
        };
        if is_for_caller {
            Ok(signed)
        } else {
            Err(Problem::bad_signature())
        }
    }

    fn url_seconds(&self, partita: &Partita, bucket: &str) -> i64 {
        let mut buckets = partita.design().buckets.iter();
        let bucket = buckets.find(|known| known.name == bucket);
        bucket.map_or(0, |bucket| {
            i64::try_from(bucket.signed_url_seconds).unwrap_or(i64::MAX)
        })
    }

    fn now_seconds(&self) -> i64 {
        self.clock.now_millis().div_euclid(1000)
    }
}

/// Whether a request brings a signature of ours, or a part of one.
pub(crate) fn is_signed(query: Option<&str>) -> bool {
    let query = query.unwrap_or_default();
    let mut given = form_urlencoded::parse(query.as_bytes());
    given.any(|(name, _)| sign::PARAMETERS.contains(&&*name))
}

/// The name of a file by the parts of a path below a design, where slashes of the name divide some
/// of them.
pub(crate) fn whole_name(parts: &[String]) -> Option<String> {
    match parts.split_first() {
        Some((first, name)) if first == "files" && name.len() > 1 => Some(name.join("/")),
        _ => None,
    }
}

/// Bytes of the name of an object, as S3 has it.
const NAME_BYTES_MAX: usize = 1_024;

/// Refuses what is not the name of an object. Clients and file systems take some steps out of a
/// path, and end up elsewhere.
pub(crate) fn check_name(name: &str) -> Result<(), Problem> {
    let is_step = |step: &str| {
        let is_letter = |letter: char| !letter.is_control() && letter != '\\';
        !matches!(step, "" | "." | "..") && step.chars().all(is_letter)
    };
    if name.len() <= NAME_BYTES_MAX && name.split('/').all(is_step) {
        Ok(())
    } else {
        Err(Problem::no_route("this is not the name of a file"))
    }
}

/// What a client says of the file that it wants to upload.
struct UploadWish {
    media_type: String,
    bytes: Option<u64>,
}

impl UploadWish {
    fn read(asked: &Map) -> Result<UploadWish, Problem> {
        let mut faults = Vec::new();
        let mut text = |name: &str| match asked.get(name) {
            None => None,
            Some(Value::S(text)) => Some(text.as_str()),
            Some(_) => {
                faults.push(Fault::new(name, "must be a string"));
                None
            }
        };
        let (named, given) = (text("fileName"), text("contentType"));
        let bytes = match asked.get("size") {
            None => None,
            Some(Value::N(size)) => {
                let size = size.to_i64().and_then(|size| u64::try_from(size).ok());
                if size.is_none() {
                    faults.push(Fault::new("size", "must be a number of bytes"));
                }
                size
            }
            Some(_) => {
                faults.push(Fault::new("size", "must be a number"));
                None
            }
        };
        let known = ["fileName", "contentType", "size"];
        for name in asked.keys().filter(|name| !known.contains(&name.as_str())) {
            faults.push(Fault::new(name.as_str(), "is not known here"));
        }
        let by_name = || named.and_then(media_type::of_name);
        let media_type = given.or_else(by_name).map(str::to_owned);
        if media_type.is_none() && faults.is_empty() {
            let message = "is required where `fileName` does not tell it";
            faults.push(Fault::new("contentType", message));
        }
        match (faults.is_empty(), media_type) {
            (true, Some(media_type)) => Ok(UploadWish { media_type, bytes }),
            _ => Err(PlanError::Invalid { faults }.into()),
        }
    }
}

/// The buckets of designs, each by the design's name and its own.
pub(crate) type ByBucket<T> = BTreeMap<(String, String), T>;

#[cfg(test)]
mod tests;
