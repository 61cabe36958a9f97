/** What brings connections to nodes in the application's own virtual machine to the driver. */
@NullMarked
package tutti.jdbc.spi;

import org.jspecify.annotations.NullMarked;
