/**
 * Total order multicast to groups of nodes that survives any minority of each group crashing at any instant, without views: nobody but
 * the sender and the members of the groups that a message goes to takes part in it. Pure state machines.
 */
@NullMarked
package tutti.grid.genuine;

import org.jspecify.annotations.NullMarked;
