//! Clients that want more than their share, on the real binary: it stays within its memory, its
//! files and its places, and others are answered meanwhile.

mod bodies;
mod connections;
mod hang_up;
mod heads;
mod open_files;
mod pages;
mod unread;
mod values;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Far longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that gives up instead of waiting for good.
pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// An answer: its status, its head and its body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1);
        lines.find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// Sends bytes and reads one answer, which ends with the connection or with its length.
pub(crate) fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> Answer {
    // A client that is refused early may find the connection closed, and the answer in it.
    let _ = stream.write_all(bytes);
    read_answer(stream)
}

pub(crate) fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut read = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        let text = String::from_utf8_lossy(&read);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let answer = Answer {
                status: head.split(' ').nth(1).unwrap().parse().unwrap(),
                head: head.to_owned(),
                body: body.to_owned(),
            };
            let length = answer
                .header("content-length")
                .map(|it| it.parse::<usize>().unwrap());
            if length.is_some_and(|length| body.len() >= length) {
                return answer;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) => panic!(
                "the connection ends after {:?}",
                String::from_utf8_lossy(&read)
            ),
            Ok(count) => read.extend_from_slice(&buffer[..count]),
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&read)),
        }
    }
}

/// A GET on a connection of its own.
pub(crate) fn get(address: &str, path: &str, headers: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    exchange(&mut connect(address), request.as_bytes())
}

/// A POST of JSON, with further headers that end in a line break.
pub(crate) fn post(path: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .into_bytes()
}
