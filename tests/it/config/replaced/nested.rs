//! Documents that the functions that they name change while they are loaded.

use super::super::{SECOND, document};
use http_retry::Outcome;
use http_retry::config::RetryConfig;
use http_retry::policy::{Classify, Verdict};
use http_retry::{ConfigError, config::ConfigErrors};
use http_retry_core::settings::PolicyExt;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;

const CUSTOM: &str = "
version: 1
retry: {backoff: {custom: own}, max_retries: 2}
services: {mail: {match: {host: mail.example}, retry: {max_retries: 1}}}
";

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A handle that functions of the document use.
#[derive(Clone, Default)]
struct Handle(Arc<OnceLock<RetryConfig>>);

impl Handle {
    /// Adds a service, unless this is done already on this thread.
    fn patch(&self, retries: u32) -> Option<Result<(), ConfigErrors>> {
        let config = self.0.get()?;
        if INSIDE.replace(true) {
            return None;
        }
        let change = format!("{{match: {{host: own.example}}, retry: {{max_retries: {retries}}}}}");
        let patched = config.patch_service("own", &document(&change));
        INSIDE.set(false);
        Some(patched)
    }
}

/// Fails if the work does not end: a lock that waits for its own thread would wait for ever.
fn ends(work: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        work();
        done.send(()).unwrap();
    });
    assert_eq!(ended.recv_timeout(SECOND * 60), Ok(()));
}

/// The names and retries of the services in force.
fn services(config: &RetryConfig) -> Vec<(String, u32)> {
    let named = config.routes().into_iter();
    let named = named.filter_map(|route| Some((route.service?, route.policy.retry_limit())));
    named.collect()
}

#[test]
fn a_custom_backoff_may_patch_the_document_that_is_loading() {
    ends(|| {
        let handle = Handle::default();
        let (outer, inner) = (handle.clone(), handle.clone());
        let builder = RetryConfig::builder().backoff("own", move |(): ()| {
            // Both functions run while the document is loaded: the one that makes the backoff, and the backoff.
            outer.patch(7).into_iter().for_each(Result::unwrap);
            let inner = inner.clone();
            move |n| {
                inner.patch(7).into_iter().for_each(Result::unwrap);
                SECOND * n
            }
        });
        let config = builder.load(&document(CUSTOM)).unwrap();
        let _ = handle.0.set(config.clone());
        let change = document("retry: {max_retries: 5}");
        config.patch_service("mail", &change).unwrap();
        let both = [("mail".to_owned(), 5), ("own".to_owned(), 7)];
        assert_eq!(services(&config), both);
        // A replacement replaces what the functions added before it, too.
        let replaced = document(&CUSTOM.replace("2}", "3}"));
        config.replace(&replaced).unwrap();
        assert_eq!(services(&config), [("mail".to_owned(), 1)]);
    });
}

struct Patches(Handle);

impl Classify for Patches {
    fn classify(&self, _: &Outcome<'_>) -> Option<Verdict> {
        None
    }

    fn check(&self) -> Result<(), ConfigError> {
        self.0.patch(7).into_iter().for_each(Result::unwrap);
        Ok(())
    }

    fn describe(&self) -> Vec<String> {
        self.0.patch(7).into_iter().for_each(Result::unwrap);
        Vec::new()
    }
}

impl Drop for Patches {
    fn drop(&mut self) {
        self.0.patch(7);
    }
}

#[test]
fn a_classifier_may_patch_the_document_that_is_loading() {
    ends(|| {
        let handle = Handle::default();
        let builder = RetryConfig::builder().classifier(Patches(handle.clone()));
        let config = builder
            .load(&document(&CUSTOM.replace("{custom: own}", "fixed")))
            .unwrap();
        let _ = handle.0.set(config.clone());
        let change = document("retry: {max_retries: 5}");
        config.patch_service("mail", &change).unwrap();
        assert_eq!(
            services(&config),
            [("mail".to_owned(), 5), ("own".to_owned(), 7)]
        );
    });
}

/// Each load changes the document in another way, so the change that it belongs to never comes first.
#[test]
fn a_function_that_changes_the_document_for_ever_is_refused() {
    ends(|| {
        let (handle, number) = (Handle::default(), Arc::new(AtomicU32::new(0)));
        let own = handle.clone();
        let builder = RetryConfig::builder().backoff("own", move |(): ()| {
            own.patch(number.fetch_add(1, Ordering::Relaxed));
            |_| SECOND
        });
        let config = builder.load(&document(CUSTOM)).unwrap();
        let _ = handle.0.set(config.clone());
        let refused = config.replace(&document(&CUSTOM.replace("2}", "3}")));
        let refused = refused.unwrap_err().to_string();
        assert!(
            refused.contains("each time before it is loaded"),
            "{refused}"
        );
    });
}

#[test]
fn a_function_that_loads_itself_is_refused() {
    ends(|| {
        let own = Arc::new(OnceLock::<RetryConfig>::new());
        let (handle, refused) = (Arc::clone(&own), Arc::new(OnceLock::new()));
        let refusal = Arc::clone(&refused);
        let number = AtomicU32::new(0);
        let builder = RetryConfig::builder().backoff("own", move |(): ()| {
            if let Some(config) = handle.get() {
                let number = number.fetch_add(1, Ordering::Relaxed);
                let change = format!("{{retry: {{max_retries: {number}}}}}");
                if let Err(errors) = config.patch_service("own", &document(&change)) {
                    let _ = refusal.set(errors.to_string());
                }
            }
            |_| SECOND
        });
        let config = builder.load(&document(CUSTOM)).unwrap();
        let _ = own.set(config.clone());
        let _ = config.replace(&document(&CUSTOM.replace("2}", "3}")));
        let refused = refused.get().unwrap();
        assert!(
            refused.contains("by a function that runs for that very change"),
            "{refused}"
        );
    });
}
