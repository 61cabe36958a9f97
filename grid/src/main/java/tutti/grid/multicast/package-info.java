/**
 * Total order multicast to any set of nodes, without anybody else taking part: TOM-2 and TOM-3 of Ruivo's thesis, which go back
 * to Skeen's algorithm, with what it takes to survive crashes. Pure state machines.
 */
@NullMarked
package tutti.grid.multicast;

import org.jspecify.annotations.NullMarked;
