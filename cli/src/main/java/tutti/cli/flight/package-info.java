/** Flight recordings: having nodes write them, and replaying them. */
@NullMarked
package tutti.cli.flight;

import org.jspecify.annotations.NullMarked;
