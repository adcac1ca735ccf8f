//! The order of launches: each kernel after those whose values it reads, and no value earlier than need be.

use petgraph::Direction;
use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::error::{Error, Result};

/// The nodes of a graph whose edges run from reader to read, what is read first.
///
/// Of the kernels that one reads, that at the end of the longest chain comes first: whatever else it reads would otherwise
/// be held in memory while the chain is computed, and a long chain has such beside it at every link.
pub fn launch_order(graph: &DiGraph<(), ()>) -> Result<Vec<NodeIndex>> {
    let readers_first =
        toposort(graph, None).map_err(|_| Error::Internal("kernels that wait for each other in a circle".into()))?;
    let mut depth = vec![0u32; graph.node_count()];
    for &node in readers_first.iter().rev() {
        let deepest = graph.neighbors(node).map(|read| depth[read.index()] + 1).max();
        depth[node.index()] = deepest.unwrap_or(0);
    }
    let mut order = Vec::with_capacity(graph.node_count());
    let mut is_seen = vec![false; graph.node_count()];
    let mut stack: Vec<(NodeIndex, bool)> = Vec::new();
    for root in graph.externals(Direction::Incoming) {
        stack.push((root, false));
        while let Some((node, is_ready)) = stack.pop() {
            if is_ready {
                order.push(node);
            } else if !std::mem::replace(&mut is_seen[node.index()], true) {
                stack.push((node, true));
                let mut reads: Vec<NodeIndex> = graph.neighbors(node).collect();
                reads.sort_by_key(|read| (depth[read.index()], read.index()));
                stack.extend(reads.into_iter().map(|read| (read, false)));
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(edges: &[(u32, u32)]) -> Option<Vec<usize>> {
        let graph = DiGraph::<(), ()>::from_edges(edges);
        Some(launch_order(&graph).ok()?.into_iter().map(NodeIndex::index).collect())
    }

    #[test]
    fn chains_come_before_what_is_read_beside_them() {
        // 0 reads 1 and 2, 1 reads 3 and 4, 3 reads 5.
        assert_eq!(numbers(&[(0, 2), (0, 1), (1, 4), (1, 3), (3, 5)]), Some(vec![5, 3, 4, 1, 2, 0]));
        assert_eq!(numbers(&[(0, 1), (0, 2), (1, 3), (1, 4), (4, 5)]), Some(vec![5, 4, 3, 1, 2, 0]));
    }

    #[test]
    fn everything_comes_once_and_after_what_it_reads() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (4, 2), (4, 1), (3, 5), (6, 5)];
        let order = numbers(&edges).unwrap();
        let place = |node: u32| order.iter().position(|own| *own == node as usize).unwrap();
        assert_eq!(order.len(), 7);
        assert!(edges.iter().all(|&(reader, read)| place(read) < place(reader)));
        assert_eq!(numbers(&[(0, 1), (1, 2), (2, 0)]), None, "a circle");
    }
}
