/**
 * Nodes in the simulated world: a real {@link tutti.node.ReplicaNode} on each simulated host, over a simulated machine, database
 * and order, and the clients' transactions at it. Begin with {@link tutti.sim.world.node.NodeHost}.
 */
@NullMarked
package tutti.sim.world.node;

import org.jspecify.annotations.NullMarked;
