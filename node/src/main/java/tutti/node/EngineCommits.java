package tutti.node;

import java.util.function.Consumer;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Loop;

/**
 * Up to where the engine was asked to commit and has said that it has; says when what it refused is tried again, and
 * finds out whether a commit whose result was lost has worked. Of the replica's loop.
 *
 * <p>
 * <b>Checked.</b> No position is committed twice, and none is found in the engine that it was not asked for or has been lost:
 * the position that the engine tells lies between the last that it has confirmed and the last that it was asked for.
 */
final class EngineCommits {
    /** The n-th attempt waits n² of these, at most {@link #DELAY_NANOS_MAX}. */
    private static final long DELAY_NANOS = 500_000L;
    private static final long DELAY_NANOS_MAX = 100_000_000L;
    /** How often a position is tried that fails for a passing reason: with the delays between, nine seconds. */
    private static final int ATTEMPTS_MAX = 100;
    /** How often before people are told that the database is in trouble: half a second. */
    private static final int TROUBLED_ATTEMPTS_MAX = 14;
    /** Between attempts at what must work in the end. */
    private static final long INSISTENT_NANOS = 500_000_000L;

    private final Engine engine;
    private final Loop loop;
    private final Consumer<Throwable> givenUp;
    private long confirmed;
    private long asked;

    /** @param givenUp told that the engine does not tell what it holds, and why */
    EngineCommits(Engine engine, Loop loop, Consumer<Throwable> givenUp) {
        this.engine = engine;
        this.loop = loop;
        this.givenUp = givenUp;
    }

    /** The engine holds this position to begin with. */
    void begin(long position) {
        confirmed = position;
        asked = position;
    }

    /** It is about to be asked to commit all up to a position. */
    void asks(long position) {
        if (position <= confirmed) {
            throw new Defect(
                    "position " + position + " would be committed again: the database holds all up"
                            + " to " + confirmed);
        }
        asked = Math.max(asked, position);
    }

    /** It has committed all up to a position. */
    void confirms(long position) {
        confirmed = Math.max(confirmed, position);
    }

    /** Whether the nodes must hear of what has failed so often. */
    static boolean isFinal(Slot slot, EngineFailure failure) {
        return !failure.transientFailure()
                || slot.attempts() > (failure.isTrouble() ? TROUBLED_ATTEMPTS_MAX : ATTEMPTS_MAX);
    }

    /** Counts an attempt in vain, and does something after a while. */
    void later(Slot slot, Runnable then) {
        slot.attempted();
        long attempts = Math.min(slot.attempts(), ATTEMPTS_MAX);
        loop.schedule(Math.min(DELAY_NANOS * attempts * attempts, DELAY_NANOS_MAX), then);
    }

    /** Does something after a longer while. */
    void muchLater(Runnable then) {
        loop.schedule(INSISTENT_NANOS, then);
    }

    /** Does the one or the other, later, by whether the engine has committed a position that it was asked for. */
    void ifCommitted(long position, Runnable committed, Runnable not) {
        engine.appliedPosition(new LoopCompletion<>(loop, last -> {
            if (last < confirmed || last > asked) {
                throw new IllegalStateException(
                        "the database holds position " + last + ", expected " + confirmed + " to "
                                + asked + ": it has lost what it had committed, or was changed behind this node's back;"
                                + " give it a copy of another node's database");
            }
            (last >= position ? committed : not).run();
        }, failure -> untold("whether it has committed position " + position, failure)));
    }

    /** Does the one or the other, later, by whether the engine has recorded that a position which it has committed was left out. */
    void ifSkipped(long position, Runnable skipped, Runnable not) {
        engine.skippedPositions(new LoopCompletion<>(loop,
                recorded -> (recorded.contains(position) ? skipped : not).run(),
                failure -> untold("whether it has left out position " + position, failure)));
    }

    private void untold(String what, EngineFailure failure) {
        givenUp.accept(new IllegalStateException("the database does not tell " + what + ": " + failure.sqlState() + " "
                + failure.message() + "; see that it can be reached"));
    }
}
