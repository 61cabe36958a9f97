/**
 * The simulated disk of a host: what was synced survives a crash, what was only written may not (D5.1, sections 2.3.2 and
 * 2.5.2: requests of a given latency, a bounded number of them at a time; reading costs nothing, since the cache hits).
 *
 * <pre>{@code
 * DiskFile log = host.disk().file("log");
 * log.append(record);
 * log.sync(() -> answer(record));     // an event of the host, when everything written before the call is durable
 * ...
 * host.crash(Unsynced.TORN, random);
 * host.boot();
 * byte[] survived = host.disk().file("log").read(0, log.size());
 * }</pre>
 */
@NullMarked
package tutti.sim.disk;

import org.jspecify.annotations.NullMarked;
