//! Responses by a script, to a page of another site.

use crate::http::{End, Request, Response};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The requests of each script so far.
#[derive(Clone, Default)]
pub(crate) struct Scripts(Arc<Mutex<BTreeMap<String, Seen>>>);

#[derive(Default)]
struct Seen {
    requests: usize,
    lines: Vec<String>,
}

impl Scripts {
    /// Responds with the next step of the script in the path, `/script/NAME/STEP,STEP..`, or lists what was seen for
    /// `/seen/NAME`. The last step stays. A step is `STATUS`, `STATUS:RETRY-AFTER`, the same with `:hidden`, `cut`,
    /// `broken`, `hang` or `redirect`.
    pub(crate) fn respond(&self, request: &Request) -> Response {
        let response = match &*request.path.split('/').collect::<Vec<_>>() {
            // The browser asks if the page may send its headers.
            _ if request.method == "OPTIONS" => {
                let wanted = request.header("access-control-request-headers");
                Response::of(204)
                    .with("access-control-allow-headers", wanted.unwrap_or_default())
                    .with("access-control-allow-methods", "GET, POST, PUT")
            }
            ["", "seen", name] => {
                let lines = self
                    .seen()
                    .entry((*name).to_owned())
                    .or_default()
                    .lines
                    .join("\n");
                Response::of(200).body(lines.as_bytes())
            }
            ["", "script", name, steps] => self.step(request, name, steps),
            _ => Response::of(404),
        };
        response
            .with("access-control-allow-origin", "*")
            .with("cache-control", "no-store")
    }

    fn step(&self, request: &Request, name: &str, steps: &str) -> Response {
        let number = {
            let mut scripts = self.seen();
            let seen = scripts.entry(name.to_owned()).or_default();
            let key = request
                .header("idempotency-key")
                .map(|key| format!(" {key}"));
            seen.lines
                .push(format!("{}{}", request.method, key.unwrap_or_default()));
            seen.requests += 1;
            seen.requests - 1
        };
        let steps: Vec<&str> = steps.split(',').collect();
        let step = steps
            .get(number)
            .or(steps.last())
            .copied()
            .unwrap_or_default();
        let mut parts = step.split(':');
        let (what, wait, hidden) = (parts.next(), parts.next(), parts.next());
        let text = |status: u16| format!("{status} is what the script says").into_bytes();
        match what.unwrap_or_default() {
            "cut" => Response::of(200).ending(End::Cut),
            "broken" => Response::of(200).body(&text(200)).ending(End::Cut),
            "hang" => {
                let (scripts, name) = (self.clone(), name.to_owned());
                let gone = move || {
                    scripts
                        .seen()
                        .entry(name)
                        .or_default()
                        .lines
                        .push("gone".to_owned());
                };
                Response::of(200).ending(End::Hang(Box::new(gone)))
            }
            "redirect" => Response::of(307).with("location", &request.path),
            status => {
                let status = status.parse().unwrap_or(500);
                let mut response = Response::of(status).body(&text(status));
                if let Some(wait) = wait {
                    response = response.with("retry-after", wait);
                }
                if hidden.is_none() {
                    response = response.with("access-control-expose-headers", "retry-after");
                }
                response
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<String, Seen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
