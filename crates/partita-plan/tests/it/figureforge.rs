//! The design `figureforge`, from the job to the deleted image.

use std::sync::Arc;

use partita_core::Map;
use partita_plan::{Answer, Caller, Operation, Partita, PlanError};
use partita_store::ModelStore;
use serde_json::{Value as Json, json};

const ANN: &str = "00000000-0000-4000-8000-000000000a11";

struct Forge(Partita);

impl Forge {
    async fn open() -> Forge {
        let source = partita_design::shipped::find("figureforge").unwrap().source;
        let (design, diagnostics) = partita_design::check(source, &|_| None);
        let design = design.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        let store = Arc::new(ModelStore::default());
        let partita = Partita::open(design, store).await;
        Forge(partita.unwrap())
    }

    async fn run(&self, role: Option<&str>, operation: Operation) -> Result<Json, PlanError> {
        let caller = Caller {
            id: Some(ANN.to_owned()),
            role: role.map(str::to_owned),
            ..Caller::default()
        };
        let shown = |map: &Map| Json::Object(partita_core::plain::map_to_json(map));
        Ok(match self.0.run(&caller, operation).await? {
            Answer::Record(record) | Answer::Created(record) => shown(&record.attributes),
            Answer::Done => Json::Null,
            Answer::Page { records, .. } => records
                .iter()
                .map(|record| shown(&record.attributes))
                .collect(),
        })
    }

    async fn act(&self, action: &str, on: &[&str], given: Json) -> Result<Json, PlanError> {
        let entity = on[0].to_owned();
        let identity = on[1..].iter().map(|part| (*part).to_owned()).collect();
        let role = match action {
            "startJob" | "finishJob" => "admin",
            _ => "moderator",
        };
        let operation = Operation::Act {
            action: action.to_owned(),
            entity: Some(entity),
            identity,
            given: map(given),
            version: None,
        };
        self.run(Some(role), operation).await
    }

    async fn list(&self, pattern: &str, name: &str, value: &str) -> Vec<Json> {
        let found = self.run(None, query(pattern, name, value)).await.unwrap();
        found.as_array().unwrap().clone()
    }
}

fn map(json: Json) -> Map {
    partita_core::plain::map_from_json(json.as_object().unwrap().clone()).unwrap()
}

fn create(entity: &str, attributes: Json) -> Operation {
    Operation::Create {
        entity: entity.to_owned(),
        attributes: map(attributes),
    }
}

#[tokio::test]
async fn a_job_becomes_an_image_that_is_found_by_its_tags() {
    let forge = Forge::open().await;
    let user = json!({"user_id": ANN, "email": "ann@example.org", "theme": "dark"});
    forge.run(None, create("User", user)).await.unwrap();
    let job = forge
        .run(None, create("GenerationJob", json!({"user_id": ANN})))
        .await;
    let job = job.unwrap();
    assert_eq!(job["status"], "queued");
    let id = job["job_id"].as_str().unwrap();
    let on = ["GenerationJob", ANN, id];
    let finished = json!({
        "url": "/a.jpg", "tags": ["pose:standing", "pose:standing", "light:low"], "prompt": "p",
        "negative_prompt": "n", "provider": "x", "model": "y", "cost": 3,
    });
    // A queued job was not run, so it cannot have succeeded.
    let early = forge.act("finishJob", &on, finished.clone()).await;
    assert!(matches!(early, Err(PlanError::Invalid { .. })), "{early:?}");
    forge.act("startJob", &on, json!({})).await.unwrap();
    let running = forge
        .run(Some("admin"), query("jobsByStatus", "status", "running"))
        .await
        .unwrap();
    assert_eq!(running.as_array().unwrap().len(), 1);
    forge.act("finishJob", &on, finished).await.unwrap();

    let images = forge
        .list("imagesWithTag", "tag_value", "pose:standing")
        .await;
    let [image] = &images[..] else {
        panic!("{images:?}")
    };
    assert_eq!(image["cost_cents"], 3);
    assert_eq!(image["prompt_json"]["prompt"], "p");
    let id = image["image_id"].as_str().unwrap();
    let object = image["object"].as_str().unwrap();
    assert!(object.starts_with(&format!("users/{ANN}/")), "{object}");
    assert!(object.ends_with(&format!("/{id}.jpg")), "{object}");

    // Only what everybody sees can be hidden.
    let publish = Operation::Update {
        entity: "Image".to_owned(),
        identity: vec![id.to_owned()],
        changes: map(json!({"public": true})),
        with_deleted: false,
        version: None,
    };
    forge.run(None, publish).await.unwrap();

    // A report hides it, and a moderator decides.
    let report = forge
        .run(None, create("Report", json!({"image_id": id})))
        .await;
    let report = report.unwrap();
    assert_eq!(report, Json::Null, "who reports may not read reports");
    let reports = forge
        .run(Some("moderator"), query("reportsOnImage", "image_id", id))
        .await
        .unwrap();
    let report = reports[0]["report_id"].as_str().unwrap().to_owned();
    let get = |id: &str| Operation::Get {
        entity: "Image".to_owned(),
        identity: vec![id.to_owned()],
        with_deleted: true,
    };
    let hidden = forge.run(None, get(id)).await.unwrap();
    assert_eq!(hidden["flag_status"], "human_pending");
    let verdict = json!({"verdict": "clean"});
    forge
        .act("resolve", &["Report", id, &report], verdict)
        .await
        .unwrap();
    let shown = forge.run(None, get(id)).await.unwrap();
    assert_eq!(shown["flag_status"], "clean");

    // Deleted, it is found by no tag; restored, by all of them.
    let delete = Operation::Delete {
        entity: "Image".to_owned(),
        identity: vec![id.to_owned()],
        version: None,
    };
    forge.run(None, delete).await.unwrap();
    assert!(
        forge
            .list("imagesWithTag", "tag_value", "light:low")
            .await
            .is_empty()
    );
    let deleted = forge.run(None, get(id)).await.unwrap();
    assert!(deleted["deleted_at"].is_number(), "{deleted}");
    let restore = Operation::Restore {
        entity: "Image".to_owned(),
        identity: vec![id.to_owned()],
        version: None,
    };
    let restored = forge.run(None, restore).await.unwrap();
    assert_eq!(restored.get("deleted_at"), None);
    assert_eq!(
        forge
            .list("imagesWithTag", "tag_value", "light:low")
            .await
            .len(),
        1
    );
}

fn query(pattern: &str, name: &str, value: &str) -> Operation {
    Operation::Query {
        pattern: pattern.to_owned(),
        parameters: [(name.to_owned(), value.to_owned())].into(),
        limit: None,
        cursor: None,
    }
}

#[tokio::test]
async fn an_address_belongs_to_one_user() {
    let forge = Forge::open().await;
    let user = json!({"user_id": ANN, "email": "ann@example.org"});
    forge.run(None, create("User", user)).await.unwrap();
    let found = forge
        .run(None, query("userByEmail", "email", "ann@example.org"))
        .await;
    assert_eq!(found.unwrap()["user_id"], ANN);
    let again = json!({"user_id": ANN, "email": "other@example.org"});
    let again = forge.run(None, create("User", again)).await;
    assert!(matches!(again, Err(PlanError::Exists { .. })), "{again:?}");
}
