package tutti.grid.node;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import tutti.grid.CommitProtocol;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.Version;

/**
 * Reads that were asked of owners, this node or others, until they are answered. On the node's loop. When keys have come to lie elsewhere, what was asked of who owns them
 * no more is asked anew, and an answer from there is not taken: it may lack what is written from now on.
 */
final class Reads {
    private final GridConfig config;
    private final Layouts layouts;
    private final LongSupplier nanos;
    private final L1 l1;
    private final World world;
    private final Map<Long, Waiting> waiting = new LinkedHashMap<>();
    /** Who was not heard for a moment: others are asked first. */
    private Set<Integer> quiet = Set.of();
    private long number;
    private long local;
    private long remote;

    /** The node. */
    interface World {
        /** Whether a node takes part, as far as this one knows. */
        boolean isThere(int node);

        /** Asks another node, which answers by {@link GridMessage.Value} or {@link GridMessage.Trimmed}. */
        void send(int to, GridMessage.Read question);

        /** Asks this node's store, which answers now or later. */
        void readHere(GridMessage.Read question, Consumer<Version> reader, Runnable trimmed);

        /** Never from inside of a state machine. */
        void later(Runnable task);
    }

    private record Waiting(GridMessage.Read question, GridTransaction.Answer<Version> answer, long deadlineNanos,
            int owner) {}

    Reads(GridConfig config, Layouts layouts, LongSupplier nanos, L1 l1, World world) {
        this.config = config;
        this.layouts = layouts;
        this.nanos = nanos;
        this.l1 = l1;
        this.world = world;
    }

    /** Reads a key; see {@link tutti.grid.store.Store#read}. */
    void read(Key key, long stamp, boolean latest, GridTransaction.Answer<Version> answer) {
        Owners owners = layouts.present();
        GridException refusal = OwnersLeft.refusal(config, owners, world::isThere, key);
        if (refusal != null) {
            world.later(() -> answer.failed(refusal));
            return;
        }
        long now = nanos.getAsLong();
        int owner = choose(owners.of(key), config.self());
        Version kept = owner == config.self() ? null : l1.find(key, stamp, latest, now);
        if (kept != null) {
            l1.seen(kept.stamp());
            world.later(() -> answer.is(kept));
            return;
        }
        GridMessage.Read question = new GridMessage.Read(++number, layouts.number(), key, stamp, latest,
                owner != config.self() && l1.keeps(key.cache()));
        waiting.put(number, new Waiting(question, answer, now + config.operationTimeout().toNanos(), owner));
        if (owner == config.self()) {
            local++;
            world.readHere(question, version -> world.later(() -> value(owner, question.number(), version, false)),
                    () -> world.later(() -> trimmed(question.number())));
        } else {
            remote++;
            world.send(owner, question);
        }
    }

    /** This node, if it is an owner; otherwise one that is there, and was heard just now if there is such a one, from a place on. */
    private int choose(int[] all, int from) {
        int owner = -1;
        for (int i = 0; i < all.length; i++) {
            int candidate = all[(i + from) % all.length];
            if (candidate == config.self()) {
                return candidate;
            }
            if (world.isThere(candidate) && (owner < 0 || (quiet.contains(owner) && !quiet.contains(candidate)))) {
                owner = candidate;
            }
        }
        return owner;
    }

    /** An owner has answered; whether that may be kept. */
    void value(int from, long of, Version version, boolean mayKeep) {
        Waiting read = waiting.remove(of);
        if (read != null) {
            if (mayKeep) {
                l1.keep(from, read.question.key(), version);
            }
            l1.seen(version.stamp());
            read.answer.is(version);
        }
    }

    void trimmed(long of) {
        Waiting read = waiting.remove(of);
        if (read != null) {
            read.answer.failed(tooOld());
        }
    }

    static GridException tooOld() {
        return new GridException(GridException.Reason.CONFLICT,
                "the other nodes had given this one up, and its snapshot is too old: run the transaction again");
    }

    /** Somebody is not there any more, or owns no more what it did: asks others for what was asked there. */
    void ownersChanged() {
        Owners owners = layouts.present();
        for (Waiting read : List.copyOf(waiting.values())) {
            GridMessage.Read question = read.question;
            // Of groups an owner does not answer in another layout in which it is none, and may be one again in the next.
            boolean isLost = config.protocol() == CommitProtocol.GROUPS && question.layout() != layouts.number();
            if (isLost || !world.isThere(read.owner) || !owners.isOwner(read.owner, question.key())
                    || OwnersLeft.refusal(config, owners, world::isThere, question.key()) != null) {
                waiting.remove(question.number());
                read(question.key(), question.stamp(), question.latest(), read.answer);
            }
        }
    }

    /** Where any owner can answer, whoever else is not heard: asks another one where one has been quiet since it was asked. */
    void askOthers(Set<Integer> quietNow) {
        quiet = quietNow;
        waiting.replaceAll((_, read) -> {
            if (!quiet.contains(read.owner)) {
                return read;
            }
            int[] all = layouts.present().of(read.question.key());
            int next = choose(all, Arrays.stream(all).boxed().toList().indexOf(read.owner) + 1);
            world.send(next, read.question);
            return new Waiting(read.question, read.answer, read.deadlineNanos, next);
        });
    }

    void expire(long nowNanos) {
        List<Waiting> expired = new ArrayList<>();
        waiting.values().removeIf(read -> read.deadlineNanos - nowNanos <= 0 && expired.add(read));
        expired.forEach(read -> read.answer.failed(timeout(config, "a read")));
    }

    static GridException timeout(GridConfig config, String what) {
        return new GridException(GridException.Reason.TIMEOUT, what + " was not answered within "
                + config.operationTimeout().toMillis() + " ms: look whether this node reaches the others");
    }

    /** The node has ended. */
    void fail(GridException why) {
        List<Waiting> all = List.copyOf(waiting.values());
        waiting.clear();
        all.forEach(read -> read.answer.failed(why));
    }

    /** How many were of keys that this node owns. */
    long local() {
        return local;
    }

    /** How many others. */
    long remote() {
        return remote;
    }
}
