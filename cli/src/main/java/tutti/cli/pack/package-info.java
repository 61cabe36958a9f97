/**
 * Packages: what a host needs to run a node, and nothing of what built it, as an archive and as a package of Debian's.
 */
@NullMarked
package tutti.cli.pack;

import org.jspecify.annotations.NullMarked;
