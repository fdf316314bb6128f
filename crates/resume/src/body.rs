//! The body of a download that is resumed if it breaks.

use super::download::{Download, Question, Resend, Sending};
use super::exclusive::Exclusive;
use super::mark::ResumeValidator;
use super::progress::ResumeProgress;
use super::terms::DownloadTerms;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_retry_core::runtime::Sleep;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

type BoxError = Box<dyn Error + Send + Sync>;

/// The body of a response that resumes after a break; see the [crate]. Read it like any other: breaks,
/// waits and the requests for the rest are handled while its frames are polled.
///
/// `size_hint` is the exact number of bytes left, as long as the download can be resumed. Bytes come in order, each
/// once. Nothing follows an error or the end.
///
/// # Errors
///
/// A boxed error: an [`Interrupted`](super::Interrupted), or the error of a body that is not resumed.
///
/// # Cancel safety
///
/// The body runs no task. Dropping it ends the download at once, also during a wait or while the request for the rest
/// is in flight, and returns the token of a resume that has not yet made progress.
pub struct ResumedBody<B> {
    state: ResumeState<B>,
    /// `None` if a break ends the body.
    download: Option<Box<Download<B>>>,
}

/// The current step of a download.
pub(super) enum ResumeState<B> {
    Reading(B),
    /// A fleet decides on a resume.
    Asking(Exclusive<Box<Question>>),
    /// The paid wait before the request for the rest.
    Waiting(Exclusive<Sleep>),
    Sending(Exclusive<Sending<B>>),
    Over,
}

/// The result of one poll.
enum Step<B> {
    Frame(Frame<Bytes>),
    PollAgain,
    Enter(ResumeState<B>),
}

impl<B> ResumedBody<B> {
    /// Creates a body that is not resumed.
    pub fn plain(body: B) -> Self {
        Self {
            state: ResumeState::Reading(body),
            download: None,
        }
    }

    /// Creates a body that is resumed if it breaks, and its progress.
    pub fn new(
        body: B,
        validator: ResumeValidator,
        sender: Box<dyn Resend<B>>,
        terms: DownloadTerms,
        is_from_elsewhere: bool,
    ) -> (Self, ResumeProgress) {
        let progress = ResumeProgress::default();
        let mut download = Download::new(validator, sender, terms, progress.clone());
        download.is_from_elsewhere = is_from_elsewhere;
        let body = Self {
            state: ResumeState::Reading(body),
            download: Some(Box::new(download)),
        };
        (body, progress)
    }
}

impl<B> ResumeState<B> {
    pub(super) fn asking(question: Question) -> Self {
        Self::Asking(Exclusive::new(Box::new(question)))
    }

    pub(super) fn waiting(wait: Sleep) -> Self {
        Self::Waiting(Exclusive::new(wait))
    }

    fn sending(sending: Sending<B>) -> Self {
        Self::Sending(Exclusive::new(sending))
    }
}

impl<B> Body for ResumedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { state, download } = &mut *self;
        let Some(resumed) = download else {
            return match state {
                ResumeState::Reading(body) => Pin::new(body).poll_frame(cx).map_err(Into::into),
                _ => Poll::Ready(None),
            };
        };
        let frame = match resumed.poll_step(state, cx) {
            // The deadline comes second, so that bytes at hand are handed out first.
            Poll::Pending => Some(Err(ready!(resumed.poll_late(cx)))),
            Poll::Ready(frame) => frame.transpose(),
        };
        match frame {
            Some(Err(_)) => *state = ResumeState::Over,
            // A byte was handed out that no validator covers, so a break is final from here on.
            Some(Ok(_)) if !resumed.can_resume() => *download = None,
            Some(Ok(_)) | None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        let is_whole = || self.download.as_ref().is_none_or(|d| d.is_whole());
        match &self.state {
            ResumeState::Over => true,
            ResumeState::Reading(body) => body.is_end_stream() && is_whole(),
            ResumeState::Asking(_) | ResumeState::Waiting(_) | ResumeState::Sending(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match (&self.state, &self.download) {
            (ResumeState::Over, _) => SizeHint::with_exact(0),
            // Also during a wait: the `Content-Length` of the head stays true over all resumes.
            (_, Some(download)) => SizeHint::with_exact(download.left()),
            (ResumeState::Reading(body), None) => body.size_hint(),
            (_, None) => SizeHint::default(),
        }
    }
}

impl<B> Download<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    /// Polls until the next frame, or the end.
    fn poll_step(
        &mut self,
        state: &mut ResumeState<B>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Frame<Bytes>>, BoxError>> {
        loop {
            let step = match state {
                ResumeState::Over => return Poll::Ready(Ok(None)),
                ResumeState::Reading(body) => ready!(self.poll_read(body, cx)),
                ResumeState::Asking(question) => {
                    let wait = ready!(self.poll_answer(question.get(), cx));
                    wait.map(ResumeState::waiting).map(Step::Enter)
                }
                ResumeState::Waiting(wait) => {
                    ready!(wait.get().as_mut().poll(cx));
                    self.send().map(ResumeState::sending).map(Step::Enter)
                }
                ResumeState::Sending(sending) => {
                    let response = ready!(sending.get().as_mut().poll(cx));
                    let body = self.accept(response);
                    body.map(|body| {
                        Step::Enter(body.map_or(ResumeState::Over, ResumeState::Reading))
                    })
                }
            };
            match step? {
                Step::Frame(frame) => return Poll::Ready(Ok(Some(frame))),
                Step::PollAgain => {}
                Step::Enter(next) => *state = next,
            }
        }
    }

    fn poll_read(&mut self, body: &mut B, cx: &mut Context<'_>) -> Poll<Result<Step<B>, BoxError>> {
        // Polling once more would read the rest of a file of which only a range was requested.
        if self.is_complete() {
            return Poll::Ready(Ok(Step::Enter(ResumeState::Over)));
        }
        let frame = match Pin::new(body).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                ready!(self.poll_idle(cx));
                // With all bytes there, a stall before the end of the response loses nothing.
                if !self.is_whole() {
                    return Poll::Ready(self.stalled().map(Step::Enter));
                }
                None
            }
        };
        // An empty frame does not reset the idle timer: a server can send any number of them.
        if !frame.as_ref().is_some_and(is_empty) {
            self.reset_idle();
        }
        Poll::Ready(self.read(frame))
    }

    fn read(&mut self, frame: Option<Result<Frame<Bytes>, B::Error>>) -> Result<Step<B>, BoxError> {
        let next = match frame {
            Some(Ok(frame)) => return self.read_frame(frame),
            // An error after the last byte loses nothing.
            None | Some(Err(_)) if self.is_whole() => return Ok(Step::Enter(ResumeState::Over)),
            None => self.ended(),
            Some(Err(error)) => self.failed(error.into()),
        };
        next.map(Step::Enter)
    }

    fn read_frame(&mut self, frame: Frame<Bytes>) -> Result<Step<B>, BoxError> {
        match frame.into_data() {
            Ok(data) => {
                let data = self.take(data)?;
                Ok(if data.is_empty() {
                    Step::PollAgain
                } else {
                    Step::Frame(Frame::data(data))
                })
            }
            // Trailers before the last byte belong to a body that has broken.
            Err(frame) if self.is_whole() => Ok(Step::Frame(frame)),
            Err(_) => Ok(Step::PollAgain),
        }
    }
}

fn is_empty<E>(frame: &Result<Frame<Bytes>, E>) -> bool {
    let data = frame.as_ref().ok().and_then(Frame::data_ref);
    data.is_some_and(Bytes::is_empty)
}

impl<B> fmt::Debug for ResumedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumedBody")
            .field("is_resumed", &self.download.is_some())
            .finish_non_exhaustive()
    }
}
