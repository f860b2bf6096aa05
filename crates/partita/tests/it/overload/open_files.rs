//! Files that may be open, and connections that would take all of them.

use std::net::TcpStream;

use super::{connect, exchange, get, post};
use crate::server::{Server, token};

fn limit_of(server: &Server) -> Vec<String> {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.id())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))
        .unwrap();
    line.split_whitespace()
        .skip(3)
        .take(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_server_takes_as_many_files_as_it_may_have() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_within(
        "ulimit -Sn 700 && ulimit -Hn 3000",
        data.path(),
        &["stories"],
    );
    assert_eq!(limit_of(&server), ["3000", "3000"]);
}

#[test]
fn a_flood_of_connections_leaves_the_storage_its_files() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start_within("ulimit -n 600", data.path(), &["stories"]);
    let address = server.address();
    let ann = format!("Authorization: Bearer {}\r\n", token(data.path(), "ann"));
    let story = post("/stories/Story", &ann, r#"{"userId":"ann","title":"Dune"}"#);
    let mut writer = connect(address);
    assert_eq!(exchange(&mut writer, &story).status, 201);
    // Those beyond the places wait in the system's queue, which takes no file of the server.
    let flood: Vec<TcpStream> = (0..700).map(|_| connect(address)).collect();
    for _ in 0..50 {
        let answer = exchange(&mut writer, &story);
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    drop(flood);
    // Waiting clients find that their connection is closed, and then there are places again.
    let mut attempts = (0..1_000).map(|_| exchange(&mut connect(address), &story).status);
    assert!(attempts.any(|status| status == 201));
    assert_eq!(get(address, "/healthz", "").status, 200);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn too_few_files_are_refused_at_the_start() {
    let data = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -n 100 && exec \"$0\" \"$@\"",
            crate::server::BINARY,
        ])
        .args(["serve", "stories", "--listen", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("only 100 files may be open, and the server needs 512"),
        "{said}"
    );
}
