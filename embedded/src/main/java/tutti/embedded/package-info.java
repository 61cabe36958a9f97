/** The driver's URLs {@code jdbc:tutti:embedded:}: nodes in the application's own virtual machine. */
@NullMarked
package tutti.embedded;

import org.jspecify.annotations.NullMarked;
