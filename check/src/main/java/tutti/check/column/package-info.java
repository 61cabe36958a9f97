/** Growing arrays of primitive numbers: what histories of millions of transactions are kept in. */
@NullMarked
package tutti.check.column;

import org.jspecify.annotations.NullMarked;
