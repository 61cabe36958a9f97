/** What a server tells of its committed transactions: logical decoding with the server's own plugin, {@code pgoutput}. */
@NullMarked
package tutti.engine.postgres.output;

import org.jspecify.annotations.NullMarked;
