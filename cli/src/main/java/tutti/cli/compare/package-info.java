/** Compares the databases of running nodes. */
@NullMarked
package tutti.cli.compare;

import org.jspecify.annotations.NullMarked;
