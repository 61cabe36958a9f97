/**
 * TCP over datagrams of the simulated network, without threads: what connections of simulated machines and those of unchanged
 * programs are made of.
 */
@NullMarked
package tutti.sim.tcp;

import org.jspecify.annotations.NullMarked;
