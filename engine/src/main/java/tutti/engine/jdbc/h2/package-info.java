/** H2 below its SQL: sessions, what a transaction has changed, and rows written without statements. */
@NullMarked
package tutti.engine.jdbc.h2;

import org.jspecify.annotations.NullMarked;
