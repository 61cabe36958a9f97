/**
 * MacroDB: a primary database and its secondaries in one virtual machine as one engine (the thesis of MacroDDB, chapter
 * 3).
 */
@NullMarked
package tutti.engine.macro;

import org.jspecify.annotations.NullMarked;
