//! What one evaluation does, as `tracing` sees it: every stage is a span with its fields and its time.
//!
//!     cargo run --release --example trace
//!
//! A program would install a subscriber of its choice, for instance `tracing_subscriber::fmt()` with
//! `RUST_LOG=lazuli=debug`. This one prints the spans as an indented tree.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use lazuli::prelude::*;
use ndarray::Array1;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// The stages that must be seen.
const STAGES: [&str; 7] = ["record", "plan", "fuse", "lower", "compile", "launch", "transfer"];

fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::auto()?;
    println!("device: {device}");
    let input = Array1::<f32>::linspace(0.0, 1.0, 1 << 16);

    let tree = Tree::default();
    let seen = tree.seen.clone();
    let value = tracing::subscriber::with_default(tracing_subscriber::registry().with(tree), || {
        println!("\n# to_device");
        let x = device.to_device(&input)?;
        println!("\n# recorded: ((&x - 0.5) * 2.0).square().mean()");
        let y = ((&x - 0.5) * 2.0).square().mean();
        println!("\n# y.item()");
        let value = y.item()?;
        println!("\n# recorded and evaluated again, with other numbers: the plan and its kernels are kept");
        ((&x - 0.25) * 4.0).square().mean().item()?;
        Ok::<f32, lazuli::Error>(value)
    })?;

    // The mean of (2x - 1)^2 over [0, 1] is a third, and the sum over a grid is a little more.
    println!("\nthe mean is {value:.6}, by the integral {:.6}", 1.0 / 3.0);
    if (value - 1.0 / 3.0).abs() > 1e-4 {
        return Err("the mean is wrong".into());
    }
    let seen = seen.lock().map_err(|_| "the tree panicked")?;
    match STAGES.iter().find(|stage| !seen.contains(**stage)) {
        Some(stage) => return Err(format!("no {stage} was traced").into()),
        None => println!("stages traced: {}", STAGES.join(", ")),
    }
    Ok(())
}

/// Prints each span as it begins and ends, below the span it is in.
#[derive(Default)]
struct Tree {
    seen: Arc<Mutex<BTreeSet<String>>>,
}

/// What is kept with a span while it is open.
struct Open {
    start: Instant,
    late: String,
}

impl Tree {
    fn note(&self, stage: &str) {
        if let Ok(mut seen) = self.seen.lock() {
            seen.insert(stage.to_string());
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Tree {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|_| attributes.metadata().target().starts_with("lazuli")) else {
            return;
        };
        self.note(span.name());
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        println!("{}{}{}", indent(span.scope().count() - 1), span.name(), fields.text);
        span.extensions_mut().insert(Open { start: Instant::now(), late: String::new() });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        values.record(&mut fields);
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            open.late.push_str(&fields.text);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let target = event.metadata().target();
        if !target.starts_with("lazuli") {
            return;
        }
        let name = if target == "lazuli::record" { "record" } else { "note:" };
        self.note(name);
        let mut fields = Fields::default();
        event.record(&mut fields);
        println!("{}{name}{}", indent(context.event_scope(event).map_or(0, Iterator::count)), fields.text);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        if let Some(open) = span.extensions().get::<Open>() {
            let microseconds = open.start.elapsed().as_secs_f64() * 1e6;
            println!("{}done: {}{} in {microseconds:.0} us", indent(span.scope().count() - 1), span.name(), open.late);
        }
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 1)
}

/// Fields as text.
#[derive(Default)]
struct Fields {
    text: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.text, " {value:?}"),
            name => write!(self.text, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.text, " {}={value}", field.name());
    }
}
