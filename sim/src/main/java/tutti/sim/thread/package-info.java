/**
 * Blocking-style code inside the simulation, in the manner of the library of D5.1, appendix C: threads, locks, queues and
 * executors whose waiting is virtual time. They look like {@code java.util.concurrent}, and one of them runs at a time.
 *
 * <pre>{@code
 * Kernel kernel = new Kernel(42);
 * try (Threads threads = new Threads(kernel)) {
 *     SimQueue<String> queue = new SimQueue<>(10);
 *     threads.spawn(kernel, "consumer", () -> System.out.println(queue.take() + " at " + SimThread.now()));
 *     threads.spawn(kernel, "producer", () -> {
 *         SimThread.sleep(5_000_000);
 *         queue.put("hello");
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
