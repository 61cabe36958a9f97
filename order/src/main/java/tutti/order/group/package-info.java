/**
 * A total order by group communication ({@code tutti.group}, GORDA D5.1 section 2.3.3) among processes that exchange datagrams.
 * Nothing of it is on a disk: it lasts as long as a majority of the nodes remembers it. Begin with
 * {@link tutti.order.group.GroupOrder}.
 */
@NullMarked
package tutti.order.group;

import org.jspecify.annotations.NullMarked;
