/** A protocol that Tutti does not come with, in two files: what adding one takes. */
@NullMarked
package tutti.core.protocol.tenth;

import org.jspecify.annotations.NullMarked;
