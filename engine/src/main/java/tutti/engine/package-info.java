/** Adapters of database engines: capture and application of write sets. */
@NullMarked
package tutti.engine;

import org.jspecify.annotations.NullMarked;
