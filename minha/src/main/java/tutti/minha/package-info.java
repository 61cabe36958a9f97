/**
 * The programming library of D5.1 (section 2.4.3 and appendix C): programs written for the JDK, blocking calls and all, run
 * inside the simulation, on simulated machines, in virtual time, the same way each time.
 *
 * <p>
 * {@link tutti.minha.Simulation} has {@link tutti.minha.Machine machines}; on a machine run {@link tutti.minha.Jvm
 * processes}, each with threads, sockets, output and an end of its own. The packages below mirror those of the JDK, so that
 * a program changes its imports and little else: {@code java.net.DatagramSocket} is {@code
 * tutti.minha.jdk.net.DatagramSocket}.
 *
 * <pre>{@code
 * try (Simulation simulation = new Simulation(42)) {
 *     simulation.machine("a").run("hello", Hello::main, "b");
 *     simulation.machine("b").run("hello", Hello::main, "a");
 *     simulation.run();
 * }
 * }</pre>
 *
 * docs/simulation-library.md shows it at work and says what is different from a real JVM.
 */
@NullMarked
package tutti.minha;

import org.jspecify.annotations.NullMarked;
