/** The seam of {@code tutti.runtime} on a real machine: threads, the operating system's clock, files and sockets. */
@NullMarked
package tutti.runtime.real;

import org.jspecify.annotations.NullMarked;
