/**
 * Group communication as a pure state machine: a uniform, durable total order over an unreliable network (GORDA D5.1
 * section 2.3.3). Begin with {@link tutti.group.GroupMember}.
 */
@NullMarked
package tutti.group;

import org.jspecify.annotations.NullMarked;
