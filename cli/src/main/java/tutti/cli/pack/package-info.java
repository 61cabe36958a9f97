/**
 * Packages: what a host needs to run a node, and nothing of what built it, as an archive, a package of Debian's, and an image for
 * containers.
 */
@NullMarked
package tutti.cli.pack;

import org.jspecify.annotations.NullMarked;
