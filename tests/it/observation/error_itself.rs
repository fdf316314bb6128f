//! The error of an attempt, as an observer gets it.

use super::*;
use http_retry::report::RetryEventKind::AttemptEnded;
use std::io;

/// What each event says of its error: its kind if it is an I/O error, and the texts of its chain.
#[derive(Debug, Clone, Default)]
struct Errors(Arc<Mutex<Vec<Told>>>);

type Told = (Option<io::ErrorKind>, String);

impl Observer for Errors {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let is_end = matches!(event.kind, AttemptEnded(_));
        assert!(is_end || event.error.is_none(), "{event:?}");
        let Some(error) = event.error else { return };
        let links: Vec<_> = std::iter::successors(Some(error), |link| (*link).source()).collect();
        let io = links
            .iter()
            .find_map(|link| link.downcast_ref::<io::Error>());
        let texts: Vec<String> = links.iter().map(ToString::to_string).collect();
        let told = (io.map(io::Error::kind), texts.join(": "));
        self.0.lock().unwrap().push(told);
        assert!(!format!("{event:?}").contains(&texts[0]), "{event:?}");
    }
}

#[test]
fn an_observer_gets_the_error_of_an_attempt_with_its_type() {
    let reset = io::ErrorKind::ConnectionReset;
    for by_reqwest_too in [false, true] {
        let errors = Errors::default();
        let script = Script::new().error(reset).status(200);
        if by_reqwest_too {
            by_reqwest(middleware().observer(errors.clone()), script);
        } else {
            by_tower(&layer().observer(errors.clone()), script);
        }
        let told = errors.0.lock().unwrap().clone();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, Some(reset), "{told:?}");
    }
}

#[tokio::test]
async fn what_caused_an_error_of_reqwest_comes_without_its_url() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let errors = Errors::default();
    let retries = middleware().observer(errors.clone());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let client = reqwest_middleware::ClientBuilder::new(client).with(retries);
    let sent = client
        .build()
        .get(format!("http://{address}/a?key=hunter2"));
    assert!(sent.send().await.is_err());
    let told = errors.0.lock().unwrap().clone();
    assert!(!told.is_empty());
    for (kind, texts) in told {
        assert_eq!(kind, Some(io::ErrorKind::ConnectionRefused), "{texts}");
        assert!(!texts.contains("hunter2"), "{texts}");
    }
}
