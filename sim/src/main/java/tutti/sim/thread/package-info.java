/**
 * Blocking-style code inside the simulation, in the manner of the library of D5.1, appendix C: threads
 * whose waiting is virtual time, one of which runs at a time, and the list that all waiting is made of. Locks, queues and
 * executors in the form of {@code java.util.concurrent} are {@code minha}'s.
 *
 * <pre>{@code
 * Kernel kernel = new Kernel(42);
 * try (Threads threads = new Threads(kernel)) {
 *     WaitList door = new WaitList();
 *     threads.spawn(kernel, "waiter", () -> {
 *         door.awaitUninterruptibly();
 *         System.out.println("hello at " + SimThread.now());
 *     });
 *     threads.spawn(kernel, "opener", () -> {
 *         SimThread.sleep(5_000_000);
 *         door.wakeAll();
 *     });
 *     kernel.run(); // hello at 5000000
 * }
 * }</pre>
 *
 * Inside such a thread, wait only with what this package offers. Waiting for something real (a monitor that another
 * simulated thread holds across a wait, {@code Thread.sleep}, a socket) stops the whole simulation, and is reported after
 * a while with the stack of the thread that does it.
 */
@NullMarked
package tutti.sim.thread;

import org.jspecify.annotations.NullMarked;
