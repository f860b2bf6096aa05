//! How a command reaches the data of a design. It is decided here and nowhere else.
//!
//! | where the data is | who carries the command out |
//! |---|---|
//! | at `--server` | that server, over HTTPS, or HTTP on this machine, with a token |
//! | in a data directory whose store a server has open | that server, over the socket in the directory |
//! | elsewhere | this process, which opens the store |
//!
//! All three run the same code, and the commands print what comes back the same way.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use partita_api::admin::client::{self, MakeToken, Server};
use partita_api::admin::{
    self, ALIVE_EVERY, Command, Currents, Desk, Installation, Row, Running, Scans, Started,
    StoreUse,
};
use partita_api::token::{Errand, Tokens};
use partita_design::Design;
use partita_plan::Partita;
use partita_store::surroundings::{SystemClock, SystemEntropy};
use partita_store::{Entropy as _, Store};
use serde_json::Value as Json;
use tokio::sync::watch;

use crate::backup::restored::Mark;
use crate::cli::{SecretFlags, StoreFlags, VariableFlags};
use crate::demo::Stages;
use crate::output;
use crate::secret_file;
use crate::source::Source;
use crate::turn::Turn;

/// Where the data of a design is reached.
#[derive(Debug, Args)]
pub(crate) struct DoorFlags {
    /// Ask this server instead: https://HOST, or http://127.0.0.1:8000 on this machine
    #[arg(long, env = "PARTITA_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,

    /// A token of an administrator of the design, for --server; without it the command asks as the
    /// operator, who has the server's secret
    #[arg(
        long,
        env = "PARTITA_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: Option<String>,

    #[command(flatten)]
    pub(crate) secret: SecretFlags,
}

/// A design that a command is for.
pub(crate) struct Subject {
    /// What its file is called.
    pub(crate) file: String,
    /// What it is called in URLs.
    pub(crate) name: String,
    /// None where only the server has it.
    design: Option<Design>,
}

impl Subject {
    /// A design that this process has compiled.
    pub(crate) fn compiled(file: String, design: Design) -> Subject {
        Subject {
            file,
            name: design.name.clone(),
            design: Some(design),
        }
    }

    /// The design, where this process has it.
    pub(crate) fn design(&self) -> Option<&Design> {
        self.design.as_ref()
    }

    /// Its text and the values of its variables, where this process has it.
    pub(crate) fn origin(&self) -> Option<(String, BTreeMap<String, String>)> {
        let origin = &self.design.as_ref()?.origin;
        Some((origin.text.clone(), origin.variables.clone()))
    }

    /// The digest of its text, where this process has it.
    pub(crate) fn digest(&self) -> Option<String> {
        self.design.as_ref().map(admin::can::digest_of)
    }
}

/// The way to the data of designs.
pub(crate) struct Door<'f> {
    flags: &'f DoorFlags,
    place: Option<&'f StoreFlags>,
}

impl<'f> Door<'f> {
    /// The way for a command that works on a store.
    pub(crate) fn to(flags: &'f DoorFlags, place: &'f StoreFlags) -> Door<'f> {
        Door {
            flags,
            place: Some(place),
        }
    }

    /// The way for a command that needs no store.
    pub(crate) fn without_store(flags: &'f DoorFlags) -> Door<'f> {
        Door { flags, place: None }
    }

    /// Finds a design: a file, a shipped one, or one that the server has.
    pub(crate) fn find(&self, design: &str, variables: &VariableFlags) -> Result<Subject> {
        let is_here =
            Path::new(design).is_file() || partita_design::shipped::find(design).is_some();
        if self.flags.server.is_some() && !is_here {
            return Ok(Subject {
                file: format!("{design}.toml"),
                name: design.to_owned(),
                design: None,
            });
        }
        let source = Source::find(design)?;
        let compiled = source.compile(variables)?;
        Ok(Subject {
            file: source.name,
            name: compiled.name.clone(),
            design: Some(compiled),
        })
    }

    /// Has a command carried out, and passes on what it sends meanwhile.
    pub(crate) async fn ask<C: Command>(
        &self,
        subject: &Subject,
        command: C,
        on_event: &mut (dyn FnMut(C::Event) + Send),
    ) -> Result<C::Outcome> {
        let row = admin::find(C::NAME).context("a command that is not in the table")?;
        let needed = command.store_use();
        let request = serde_json::to_value(command)?;
        let lines = self.start(subject, row, needed, request).await?;
        Ok(client::outcome(lines, on_event, &mut output::note).await?)
    }

    /// Starts a command where it is carried out. It is in JSON here, so that this is compiled once and
    /// not for each command.
    async fn start(
        &self,
        subject: &Subject,
        command: &Row,
        needed: StoreUse,
        request: Json,
    ) -> Result<Started> {
        if let Some(url) = &self.flags.server {
            let server = Server::at(url)?;
            let token = self.token(&subject.name, command.name)?;
            let asked = server.ask(&subject.name, command.name, &request, &*token);
            return Ok(asked.await?);
        }
        let design = subject.design.as_ref();
        let design = design.ok_or_else(|| anyhow!("there is no design `{}`", subject.name))?;
        let started = match self.open(design, needed).await? {
            #[cfg(unix)]
            Opened::Socket(stream) => {
                let given = admin::answer::GivenDesign::of(design);
                let (stream, silence_max) = (Box::new(stream), client::SILENCE_MAX);
                client::ask_over(stream, given, command.name, request, silence_max).await?
            }
            Opened::Here(installation) => {
                let desk = Desk::of_given(*installation, design.clone());
                command.start(desk, request)?
            }
        };
        Ok(started)
    }

    /// The token that was given, or one that the installation's secret makes good for a request.
    fn token(&self, design: &str, command: &'static str) -> Result<Box<MakeToken>> {
        // A variable that is empty is none.
        let given = self.flags.token.clone().filter(|token| !token.is_empty());
        if let Some(token) = given {
            return Ok(Box::new(move |_, _| token.clone()));
        }
        let secrets = secret_file::find(&self.flags.secret)?;
        let tokens = Tokens::new(&secrets, Arc::new(SystemClock));
        let design = design.to_owned();
        Ok(Box::new(move |server, body| {
            let mut nonce = [0; 16];
            SystemEntropy.fill(&mut nonce);
            let errand = Errand {
                server,
                command,
                body,
                nonce: &format!("{:032x}", u128::from_be_bytes(nonce)),
            };
            tokens.make_for_operator(&design, &errand)
        }))
    }

    async fn open(&self, design: &Design, needed: StoreUse) -> Result<Opened> {
        let data = &self.flags.secret.data;
        let is_shared = self.place.is_some_and(StoreFlags::is_shared);
        let has_own_secret = self.place.is_none() && self.flags.secret.secret_file.is_some();
        let mut turn = Turn::default();
        loop {
            #[cfg(unix)]
            if !is_shared
                && !has_own_secret
                && let Some(stream) = crate::socket::connect(data).await?
            {
                return Ok(Opened::Socket(stream));
            }
            match self.open_store(needed, design).await {
                Ok(store) => return Ok(Opened::Here(Box::new(self.installation(store)?))),
                Err(error) => turn.wait(error).await?,
            }
        }
    }

    async fn open_store(&self, needed: StoreUse, design: &Design) -> Result<Arc<dyn Store>> {
        let data = &self.flags.secret.data;
        match (self.place, needed) {
            (None, _) | (_, StoreUse::Nothing) => Ok(StoreFlags::empty()),
            (Some(place), StoreUse::LookOrEmpty) if place.is_new(data) => {
                let store = StoreFlags::empty();
                Partita::open(design.clone(), store.clone()).await?;
                Ok(store)
            }
            (Some(place), StoreUse::Look | StoreUse::LookOrEmpty) => place.look(data).await,
            (Some(place), StoreUse::Change) => place.change(data).await,
            (Some(place), StoreUse::Fill) => place.fill(data).await,
        }
    }

    fn installation(&self, store: Arc<dyn Store>) -> Result<Installation> {
        let tokens = match self.place {
            Some(_) => None,
            None => {
                let secrets = secret_file::find(&self.flags.secret)?;
                Some(Arc::new(Tokens::new(&secrets, Arc::new(SystemClock))))
            }
        };
        Ok(Installation {
            store,
            clock: Arc::new(SystemClock),
            tokens,
            console: None,
            demos: Arc::new(Stages),
            scans: Scans::default(),
            served: Currents::default(),
            has_raw_writes: false,
            is_paused: Arc::new(AtomicBool::new(Mark::is_waiting(&self.flags.secret.data)?)),
            running: Running::default(),
            stopping: watch::channel(false).1,
            alive_every: ALIVE_EVERY,
            has_traffic: false,
        })
    }
}

/// Who carries a command out.
enum Opened {
    #[cfg(unix)]
    Socket(tokio::net::UnixStream),
    Here(Box<Installation>),
}
