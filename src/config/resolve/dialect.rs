//! Which dialects a place speaks.

use super::{LONGEST_CHAIN, Resolver, value};
use crate::config::block::Path;
use crate::config::dialect::{DialectMap, Speaks};
use crate::config::given::Given;
use crate::config::retry::Retry;
use crate::dialect::{Dialect, Dialects};
use crate::policy::{Classify, RetryPolicyBuilder};
use std::sync::Arc;

impl Resolver<'_> {
    pub(super) fn with_dialect(
        &self,
        builder: RetryPolicyBuilder,
        retry: &Retry,
    ) -> RetryPolicyBuilder {
        let header_rules = value(&retry.header_rules).into_iter();
        let builder = header_rules.fold(builder, RetryPolicyBuilder::header_rules);
        let inspect = value(&retry.inspect_success).unwrap_or_default();
        let Some(given) = &retry.dialect else {
            return builder;
        };
        match &given.value {
            Speaks::Nobody => builder,
            Speaks::ByHost => builder.dialects(Dialects::by_host().inspect_success(inspect)),
            Speaks::These(names) => match self.joined(given, names, &mut Vec::new()) {
                Some(dialect) => self.checked(builder, dialect, given),
                None => builder,
            },
        }
    }

    /// Names must be right even of a dialect that nobody speaks.
    pub(in crate::config) fn check_dialects(&self) {
        for (name, map) in &self.spec.dialects {
            let own = self.own(name, map, &mut vec![name.as_str().into()]);
            let read = own.check();
            if let Some(given) = map
                .from
                .as_ref()
                .filter(|given| given.value == Speaks::ByHost)
            {
                self.wrong(given, "by_host is no dialect: name one");
            }
            let path = Path::default().key("dialects").key(name);
            if let (Err(error), false) = (read, self.problems.are_within(path.as_str())) {
                let cause = format!("{} {}", error.given(), error.allowed());
                self.problems.add(&path, &"", cause);
            }
        }
    }

    fn checked(
        &self,
        builder: RetryPolicyBuilder,
        dialect: Dialect,
        given: &Given<Speaks>,
    ) -> RetryPolicyBuilder {
        if let Err(error) = dialect.check() {
            let cause = format!("{} {}", error.given(), error.allowed());
            self.wrong(given, cause);
            return builder;
        }
        builder.dialect(dialect)
    }

    /// The dialects of these names, one after another.
    fn joined(
        &self,
        given: &Given<Speaks>,
        names: &[Arc<str>],
        trail: &mut Vec<Arc<str>>,
    ) -> Option<Dialect> {
        let all = names
            .iter()
            .filter_map(|name| self.dialect(given, name, trail));
        all.reduce(Dialect::and)
    }

    /// One of the document's own, or else a built-in one.
    fn dialect(
        &self,
        given: &Given<Speaks>,
        name: &Arc<str>,
        trail: &mut Vec<Arc<str>>,
    ) -> Option<Dialect> {
        if let Some(map) = self.spec.dialects.get(&**name) {
            if trail.contains(name) || trail.len() >= LONGEST_CHAIN {
                trail.push(Arc::clone(name));
                let way = trail.join(" -> ");
                self.wrong(given, format!("from goes round in a circle: {way}"));
                return None;
            }
            trail.push(Arc::clone(name));
            let own = self.own(name, map, trail);
            trail.pop();
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

    fn own(&self, name: &str, map: &DialectMap, trail: &mut Vec<Arc<str>>) -> Dialect {
        let rows = map.rows.iter().flatten().cloned();
        let own = rows.fold(Dialect::named(name), Dialect::row);
        let header = map.key_header.iter().cloned();
        let own = header.fold(own, Dialect::key_header);
        let own = map.quoted_keys.into_iter().fold(own, Dialect::quoted_keys);
        let from = map.from.as_ref().and_then(|given| match &given.value {
            Speaks::These(names) => self.joined(given, names, trail),
            Speaks::Nobody | Speaks::ByHost => None,
        });
        from.into_iter().fold(own, Dialect::and)
    }
}
