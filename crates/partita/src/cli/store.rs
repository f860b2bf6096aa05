//! Where data is, and the variables of designs: flags that commands share.

use std::path::PathBuf;

use clap::Args;

/// Where data is kept unless another directory is named.
pub(crate) const DATA_DEFAULT: &str = "partita-data";

#[derive(Debug, Args)]
pub(crate) struct SecretFlags {
    /// The data directory: items, and the secret that tokens and cursors rest on
    #[arg(
        long,
        env = "PARTITA_DATA",
        value_name = "DIR",
        default_value = DATA_DEFAULT
    )]
    pub(crate) data: PathBuf,

    /// A file with a secret of at least 32 bytes, instead of the one in the data directory
    #[arg(long, env = "PARTITA_SECRET_FILE", value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct VariableFlags {
    /// The value of a variable in a design; without it the environment is asked
    #[arg(long = "set", env = "PARTITA_SET", value_name = "NAME=VALUE", value_delimiter = ',', value_parser = variable)]
    pub(crate) set: Vec<(String, String)>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
