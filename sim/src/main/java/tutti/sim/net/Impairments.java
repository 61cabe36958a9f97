package tutti.sim.net;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.RandomStream;

/** All that is wrong with a network now, and what it does to the datagrams that arrive. */
final class Impairments {
    /** Datagrams that one impairment keeps back at most; more are lost. */
    private static final int CLOGGED_MAX = 100_000;
    private static final long BURST_NANOS_MIN = 1_000;

    private final Kernel kernel;
    private final List<Active> active = new ArrayList<>();

    Impairments(Kernel kernel) {
        this.kernel = kernel;
    }

    /** What becomes of one datagram. */
    static final class Fate {
        boolean lost;
        /** How much later it arrives, or -1 if it is kept back. */
        long delayNanos;
        /** After how many further nanoseconds it arrives again, or -1 if it does not. */
        long againNanos = -1;
    }

    /** An impairment with its random numbers and what it keeps back. */
    static final class Active {
        private final Impairment impairment;
        private final RandomStream random;
        private final TreeMap<String, Burst> bursts = new TreeMap<>();
        private final List<Runnable> clogged = new ArrayList<>();
        private long affected;

        /** Datagrams to which it has done something. */
        long affected() {
            return affected;
        }

        Active(Impairment impairment, RandomStream random) {
            this.impairment = impairment;
            this.random = random;
        }
    }

    private static final class Burst {
        private final RandomStream random;
        private boolean loses;
        private long until;

        Burst(RandomStream random, long now) {
            this.random = random;
            this.until = now;
            // As if it had just received: the first period may lose.
            this.loses = random.chance(0.5);
        }

        boolean loses(long now, Impairment.Effect.LoseInBursts effect) {
            while (until <= now) {
                loses = !loses;
                until += Math.max(BURST_NANOS_MIN, (loses ? effect.lost() : effect.received()).sample(random));
            }
            return loses;
        }
    }

    Active add(Impairment impairment, RandomStream random) {
        Active one = new Active(impairment, random);
        active.add(one);
        return one;
    }

    /** Ends it, and returns what it kept back. */
    List<Runnable> remove(Active one) {
        active.remove(one);
        List<Runnable> released = List.copyOf(one.clogged);
        one.clogged.clear();
        return released;
    }

    boolean isEmpty() {
        return active.isEmpty();
    }

    /**
     * Decides about a datagram.
     *
     * @param again what makes it arrive anew, for one that is kept back
     */
    Fate decide(String from, String to, int fragments, Runnable again) {
        Fate fate = new Fate();
        Active clog = null;
        for (Active one : active) {
            if (one.impairment.concerns(from, to)) {
                if (one.impairment.effect() instanceof Impairment.Effect.Clog) {
                    clog = one;
                } else {
                    apply(one, to, fragments, fate);
                }
            }
        }
        if (clog != null && !fate.lost) {
            if (clog.clogged.size() == CLOGGED_MAX) {
                fate.lost = true;
            } else {
                clog.clogged.add(again);
                clog.affected++;
                fate.delayNanos = -1;
            }
        }
        return fate;
    }

    private void apply(Active one, String to, int fragments, Fate fate) {
        if (happens(one, to, fragments, fate)) {
            one.affected++;
        }
    }

    /** Returns whether it has done anything. */
    private boolean happens(Active one, String to, int fragments, Fate fate) {
        RandomStream random = one.random;
        boolean lost = false;
        switch (one.impairment.effect()) {
            case Impairment.Effect.Block _ -> lost = true;
            case Impairment.Effect.Lose lose -> {
                for (int i = 0; i < fragments; i++) {
                    lost |= random.chance(lose.rate());
                }
            }
            case Impairment.Effect.Discard discard -> lost = random.chance(discard.rate());
            case Impairment.Effect.LoseInBursts bursts -> lost = one.bursts
                    .computeIfAbsent(to, name -> new Burst(random.fork(name), kernel.now()))
                    .loses(kernel.now(), bursts);
            case Impairment.Effect.Duplicate duplicate -> {
                if (!random.chance(duplicate.rate())) {
                    return false;
                }
                fate.againNanos = duplicate.after().sample(random);
                return true;
            }
            case Impairment.Effect.Delay delay -> {
                fate.delayNanos += delay.by().sample(random);
                return true;
            }
            case Impairment.Effect.Reorder reorder -> {
                if (!random.chance(reorder.rate())) {
                    return false;
                }
                fate.delayNanos += reorder.by().sample(random);
                return true;
            }
            case Impairment.Effect.Clog _ -> throw new IllegalStateException("a clog decides last");
        }
        fate.lost |= lost;
        return lost;
    }
}
