package tutti.grid.node;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.grid.GridConfig;
import tutti.grid.GridException;
import tutti.grid.store.Key;
import tutti.grid.store.Layouts;
import tutti.grid.store.Owners;
import tutti.grid.store.Store;

/**
 * Which keys of a cache a snapshot has, asked of all nodes until they are answered. On the node's loop.
 *
 * <p>
 * Each node tells of those keys that it owns, once it knows for each whether the snapshot has it, as for a read of that key: whatever is not announced
 * there yet will have a stamp above. All owners of a key tell the same, so it is enough that one of each is heard: nodes that are not there are not
 * asked, as long as they are fewer than a key has owners. Who owns keys is judged by the layout in which it is asked, by all alike, so that none is
 * missed while keys are moved; in another layout it is asked anew.
 */
final class Scans {
    private final GridConfig config;
    private final Layouts layouts;
    private final Ring ring;
    private final Supplier<Set<Integer>> there;
    private final BiConsumer<Integer, GridMessage.Scan> ask;
    private final Consumer<Runnable> later;
    private final Map<Long, Waiting> waiting = new LinkedHashMap<>();
    private long number;

    /** Who must answer. */
    interface Ring {
        /** How many of these must be there besides for all keys with so many owners to be known; 0 if they are. */
        long missing(Set<Integer> asked, int degree);
    }

    private record Waiting(GridMessage.Scan question, GridTransaction.Answer<List<Key>> answer, long deadlineNanos,
            Set<Integer> asked, Set<Integer> answered, Set<Key> found) {}

    /**
     * None yet.
     *
     * @param ring whether all keys are known to who is asked
     * @param there which nodes take part, as far as this one knows
     * @param ask asks a node, this one too, which answers by {@link GridMessage.Keys}, later
     * @param later never from inside of a state machine
     */
    Scans(GridConfig config, Layouts layouts, Ring ring, Supplier<Set<Integer>> there,
            BiConsumer<Integer, GridMessage.Scan> ask,
            Consumer<Runnable> later) {
        this.config = config;
        this.layouts = layouts;
        this.ring = ring;
        this.there = there;
        this.ask = ask;
        this.later = later;
    }

    /** Answers the question of a node, or of this one, when the store can. */
    void answer(Store store, GridMessage.Scan question, Consumer<GridMessage.Keys> to) {
        if (!layouts.has(question.layout())) {
            // It has been asked anew.
            return;
        }
        Owners owners = layouts.in(question.layout());
        if (store.isTrimmed(question.stamp())) {
            to.accept(new GridMessage.Keys(question.number(), GridMessage.Part.TRIMMED, List.of()));
        } else {
            store.keys(question.cache(),
                    key -> key.beginsWith(question.prefix()) && owners.isOwner(config.self(), key), question.stamp(),
                    question.timeMillis(),
                    keys -> GridMessage.Keys.send(question.number(), keys, to));
        }
    }

    /** Asks for all keys whose bytes begin like these. */
    void scan(int cache, byte[] prefix, GridTransaction of, long nowNanos, GridTransaction.Answer<List<Key>> answer) {
        Set<Integer> asked = new TreeSet<>(there.get());
        GridException refusal = refusal(cache, asked);
        if (refusal != null) {
            later.accept(() -> answer.failed(refusal));
            return;
        }
        ask(new GridMessage.Scan(++number, layouts.number(), cache, prefix, of.beginStamp(), of.timeMillis()), answer,
                nowNanos + config.operationTimeout().toNanos(), asked);
    }

    private void ask(GridMessage.Scan question, GridTransaction.Answer<List<Key>> answer, long deadlineNanos,
            Set<Integer> asked) {
        waiting.put(question.number(),
                new Waiting(question, answer, deadlineNanos, asked, new TreeSet<>(), new LinkedHashSet<>()));
        List.copyOf(asked).forEach(node -> ask.accept(node, question));
    }

    private @Nullable GridException refusal(int cache, Set<Integer> asked) {
        long missing = ring.missing(asked, config.caches().get(cache).degree());
        return missing == 0
                ? null
                : new GridException(GridException.Reason.OWNER_UNAVAILABLE,
                        missing + " nodes are not there, and a key of '"
                                + config.caches().get(cache).name() + "' has " + config.caches().get(cache).degree()
                                + " owners: some keys may not be known to any that is left");
    }

    void answered(int from, GridMessage.Keys keys) {
        Waiting scan = waiting.get(keys.number());
        if (scan == null) {
            return;
        }
        if (keys.part() == GridMessage.Part.TRIMMED) {
            waiting.remove(keys.number());
            scan.answer.failed(Reads.tooOld());
            return;
        }
        keys.keys().forEach(bytes -> scan.found.add(new Key(scan.question.cache(), bytes)));
        if (keys.part() == GridMessage.Part.LAST) {
            scan.asked.remove(from);
            scan.answered.add(from);
            finish(scan);
        }
    }

    private void finish(Waiting scan) {
        if (scan.asked.isEmpty() && waiting.remove(scan.question.number()) != null) {
            scan.answer.is(List.copyOf(scan.found));
        }
    }

    /** Nodes may be gone, or keys lie elsewhere. */
    void ownersChanged() {
        Set<Integer> left = there.get();
        for (Waiting scan : List.copyOf(waiting.values())) {
            GridMessage.Scan question = scan.question;
            GridException refusal = refusal(question.cache(), left);
            if (refusal != null) {
                waiting.remove(scan.question.number());
                scan.answer.failed(refusal);
            } else if (question.layout() != layouts.number() || !isEnough(scan, left)) {
                waiting.remove(question.number());
                ask(new GridMessage.Scan(++number, layouts.number(), question.cache(), question.prefix(),
                        question.stamp(), question.timeMillis()), scan.answer, scan.deadlineNanos,
                        new TreeSet<>(left));
            } else if (scan.asked.retainAll(left)) {
                finish(scan);
            }
        }
    }

    /** Whether all keys will be known by those who have answered, and those who were asked and are still there. */
    private boolean isEnough(Waiting scan, Set<Integer> left) {
        Set<Integer> known = new TreeSet<>(scan.asked);
        known.retainAll(left);
        known.addAll(scan.answered);
        return refusal(scan.question.cache(), known) == null;
    }

    void expire(long nowNanos) {
        List<Waiting> expired = new ArrayList<>();
        waiting.values().removeIf(scan -> scan.deadlineNanos - nowNanos <= 0 && expired.add(scan));
        expired.forEach(scan -> scan.answer.failed(Reads.timeout(config, "a question for keys")));
    }

    /** The node has ended. */
    void fail(GridException why) {
        List<Waiting> all = List.copyOf(waiting.values());
        waiting.clear();
        all.forEach(scan -> scan.answer.failed(why));
    }
}
