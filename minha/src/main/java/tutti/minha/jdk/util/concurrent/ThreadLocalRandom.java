package tutti.minha.jdk.util.concurrent;

import java.util.Random;
import tutti.minha.Jvm;

/** The mirror of {@link java.util.concurrent.ThreadLocalRandom}: a generator for each thread, seeded by the simulation. */
public final class ThreadLocalRandom extends Random {
    private static final long serialVersionUID = 1;
    private static final ThreadLocal<ThreadLocalRandom> CURRENT = ThreadLocal.withInitial(ThreadLocalRandom::new);

    private ThreadLocalRandom() {
        super(Jvm.current().nextSeed());
    }

    /** That of the calling thread. */
    public static ThreadLocalRandom current() {
        return CURRENT.get();
    }
}
