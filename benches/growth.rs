//! By how much a program on reqwest grows when it retries, beside one that does so with reqwest-retry.
//!
//! ```text
//! cargo bench --all-features --bench growth
//! ```
//!
//! It builds three programs as `cargo build --release` does, without their symbols, from the crates that this one is
//! locked to. That takes minutes.
#![allow(
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "a benchmark prints"
)]

mod table;

use anyhow::{Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use table::Target::AtMost;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The names of the programs, what each depends on besides reqwest, and the client that it sends with.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("bare", "", "reqwest::Client::new()"),
    (
        "http-retry",
        "http-retry = { path = \"{ROOT}\", features = [\"reqwest\"] }",
        "reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
            .with(http_retry::reqwest::RetryMiddleware::new(http_retry::RetryPolicy::user_facing()))
            .build()",
    ),
    (
        "reqwest-retry",
        "reqwest-retry = { version = \"0.9.1\", default-features = false }",
        "reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
            .with(reqwest_retry::RetryTransientMiddleware::new_with_policy(
                reqwest_retry::policies::ExponentialBackoff::builder().build_with_max_retries(3),
            ))
            .build()",
    ),
];

fn main() -> Result<()> {
    if !table::is_wanted() {
        return Ok(());
    }
    table::head("KB that a stripped program on reqwest grows by");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("growth");
    write(&folder)?;
    let [bare, ours, peer] = PROGRAMS.map(|(name, ..)| size(&folder, name));
    let bare = bare?;
    table::judged(
        "with a middleware",
        ours? - bare,
        peer? - bare,
        AtMost(550.0),
    );
    Ok(())
}

fn write(folder: &Path) -> Result<()> {
    for (name, dependency, client) in PROGRAMS {
        let manifest = format!(
            "[package]\nname = \"program-{name}\"\nedition = \"2024\"\n\n[dependencies]\n\
             reqwest = {{ version = \"0.13.5\", default-features = false }}\n\
             reqwest-middleware = {{ version = \"0.5\", default-features = false }}\n\
             tokio = {{ version = \"1\", features = [\"rt\"] }}\n{}\n",
            dependency.replace("{ROOT}", ROOT)
        );
        let code = format!(
            "fn main() -> Result<(), Box<dyn std::error::Error>> {{\n    \
             let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;\n    \
             runtime.block_on(async {{\n        let client = {client};\n        \
             println!(\"{{}}\", client.get(\"http://localhost/\").send().await?.text().await?);\n        \
             Ok(())\n    }})\n}}\n"
        );
        let program = folder.join(name);
        fs::create_dir_all(program.join("src"))?;
        fs::write(program.join("Cargo.toml"), manifest)?;
        fs::write(program.join("src/main.rs"), code)?;
    }
    let members = PROGRAMS.map(|(name, ..)| name);
    let workspace = format!(
        "[workspace]\nmembers = {members:?}\nresolver = \"3\"\n\n[profile.release]\nstrip = true\n"
    );
    fs::write(folder.join("Cargo.toml"), workspace)?;
    fs::copy(
        Path::new(ROOT).join("Cargo.lock"),
        folder.join("Cargo.lock"),
    )?;
    Ok(())
}

/// Builds a program alone, so that no other one turns features of its crates on, and returns its KB.
fn size(folder: &Path, name: &str) -> Result<f64> {
    let package = format!("program-{name}");
    let target = folder.join("target");
    let run = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--offline"])
        .args(["--package", &package])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env_remove("CARGO_TARGET_DIR")
        .output()?;
    let said = String::from_utf8_lossy(&run.stderr);
    ensure!(run.status.success(), "{said}");
    let program: PathBuf = target.join("release").join(package);
    let bytes = fs::metadata(program.with_extension(std::env::consts::EXE_EXTENSION))?.len();
    Ok(bytes as f64 / 1_000.0)
}
