package tutti.node;

import java.util.function.Consumer;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.runtime.Loop;

/**
 * Up to where the engine was asked to commit and has said that it has; tries again what it refused for a passing reason, and
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
    /** How often a failing position is tried before the node gives up: with the delays between, nine seconds. */
    private static final int ATTEMPTS_MAX = 100;

    private final Engine engine;
    private final Loop loop;
    private final Consumer<Throwable> givenUp;
    private long confirmed;
    private long asked;

    /** @param givenUp told that a position cannot be made visible, and why */
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

    /** Does it again after a while, unless that is useless. */
    void later(Slot slot, EngineFailure failure, Runnable again) {
        slot.attempted();
        long attempts = slot.attempts();
        if (!failure.transientFailure() || attempts > ATTEMPTS_MAX) {
            givenUp.accept(new IllegalStateException("position " + slot.position() + " cannot be applied after "
                    + attempts + " attempts: " + failure.sqlState() + " " + failure.message()
                    + "; mend what the database complains of and start the node again, or give it a copy of another"
                    + " node's database"));
            return;
        }
        loop.schedule(Math.min(DELAY_NANOS * attempts * attempts, DELAY_NANOS_MAX), again);
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
        }, failure -> givenUp.accept(new IllegalStateException("the database does not tell whether it has committed"
                + " position " + position + ": " + failure.sqlState() + " " + failure.message()
                + "; see that it can be reached"))));
    }
}
