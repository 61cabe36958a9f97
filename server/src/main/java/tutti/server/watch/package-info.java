/** What a node has done lately, and how the others are: what its page shows. */
@NullMarked
package tutti.server.watch;

import org.jspecify.annotations.NullMarked;
