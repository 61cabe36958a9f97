/** Several databases of one PostgreSQL server as one engine, over one order. */
@NullMarked
package tutti.engine.postgres.databases;

import org.jspecify.annotations.NullMarked;
