//! A flow as a Graphviz drawing, one cluster for each kernel.

use std::fmt::Write;

use super::flow::{Flow, FlowOp, ValueId};
use super::partition::Partition;

/// The DOT text. Values that no kernel stores are drawn in every kernel that computes them.
pub fn to_dot(flow: &Flow, partition: &Partition) -> String {
    let mut dot = String::from("digraph lazuli {\n  rankdir=TB; node [shape=box, fontname=\"monospace\"];\n");
    let is_data = |value: ValueId| matches!(flow.values[value as usize].op, FlowOp::Leaf(_));
    for (number, value) in flow.values.iter().enumerate() {
        if is_data(number as ValueId) {
            let _ = writeln!(dot, "  v{number} [label=\"{} {:?}\", style=filled];", value.dtype, &value.shape[..]);
        }
    }
    let mut edges = String::new();
    for (group, content) in partition.groups.iter().enumerate() {
        let _ = writeln!(dot, "  subgraph cluster_{group} {{\n    label=\"kernel {}: {}\";", group + 1, content.reason);
        let mut seen = vec![false; flow.values.len()];
        let mut worklist: Vec<ValueId> = content.sinks.iter().chain(&content.members).copied().collect();
        while let Some(value) = worklist.pop() {
            if std::mem::replace(&mut seen[value as usize], true) {
                continue;
            }
            let own = &flow.values[value as usize];
            let is_output = partition.stored_by[value as usize].is_some();
            let name = node_name(value, group, is_output);
            let style = if is_output { ", style=bold" } else { "" };
            let label = format!("{} {}{:?}", own.op.name(), own.dtype, &own.shape[..]);
            let _ = writeln!(dot, "    {name} [label=\"{label}\"{style}];");
            for &input in &own.inputs {
                let stored = partition.stored_by[input as usize];
                let outside = is_data(input) || stored.is_some_and(|other| other as usize != group);
                let from = match (is_data(input), stored) {
                    (true, _) => format!("v{input}"),
                    (false, Some(other)) => node_name(input, other as usize, true),
                    (false, None) => node_name(input, group, false),
                };
                let _ = writeln!(edges, "  {from} -> {name};");
                if !outside {
                    worklist.push(input);
                }
            }
        }
        dot.push_str("  }\n");
    }
    dot + &edges + "}\n"
}

fn node_name(value: ValueId, group: usize, is_output: bool) -> String {
    if is_output { format!("v{value}") } else { format!("v{value}_k{group}") }
}
