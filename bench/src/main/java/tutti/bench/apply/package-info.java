/** What it costs to make other nodes' transactions at a server: Tutti's appliers beside PostgreSQL's own logical replication worker. */
@NullMarked
package tutti.bench.apply;

import org.jspecify.annotations.NullMarked;
