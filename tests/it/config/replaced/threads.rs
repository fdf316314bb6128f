//! Documents that are changed from several threads at once.

use super::super::client::{on_tower, statuses};
use super::super::{config, delays, origin, policy, seconds};
use super::{patch, replace};
use http_retry_core::settings::PolicyExt;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn patches_from_many_threads_lose_nothing() {
    const THREADS: usize = 8;
    const EACH: usize = 10;
    let config = config("version: 1");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let config = config.clone();
            scope.spawn(move || {
                for n in 0..EACH {
                    let own =
                        format!("{{match: {{host: h{thread}}}, retry: {{max_retries: {n}}}}}");
                    patch(&config, &format!("own-{thread}"), &own);
                    let route = format!("{{name: n{n}, match: {{path: /{n}}}}}");
                    patch(
                        &config,
                        &format!("s-{thread}-{n}"),
                        &format!("routes: [{route}]"),
                    );
                }
            });
        }
    });
    let routes = config.routes();
    let own = |thread: usize| policy(&config, Some(&format!("own-{thread}")), None).retry_limit();
    for thread in 0..THREADS {
        assert_eq!(own(thread) as usize, EACH - 1);
    }
    let added = routes.iter().filter(|place| place.route.is_some()).count();
    assert_eq!(added, THREADS * EACH);
}

#[test]
fn threads_that_patch_the_same_service_keep_each_others_fields() {
    let config = config("version: 1");
    let fields = [
        ("base", "3s"),
        ("factor", "1.5"),
        ("max_delay", "1m"),
        ("deadline", "1h"),
        ("methods", "all"),
        ("cap", "after"),
        ("counter", "rule"),
        ("attempt_timeout", "9s"),
    ];
    std::thread::scope(|scope| {
        for (field, value) in fields {
            let config = &config;
            scope.spawn(move || patch(config, "a", &format!("retry: {{{field}: {value}}}")));
        }
    });
    for (field, value) in fields {
        let found = origin(&policy(&config, Some("a"), None), field);
        assert_eq!(found.map(|(value, _)| value), Some(value.into()), "{field}");
    }
}

/// Each call sees one document or the other, and never a part of each.
#[test]
fn a_call_never_sees_half_a_document() {
    let text = |n: u64| {
        format!(
            "version: 1\nretry: {{backoff: fixed, base: {n}s, jitter: none, max_retries: {n}, budget: b}}\nbudgets: {{b: {{capacity: 1000000}}}}"
        )
    };
    let config = config(&text(1));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..200 {
                replace(&config, &text(1 + 2 * (round % 2)));
            }
            over.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    let waited = delays(&on_tower(&config, statuses(&[503])).report);
                    assert!(
                        waited == seconds(&[1]) || waited == seconds(&[3, 3, 3]),
                        "{waited:?}"
                    );
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
    });
}
