/** Stored transactions that are written in Java: what they are, how they are registered and checked. */
@NullMarked
package tutti.engine.procedure;

import org.jspecify.annotations.NullMarked;
