//! Mails and events leave the real binary: to a mail server and a receiver that others wrote.

mod drain;
mod hour;
mod scene;

use std::process::{Command, Output};
use std::time::Duration;

use reqwest::Client;
use serde_json::json;

use crate::server::BINARY;
use scene::{SECRET, Scene};

pub(crate) use scene::{OtherEnd, is_installed, script};

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_mail_is_parked_and_handled_by_hand() {
    let Some(scene) = Scene::set(None) else {
        return;
    };
    let server = scene.serve();
    let body = json!({"orderId": "o", "email": "nobody@example.org"});
    let call = Client::new().post(format!("{}/shop/Order", server.base));
    let created = call
        .bearer_auth(scene.token())
        .json(&body)
        .send()
        .await
        .unwrap();
    assert_eq!(created.status().as_u16(), 201);
    let parked = loop {
        let left = scene.left();
        if let [one] = &left[..]
            && one["state"] == "parked"
        {
            break one.clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(parked["channel"], "mail");
    assert_eq!(parked["of"], "Order o");
    assert_eq!(parked["to"], "nobody@example.org");
    assert!(
        parked["lastError"].as_str().unwrap().contains("550"),
        "{parked}"
    );
    // So say the metrics.
    let expected = [
        r#"partita_outbox_parked{design="shop",target="mail"} 1"#,
        r#"partita_outbox_waiting{design="shop",target="mail"} 0"#,
        r#"partita_outbox_oldest_seconds{design="shop",target="mail"} 0"#,
        r#"partita_outbox_parked_total{design="shop",target="mail"} 1"#,
        r#"partita_outbox_delivered_total{design="shop",target="send:one"} 1"#,
    ];
    loop {
        let told = reqwest::get(format!("{}/metrics", server.base)).await;
        let told = told.unwrap().text().await.unwrap();
        if expected
            .iter()
            .all(|line| told.lines().any(|it| it == *line))
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let id = parked["id"].as_str().unwrap();
    let said = |output: Output| String::from_utf8(output.stdout).unwrap();
    assert_eq!(said(scene.outbox(&["retry", id])), "it is tried again\n");
    // It is refused again, and parked again.
    let list = loop {
        let list = said(scene.outbox(&[]));
        if list.contains("parked") {
            break list;
        }
    };
    assert!(list.contains("Order o: told, o 0"), "{list}");
    // An administrator of the design is not shown the address.
    let url = format!("{}/shop/admin/outbox", server.base);
    let asked = Client::new()
        .post(url)
        .bearer_auth(scene.token())
        .json(&json!({}));
    let answer = asked.send().await.unwrap().text().await.unwrap();
    assert!(
        answer.contains("Order o") && !answer.contains("nobody@"),
        "{answer}"
    );
    assert_eq!(said(scene.outbox(&["drop", id])), "it is dropped\n");
    let gone = scene.outbox(&["drop", id]);
    assert_eq!(gone.status.code(), Some(1));
    let why = String::from_utf8(gone.stderr).unwrap();
    assert!(
        why.contains(&format!("there is no message `{id}`")),
        "{why}"
    );
    // Without a server the command looks itself.
    server.kill();
    assert_eq!(
        said(scene.outbox(&[])),
        "nothing waits, and nothing is parked\n"
    );
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("hook");
    std::fs::write(&secret, SECRET).unwrap();
    let secret = format!("one={}", secret.display());
    let cases: [(&[&str], &str); 8] = [
        (&["--mail", "smtp"], "--smtp"),
        (&["--smtp", "127.0.0.1:1"], "--mail-from"),
        (&["--smtp-user", "ann"], "belong together"),
        (&["--smtp-tls", "tls"], "are for the server of --smtp"),
        (&["--receiver", "one=http://127.0.0.1:1"], "must be signed"),
        (
            &["--receiver-secret-file", &secret],
            "no --receiver one=URL",
        ),
        (
            &[
                "--receiver",
                "one=ftp://x",
                "--receiver-secret-file",
                &secret,
            ],
            "must be https or http",
        ),
        (&["--send-stream", "stories=one"], "give --receiver one=URL"),
    ];
    for (flags, expected) in cases {
        let output = Command::new(BINARY)
            .args([
                "serve",
                "stories",
                "--listen",
                "127.0.0.1:0",
                "--memory",
                "--data",
            ])
            .arg(folder.path())
            .args(flags)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{flags:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{flags:?}: {said}");
    }
}
