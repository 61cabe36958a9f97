/**
 * MacroDDB as the thesis builds it (section 4.3): a database, or a MacroDB of several, as a component of the generic distribution of
 * Macro-components.
 */
@NullMarked
package tutti.macroddb;

import org.jspecify.annotations.NullMarked;
