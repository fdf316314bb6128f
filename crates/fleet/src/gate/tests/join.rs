//! The keys that join a fleet.

use super::NextAction;
use super::joined::Joined;
use http::{HeaderMap, HeaderValue, Method, Uri};
use http_retry_core::gate::Gate;
use http_retry_core::policy::Moment;
use http_retry_core::route::RequestHead;
use http_retry_core::sharing::GateExt;
use http_retry_testing::ManualRuntime;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

#[test]
fn each_key_joins_once_with_its_name_and_part() {
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", HeaderValue::from_static("hunter2"));
    let uri = Uri::from_static("http://a:1/p");
    let head = RequestHead::new(&Method::GET, &uri);
    let by_text = Gate::new().key_by(|head, _, _| head.path().to_owned());
    for (gate, apart) in [
        (Gate::new(), None),
        (Gate::new().per_credential(), Some("x-api-key:hunter2\n")),
        (by_text, Some("/p")),
    ] {
        let joined = Arc::new(Joined::default());
        let gate = joined.share(gate);
        let text = gate.key_text(&head, &headers, None);
        let key = gate.key("a:1", text.as_deref());
        assert!(
            gate.enter(key, Duration::ZERO, true).is_err(),
            "the first is looked at"
        );
        for _ in 0..3 {
            let text = || text.clone();
            gate.share_key(key, "a:1", &ManualRuntime::paused(), Duration::MAX, text);
        }
        assert!(gate.enter(key, Duration::ZERO, true).is_ok());
        let joined = joined.0.lock().unwrap();
        let names: Vec<_> = joined
            .iter()
            .map(|(name, apart, _)| (name.as_str(), apart.as_deref()))
            .collect();
        assert_eq!(names, [("a:1", apart)]);
    }
}

#[test]
fn the_link_of_an_evicted_key_is_gone() {
    let joined = Arc::new(Joined::default());
    let gate = joined.share(Gate::new().max_services(1));
    for name in ["a", "b", "a"] {
        let key = gate.key(name, None);
        assert!(gate.enter(key, Duration::ZERO, true).is_err());
        gate.share_key(key, name, &ManualRuntime::paused(), Duration::MAX, || None);
    }
    let joined = joined.0.lock().unwrap();
    let next = joined
        .iter()
        .map(|(.., link)| link.next(Moment::new(Duration::ZERO), 1, Waker::noop()));
    let drives: Vec<_> = next.map(|next| next != NextAction::Gone).collect();
    assert_eq!(drives, [false, false, true]);
}
