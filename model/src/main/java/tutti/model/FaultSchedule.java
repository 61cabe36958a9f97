package tutti.model;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.RandomStream;

/**
 * What goes wrong with a modelled network, for all times from now on, as its arithmetic needs it: when a message is sent, it is
 * known at once which of its copies are lost, and which sites are gone before they could send or receive it again. The faults
 * are those of D5.1, table 3.3: a message is discarded upon reception, at each site independently.
 */
final class FaultSchedule {
    /** After the end of every run. */
    static final long NEVER = Long.MAX_VALUE;

    private final List<Loss> losses = new ArrayList<>();
    private final long[] crashes;
    private final boolean calm;

    /** What one site loses by one fault. */
    private interface Loss {
        boolean loses(int site, long at);
    }

    /** For as many sites, with random numbers of its own for each fault. */
    FaultSchedule(Kernel kernel, int sites, List<ModelFault> faults) {
        this.crashes = new long[sites];
        Arrays.fill(crashes, NEVER);
        for (int i = 0; i < faults.size(); i++) {
            RandomStream random = kernel.random("modelled fault " + i);
            switch (faults.get(i)) {
                case ModelFault.RandomLoss loss -> losses.add(
                        (site, at) -> at >= loss.atNanos() && loss.sites().contains(site)
                                && random.chance(loss.rate()));
                case ModelFault.BurstyLoss loss -> {
                    Bursts[] bursts = new Bursts[sites];
                    loss.sites().forEach(site -> bursts[site] = new Bursts(kernel, loss,
                            random.fork(Integer.toString(site))));
                    losses.add((site, at) -> at >= loss.atNanos() && loss.sites().contains(site)
                            && bursts[site].loses(at));
                }
                case ModelFault.Crash crash -> crash.sites()
                        .forEach(site -> crashes[site] = Math.min(crashes[site], crash.atNanos()));
                case ModelFault.ClockDrift _,ModelFault.SchedulingLatency _ -> {
                    // They happen to hosts, not to the network.
                }
            }
        }
        this.calm = losses.isEmpty() && Arrays.stream(crashes).allMatch(at -> at == NEVER);
    }

    /** Whether nothing ever goes wrong. */
    boolean isCalm() {
        return calm;
    }

    /** Whether what arrives at a site at some time, now or later, is lost. Asked once of each message. */
    boolean loses(int site, long at) {
        boolean lost = false;
        for (Loss loss : losses) {
            lost |= loss.loses(site, at);
        }
        return lost;
    }

    /** When a site crashes, or {@link #NEVER}. */
    long crashOf(int site) {
        return crashes[site];
    }

    /** Times in which everything is lost take turns with times in which nothing is; forgotten when they are past. */
    private static final class Bursts {
        private static final long NANOS_MIN = 1_000;

        private final Kernel kernel;
        private final ModelFault.BurstyLoss loss;
        private final RandomStream random;
        private final ArrayDeque<Long> ends = new ArrayDeque<>();
        private boolean firstLoses;
        private long last;

        Bursts(Kernel kernel, ModelFault.BurstyLoss loss, RandomStream random) {
            this.kernel = kernel;
            this.loss = loss;
            this.random = random;
            this.firstLoses = random.chance(0.5);
            this.last = loss.atNanos();
            extend(firstLoses);
        }

        private void extend(boolean loses) {
            last += Math.max(NANOS_MIN, (loses ? loss.lost() : loss.received()).sample(random));
            ends.add(last);
        }

        boolean loses(long at) {
            while (last <= at) {
                extend(firstLoses == (ends.size() % 2 == 0));
            }
            while (ends.element() <= kernel.now()) {
                ends.remove();
                firstLoses = !firstLoses;
            }
            boolean loses = firstLoses;
            for (long end : ends) {
                if (at < end) {
                    return loses;
                }
                loses = !loses;
            }
            throw new IllegalStateException("no end after " + at);
        }
    }
}
