/**
 * Simulated hosts: processors that are shared, a clock that may be wrong, processes that may be late, and the ways in which
 * a machine fails (D5.1, sections 2.1.3, 2.3.2 and table 3.3).
 *
 * <pre>{@code
 * Host host = new Host(kernel, threads, "n1", HostConfig.DEFAULT);
 * host.onBoot(h -> {
 *     h.spawn("main", () -> {
 *         SimThread.await(done -> h.execute(2_000_000, done)); // two milliseconds of one core
 *         h.disk().file("log").append(bytes);
 *         SimThread.await(h.disk().file("log")::sync);
 *     });
 * });
 * host.boot();
 * kernel.schedule(Nanos.SECOND, FAULT, host::crash);      // and host.boot() again later
 * kernel.run();
 * }</pre>
 */
@NullMarked
package tutti.sim.host;

import org.jspecify.annotations.NullMarked;
