/**
 * Group communication as a pure state machine: a uniform, durable total order over an unreliable network (GORDA D5.1
 * section 2.3.3), made of reliable window multicast, stability detection, a fixed sequencer and view synchrony. Like
 * {@code core} it has no threads, clocks or I/O; the simulator and the performance models run it as it is. Begin with
 * {@link tutti.group.GroupMember}.
 */
@NullMarked
package tutti.group;

import org.jspecify.annotations.NullMarked;
