/** HSQLDB below its SQL: sessions, what a transaction has changed, and rows written without statements. */
@NullMarked
package tutti.engine.jdbc.hsqldb;

import org.jspecify.annotations.NullMarked;
