/** What replicas applied, compared with each other and with what clients were told. */
@NullMarked
package tutti.check.replica;

import org.jspecify.annotations.NullMarked;
