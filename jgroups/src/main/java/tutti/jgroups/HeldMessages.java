package tutti.jgroups;

import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jgroups.Message;

/**
 * Messages of views that this member does not use yet, since its coordinator has not told it so, at most so many bytes of them. Of too many those of the
 * latest view are let go, and which view that was is kept: with it this member may not order anything, since it would lack what others count on. One
 * thread at a time.
 */
final class HeldMessages {
    /** What a message takes besides its content, about, in bytes. */
    static final int OVERHEAD_BYTES = 256;
    /** Views that are remembered as missed. */
    private static final int MISSED_MAX = 1024;

    private record Held(Message message, long bytes) {}

    private final NavigableMap<Long, List<Held>> views = new TreeMap<>();
    private final TreeSet<Long> missed = new TreeSet<>();
    private long bytes;

    /**
     * Another one.
     *
     * @param view its number
     * @param bytesMax of all that is held
     * @return whether messages of a view have been let go of which none had been before
     */
    boolean add(long view, Message message, long bytesMax) {
        if (missed.contains(view)) {
            return false;
        }
        Held held = new Held(message, OVERHEAD_BYTES + message.getLength());
        views.computeIfAbsent(view, _ -> new ArrayList<>()).add(held);
        bytes += held.bytes;
        boolean more = false;
        while (bytes > bytesMax) {
            List<Held> latest = views.lastEntry().getValue();
            miss(views.lastKey());
            latest.forEach(each -> bytes -= each.bytes);
            views.pollLastEntry();
            more = true;
        }
        return more;
    }

    private void miss(long view) {
        missed.add(view);
        if (missed.size() > MISSED_MAX) {
            missed.pollLast();
        }
    }

    /** Whether messages of a view were let go. */
    boolean misses(long view) {
        return missed.contains(view);
    }

    /** All that is held, by views and as it came; nothing is held then. */
    List<Message> take() {
        List<Message> all = new ArrayList<>();
        views.values().forEach(of -> of.forEach(held -> all.add(held.message)));
        views.clear();
        bytes = 0;
        return all;
    }

    /** Views up to this one are of no concern any more. */
    void forget(long view) {
        missed.headSet(view, true).clear();
    }

    void clear() {
        views.clear();
        missed.clear();
        bytes = 0;
    }

    /** Of what is held. */
    long bytes() {
        return bytes;
    }

    /** How many are held, and which views are missed, for people. */
    @Override
    public String toString() {
        return views.values().stream().mapToInt(List::size).sum() + " of " + bytes + " bytes"
                + (missed.isEmpty() ? "" : ", views missed " + Set.copyOf(missed));
    }
}
