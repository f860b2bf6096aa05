//! A stream whose client has to read what is written.
//!
//! Who asks and never reads would keep its connection, and the answer, for good. So a client that
//! has something to read has to take some of it within a time, and again and again until it has
//! everything.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Bytes that a client has to take within the time: a few thousand in a second will do.
const TAKEN_BYTES_MIN: usize = 128 * 1024;

/// A stream with a time for writing.
pub(super) struct Paced<S> {
    stream: S,
    time: Duration,
    /// While there is something that the client does not take: until when it has to, and how much
    /// it has taken so far.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Paced<S> {
    pub(super) fn new(stream: S, time: Duration) -> Self {
        Paced {
            stream,
            time,
            waiting: None,
        }
    }

    /// Counts what was taken of what was offered, and watches the time where that is too little.
    fn count(
        &mut self,
        context: &mut Context<'_>,
        offered: usize,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(taken)) if *taken == offered => self.waiting = None,
            Poll::Ready(Ok(taken)) => {
                if let Some((_, sum)) = &mut self.waiting {
                    *sum += taken;
                    if *sum >= TAKEN_BYTES_MIN {
                        self.waiting = None;
                    }
                }
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                let time = self.time;
                let waiting = &mut self.waiting;
                let (until, _) = waiting.get_or_insert_with(|| (Box::pin(sleep(time)), 0));
                ready!(until.as_mut().poll(context));
                let message = "the client does not read what it asked for";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)));
            }
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count(context, bytes.len(), written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let offered = slices.iter().map(|slice| slice.len()).sum();
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.count(context, offered, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    /// Short because the client either reads nothing more, or everything at once.
    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn who_never_reads_is_given_up() {
        let (client, server) = duplex(1_000);
        let mut server = Paced::new(server, SHORT);
        let written = server.write_all(&[0; 5_000]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(client);
    }

    #[tokio::test]
    async fn who_reads_too_little_is_given_up() {
        let (mut client, server) = duplex(1_000);
        let mut server = Paced::new(server, SHORT);
        let reading = tokio::spawn(async move {
            client
                .read_exact(&mut [0; TAKEN_BYTES_MIN / 2])
                .await
                .unwrap();
            client
        });
        let written = server.write_all(&[0; 2 * TAKEN_BYTES_MIN]).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
        drop(reading.await.unwrap());
    }

    #[tokio::test]
    async fn who_reads_gets_everything_and_may_pause_between() {
        let (mut client, server) = duplex(1_000);
        let mut server = Paced::new(server, LONG);
        let reading = tokio::spawn(async move {
            let mut bytes = Vec::new();
            client.read_to_end(&mut bytes).await.unwrap();
            bytes.len()
        });
        server.write_all(&[0; 20 * TAKEN_BYTES_MIN]).await.unwrap();
        assert!(server.waiting.is_none());
        drop(server);
        assert_eq!(reading.await.unwrap(), 20 * TAKEN_BYTES_MIN);
    }
}
