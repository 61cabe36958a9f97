/**
 * A transactional key/value store in memory, each key on a chosen number of nodes, after Ruivo, Partial Replication for Software
 * Transactional Memory Systems. Genuine: only the owners of what a transaction writes (or must still find as it has read it) take
 * part in its commit. Commits go by total order multicast ({@link tutti.grid.multicast}) or, to compare, by two-phase commit.
 */
@NullMarked
package tutti.grid;

import org.jspecify.annotations.NullMarked;
