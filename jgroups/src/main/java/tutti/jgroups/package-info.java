/**
 * Total order multicast as protocols of JGroups, for programs that use its channels: {@link tutti.jgroups.TOM2},
 * {@link tutti.jgroups.TOM3}. The state machine is the grid's.
 */
@NullMarked
package tutti.jgroups;

import org.jspecify.annotations.NullMarked;
