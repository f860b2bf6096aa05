//! `partita secret`: the installation's secrets in their file, listed and rotated.
//!
//! A running server follows the file. One that has the data directory open is told at once, so that
//! a command returns when it knows; others look every second.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use partita_api::secret::name_of;

use crate::cli::{SecretCommand, SecretFlags};
use crate::operator;
use crate::output::print;
use crate::secret_file::list::{EARLIER_MAX, SecretList};
use crate::secret_file::{self, find_place};

/// What a server is asked for when the file has changed.
pub(crate) const RELOAD: &str = "reload-secrets";

/// Carries a command out and prints what there is then.
pub(crate) async fn run(command: &SecretCommand) -> Result<ExitCode> {
    let flags = command.place();
    let path = secret_file::resolve(&find_place(flags)?)?;
    // Two commands at once would each write what they have read, and lose a secret.
    let _lock = match command {
        SecretCommand::List(_) => None,
        _ => Some(secret_file::lock(&path)?),
    };
    let mut list = secret_file::read(&path)?;
    // A file with a secret that is too short is refused before it is replaced.
    list.names()?;
    match command {
        SecretCommand::List(_) => {}
        SecretCommand::Add(_) => {
            add(&mut list)?;
            put(flags, &path, &list).await?;
        }
        SecretCommand::Rotate(_) => rotate(flags, &path, &mut list).await?,
        SecretCommand::Retire(asked) => {
            retire(&mut list, &asked.name)?;
            put(flags, &path, &list).await?;
        }
    }
    show(&list)
}

fn add(list: &mut SecretList) -> Result<()> {
    if let Some(next) = &list.next {
        let name = name_of(next)?;
        bail!(
            "the secret {name} was added before and does not sign yet: `partita secret rotate` has it sign"
        );
    }
    list.next = Some(secret_file::new_secret());
    Ok(())
}

/// Promotes `next` to the secret that signs, once every server has had time to accept it. Servers that
/// share the file and have another data directory, or none, cannot be asked.
async fn rotate(flags: &SecretFlags, path: &Path, list: &mut SecretList) -> Result<()> {
    if list.earlier.len() == EARLIER_MAX {
        bail!(
            "{EARLIER_MAX} earlier secrets are accepted, and no more are kept: retire one with \
             `partita secret retire NAME`"
        );
    }
    if list.next.is_none() {
        add(list)?;
        put(flags, path, list).await?;
        tokio::time::sleep(2 * secret_file::LOOK_EVERY).await;
    }
    if let Some(next) = list.next.take() {
        let last = std::mem::replace(&mut list.signs, next);
        list.earlier.insert(0, last);
    }
    put(flags, path, list).await
}

fn retire(list: &mut SecretList, name: &str) -> Result<()> {
    if name_of(&list.signs)? == name {
        bail!("the secret {name} signs: `partita secret rotate` has another one sign first");
    }
    let has_name = |secret: &Vec<u8>| name_of(secret).is_ok_and(|one| one == name);
    let before = list.accepted().len();
    list.next.take_if(|next| has_name(next));
    list.earlier.retain(|secret| !has_name(secret));
    if list.accepted().len() == before {
        bail!("there is no secret {name}: `partita secret list` has their names");
    }
    Ok(())
}

/// Writes the file, and has the server that has the data directory open read it.
async fn put(flags: &SecretFlags, path: &Path, list: &SecretList) -> Result<()> {
    secret_file::write(path, list)?;
    let held: Option<Option<Vec<String>>> =
        operator::ask(&flags.data, RELOAD, &(), &mut |()| {}).await?;
    match held.flatten() {
        Some(held) => demand_followed(flags, path, list, &held),
        None => Ok(()),
    }
}

/// Refuses to go on where a server has some of these secrets and does not follow their file: it
/// would go on accepting what was retired, and refuse what is new. A server with other secrets is
/// none of this file's.
fn demand_followed(
    flags: &SecretFlags,
    path: &Path,
    list: &SecretList,
    held: &[String],
) -> Result<()> {
    let written = list.names()?;
    if held == written || !held.iter().any(|name| written.contains(name)) {
        return Ok(());
    }
    bail!(
        "{} is written, and the server that has {} open does not follow it: it goes on with {}. It \
         reads another file, or a copy that was made when it started (`LoadCredential` of systemd, a \
         file mounted into a container). Start it again, then run this command again",
        path.display(),
        flags.data.display(),
        held.join(", ")
    )
}

fn show(list: &SecretList) -> Result<ExitCode> {
    let mut text = format!("{} signs\n", name_of(&list.signs)?);
    if let Some(next) = &list.next {
        text += &format!(
            "{} is accepted, and signs after `partita secret rotate`\n",
            name_of(next)?
        );
    }
    for earlier in &list.earlier {
        text += &format!("{} is accepted, and has signed before\n", name_of(earlier)?);
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}
