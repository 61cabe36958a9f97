/**
 * Clusters on one machine: every node is a process of its own, with a directory and ports of its own, so that it can be
 * killed as a power failure would. {@link tutti.cluster.Cluster} starts, watches and stops the processes;
 * {@link tutti.cluster.ClusterFile} is where commands find a cluster that runs; {@link tutti.cluster.NodeJvm} says how a
 * node's process is started.
 */
@NullMarked
package tutti.cluster;

import org.jspecify.annotations.NullMarked;
