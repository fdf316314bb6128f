//! The server does what it says, seen through a bare client.

use super::server::{Act, Answer, FaultServer};

#[tokio::test]
async fn it_answers_in_order_on_one_connection_and_keeps_what_came() {
    let server =
        FaultServer::start([Act::status(503), Act::Answer(Answer::new(201).body("made"))]).await;
    let client = reqwest::Client::new();
    let first = client
        .post(server.url("/a"))
        .body("one")
        .send()
        .await
        .unwrap();
    assert_eq!(
        (first.status().as_u16(), first.text().await.unwrap()),
        (503, "answer".into())
    );
    let second = client
        .post(server.url("/b"))
        .body("two")
        .send()
        .await
        .unwrap();
    assert_eq!(
        (second.status().as_u16(), second.text().await.unwrap()),
        (201, "made".into())
    );
    let received = server.received();
    assert_eq!(
        (received[0].body.as_slice(), received[1].body.as_slice()),
        (&b"one"[..], &b"two"[..])
    );
    assert!(
        received
            .iter()
            .all(|request| request.whole && request.connection == 1)
    );
    assert_eq!(received[1].method(), "POST");
}

#[tokio::test]
async fn a_reset_and_a_close_look_different() {
    let server = FaultServer::start([Act::ResetAfterRequest, Act::CloseAfterRequest]).await;
    let client = reqwest::Client::new();
    let mut texts = Vec::new();
    for _ in 0..2 {
        let error = client
            .post(server.url("/"))
            .body("x")
            .send()
            .await
            .unwrap_err();
        texts.push(format!("{error:?}"));
    }
    assert!(texts[0].contains("ConnectionReset"), "{}", texts[0]);
    assert!(texts[1].contains("IncompleteMessage"), "{}", texts[1]);
}

#[tokio::test]
async fn a_streamed_body_is_read_chunk_by_chunk() {
    let server = FaultServer::start([]).await;
    let chunks = ["ab", "c", "def"].map(Ok::<_, std::io::Error>);
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    reqwest::Client::new()
        .put(server.url("/"))
        .body(body)
        .send()
        .await
        .unwrap();
    let received = server.received();
    assert!(received[0].head.contains("chunked"));
    assert_eq!(
        (received[0].body.as_slice(), received[0].whole),
        (&b"abcdef"[..], true)
    );
}
