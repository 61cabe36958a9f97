/** Macro-components of everyday structures, as examples and for the measurements. */
@NullMarked
package tutti.macro.example;

import org.jspecify.annotations.NullMarked;
