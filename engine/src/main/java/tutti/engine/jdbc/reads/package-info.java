/** What statements read, and what they may touch. Found out from their texts and the schema. */
@NullMarked
package tutti.engine.jdbc.reads;

import org.jspecify.annotations.NullMarked;
