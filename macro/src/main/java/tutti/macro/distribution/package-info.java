/**
 * The distribution of components over a total order (MacroDDB, chapter 4): every node of a group has a copy, executes the
 * same macro-operations in the same order, and so has the same state. Begin with
 * {@link tutti.macro.distribution.MacroNode}.
 */
@NullMarked
package tutti.macro.distribution;

import org.jspecify.annotations.NullMarked;
