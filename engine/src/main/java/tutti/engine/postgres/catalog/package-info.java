/** What a replicated database's tables look like, as far as replication must know. */
@NullMarked
package tutti.engine.postgres.catalog;

import org.jspecify.annotations.NullMarked;
