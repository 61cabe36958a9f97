package tutti.grid.genuine;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Promises and installs of any size, as messages of limited size: what a member remembers grows with all that was written while another member was not heard, and no connection takes a message of more than some
 * size. Parts go before the message that they belong to, by the same channel, which is first in, first out. Changed by {@link GroupMulticast} only.
 */
class Parts {
    /** About how many bytes a part has, or one entry that is larger: parts show a life that is taken in that its ballot is on its way. */
    static final int BYTES = 1 << 18;

    private final int bytesMax;
    /** By sender: what has come and belongs to a message that has not. */
    private final Map<Integer, Coming> coming = new HashMap<>();

    private record Coming(long ballot, List<GenuineMessage.Entry> entries) {}

    /** @param bytesMax see {@link #BYTES} */
    Parts(int bytesMax) {
        this.bytesMax = bytesMax;
    }

    /** Sends all parts but the last, which is for the message itself. */
    List<GenuineMessage.Entry> ahead(long ballot, Collection<GenuineMessage.Entry> all,
            Consumer<GenuineMessage.Part> to) {
        List<GenuineMessage.Entry> part = new ArrayList<>();
        long bytes = 0;
        for (GenuineMessage.Entry entry : all) {
            if (!part.isEmpty() && bytes + entry.size() > bytesMax) {
                to.accept(new GenuineMessage.Part(ballot, part));
                part.clear();
                bytes = 0;
            }
            part.add(entry);
            bytes += entry.size();
        }
        return part;
    }

    /** A part has come. Those of another ballot belong to a message that will not come. */
    void came(int from, GenuineMessage.Part part) {
        coming.compute(from, (_, before) -> before != null && before.ballot == part.ballot()
                ? before
                : new Coming(part.ballot(), new ArrayList<>())).entries.addAll(part.entries());
    }

    /** A life of a node is over: what has come of it belongs to a message that will not. */
    void gone(int node) {
        coming.remove(node);
    }

    /** With all parts that have come before. */
    GenuineMessage.Promise whole(int from, GenuineMessage.Promise last) {
        return new GenuineMessage.Promise(last.ballot(), last.since(), last.joined(), last.configuration(),
                last.clock(),
                whole(from, last.ballot(), last.entries()));
    }

    /** With all parts that have come before. */
    GenuineMessage.Install whole(int from, GenuineMessage.Install last) {
        return new GenuineMessage.Install(last.ballot(), last.clock(), last.configuration(), last.above(),
                whole(from, last.ballot(), last.entries()));
    }

    List<GenuineMessage.Entry> whole(int from, long ballot, List<GenuineMessage.Entry> last) {
        Coming before = coming.remove(from);
        if (before == null || before.ballot != ballot) {
            return last;
        }
        before.entries.addAll(last);
        return before.entries;
    }
}
