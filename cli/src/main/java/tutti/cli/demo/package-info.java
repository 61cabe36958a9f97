/** The demonstration: a cluster under load loses a node, gets it back, and is the same everywhere. */
@NullMarked
package tutti.cli.demo;

import org.jspecify.annotations.NullMarked;
