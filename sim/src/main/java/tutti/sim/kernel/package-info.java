/**
 * The event kernel of the simulator: virtual time, the order of events, random numbers and the trace hash. Everything else in the simulator is made of events of this kernel.
 *
 * <pre>{@code
 * private static final Label TICK = Label.of("example", "tick");
 *
 * Kernel kernel = new Kernel(42);
 * RandomStream random = kernel.random("example");
 * long handle = kernel.schedule(1_000_000, TICK, () -> System.out.println("one millisecond: " + kernel.now()));
 * kernel.after(random.nextLong(5_000_000), TICK, () -> kernel.cancel(handle));
 * kernel.runUntil(10_000_000);
 * System.out.println(kernel.fingerprint()); // seed 42, 2 events, time 10 ms, hash ...
 * }</pre>
 */
@NullMarked
package tutti.sim.kernel;

import org.jspecify.annotations.NullMarked;
