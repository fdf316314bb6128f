//! The latencies of services, in sliding histograms of bounded size.

use hdrhistogram::Histogram;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The latencies of each service. Clones of a layer share them.
#[derive(Debug, Default)]
pub(crate) struct Latencies(Mutex<HashMap<Arc<str>, Arc<Window>>>);

/// The latest latencies of one service.
///
/// Two histograms take turns, as in tower's hedging layer, but both count: the older one is dropped once the newer one
/// is old enough and has enough samples for a percentile. So a rare service keeps what it has, and a busy one forgets
/// after 10 to 20 seconds.
#[derive(Debug)]
pub(crate) struct Window(Mutex<Histograms>);

#[derive(Debug)]
struct Histograms {
    before: Histogram<u32>,
    latest: Histogram<u32>,
    /// The time since which `latest` counts.
    since: Duration,
    /// A percentile, its value, and the number of samples that are newer.
    known: Option<(u8, Duration, u32)>,
}

/// The most services whose latencies are kept: 25 KiB each.
const MAX_SERVICES: usize = 1_000;
/// The longest latency that is told apart from longer ones, in microseconds: 10 minutes.
const LONGEST: u64 = 600_000_000;
/// The digits that are kept of a latency: an error of 1 %.
const DIGITS: u8 = 2;
/// The least time that a histogram is filled.
const PERIOD: Duration = Duration::from_secs(10);
/// The new samples after which a percentile is computed anew.
const STALE: u32 = 50;

impl Latencies {
    /// Returns the latencies of a service, or `None` if there is no room for another one.
    pub(crate) fn of(&self, service: &Arc<str>) -> Option<Arc<Window>> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = windows.get(service) {
            return Some(Arc::clone(window));
        }
        if windows.len() >= MAX_SERVICES {
            // Those that no request uses now. They come back with their next one.
            windows.retain(|_, window| Arc::strong_count(window) > 1);
        }
        // The bounds are valid, so there always is a histogram.
        let window = Window::new().filter(|_| windows.len() < MAX_SERVICES)?;
        let window = windows.entry(Arc::clone(service)).or_insert(window);
        Some(Arc::clone(window))
    }
}

impl Window {
    fn new() -> Option<Arc<Self>> {
        let empty = Histogram::new_with_bounds(1, LONGEST, DIGITS).ok()?;
        Some(Arc::new(Self(Mutex::new(Histograms {
            before: empty.clone(),
            latest: empty,
            since: Duration::ZERO,
            known: None,
        }))))
    }

    /// Counts a latency at `now`, with `enough` samples for a percentile.
    ///
    /// `None` is that of a copy which lost after the time at which a hedge follows. It belongs to the slow ones; if it
    /// did not count, or as long as it was waited for, a service whose slow responses become more would look as fast as
    /// before, and get a hedge for each of them.
    pub(crate) fn record(&self, latency: Option<Duration>, now: Duration, enough: u32) {
        let micros = latency.and_then(|latency| u64::try_from(latency.as_micros()).ok());
        let Histograms {
            before,
            latest,
            since,
            known,
        } = &mut *self.lock();
        let is_old = now.saturating_sub(*since) >= PERIOD;
        if is_old && latest.len() >= u64::from(enough) {
            std::mem::swap(before, latest);
            latest.reset();
            *since = now;
        }
        latest.saturating_record(micros.unwrap_or(LONGEST));
        if let Some((.., newer)) = known {
            *newer = newer.saturating_add(1);
        }
    }

    /// Returns the latency within which this many of 100 responses arrived, if there are enough samples.
    pub(crate) fn percentile(&self, percent: u8, enough: u32) -> Option<Duration> {
        let mut histograms = self.lock();
        let samples = histograms
            .before
            .len()
            .saturating_add(histograms.latest.len());
        if samples < u64::from(enough) {
            return None;
        }
        let known = histograms.known;
        if let Some((_, value, _)) = known.filter(|known| known.0 == percent && known.2 < STALE) {
            return Some(value);
        }
        let mut all = histograms.before.clone();
        all.add(&histograms.latest).ok()?;
        let value = Duration::from_micros(all.value_at_percentile(f64::from(percent)));
        histograms.known = Some((percent, value, 0));
        Some(value)
    }

    fn lock(&self) -> MutexGuard<'_, Histograms> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> Arc<Window> {
        Latencies::default().of(&"a".into()).unwrap()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Counts this many latencies of so many milliseconds each.
    fn fill(window: &Window, samples: u64, millis: u64, now: Duration) {
        for _ in 0..samples {
            window.record(Some(Duration::from_millis(millis)), now, 100);
        }
    }

    /// Returns the percentile in whole milliseconds.
    fn percentile(window: &Window, percent: u8) -> Option<u128> {
        let value = window.percentile(percent, 100);
        value.map(|value| value.as_millis())
    }

    #[test]
    fn a_percentile_needs_enough_samples() {
        let window = window();
        assert_eq!(percentile(&window, 95), None);
        fill(&window, 99, 10, seconds(0));
        assert_eq!(percentile(&window, 95), None);
        fill(&window, 1, 10, seconds(0));
        assert_eq!(percentile(&window, 95), Some(10));
    }

    #[test]
    fn a_percentile_is_as_long_as_that_many_of_a_hundred() {
        let window = window();
        fill(&window, 940, 10, seconds(0));
        fill(&window, 50, 100, seconds(0));
        fill(&window, 10, 5_000, seconds(0));
        let all = [50, 94, 95, 99].map(|percent| percentile(&window, percent));
        assert_eq!(all, [Some(10), Some(10), Some(100), Some(100)]);
    }

    #[test]
    fn a_busy_service_forgets_within_20_seconds() {
        let window = window();
        fill(&window, 1_000, 10, seconds(0));
        fill(&window, 100, 2_000, seconds(11));
        assert_eq!(percentile(&window, 50), Some(10));
        fill(&window, 100, 2_000, seconds(21));
        assert!(percentile(&window, 50) >= Some(2_000));
    }

    #[test]
    fn a_rare_service_keeps_what_it_has() {
        let window = window();
        for minute in 0..100 {
            fill(&window, 1, 10, seconds(60 * minute));
        }
        assert_eq!(percentile(&window, 95), Some(10));
    }

    #[test]
    fn any_latencies_and_services_take_bounded_space() {
        let latencies = Latencies::default();
        let window = latencies.of(&"a".into()).unwrap();
        fill(&window, 100, u64::MAX, seconds(0));
        assert!(percentile(&window, 95) >= Some(600_000));
        let held: Vec<_> = (0..2_000)
            .map(|n| latencies.of(&n.to_string().into()))
            .collect();
        assert_eq!(latencies.0.lock().unwrap().len(), MAX_SERVICES);
        drop(held);
        latencies.of(&"another".into());
        assert_eq!(latencies.0.lock().unwrap().len(), 2, "`a` is still held");
    }
}
