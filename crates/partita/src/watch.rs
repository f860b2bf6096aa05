//! `partita serve --watch`: the file of a design is read again when it is saved.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use partita_core::printable;
use partita_plan::Current;
use tracing::warn;

use crate::cli::VariableFlags;
use crate::source::Source;

/// How often it is looked whether the file is another one.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Follows the file of a served design for as long as the server lives. Shipped designs are no files.
pub(crate) fn start_following(current: Arc<Current>, argument: String, variables: VariableFlags) {
    tokio::spawn(async move {
        let mut last = current.get().design().origin.text.clone();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let named = argument.clone();
            // A disk that hangs keeps this task waiting, and nobody else.
            let read = tokio::task::spawn_blocking(move || Source::find(&named)).await;
            // While it is saved there may be no file for a moment, or an empty one.
            let Ok(Ok(source)) = read else { continue };
            if source.text == last || source.text.is_empty() {
                continue;
            }
            last.clone_from(&source.text);
            if let Err(error) = follow(&current, &source, &variables).await {
                say(&format!(
                    "{argument}: the design that is live goes on being served: {error:#}"
                ));
            }
        }
    });
}

/// Makes a text live if stored data need not follow it; says what it needs otherwise.
async fn follow(current: &Current, source: &Source, variables: &VariableFlags) -> Result<()> {
    let design = source.compile(variables)?;
    let file = printable::line(&source.name);
    let live = current.get().design().origin.clone();
    if design.origin.text == live.text && design.origin.variables == live.variables {
        say(&format!("{file}: this is the live design"));
        return Ok(());
    }
    if let Some(recorded) = current.adopt(&design).await? {
        let number = recorded.number;
        say(&format!("{file}: the design is live (number {number})"));
        return Ok(());
    }
    let mut text = format!("{file}: the design that is live goes on being served.");
    for one in current.changes(&design, &[])? {
        let change = printable::line(&one.change.to_string()).into_owned();
        text += &format!("\n  {change}: {}", printable::line(&one.change.says));
        if let Some(obstacle) = &one.obstacle {
            text += &format!("\n    cannot be carried out: {}", printable::line(obstacle));
        }
    }
    text += &format!("\nStored data have to follow: partita migrate start {file}");
    say(&text);
    Ok(())
}

/// Tells whoever looks at the terminal, which need not be there.
fn say(text: &str) {
    if let Err(error) = writeln!(std::io::stderr(), "{text}") {
        warn!("nobody reads what is said of the design: {error}");
    }
}
