/** Keeps backups of running nodes. */
@NullMarked
package tutti.cli.backup;

import org.jspecify.annotations.NullMarked;
