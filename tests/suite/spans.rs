//! Every stage of an evaluation reports itself.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

use crate::common::{assert_passed, in_a_process, on_fused};

/// Names of the spans that were opened, and targets of the events.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeSet<String>>>);

impl<S: Subscriber> Layer<S> for Seen {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.0.lock().unwrap().insert(attributes.metadata().name().to_string());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.0.lock().unwrap().insert(event.metadata().target().to_string());
    }
}

/// A call site learns for the whole process whether anyone listens; while threads without a subscriber meet it first, one
/// with a subscriber may miss it. So the spans are looked at in a process that does nothing else.
#[test]
fn every_stage_opens_its_span() {
    assert_passed(&in_a_process("spans::inner_stages", &[]));
}

#[test]
#[ignore = "run by every_stage_opens_its_span in a process of its own"]
fn inner_stages() {
    on_fused(|device| {
        let seen = Seen::default();
        tracing::subscriber::with_default(Registry::default().with(seen.clone()), || {
            let x = device.from_slice(&[1.0f32, 2.0, 3.0]).unwrap();
            assert_eq!((&x * 2.0 + 1.0).sum().item().unwrap(), 15.0);
        });
        let seen = seen.0.lock().unwrap().clone();
        for stage in ["lazuli::record", "plan", "fuse", "lower", "compile", "launch", "transfer"] {
            assert!(seen.contains(stage), "{stage} is missing in {seen:?}");
        }
        // The host runs the kernel IR itself; nothing is emitted.
        assert_eq!(seen.contains("emit"), device.name() != "host", "{seen:?}");
    });
}
