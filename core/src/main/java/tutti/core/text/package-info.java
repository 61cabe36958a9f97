/** Words that people write. */
@NullMarked
package tutti.core.text;

import org.jspecify.annotations.NullMarked;
