/** What can be told from a statement's text: its words, what it touches, and which rows it looks for. */
@NullMarked
package tutti.wire.sql;

import org.jspecify.annotations.NullMarked;
