/**
 * The generic Macro-component (MacroDDB, chapter 3): several implementations of one Java interface behind that interface.
 * Begin with {@link tutti.macro.MacroComponent}.
 */
@NullMarked
package tutti.macro;

import org.jspecify.annotations.NullMarked;
