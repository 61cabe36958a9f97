/**
 * What a node writes down of the transactions of its clients, so that the same load can be put on another protocol or
 * another network in simulation.
 */
@NullMarked
package tutti.core.recorded;

import org.jspecify.annotations.NullMarked;
