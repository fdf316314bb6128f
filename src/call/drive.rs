//! The driver of a client whose attempt is one future, and that is always ready.

use super::Call;
use super::client::{AttemptResult, Client, Sends};
use http_retry_core::adapter::Todo;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Sends a request that may go out at once, and carries on with it until it is finished.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an async function holds its arguments twice"
)]
pub(crate) fn drive<C: Sends>(
    mut call: Call<C>,
    mut client: C,
    requests: C::Requests,
    request: C::Request,
) -> impl Future<Output = AttemptResult<C>> {
    async move {
        let request = call.save(&requests, request);
        let sent = begin(&mut call, &mut client, request);
        let ended = wait_for_end(&mut call, sent).await;
        match after(&mut call, &mut client, ended) {
            Ok(result) => result,
            // Boxed, since most calls end here, and a future is as large as its largest await.
            Err(todo) => Box::pin(carry_on(call, client, requests, todo)).await,
        }
    }
}

/// Carries on with a request until it is finished.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an async function holds its arguments twice"
)]
pub(crate) fn carry_on<C: Sends>(
    mut call: Call<C>,
    mut client: C,
    requests: C::Requests,
    mut todo: Todo,
) -> impl Future<Output = AttemptResult<C>> {
    async move {
        loop {
            // Requests and responses stay out of this future, which is as large as what lives across an await.
            todo = match todo {
                Todo::Send => {
                    let sent = match begin_next(&mut call, &mut client, &requests) {
                        Ok(sent) => Ok(wait_for_end(&mut call, sent).await),
                        Err(todo) => Err(todo),
                    };
                    match sent.and_then(|ended| after(&mut call, &mut client, ended)) {
                        Ok(result) => return result,
                        Err(todo) => todo,
                    }
                }
                Todo::Wait | Todo::Ask => poll_fn(|cx| call.poll_wait(cx)).await,
                Todo::Read { part, until } => match call.begin_read(part, until) {
                    Ok(()) => poll_fn(|cx| call.poll_read(&mut client, cx)).await,
                    Err(todo) => todo,
                },
                Todo::Prepare => call.prepare(&mut client),
                // No attempt is under way that could go on.
                Todo::Stay | Todo::Done => return poll_fn(|_| finish(&mut call)).await,
            };
        }
    }
}

/// Returns the end of a request, or never if there is nothing to return.
fn finish<C: Sends>(call: &mut Call<C>) -> Poll<AttemptResult<C>> {
    call.finish_kept().map_or(Poll::Pending, Poll::Ready)
}

/// Sends a later attempt.
///
/// # Errors
///
/// The todo to carry out instead.
fn begin_next<'c, C: Sends>(
    call: &mut Call<C>,
    client: &'c mut C,
    requests: &C::Requests,
) -> Result<impl Future<Output = AttemptResult<C>> + use<'c, C>, Todo> {
    let request = call.next_request(requests)?;
    Ok(begin(call, client, request))
}

/// Sends an attempt. An inner layer may look at the mark as early as here, before the first poll.
fn begin<'c, C: Sends>(
    call: &mut Call<C>,
    client: &'c mut C,
    mut request: C::Request,
) -> impl Future<Output = AttemptResult<C>> + use<'c, C> {
    let (attempt, handle) = call.attempt(&mut request);
    call.exchange
        .around(|| client.send(request, attempt, handle))
}

/// Waits for the end of an attempt.
///
/// # Errors
///
/// The next todo, if the attempt was cut.
async fn wait_for_end<C: Client>(
    call: &mut Call<C>,
    sent: impl Future<Output = AttemptResult<C>>,
) -> Result<AttemptResult<C>, Todo> {
    let mut sent = pin!(sent);
    loop {
        let in_time = poll_fn(|cx| match call.exchange.around(|| sent.as_mut().poll(cx)) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending => call.exchange.poll_limit(cx).map(|()| None),
        });
        if let Some(result) = in_time.await {
            return Ok(result);
        }
        let mut todo = call.cut();
        if let Todo::Ask = todo {
            todo = poll_fn(|cx| call.poll_wait(cx)).await;
        }
        if !matches!(todo, Todo::Stay) {
            return Err(todo);
        }
    }
}

/// Takes the end of an attempt that was sent. Returns the result of a request that is finished.
///
/// # Errors
///
/// The next todo.
fn after<C: Client>(
    call: &mut Call<C>,
    client: &mut C,
    ended: Result<AttemptResult<C>, Todo>,
) -> Result<AttemptResult<C>, Todo> {
    let result = ended.map_err(|todo| call.abandon(client, todo))?;
    match call.ended(client, &result) {
        Todo::Done => Ok(call.finish(result)),
        todo => {
            call.keep(result);
            Err(todo)
        }
    }
}
