package tutti.runtime.real;

import java.security.SecureRandom;
import java.time.Instant;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tutti.runtime.Background;
import tutti.runtime.Clock;
import tutti.runtime.Loop;
import tutti.runtime.Machine;
import tutti.runtime.Network;

/**
 * The machine that this process runs on. One instance, {@link #INSTANCE}, serves everybody who proves nothing to others; a
 * {@linkplain #proving further one} is for a node that does.
 */
public final class RealMachine implements Machine, Clock {
    /** This machine. */
    public static final RealMachine INSTANCE = new RealMachine(newTimers(), null);

    /** Only hands in what is due, to loops that do it. */
    private final ScheduledThreadPoolExecutor timers;
    private final @Nullable PeerKeys keys;

    private RealMachine(ScheduledThreadPoolExecutor timers, @Nullable PeerKeys keys) {
        this.timers = timers;
        this.keys = keys;
    }

    private static ScheduledThreadPoolExecutor newTimers() {
        ScheduledThreadPoolExecutor timers = new ScheduledThreadPoolExecutor(1,
                Thread.ofPlatform().daemon().name("tutti-timers").factory());
        timers.setRemoveOnCancelPolicy(true);
        return timers;
    }

    /** This machine, on whose networks both ends prove who they are. */
    public RealMachine proving(PeerKeys with) {
        return new RealMachine(timers, with);
    }

    static ScheduledExecutorService timers() {
        return INSTANCE.timers;
    }

    @Override
    public Clock clock() {
        return this;
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public Instant now() {
        return Instant.now();
    }

    @Override
    public RandomGenerator random(String label) {
        return new SecureRandom();
    }

    @Override
    public Loop loop(String name, Consumer<Throwable> onFailure) {
        return new ThreadLoop(name, timers, onFailure);
    }

    @Override
    public Network network(String name, Consumer<Throwable> onFailure) {
        return new NettyNetwork(name, keys, onFailure);
    }

    @Override
    public Background background(String name, Work work) {
        ThreadWork begun = new ThreadWork(work);
        begun.thread = Thread.ofPlatform().daemon().name(name).start(begun);
        return begun;
    }

    private static final class ThreadWork implements Background, Runnable {
        private final Work work;
        private volatile @Nullable Thread thread;
        private volatile boolean done;
        private volatile @Nullable Exception failure;

        ThreadWork(Work work) {
            this.work = work;
        }

        @Override
        public void run() {
            try {
                work.run();
            } catch (Exception thrown) {
                failure = thrown;
            } catch (Throwable thrown) {
                failure = new ExecutionException(thrown);
            } finally {
                done = true;
            }
        }

        @Override
        public boolean isDone() {
            return done;
        }

        @Override
        public @Nullable Exception failure() {
            return failure;
        }

        @Override
        public void join() {
            Thread worker = thread;
            if (worker != null) {
                Threads.join(worker);
            }
        }
    }
}
