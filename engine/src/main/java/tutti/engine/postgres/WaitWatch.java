package tutti.engine.postgres;

import io.netty.channel.EventLoop;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Asks for whom something waits that is under way: soon, and then the less often the longer it waits for nobody, since what is asked costs the
 * database as much as a small statement. Who waits from the beginning on is noticed at the first time, another one before it has lasted twice as long,
 * or {@value #MILLIS_MAX} milliseconds later at the latest; after somebody it is asked soon again. Of its loop, but for what it hears.
 */
final class WaitWatch implements Runnable {
    private static final int MILLIS = 4;
    private static final int MILLIS_MAX = 64;
    private static final int TICKS_MAX = MILLIS_MAX / MILLIS;

    private final Consumer<WaitWatch> question;
    private int ticks;
    private volatile boolean soon;

    /**
     * Not begun.
     *
     * @param question asks, and says {@link #soon} if there is somebody
     */
    WaitWatch(Consumer<WaitWatch> question) {
        this.question = question;
    }

    /** Begins; until it is cancelled. */
    ScheduledFuture<?> on(EventLoop loop) {
        return loop.scheduleAtFixedRate(this, MILLIS, MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Asks as in the beginning from now on. From any thread. */
    void soon() {
        soon = true;
    }

    /** Another {@value #MILLIS} milliseconds have passed. */
    @Override
    public void run() {
        if (soon) {
            soon = false;
            ticks = 0;
        }
        ticks++;
        if (ticks == TICKS_MAX * 2) {
            ticks = TICKS_MAX;
        }
        if (Integer.bitCount(ticks) == 1) {
            question.accept(this);
        }
    }
}
