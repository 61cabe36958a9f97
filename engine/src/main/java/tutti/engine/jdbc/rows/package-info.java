/** Rows of the engines in the Java virtual machine: tables, changes, their keys and how they travel. */
@NullMarked
package tutti.engine.jdbc.rows;

import org.jspecify.annotations.NullMarked;
