package tutti.model;

import java.util.HashMap;
import java.util.Map;
import java.util.function.IntFunction;
import tutti.core.protocol.Message;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

/**
 * The steps of a {@linkplain SequencerChannel fixed sequencer's order} whose members compute: each for a while before it tells the others
 * that it has a message and its position, and for a while before it delivers it, in order of positions. How long they wait for a
 * processor is not known beforehand, so each step is an event. Nothing is lost, and nobody crashes.
 */
final class SequencerSteps {
    private static final Label COMES = Label.of("sequencer", "message and position");
    private static final Label HEARS = Label.of("sequencer", "another has it");

    /** What a member computes. */
    @FunctionalInterface
    interface Work {
        /** Computes one step of a message at a site, behind those that came before, and goes on then. */
        void compute(int site, Runnable then);
    }

    /** A message that has a position and has not been delivered to all. */
    private final class Ordered {
        final long position;
        final int from;
        final Message message;
        /** By site: how many have it, as far as is known there; that site has it. */
        final int[] known = new int[network.sites()];
        final boolean[] has = new boolean[network.sites()];
        int left = places.length;

        Ordered(long position, int from, Message message) {
            this.position = position;
            this.from = from;
            this.message = message;
        }
    }

    private final Kernel kernel;
    private final ModelledNetwork network;
    private final int[] places;
    private final int enough;
    private final Work work;
    private final IntFunction<Channel.Receiver> receivers;
    private final Map<Long, Ordered> open = new HashMap<>();
    /** By site: when the last message came, and the last position that is being delivered. */
    private final long[] lastComing;
    private final long[] delivering;
    private long position;

    /**
     * Nothing is ordered yet.
     *
     * @param places the members
     * @param enough so many must have a message before it is delivered
     */
    SequencerSteps(Kernel kernel, ModelledNetwork network, int[] places, int enough, Work work,
            IntFunction<Channel.Receiver> receivers) {
        this.kernel = kernel;
        this.network = network;
        this.places = places.clone();
        this.enough = enough;
        this.work = work;
        this.receivers = receivers;
        this.lastComing = new long[network.sites()];
        this.delivering = new long[network.sites()];
    }

    /**
     * The sequencer has got a message.
     *
     * @param data when each site has it
     */
    void ordered(int sequencer, int from, Message message, long[] data, boolean[] members) {
        Ordered next = new Ordered(++position, from, message);
        open.put(next.position, next);
        long[] order = network.send(sequencer, SequencerChannel.ORDER_BYTES, members);
        for (int place : places) {
            lastComing[place] = Math.max(lastComing[place], Math.max(data[place], order[place]));
            kernel.schedule(lastComing[place] - kernel.now(), COMES,
                    site -> work.compute((int) site, () -> taken(next, (int) site)), place);
        }
    }

    private void taken(Ordered one, int site) {
        one.has[site] = true;
        network.countSmall(SequencerChannel.ORDER_BYTES);
        for (int place : places) {
            if (place == site) {
                hear(one, place);
            } else {
                long at = network.small(site, place, SequencerChannel.ORDER_BYTES, kernel.now());
                kernel.schedule(at - kernel.now(), HEARS, other -> hear(one, (int) other), place);
            }
        }
    }

    private void hear(Ordered heardOf, int site) {
        heardOf.known[site]++;
        for (Ordered next = open.get(delivering[site] + 1); next != null && next.has[site]
                && next.known[site] >= enough; next = open.get(delivering[site] + 1)) {
            Ordered one = next;
            delivering[site]++;
            if (--one.left == 0) {
                open.remove(one.position);
            }
            work.compute(site, () -> receivers.apply(site).delivered(one.position, one.from, one.message));
        }
    }
}
