//! Answers, counted until they are sent.
//!
//! An answer stays in memory while its client reads it. So there is a bound for all of them, and a
//! part of it for each caller: those who ask and hardly read get no more answers, and others do.

use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::http::Extensions;
use axum::response::Response;
use partita_plan::Caller;

use super::making::Made;
use super::{Intake, Sender};
use crate::server;
use crate::shares::{EVERYBODY, HeldShare, Shares, Short};

/// Answers that are smaller are not counted: there are no more than connections.
const COUNTED_BYTES_MIN: u64 = 16 * 1024;

/// Who is to read an answer.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    sender: Sender,
    holder: String,
    /// Whether the answer is that of a write, which cannot be refused any more.
    is_write: bool,
}

impl Reader {
    /// The caller of a design, or the address that somebody unknown calls from. Behind a proxy all
    /// of those are one.
    pub(crate) fn new(
        design: &str,
        caller: &Caller,
        extensions: &Extensions,
        is_write: bool,
    ) -> Self {
        let (sender, holder) = match &caller.id {
            Some(id) => (Sender::Known, format!("{design}/{id}")),
            None => {
                let network = server::network_of(extensions);
                let address = network.map(|network| network.to_string());
                let holder = address.unwrap_or_else(|| EVERYBODY.to_owned());
                (Sender::Unknown, holder)
            }
        };
        Reader {
            sender,
            holder,
            is_write,
        }
    }
}

impl Reader {
    /// Whether it is known.
    pub(crate) fn sender(&self) -> Sender {
        self.sender
    }

    /// Under what name it is counted.
    pub(crate) fn holder(&self) -> &str {
        &self.holder
    }
}

/// The bytes of an answer, and their share.
struct HeldAnswer {
    bytes: Bytes,
    _share: HeldShare,
}

impl AsRef<[u8]> for HeldAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Intake {
    /// Refuses a request of somebody who has as many answers unread as one may have.
    pub(crate) fn demand_room(&self, reader: &Reader) -> Result<(), Short> {
        self.answers_to(reader).demand(&reader.holder)
    }

    /// Counts an answer until it is sent, or refuses it if there is no room.
    pub(crate) async fn until_sent(&self, mut response: Response) -> Result<Response, Short> {
        // It is given back when the answer is counted here.
        let _made = response.extensions_mut().remove::<Made>();
        let reader = response.extensions().get::<Reader>().cloned();
        let size = response.body().size_hint().exact();
        let (Some(reader), Some(COUNTED_BYTES_MIN..)) = (reader, size) else {
            return Ok(response);
        };
        let (head, body) = response.into_parts();
        // The body is in memory: reading it neither waits nor fails.
        let Ok(bytes) = to_bytes(body, usize::MAX).await else {
            return Ok(Response::from_parts(head, Body::empty()));
        };
        let answers = self.answers_to(&reader);
        let _share = if reader.is_write {
            answers.take_anyway(&reader.holder, bytes.len())
        } else {
            answers.take(&reader.holder, bytes.len())?
        };
        // The connection that sends the bytes keeps them longer than the body.
        let bytes = Bytes::from_owner(HeldAnswer { bytes, _share });
        Ok(Response::from_parts(head, Body::from(bytes)))
    }

    /// Counts bytes that are to be sent, or refuses them if there is no room.
    pub(crate) fn hold_answer(&self, reader: &Reader, bytes: usize) -> Result<HeldShare, Short> {
        self.answers_to(reader).take(reader.holder(), bytes)
    }

    fn answers_to(&self, reader: &Reader) -> &Arc<Shares> {
        match reader.sender {
            Sender::Known => &self.answers,
            Sender::Unknown => &self.answers_to_unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(user: Option<&str>, bytes: usize, is_write: bool) -> Response {
        let caller = match user {
            Some(user) => Caller::user(user),
            None => Caller::anonymous(),
        };
        let mut response = Response::new(Body::from("x".repeat(bytes)));
        let reader = Reader::new("stories", &caller, &Extensions::new(), is_write);
        response.extensions_mut().insert(reader);
        response
    }

    #[tokio::test]
    async fn who_does_not_read_gets_no_more_answers() {
        let intake = Intake::new(800_000);
        let send = |user, bytes| intake.until_sent(answer(user, bytes, false));
        let mut unread = Vec::new();
        for _ in 0..2 {
            let sent = send(Some("ann"), 50_000).await.unwrap();
            assert_eq!(sent.body().size_hint().exact(), Some(50_000));
            unread.push(to_bytes(sent.into_body(), usize::MAX).await.unwrap());
        }
        assert_eq!(send(Some("ann"), 50_000).await.unwrap_err(), Short::Own);
        // Small answers are not counted, those of writes are sent, and other callers are answered.
        assert!(send(Some("ann"), 1_000).await.is_ok());
        let written = intake.until_sent(answer(Some("ann"), 50_000, true)).await;
        assert!(written.is_ok());
        assert!(send(Some("bob"), 50_000).await.is_ok());
        assert!(send(None, 20_000).await.is_ok());
        let ann = Reader::new("stories", &Caller::user("ann"), &Extensions::new(), false);
        assert_eq!(intake.demand_room(&ann), Err(Short::Own));
        // The bytes count as long as somebody has a part of them.
        let part = unread.pop().unwrap().slice(..1);
        unread.clear();
        drop(written);
        assert_eq!(intake.demand_room(&ann), Ok(()));
        assert_eq!(send(Some("ann"), 60_000).await.unwrap_err(), Short::Own);
        drop(part);
        assert!(send(Some("ann"), 60_000).await.is_ok());
    }
}
