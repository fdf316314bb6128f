//! The driver of a client whose attempt is one future, and that is always ready.

use super::Call;
use super::client::{AttemptResult, Client, Sends};
use http_retry_core::adapter::Todo;
use pin_project_lite::pin_project;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Sends a saved request that may go out at once. If it is not finished then, `rest` boxes the future of [`carry_on`], for
/// this caller as for one whose request must wait: the code of that future is then in a program once.
#[expect(
    clippy::manual_async_fn,
    reason = "the future of an async function holds its arguments twice"
)]
pub(crate) fn drive<C: Sends, F: Future<Output = AttemptResult<C>>>(
    mut call: Call<C>,
    mut client: C,
    requests: C::Requests,
    mut request: C::Request,
    rest: impl FnOnce(Call<C>, C, C::Requests, Todo) -> F,
) -> impl Future<Output = AttemptResult<C>> {
    async move {
        let todo = {
            let (attempt, handle) = call.attempt(&mut request);
            let exchange = &mut call.exchange;
            let attempting = Attempting {
                // An inner layer may look at the mark as early as here, before the first poll.
                sent: exchange.around(|| client.send(request, attempt, handle)),
                call: &mut call,
                is_cut: false,
            };
            let ended = attempting.await;
            match after(&mut call, &mut client, ended) {
                Ok(result) => return result,
                Err(todo) => todo,
            }
        };
        // Boxed, since most calls end before, and a future is as large as its largest await.
        rest(call, client, requests, todo).await
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
                        Ok(sent) => {
                            let call = &mut call;
                            let is_cut = false;
                            Ok(Attempting { sent, call, is_cut }.await)
                        }
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
    call.finish_held().map_or(Poll::Pending, Poll::Ready)
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
    let mut request = call.next_request(requests)?;
    let (attempt, handle) = call.attempt(&mut request);
    let sent = || client.send(request, attempt, handle);
    Ok(call.exchange.around(sent))
}

pin_project! {
    /// An attempt until its end. Its result is the next todo if it was cut.
    ///
    /// By hand: with an async function, each poll goes through two more of them.
    struct Attempting<'c, C: Client, F> {
        #[pin]
        sent: F,
        call: &'c mut Call<C>,
        is_cut: bool,
    }
}

impl<C: Client, F: Future<Output = AttemptResult<C>>> Future for Attempting<'_, C, F> {
    type Output = Result<AttemptResult<C>, Todo>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let call = &mut **this.call;
        loop {
            if *this.is_cut {
                match ready!(call.poll_wait(cx)) {
                    Todo::Stay => *this.is_cut = false,
                    todo => return Poll::Ready(Err(todo)),
                }
            }
            let sent = this.sent.as_mut();
            if let Poll::Ready(result) = call.exchange.around(|| sent.poll(cx)) {
                return Poll::Ready(Ok(result));
            }
            ready!(call.exchange.poll_limit(cx));
            match call.cut() {
                Todo::Stay => {}
                Todo::Ask => *this.is_cut = true,
                todo => return Poll::Ready(Err(todo)),
            }
        }
    }
}

/// Takes the end of an attempt that was sent. Returns the result of a request that is finished.
///
/// # Errors
///
/// The next todo.
#[inline(always)]
fn after<C: Client>(
    call: &mut Call<C>,
    client: &mut C,
    ended: Result<AttemptResult<C>, Todo>,
) -> Result<AttemptResult<C>, Todo> {
    let mut result = ended.map_err(|todo| call.abandon(client, todo))?;
    match call.ended(client, &result) {
        Todo::Done => {
            call.finish_in_place(&mut result);
            Ok(result)
        }
        todo => {
            call.hold(result);
            Err(todo)
        }
    }
}
