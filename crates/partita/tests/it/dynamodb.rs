//! The same scenarios, and the real binary, on AWS's DynamoDB Local.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use partita_design::shipped;
use partita_plan::Partita;
use partita_remote::{RemoteStore, Timeouts};
use partita_store::Store;
use partita_testkit::dynamodb_local::DynamoDbLocal;
use reqwest::{Client, StatusCode};
use serde_json::{Value as Json, json};

use crate::accounts;
use crate::scenarios::in_library;
use crate::server::{BINARY, Server, token_with};
use crate::{beyond, live, memberships, repairs, schedules, soft_referrers, tables};

/// The scenarios of every design. One process of DynamoDB Local serves them all: it takes longer to
/// start than to answer.
#[tokio::test(flavor = "multi_thread")]
async fn every_design_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store: Arc<dyn Store> =
        Arc::new(RemoteStore::local(&local.endpoint(), Timeouts::default()));
    for design in partita_design::shipped::all() {
        in_library(design.name, "remote", store.clone()).await;
    }
    for design in ["helpdesk", "tenants", "clubs", "boards"] {
        in_library(design, "remote", store.clone()).await;
    }
}

/// What the caller's own record decides.
#[tokio::test(flavor = "multi_thread")]
async fn memberships_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store: Arc<dyn Store> =
        Arc::new(RemoteStore::local(&local.endpoint(), Timeouts::default()));
    memberships::strangers_learn_nothing(store.clone(), "remote").await;
    memberships::memberships_are_guarded(store.clone(), "remote").await;
    memberships::planted_mistakes_are_found(store, "remote").await;
}

/// What holds of accounts elsewhere, and the real binary.
#[tokio::test(flavor = "multi_thread")]
async fn accounts_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let endpoint = local.endpoint();
    let store: Arc<dyn Store> = Arc::new(RemoteStore::local(&endpoint, Timeouts::default()));
    accounts::hold(&store).await;
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("shared-secret");
    std::fs::write(&secret, [7; 32]).unwrap();
    let flags = [
        "--store",
        "dynamodb",
        "--endpoint",
        &endpoint,
        "--region",
        "us-east-1",
    ];
    let flags = [&flags[..], &["--secret-file", secret.to_str().unwrap()]].concat();
    accounts::binary::newcomer(&folder.path().join("data"), &flags).await;
    accounts::binary::by_mail(&folder.path().join("mailed"), &flags).await;
    accounts::provider::google(&folder.path().join("google"), &flags).await;
    crate::issuer::provisioning::first_administrator(&folder.path().join("pool"), &flags).await;
}

/// Several tables, jobs, limits, batches and races: what the scenarios leave out.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_one_write_or_table_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store: Arc<dyn Store> =
        Arc::new(RemoteStore::local(&local.endpoint(), Timeouts::default()));
    beyond::goes_well(store.clone()).await;
    soft_referrers::follow_who_comes_back(store.clone()).await;
    tables::lives_in_two_tables(store).await;
}

/// Schedules and messages by two servers at once.
#[tokio::test(flavor = "multi_thread")]
async fn schedules_and_messages_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store: Arc<dyn Store> =
        Arc::new(RemoteStore::local(&local.endpoint(), Timeouts::default()));
    schedules::mail_each_user_once(store.clone()).await;
    schedules::outlive_kills(store, 3).await;
}

/// Repairs of tables that a design understands only in part.
#[tokio::test(flavor = "multi_thread")]
async fn repairs_lose_no_source_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store: Arc<dyn Store> =
        Arc::new(RemoteStore::local(&local.endpoint(), Timeouts::default()));
    repairs::lose_no_source(store.clone(), 12).await;
    repairs::can_be_taken_back(store.clone(), 6).await;
    repairs::mistakes_are_found_out(&store, "mistakes").await;
}

/// What differs between the designs of two starts is found there too.
#[tokio::test(flavor = "multi_thread")]
async fn changes_beside_items_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let store = RemoteStore::local(&local.endpoint(), Timeouts::default());
    live::changes_beside_items(Arc::new(store)).await;
}

/// Tables take a second to be there, as Amazon's take a while, and each server finds some that
/// another is making.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_start_at_once_make_the_tables_and_the_record_together() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--endpoint-only", "--memory", "--table-state-delay", "1"];
    // The servers of the design are its clients.
    let flags = [&flags[..], &["--raw-writes"]].concat();
    let server = Server::start(folder.path(), &flags);
    let stores = [(); 4].map(|()| {
        let store: Arc<dyn Store> = Arc::new(RemoteStore::local(&server.base, Timeouts::default()));
        store
    });
    let text = shipped::find("mediahub").unwrap().source;
    let design = partita_design::check(text, &|_| None).0.unwrap();
    let starts = stores.map(|store| tokio::spawn(Partita::open(design.clone(), store)));
    for start in starts {
        let partita = start.await.unwrap().unwrap();
        assert_eq!(partita.history().await.unwrap().len(), 1);
    }
}

/// What a demo leaves in DynamoDB is what it leaves in a directory, and it does so once.
#[test]
fn a_demo_fills_a_table_on_dynamodb_local() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let endpoint = local.endpoint();
    let partita = |command: &str, design: &str, flags: &[&str]| {
        let output = Command::new(BINARY)
            .args([command, design])
            .args(flags)
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env_remove("TABLE_NAME")
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let is_done = output.status.success();
        (is_done, text(output.stdout), text(output.stderr))
    };
    let remote = [
        "--store",
        "dynamodb",
        "--endpoint",
        &endpoint,
        "--region",
        "us-east-1",
    ];
    let data = folder.path().to_str().unwrap();
    let as_json = ["--format", "json", "--data", data];
    for design in ["stories", "figureforge"] {
        let told = |flags: &[&str]| -> Json {
            let (is_done, out, err) = partita("demo", design, flags);
            assert!(is_done, "{design}: {err}");
            serde_json::from_str(&out).unwrap()
        };
        let there = told(&[&remote[..], &as_json].concat());
        let here = told(&as_json);
        assert_eq!(there["records"], here["records"], "{design}");
        let (is_clean, out, err) = partita("verify", design, &remote);
        assert!(is_clean, "{design}: {out}{err}");
        let (is_done, _, err) = partita("demo", design, &[&remote[..], &as_json].concat());
        assert!(
            !is_done && err.contains("there are items in the table"),
            "{err}"
        );
    }
}

/// Two servers on one table share tokens through one secret.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_share_a_table() {
    let Some(local) = DynamoDbLocal::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("shared-secret");
    std::fs::write(&secret, [7; 32]).unwrap();
    let flags = |secret: &Path| -> Vec<String> {
        let endpoint = local.endpoint();
        let secret = secret.to_str().unwrap();
        [
            "--store",
            "dynamodb",
            "--endpoint",
            &endpoint,
            "--secret-file",
            secret,
            "--region",
            "us-east-1",
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let flags = flags(&secret);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let one = Server::start(&folder.path().join("one"), &flags);
    let two = Server::start(&folder.path().join("two"), &flags);
    let token = token_with(&["--secret-file", secret.to_str().unwrap()], "ann");
    let created = Client::new()
        .post(format!("{}/stories/Story", one.base))
        .bearer_auth(&token)
        .json(&json!({"userId": "ann", "id": "01JGFJJZ00000000000000DVNE", "title": "Dune"}))
        .send()
        .await
        .unwrap();
    assert_eq!(created.status(), StatusCode::CREATED);
    let location = created.headers()["location"].to_str().unwrap().to_owned();
    let deleted = Client::new()
        .delete(format!("{}{location}", two.base))
        .bearer_auth(&token);
    assert_eq!(
        deleted.send().await.unwrap().status(),
        StatusCode::NO_CONTENT
    );
    let gone = Client::new()
        .get(format!("{}{location}", one.base))
        .bearer_auth(&token);
    assert_eq!(gone.send().await.unwrap().status(), StatusCode::NOT_FOUND);
}
