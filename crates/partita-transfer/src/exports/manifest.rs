//! Both manifests of an export.

use serde::{Deserialize, Serialize};

/// What `manifest-summary.json` says. Members that nobody here needs are left out when it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The version of the form.
    pub version: String,
    /// The export, with its table.
    #[serde(default)]
    pub export_arn: Option<String>,
    /// When it was begun.
    #[serde(default)]
    pub start_time: Option<String>,
    /// When it was done.
    #[serde(default)]
    pub end_time: Option<String>,
    /// The table.
    pub table_arn: String,
    /// Which of the tables that have had its name.
    #[serde(default)]
    pub table_id: Option<String>,
    /// The moment that it shows.
    #[serde(default)]
    pub export_time: Option<String>,
    /// Where it was put.
    #[serde(default)]
    pub s3_bucket: Option<String>,
    /// Below what.
    #[serde(default)]
    pub s3_prefix: Option<String>,
    /// How it is encrypted there.
    #[serde(default)]
    pub s3_sse_algorithm: Option<String>,
    /// With which key.
    #[serde(default)]
    pub s3_sse_kms_key_id: Option<String>,
    /// The other manifest.
    #[serde(rename = "manifestFilesS3Key")]
    pub manifest_files_s3_key: String,
    /// What Amazon charges for.
    #[serde(default)]
    pub billed_size_bytes: u64,
    /// How many items there are.
    pub item_count: u64,
    /// The form of the items.
    pub output_format: String,
    /// Everything, or only changes. Exports before 2023 do not say it.
    #[serde(default)]
    pub export_type: Option<String>,
}

impl Summary {
    /// The name of the table.
    pub fn table(&self) -> &str {
        let name = self.table_arn.rsplit_once("table/");
        name.map_or(&self.table_arn, |(_, name)| name)
    }
}

/// A line of `manifest-files.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataFile {
    pub(super) item_count: u64,
    pub(super) md5_checksum: String,
    #[serde(default)]
    pub(super) etag: Option<String>,
    #[serde(rename = "dataFileS3Key")]
    pub(super) data_file_s3_key: String,
}

impl DataFile {
    /// The name of the file, wherever the export was moved.
    pub(super) fn name(&self) -> &str {
        let key = &self.data_file_s3_key;
        key.rsplit_once('/').map_or(key, |(_, name)| name)
    }
}
