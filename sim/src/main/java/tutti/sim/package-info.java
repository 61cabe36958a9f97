/**
 * The deterministic simulator. A kernel of events in virtual time ({@code kernel}) runs simulated threads ({@code thread})
 * on hosts ({@code host}) with disks ({@code disk}) and a network ({@code net}), all of which fail as a fault plan says
 * ({@code fault}); the same seed gives the same run everywhere. On it stands the simulated world ({@code world}): replicas
 * with the protocols' own classes, clients, and scenarios whose histories are checked.
 */
@NullMarked
package tutti.sim;

import org.jspecify.annotations.NullMarked;
