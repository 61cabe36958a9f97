/**
 * What goes wrong in a simulation, as data: a plan of timed faults, made from a seed, written down, read back, carried out
 * and, when it breaks something, made as small as it can be while it still does.
 *
 * <pre>{@code
 * FaultPlan plan = FaultPlan.random(seed, FaultProfile.parse("all"), List.of("n1", "n2", "n3"), 10 * Nanos.SECOND);
 * System.out.print(plan);                               // at 1.2s for 300ms loss from n1 to n2,n3 rate 0.05 ...
 * new Injector(kernel, network, EngineFaults.NONE, plan).start();
 * kernel.runUntil(plan.safetyNanos());                  // safety: faults come and go; at the end all are healed
 * kernel.runUntil(2 * plan.safetyNanos());              // liveness: nothing is wrong any more
 *
 * Shrinker.Result small = Shrinker.shrink(plan, candidate -> runBreaks(candidate), 200);
 * FaultPlan again = FaultPlan.parse(small.plan().toString());
 * }</pre>
 */
@NullMarked
package tutti.sim.fault;

import org.jspecify.annotations.NullMarked;
