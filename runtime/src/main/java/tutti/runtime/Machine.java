package tutti.runtime;

import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/**
 * The machine that a node runs on, as far as a node may know it. All methods may be called from any thread.
 *
 * <p>
 * <b>What code on this seam may rely on.</b> Tasks of one {@link Loop} never overlap, and each sees what earlier ones have
 * written. Nothing else is ordered: two loops, or a loop and {@link #background work in the background}, run side by side.
 *
 * <p>
 * <b>What it must not do.</b> A task of a loop does not wait for anything but the files it uses itself. There are no locks to
 * hold across loops; whoever needs something of another loop hands in a task there and is answered by another.
 */
public interface Machine {
    /** What the time is. */
    Clock clock();

    /**
     * Random numbers of a stream of their own. The same label twice gives two streams.
     *
     * @param label what they are for; in a simulation the stream depends on it and on the seed
     */
    RandomGenerator random(String label);

    /**
     * Opens a loop that runs until it is closed.
     *
     * @param name for people who look at threads
     * @param onFailure told, on the loop, what a task threw; the loop is closed then
     */
    Loop loop(String name, Consumer<Throwable> onFailure);

    /**
     * Opens a way to talk to other machines, with a loop of its own.
     *
     * @param name for people who look at threads
     * @param onFailure told, on the loop, what a task threw; the loop is closed then
     */
    Network network(String name, Consumer<Throwable> onFailure);

    /**
     * Has something done that may take long, and use files, beside everything else.
     *
     * @param name for people who look at threads
     */
    Background background(String name, Work work);

    /** What may throw whatever it likes: {@link Background} says what became of it. */
    @FunctionalInterface
    interface Work {
        /** Does it. */
        void run() throws Exception;
    }
}
