/**
 * What connections to nodes in the application's own virtual machine have in common with those over the network, and how the
 * driver finds them.
 */
@NullMarked
package tutti.jdbc.spi;

import org.jspecify.annotations.NullMarked;
