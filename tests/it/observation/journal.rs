//! Writes down the spans and the log lines of the thread that it listens to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{NoSubscriber, with_default};
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// Two that listen to nothing. While only one subscriber has been made, `tracing` asks the subscriber of whichever
/// thread comes to a span first and remembers its answer for all; with more of them it asks all.
static DEAF: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(NoSubscriber::new())));

/// What a span or a log line holds, as text.
#[derive(Debug, Clone, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = self.0.iter();
        fields.try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// A line for each span, when it closes, and for each event, when it happens. The numbers of the calls are listed apart,
/// since no test can know them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    lines: Arc<Mutex<Vec<String>>>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Journal {
    /// Listens to what the thread does in `run`.
    pub(crate) fn of<T>(run: impl FnOnce() -> T) -> (Vec<String>, T) {
        let journal = Self::default();
        let result = journal.listen(run);
        (journal.lines(), result)
    }

    pub(super) fn listen<T>(&self, run: impl FnOnce() -> T) -> T {
        LazyLock::force(&DEAF);
        with_default(tracing_subscriber::registry().with(self.clone()), run)
    }

    /// Listens to what is at least as grave as this.
    pub(super) fn listen_at<T>(&self, level: LevelFilter, run: impl FnOnce() -> T) -> T {
        LazyLock::force(&DEAF);
        let journal = tracing_subscriber::registry()
            .with(level)
            .with(self.clone());
        with_default(journal, run)
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Returns the number of the call of each line that has one.
    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    pub(super) fn write(&self, line: impl Into<String>) {
        self.lines.lock().unwrap().push(line.into());
    }

    fn note_call(&self, fields: &mut Fields) {
        let call = fields.0.remove("call");
        self.calls.lock().unwrap().extend(call);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Journal {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let span = context.span(id).unwrap();
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        values.record(span.extensions_mut().get_mut::<Fields>().unwrap());
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.note_call(&mut fields);
        let message = fields.0.remove("message").unwrap_or_default();
        let inside = context.event_span(event).map(|span| span.name());
        let inside = inside.map_or_else(String::new, |name| format!(" inside {name}"));
        let level = event.metadata().level();
        self.write(format!("{level}{inside} {message}:{fields}"));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap();
        let mut fields = span.extensions().get::<Fields>().cloned().unwrap();
        self.note_call(&mut fields);
        self.write(format!("{}:{fields}", span.name()));
    }
}
