//! Passwords: Argon2id, on two threads of a low priority.

mod imported;
mod turns;

use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use partita_design::design::HashScheme;
use partita_plan::salt_of;
use partita_store::Entropy;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

use crate::problem::{Problem, ProblemKind};
use turns::Turns;

pub use turns::Asker;

/// Memory in KiB, passes and lanes.
const COST: (u32, u32, u32) = (19_456, 2, 1);

/// Hashes that are computed at a time.
const THREADS: usize = 2;

/// How long a request waits for a thread.
const QUEUE_TIME: Duration = Duration::from_secs(1);

/// A fifteenth of what everything else gets while all want to run: reads keep their speed. The
/// lowest priority, 19, is a seventieth; on a machine that is busy for long, nobody could sign in
/// within a request's time.
#[cfg(unix)]
const NICE: i32 = 12;

const SALT_BYTES: usize = 16;

/// Salts that a password keeps when it is hashed anew.
const KEPT_SALT_BYTES: std::ops::RangeInclusive<usize> = 8..=48;

/// Characters of a password.
pub const PASSWORD_CHARS: std::ops::RangeInclusive<usize> = 8..=200;

type Work = Box<dyn FnOnce() + Send>;

/// Computes and compares hashes of passwords.
pub struct Hasher {
    entropy: Arc<dyn Entropy>,
    turns: Arc<Turns>,
    threads: OnceLock<mpsc::SyncSender<Work>>,
    /// The hash of a password that nobody has, to compare with where there is no account.
    nobody: OnceLock<String>,
}

/// Whether a password is the one of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// It is not.
    Wrong,
    /// It is.
    Right,
    /// It is, and the hash was made with other costs than those of today, or elsewhere.
    Outdated,
}

impl Hasher {
    /// Salts are drawn here. Threads are started when they are needed.
    pub fn new(entropy: Arc<dyn Entropy>) -> Hasher {
        Hasher {
            entropy,
            turns: Turns::new(THREADS),
            threads: OnceLock::new(),
            nobody: OnceLock::new(),
        }
    }

    /// The hash of a password, as a PHC string.
    pub async fn hash(&self, asker: &Asker, password: &SecretString) -> Result<String, Problem> {
        let salt = self.salt();
        let password = password.clone();
        let hashed = self
            .run(asker, move || hashed(password.expose_secret(), &salt))
            .await?;
        hashed.ok_or_else(Problem::internal)
    }

    /// The hash of a password that has one already, of other costs or another scheme. It keeps its
    /// salt, by which sessions and links know the password.
    pub async fn rehash(
        &self,
        asker: &Asker,
        password: &SecretString,
        old: &str,
    ) -> Result<String, Problem> {
        let kept = salt_of(old).filter(|salt| KEPT_SALT_BYTES.contains(&salt.len()));
        let salt = kept.unwrap_or_else(|| self.salt().to_vec());
        let password = password.clone();
        let hashed = self
            .run(asker, move || hashed(password.expose_secret(), &salt))
            .await?;
        hashed.ok_or_else(Problem::internal)
    }

    /// Compares a password with a hash, which is Argon2's or of one of these schemes. Without one, or
    /// with something else, it takes as long, and is wrong.
    pub async fn compare(
        &self,
        asker: &Asker,
        password: &SecretString,
        hash: Option<&str>,
        schemes: &[HashScheme],
    ) -> Result<Compared, Problem> {
        let nobody = match self.nobody.get() {
            Some(nobody) => nobody.clone(),
            None => {
                let unknown = SecretString::from(format!("{:?}", self.salt()));
                let made = self.hash(asker, &unknown).await?;
                self.nobody.get_or_init(|| made).clone()
            }
        };
        let hash = hash.filter(|hash| is_comparable(hash, schemes));
        let is_known = hash.is_some();
        let hash = hash.map_or(nobody, str::to_owned);
        let password = password.clone();
        let schemes = schemes.to_vec();
        let found = self
            .run(asker, move || {
                compared(password.expose_secret(), &hash, &schemes)
            })
            .await?;
        Ok(if is_known { found } else { Compared::Wrong })
    }

    fn salt(&self) -> [u8; SALT_BYTES] {
        let mut salt = [0; SALT_BYTES];
        self.entropy.fill(&mut salt);
        salt
    }

    /// Works on one of the threads. When they are taken for too long, the request is refused.
    async fn run<T: Send + 'static>(
        &self,
        asker: &Asker,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = timeout(QUEUE_TIME, self.turns.take(asker.clone())).await;
        let Ok(Some(turn)) = turn else {
            let detail = "too many people are signing in; try again in a moment";
            return Err(Problem::new(ProblemKind::LimitReached, detail).with("wait", 1));
        };
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move || {
            let done = work();
            // The thread has it until now, also if whoever asked has gone away.
            drop(turn);
            drop(answer.send(done));
        });
        let threads = self.threads.get_or_init(start);
        threads.send(work).map_err(|_| Problem::internal())?;
        answered.await.map_err(|_| Problem::internal())
    }
}

/// Starts the threads. They end when the sender is dropped.
fn start() -> mpsc::SyncSender<Work> {
    let (sender, receiver) = mpsc::sync_channel::<Work>(THREADS);
    let receiver = Arc::new(std::sync::Mutex::new(receiver));
    for _ in 0..THREADS {
        let receiver = receiver.clone();
        let started = std::thread::Builder::new()
            .name("passwords".to_owned())
            .spawn(move || {
                step_back();
                loop {
                    let next = receiver.lock().map(|receiver| receiver.recv());
                    match next {
                        Ok(Ok(work)) => work(),
                        _ => return,
                    }
                }
            });
        if let Err(error) = started {
            warn!(%error, "a thread for passwords cannot be started");
        }
    }
    sender
}

/// Gives the calling thread a low priority. On Linux a priority is a thread's.
#[cfg(target_os = "linux")]
fn step_back() {
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        warn!(%error, "passwords are hashed with the priority of everything else");
    }
}

/// Elsewhere it would be the whole process's.
#[cfg(not(target_os = "linux"))]
fn step_back() {}

fn argon2() -> Option<Argon2<'static>> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hashed(password: &str, salt: &[u8]) -> Option<String> {
    let hash = argon2()?.hash_password_with_salt(password.as_bytes(), salt);
    Some(hash.ok()?.to_string())
}

/// Whether something stored is a hash that a password is compared with. What stands for a password
/// that nobody knows is none, and neither is one that costs too much.
fn is_comparable(hash: &str, schemes: &[HashScheme]) -> bool {
    match imported::scheme_of(hash) {
        Some(scheme) => schemes.contains(&scheme),
        None => params_of(hash).is_some(),
    }
}

/// What a hash of Argon2 cost, and costs to compare, if that is bounded.
fn params_of(hash: &str) -> Option<Params> {
    let params = Params::try_from(&PasswordHash::new(hash).ok()?).ok()?;
    let (memory, passes, _) = COST;
    let is_bounded = params.m_cost() <= 4 * memory && params.t_cost() <= 4 * passes;
    is_bounded.then_some(params)
}

fn compared(password: &str, hash: &str, schemes: &[HashScheme]) -> Compared {
    if let Some(scheme) = imported::scheme_of(hash) {
        let is_right = schemes.contains(&scheme) && imported::is_right(scheme, password, hash);
        return if is_right {
            Compared::Outdated
        } else {
            Compared::Wrong
        };
    }
    let Ok(parsed) = PasswordHash::new(hash) else {
        return Compared::Wrong;
    };
    let Some((argon2, params)) = argon2().zip(params_of(hash)) else {
        return Compared::Wrong;
    };
    if argon2
        .verify_password(password.as_bytes(), &parsed)
        .is_err()
    {
        return Compared::Wrong;
    }
    let costs = (params.m_cost(), params.t_cost(), params.p_cost());
    let is_current = costs == COST && hash.starts_with("$argon2id$");
    if is_current {
        Compared::Right
    } else {
        Compared::Outdated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partita_store::surroundings::SeededEntropy;

    fn ann() -> Asker {
        Asker {
            client: None,
            account: "ann@example.org".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_hash_is_of_one_password() {
        let hasher = Hasher::new(Arc::new(SeededEntropy::new(7)));
        let right = SecretString::from("correct horse battery");
        let hash = hasher.hash(&ann(), &right).await.unwrap();
        assert!(
            hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"),
            "{hash}"
        );
        let wrong = SecretString::from("correct horse");
        assert_eq!(
            hasher
                .compare(&ann(), &right, Some(&hash), &[])
                .await
                .unwrap(),
            Compared::Right
        );
        assert_eq!(
            hasher
                .compare(&ann(), &wrong, Some(&hash), &[])
                .await
                .unwrap(),
            Compared::Wrong
        );
        assert_eq!(
            hasher.compare(&ann(), &right, None, &[]).await.unwrap(),
            Compared::Wrong
        );
        assert_eq!(
            hasher
                .compare(&ann(), &right, Some("plain"), &[])
                .await
                .unwrap(),
            Compared::Wrong
        );
        assert_ne!(hasher.hash(&ann(), &right).await.unwrap(), hash);
    }

    /// Everything else is compared with the hash of a password that nobody has, which takes as long as
    /// where there is no account.
    #[test]
    fn only_hashes_that_cost_something_are_compared() {
        let argon2 = |costs: &str| {
            format!(
                "$argon2id$v=19${costs}$c29tZXNhbHRzb21lc2Fs$4ca/Y7l3rIkg4wtxo5ISN6lvKLePVbkIRvSOMKFQhkE"
            )
        };
        let bcrypt = "$2b$04$zVHmKQtGGQob.b/Nc7l9NO8UlrYcW05FiuCj/SxsFO/ZtiN9.mNzy";
        assert!(is_comparable(&argon2("m=19456,t=2,p=1"), &[]));
        assert!(is_comparable(bcrypt, &[HashScheme::Bcrypt]));
        for hash in [
            "!4ca_Y7l3rIkg4wtxo5ISN6lvKLePVbkIRvSOMKFQhkE",
            "",
            bcrypt,
            &argon2("m=1048576,t=2,p=1"),
            &argon2("m=19456,t=200,p=1"),
        ] {
            assert!(!is_comparable(hash, &[HashScheme::Scrypt]), "{hash}");
        }
    }

    /// Two are hashed at a time, and who waits longer than a second is told to come back.
    #[tokio::test]
    async fn a_queue_ends_after_a_second() {
        let hasher = Hasher::new(Arc::new(SeededEntropy::new(7)));
        let password = SecretString::from("correct horse");
        let one = hasher.turns.take(ann()).await;
        assert!(hasher.hash(&ann(), &password).await.is_ok());
        let two = hasher.turns.take(ann()).await;
        let refused = hasher.hash(&ann(), &password).await.unwrap_err();
        assert_eq!(refused.status(), 429);
        drop((one, two));
        assert!(hasher.hash(&ann(), &password).await.is_ok());
    }

    #[tokio::test]
    async fn a_cheaper_hash_is_made_anew() {
        let cheap = Params::new(8 * 1024, 1, 1, None).unwrap();
        let cheap = Argon2::new(Algorithm::Argon2id, Version::V0x13, cheap);
        let hash = cheap
            .hash_password_with_salt(b"correct horse", &[7; 16])
            .unwrap();
        let hasher = Hasher::new(Arc::new(SeededEntropy::new(7)));
        let password = SecretString::from("correct horse");
        let found = hasher
            .compare(&ann(), &password, Some(&hash.to_string()), &[])
            .await
            .unwrap();
        assert_eq!(found, Compared::Outdated);
        let new = hasher
            .rehash(&ann(), &password, &hash.to_string())
            .await
            .unwrap();
        assert_eq!(salt_of(&new).unwrap(), [7; 16]);
    }

    /// Made by other programs: Python's `bcrypt`, `hashlib.scrypt` and `hashlib.pbkdf2_hmac`.
    #[tokio::test]
    async fn hashes_of_others_are_taken_where_they_are_named() {
        let hasher = Hasher::new(Arc::new(SeededEntropy::new(7)));
        let (right, wrong) = (
            SecretString::from("correct horse"),
            SecretString::from("wrong"),
        );
        for (scheme, hash) in imported::SAMPLES {
            let named = [scheme];
            let asker = ann();
            let compare = |password, schemes| hasher.compare(&asker, password, Some(hash), schemes);
            assert_eq!(
                compare(&right, &named[..]).await.unwrap(),
                Compared::Outdated,
                "{hash}"
            );
            assert_eq!(
                compare(&wrong, &named[..]).await.unwrap(),
                Compared::Wrong,
                "{hash}"
            );
            assert_eq!(
                compare(&right, &named[..0]).await.unwrap(),
                Compared::Wrong,
                "{hash}"
            );
            let new = hasher.rehash(&ann(), &right, hash).await.unwrap();
            assert_eq!(salt_of(&new), salt_of(hash));
            assert_eq!(
                hasher
                    .compare(&ann(), &right, Some(&new), &[])
                    .await
                    .unwrap(),
                Compared::Right
            );
        }
    }

    /// A hash says what it costs. What costs too much is wrong, at once.
    #[tokio::test]
    async fn costs_of_others_are_bounded() {
        let hasher = Hasher::new(Arc::new(SeededEntropy::new(7)));
        let password = SecretString::from("correct horse");
        let all = HashScheme::WORDS.map(|(scheme, _)| scheme);
        for hash in [
            "$2b$31$zVHmKQtGGQob.b/Nc7l9NO8UlrYcW05FiuCj/SxsFO/ZtiN9.mNzy",
            "$2b$04$short",
            "$scrypt$ln=30,r=8,p=1$c29tZXNhbHRzb21lc2Fs$aGFzaGhhc2hoYXNoaGFzaA",
            "$scrypt$ln=10,r=4000000,p=1$c29tZXNhbHRzb21lc2Fs$aGFzaGhhc2hoYXNoaGFzaA",
            "$scrypt$ln=10,r=8,p=4000000$c29tZXNhbHRzb21lc2Fs$aGFzaGhhc2hoYXNoaGFzaA",
            "$pbkdf2-sha256$i=4000000000,l=32$c29tZXNhbHRzb21lc2Fs$aGFzaGhhc2hoYXNoaGFzaA",
            "$pbkdf2-sha256$i=0$c29tZXNhbHRzb21lc2Fs$aGFzaGhhc2hoYXNoaGFzaA",
        ] {
            let found = hasher
                .compare(&ann(), &password, Some(hash), &all)
                .await
                .unwrap();
            assert_eq!(found, Compared::Wrong, "{hash}");
        }
    }
}
