/**
 * The seam of {@code tutti.runtime} in the simulator: what is written against it runs here from the same class files, on simulated
 * hosts, disks and networks, and is killed, cut off and lied to as those have it.
 *
 * <pre>{@code
 * host.onBoot(h -> {
 *     SimMachine machine = new SimMachine(h, network);
 *     machine.background("main", () -> Node.open(machine, machine.directory("data")));
 * });
 * host.boot();
 * kernel.runUntil(Nanos.SECOND);
 * }</pre>
 *
 * <p>
 * <b>Time.</b> A task runs within one event, while the kernel's time stands still; what it waits for, its files, takes time of
 * its line (D5.1, section 2.1.3: real code's events are offset by the time that it has used). So a task sees its own
 * clock go on, what it hands to others arrives at the instant of its own time at which it was handed over, what it writes happens
 * at that instant, and its line begins the next task when this one's time is over. A crash in between takes back what
 * was still to come.
 */
@NullMarked
package tutti.sim.machine;

import org.jspecify.annotations.NullMarked;
