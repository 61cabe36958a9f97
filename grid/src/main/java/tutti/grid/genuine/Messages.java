package tutti.grid.genuine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;

/** The messages that a member keeps, and which of them wait to be delivered. Changed by {@link GroupMulticast} only. */
final class Messages {
    private final Map<TransactionId, Tracked> messages = new LinkedHashMap<>();
    /** What was proposed in this group and is not delivered here, by its bound. */
    private final TreeMap<Long, Tracked> queue = new TreeMap<>();

    @Nullable
    Tracked get(TransactionId id) {
        return messages.get(id);
    }

    /** The same; if nothing is known of it, from now on something is. */
    Tracked track(TransactionId id) {
        return messages.computeIfAbsent(id, Tracked::new);
    }

    Collection<Tracked> all() {
        return messages.values();
    }

    List<Tracked> copy() {
        return new ArrayList<>(messages.values());
    }

    int size() {
        return messages.size();
    }

    /** A message has got a proposal of this group. */
    void begin(Tracked message, int[] to, byte[] payload, long proposal) {
        message.ticks = 0;
        message.groups = to;
        message.payload = payload;
        message.proposal = proposal;
        queue.put(proposal, message);
    }

    /** It has got its final stamp. */
    void order(Tracked message, long stamp) {
        queue.remove(message.proposal);
        message.stamp = stamp;
        queue.put(stamp, message);
    }

    /** What is to be delivered next, and waits no more; null if it is not known what that is. */
    @Nullable
    Tracked next() {
        Map.Entry<Long, Tracked> first = queue.firstEntry();
        if (first == null || first.getValue().stamp == 0) {
            return null;
        }
        queue.pollFirstEntry();
        return first.getValue();
    }

    /** What waits for delivery, by bound. */
    Collection<Tracked> waiting() {
        return queue.values();
    }

    /** The lowest bound of what waits; the largest number if nothing does. */
    long lowestWaiting() {
        return queue.isEmpty() ? Long.MAX_VALUE : queue.firstKey();
    }

    static boolean goesTo(int[] to, Set<Integer> some) {
        return Arrays.stream(to).anyMatch(some::contains);
    }

    /** Whether something that goes to one of these groups is not delivered. */
    boolean hasOpen(Set<Integer> some) {
        return messages.values().stream().anyMatch(message -> !message.delivered && goesTo(message.groups, some));
    }

    /** Whether something is kept that goes to a group. */
    boolean keeps(int group) {
        return messages.values().stream().anyMatch(message -> goesTo(message.groups, Set.of(group)));
    }

    /** How many bytes are kept of what was delivered and went to a group. */
    long keptBytes(int group) {
        return messages.values().stream()
                .filter(message -> message.delivered && Arrays.binarySearch(message.groups, group) >= 0)
                .mapToLong(message -> message.payload.length).sum();
    }

    /** What was accepted or is known to be final. */
    List<GenuineMessage.Entry> remembered() {
        return messages.values().stream().filter(message -> message.accepted || message.stamp > 0).map(Tracked::entry)
                .toList();
    }

    /**
     * Goes on with what a ballot begins with.
     *
     * @param group of this member
     * @param clock sees their stamps
     * @return what was delivered here and is not kept any more: more than half of the group have forgotten it
     */
    List<Tracked> replace(Collection<GenuineMessage.Entry> entries, int group, long deliveredStamp,
            LamportClock clock) {
        queue.clear();
        Set<TransactionId> kept = new HashSet<>();
        for (GenuineMessage.Entry entry : entries) {
            Tracked message = track(entry.id());
            kept.add(entry.id());
            message.groups = entry.groups();
            message.payload = entry.payload();
            message.proposal = entry.proposal();
            message.stamp = Math.max(message.stamp, entry.stamp());
            message.accepted = true;
            message.acknowledged = null;
            message.accepts.remove(group);
            // Delivered, and forgotten since, perhaps.
            message.delivered = message.stamp > 0 && message.stamp <= deliveredStamp;
            clock.seen(message.bound());
            if (!message.delivered) {
                queue.put(message.bound(), message);
            }
        }
        List<Tracked> forgotten = new ArrayList<>();
        for (Tracked message : List.copyOf(messages.values())) {
            if (kept.contains(message.id)) {
                continue;
            }
            if (message.stamp > 0 && !message.delivered) {
                throw new IllegalStateException("the state of the next ballot lacks " + message);
            }
            message.proposal = 0;
            message.accepted = false;
            message.acknowledged = null;
            message.accepts.remove(group);
            if (message.delivered || (message.accepts.isEmpty() && message.acks.isEmpty())) {
                messages.remove(message.id);
            }
            if (message.delivered) {
                forgotten.add(message);
            }
        }
        return forgotten;
    }
}
