package tutti.node;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;

/**
 * Which transactions have committed, of all nodes, as far as the order has been delivered here; so that a client whose
 * node was lost during a commit can be told by another one.
 *
 * <p>
 * <b>Why absence is an answer.</b> Under every protocol that says so
 * ({@link tutti.core.protocol.Trait#COMMITS_BY_OWN_MESSAGE}) a transaction commits at the position of an ordered message that its own
 * node sent in the life in which the transaction ran. Once no such message can be delivered any more, the set of that
 * life's committed transactions is complete, and what is not in it never commits. That is so behind a node's first message
 * of its next life ({@link #born}: the order delivers the messages of a node in order of its lives), and behind a
 * {@linkplain #fence fence}, from which on all replicas skip what that life has sent. Fences are ordered, so all skip the
 * same; to the protocols it is as if the node had crashed before it sent them, and the node itself, if it still lives, ends that life
 * when it is delivered the fence.
 *
 * <p>
 * Everything here is a function of the delivered prefix, but for {@link #executed}. A bit per transaction is kept, for
 * the last {@value #WINDOW} of each life and for {@value #LIVES} lives of each node; about older ones nothing is known.
 * For one thread at a time.
 */
final class Outcomes {
    /** What is known of a transaction. */
    enum Answer {
        COMMITTED,
        /** It never will. */
        ABORTED,
        /** Its node may yet commit it. */
        OPEN,
        /** A request that this replica is executing: its result decides. */
        EXECUTING,
        /** The life of its node has not been heard of so far. */
        UNHEARD,
        /** It has been forgotten, or was never noted. */
        UNKNOWN
    }

    /** Transactions of one life that are kept, at least. */
    static final int WINDOW = 1 << 22;
    /** Lives of one node that are kept. */
    static final int LIVES = 8;
    private static final int CHUNK = 1 << 15;
    private static final int CHUNK_WORDS = CHUNK / Long.SIZE;
    private static final int VERSION = 1;

    /** One life of one node. */
    private static final class Life {
        /** Bits of the committed ones, by number of the chunk. */
        private final TreeMap<Integer, long[]> committed = new TreeMap<>();
        /** Bits of the requests that every replica executes, whose result may be an error. */
        private final TreeMap<Integer, long[]> requests = new TreeMap<>();
        private boolean over;
        /** Chunks below are not kept. */
        private int lowest;

        private void set(SortedMap<Integer, long[]> bits, long count) {
            int chunk = chunk(count);
            if (chunk < lowest) {
                return;
            }
            int bit = (int) (count % CHUNK);
            bits.computeIfAbsent(chunk, _ -> new long[CHUNK_WORDS])[bit / Long.SIZE] |= 1L << bit;
            if (chunk - WINDOW / CHUNK > lowest) {
                lowest = chunk - WINDOW / CHUNK;
                committed.headMap(lowest).clear();
                requests.headMap(lowest).clear();
            }
        }

        private static boolean get(Map<Integer, long[]> bits, long count) {
            long[] words = bits.get(chunk(count));
            int bit = (int) (count % CHUNK);
            return words != null && (words[bit / Long.SIZE] & 1L << bit) != 0;
        }

        private static int chunk(long count) {
            return (int) (count / CHUNK);
        }
    }

    private final boolean conclusive;
    /** Sorted, as is {@link #fenced}: equal states are encoded alike. */
    private final SortedMap<Integer, TreeMap<Long, Life>> nodes = new TreeMap<>();
    private final SortedMap<Integer, Long> fenced = new TreeMap<>();
    /** Requests that this replica is executing, by position. */
    private final Map<Long, TransactionId> executing = new HashMap<>();

    /** @param conclusive whether each transaction commits by a message of its own node */
    Outcomes(boolean conclusive) {
        this.conclusive = conclusive;
    }

    private static long count(TransactionId id) {
        return id.serial() & 0xffff_ffffL;
    }

    private @Nullable Life life(TransactionId id) {
        TreeMap<Long, Life> lives = nodes.get(id.node());
        return lives == null ? null : lives.get(id.incarnation());
    }

    /** The highest number of a life of a node that has been heard of; 0 if there is none. */
    long lastLife(int node) {
        TreeMap<Long, Life> lives = nodes.get(node);
        return lives == null || lives.isEmpty() ? 0 : lives.lastKey();
    }

    /**
     * A node's first message of a life was delivered: its former lives are over.
     *
     * @return false, and nothing is changed, if the life's number is no higher than an earlier one's: the node has lost count
     */
    boolean born(int node, long incarnation) {
        if (incarnation <= lastLife(node)) {
            return false;
        }
        TreeMap<Long, Life> lives = nodes.computeIfAbsent(node, _ -> new TreeMap<>());
        lives.values().forEach(former -> former.over = true);
        lives.put(incarnation, new Life());
        while (lives.size() > LIVES) {
            lives.pollFirstEntry();
        }
        fenced.remove(node);
        return true;
    }

    /**
     * A fence was delivered.
     *
     * @return whether it changed anything: the node's present life is that one, or an earlier one that is not known
     */
    boolean fence(int node, long incarnation) {
        TreeMap<Long, Life> lives = nodes.get(node);
        if (lives != null && !lives.isEmpty() && lives.lastKey() > incarnation) {
            return false;
        }
        if (lives != null) {
            lives.values().forEach(life -> life.over = true);
        }
        return fenced.put(node, incarnation) == null;
    }

    /** Whether what this node sends counts: it has not been fenced since its last life began. */
    boolean counts(int node) {
        return !fenced.containsKey(node);
    }

    /** The message that commits a transaction was delivered. */
    void committed(TransactionId id) {
        Life life = life(id);
        if (life != null) {
            life.set(life.committed, count(id));
        }
    }

    /**
     * A request that every replica executes was delivered; whether it takes effect is not known yet.
     *
     * @param again whether this replica has executed it in an earlier life, and so will not tell
     */
    void request(TransactionId id, long position, boolean again) {
        Life life = life(id);
        if (life != null) {
            life.set(life.requests, count(id));
            if (!again) {
                executing.put(position, id);
            }
        }
    }

    /** This replica has executed the request at a position. */
    void executed(long position, boolean tookEffect) {
        TransactionId id = executing.remove(position);
        if (id != null && tookEffect) {
            committed(id);
        }
    }

    /** What the delivered prefix says of a transaction. */
    Answer of(TransactionId id) {
        Life life = life(id);
        if (life == null) {
            TreeMap<Long, Life> lives = nodes.get(id.node());
            return lives == null || lives.isEmpty() || lives.lastKey() < id.incarnation()
                    ? Answer.UNHEARD
                    : Answer.UNKNOWN;
        }
        if (Life.chunk(count(id)) < life.lowest) {
            return Answer.UNKNOWN;
        }
        if (Life.get(life.committed, count(id))) {
            return Answer.COMMITTED;
        }
        if (Life.get(life.requests, count(id))) {
            return executing.containsValue(id) ? Answer.EXECUTING : Answer.UNKNOWN;
        }
        if (!life.over) {
            return Answer.OPEN;
        }
        return conclusive ? Answer.ABORTED : Answer.UNKNOWN;
    }

    /** The same, when its node has said, in the order, that the transaction has ended. */
    Answer ofEnded(TransactionId id) {
        Answer answer = of(id);
        return answer == Answer.OPEN ? Answer.ABORTED : answer;
    }

    // ------------------------------------------------------------------------------------------ snapshots

    /** Everything but what is being executed. */
    byte[] encode() {
        int bytes = 4 + 4 + 4;
        for (TreeMap<Long, Life> lives : nodes.values()) {
            bytes += 8;
            for (Life life : lives.values()) {
                bytes += 8 + 1 + 4 + encodedSize(life.committed) + encodedSize(life.requests);
            }
        }
        ByteBuffer to = ByteBuffer.allocate(bytes + fenced.size() * 12);
        to.putInt(VERSION).putInt(nodes.size());
        nodes.forEach((node, lives) -> {
            to.putInt(node).putInt(lives.size());
            lives.forEach((incarnation, life) -> {
                to.putLong(incarnation).put((byte) (life.over ? 1 : 0)).putInt(life.lowest);
                encode(life.committed, to);
                encode(life.requests, to);
            });
        });
        to.putInt(fenced.size());
        fenced.forEach((node, incarnation) -> to.putInt(node).putLong(incarnation));
        return to.array();
    }

    private static int encodedSize(Map<Integer, long[]> bits) {
        return 4 + bits.size() * (4 + CHUNK_WORDS * Long.BYTES);
    }

    private static void encode(Map<Integer, long[]> bits, ByteBuffer to) {
        to.putInt(bits.size());
        bits.forEach((chunk, words) -> {
            to.putInt(chunk);
            for (long word : words) {
                to.putLong(word);
            }
        });
    }

    /**
     * Begins from what {@link #encode} gave.
     *
     * @throws IllegalArgumentException if it is something else
     */
    void decode(ByteBuffer from) {
        int version = from.getInt();
        if (version != VERSION) {
            throw new IllegalArgumentException("outcomes of version " + version + ", known is " + VERSION);
        }
        int count = from.getInt();
        for (int i = 0; i < count; i++) {
            TreeMap<Long, Life> lives = new TreeMap<>();
            nodes.put(from.getInt(), lives);
            int size = from.getInt();
            for (int j = 0; j < size; j++) {
                Life life = new Life();
                lives.put(from.getLong(), life);
                life.over = from.get() != 0;
                life.lowest = from.getInt();
                decode(life.committed, from);
                decode(life.requests, from);
            }
        }
        int fences = from.getInt();
        for (int i = 0; i < fences; i++) {
            fenced.put(from.getInt(), from.getLong());
        }
    }

    private static void decode(Map<Integer, long[]> bits, ByteBuffer from) {
        int size = from.getInt();
        for (int i = 0; i < size; i++) {
            long[] words = new long[CHUNK_WORDS];
            bits.put(from.getInt(), words);
            for (int j = 0; j < words.length; j++) {
                words[j] = from.getLong();
            }
        }
    }
}
