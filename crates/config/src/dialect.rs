//! Conversion of a document's dialects to those of the builder.

use super::document::DialectKeys;
use super::layers::{MAX_CHAIN, Resolver};
use super::problems::Path;
use super::reader::Spanned;
use super::retry::{DialectChoice, set_given};
use super::rule::RowKeys;
use super::values::List;
use http_retry_core::policy::Classify;
use http_retry_dialects::dialect::Dialect;
use std::sync::Arc;

impl Resolver<'_> {
    /// Checks all dialects, including those that nothing uses.
    pub(super) fn check_dialects(&self) {
        for (name, given) in &*self.spec.dialects {
            let keys = &given.value;
            for row in keys.rows.iter().flat_map(|List(rows)| rows) {
                self.check_row(row);
            }
            let own = self.own_dialect(name, keys, &mut vec![name.as_str().into()]);
            let from = keys.from.as_ref();
            if let Some(given) = from.filter(|given| given.value == DialectChoice::ByHost) {
                self.wrong(given, "by_host is no dialect: name one");
            }
            let path = Path::default().key("dialects").key(name);
            if let (Err(error), false) = (own.check(), self.problems.are_within(&path)) {
                let cause = format!("{} {}", error.given, error.allowed);
                self.problems.add(&path, &"", cause);
            }
        }
    }

    fn check_row(&self, row: &Spanned<RowKeys>) {
        let path = row.path();
        for (key, is_given, write) in [
            ("when", row.value.when.is_some(), "when: {status: 403}"),
            ("as", row.value.class.is_some(), "as: throttled"),
        ] {
            let path = path.key(key);
            if !is_given && !self.problems.contains(&path) {
                self.problems
                    .add(&path, &"", format!("is missing: write {write}"));
            }
        }
        if let Some(Err(error)) = row.value.row().map(|row| row.check()) {
            self.problems.add(&path.key("when"), &"", error.allowed);
        }
    }

    /// Returns the dialects of these names, joined in this order.
    pub(super) fn dialect_of(
        &self,
        given: &Spanned<DialectChoice>,
        names: &[Arc<str>],
    ) -> Option<Dialect> {
        self.joined(given, names, &mut Vec::new())
    }

    fn joined(
        &self,
        given: &Spanned<DialectChoice>,
        names: &[Arc<str>],
        chain: &mut Vec<Arc<str>>,
    ) -> Option<Dialect> {
        let all = names
            .iter()
            .filter_map(|name| self.dialect(given, name, chain));
        all.reduce(Dialect::and)
    }

    /// Returns a dialect of the document, or else a built-in one.
    fn dialect(
        &self,
        given: &Spanned<DialectChoice>,
        name: &Arc<str>,
        chain: &mut Vec<Arc<str>>,
    ) -> Option<Dialect> {
        if let Some(own) = self.spec.dialects.get(&**name) {
            if chain.contains(name) || chain.len() >= MAX_CHAIN {
                chain.push(Arc::clone(name));
                let path = chain.join(" -> ");
                self.wrong(given, format!("from cycle: {path}"));
                return None;
            }
            chain.push(Arc::clone(name));
            let own = self.own_dialect(name, &own.value, chain);
            // Several dialects may use the same one, which is no circle.
            chain.pop();
            return Some(own);
        }
        let built_in = Dialect::get(name);
        if built_in.is_err() {
            let own = self.spec.dialects.keys().cloned();
            let names = Dialect::all().map(|dialect| dialect.name().to_owned());
            let known: Vec<String> = own.chain(names).collect();
            let known = known.iter().map(String::as_str);
            self.unknown(given, name, "is no dialect", known);
        }
        built_in.ok()
    }

    fn own_dialect(&self, name: &str, keys: &DialectKeys, chain: &mut Vec<Arc<str>>) -> Dialect {
        let rows = keys.rows.iter().flat_map(|List(rows)| rows);
        let rows = rows.filter_map(|given| {
            let row = given.value.row()?;
            Some(row.origin(Arc::clone(&given.from)))
        });
        let own = rows.fold(Dialect::named(name), Dialect::row);
        let own = set_given(own, &keys.key_header, |own, header| {
            own.key_header(header.0)
        });
        let own = set_given(own, &keys.quoted_keys, Dialect::quoted_keys);
        let from = keys.from.as_ref().and_then(|given| match &given.value {
            DialectChoice::These(names) => self.joined(given, names, chain),
            DialectChoice::Nobody | DialectChoice::ByHost => None,
        });
        // The dialect's own rows come first, since the first that matches decides.
        from.into_iter().fold(own, Dialect::and)
    }
}
