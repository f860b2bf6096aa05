//! Where connections come from: an address of the network, or a socket of this machine.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tracing::debug;

/// Accepts connections.
pub trait Listener: Send {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection, and the address that it counts for.
    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, IpAddr)>> + Send;

    /// Says something on a new connection that finds no place. There is room for it in the buffer
    /// of the connection; a client that does not get it is refused all the same.
    fn refuse(stream: &Self::Stream, answer: &[u8]);

    /// Its port, where it has one.
    fn port(&self) -> Option<u16> {
        None
    }
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<(TcpStream, IpAddr)> {
        let (stream, address) = TcpListener::accept(self).await?;
        if let Err(error) = stream.set_nodelay(true) {
            debug!(%error, "small answers may wait on this connection");
        }
        Ok((stream, address.ip()))
    }

    fn refuse(stream: &TcpStream, answer: &[u8]) {
        let _ = stream.try_write(answer);
    }

    fn port(&self) -> Option<u16> {
        self.local_addr().ok().map(|address| address.port())
    }
}

#[cfg(unix)]
pub use local::LocalListener;

#[cfg(unix)]
mod local {
    use std::io;
    use std::net::{IpAddr, Ipv4Addr};

    use tokio::net::{UnixListener, UnixStream};
    use tracing::warn;

    use super::Listener;

    /// A socket for one user of this machine, and root.
    #[derive(Debug)]
    pub struct LocalListener {
        listener: UnixListener,
        user: u32,
    }

    impl LocalListener {
        /// Accepts connections of processes of this user alone, and of root.
        pub fn new(listener: UnixListener, user: u32) -> LocalListener {
            LocalListener { listener, user }
        }
    }

    impl Listener for LocalListener {
        type Stream = UnixStream;

        async fn accept(&self) -> io::Result<(UnixStream, IpAddr)> {
            loop {
                let (stream, _) = self.listener.accept().await?;
                match stream.peer_cred() {
                    Ok(peer) if peer.uid() == self.user || peer.uid() == 0 => {
                        return Ok((stream, IpAddr::V4(Ipv4Addr::LOCALHOST)));
                    }
                    Ok(peer) => warn!(user = peer.uid(), "another user was refused on the socket"),
                    Err(error) => {
                        warn!(%error, "a connection of an unknown user was refused on the socket")
                    }
                }
            }
        }

        fn refuse(stream: &UnixStream, answer: &[u8]) {
            let _ = stream.try_write(answer);
        }
    }
}
