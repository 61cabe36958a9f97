/**
 * Adapters of database engines ({@code tutti.core.spi.Engine}): PostgreSQL ({@code tutti.engine.postgres}), with a server
 * that it unpacks and runs if it is not given one; H2 and HSQLDB in this virtual machine ({@code tutti.engine.jdbc}); and
 * several of the latter as one ({@code tutti.engine.macro}). Each captures what transactions change, applies the changes of
 * others, and keeps the position that it has reached with its rows.
 */
@NullMarked
package tutti.engine;

import org.jspecify.annotations.NullMarked;
