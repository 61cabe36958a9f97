package tutti.node;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Type;
import tutti.core.schema.Types;
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
 * when it is delivered the fence. What the protocol says is {@linkplain tutti.core.protocol.Protocol#undecided undecided} then (a
 * request that was logged before, which others execute) is still open.
 *
 * <p>
 * <b>A transaction that is run again</b> ({@link #again}) has a name for each run, of which its client knows the first: that one has
 * committed if any of them has. Its node says in the order which run belongs to which name before it says anything else of the run, so
 * whoever is delivered all that a life has sent knows all runs. Of the last {@value #RUNS} runs it is known to which name they belong;
 * an older one, or one from before a restart here, is of a transaction whose outcome is {@link Answer#UNKNOWN}. So that one whose last run is left out
 * later is not taken for committed then, whoever refuses that run names the transaction, too ({@link Control.Inapplicable}).
 *
 * <p>
 * Everything here is a function of the delivered prefix, but for {@link #executed} and which runs belong to which name. A bit per transaction is kept, for
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
    /** Runs of which is known whose they are. */
    static final int RUNS = 1 << 14;
    private static final int CHUNK = 1 << 15;
    private static final int CHUNK_WORDS = CHUNK / Long.SIZE;

    /** One life of one node. */
    private static final class Life {
        /** Bits of the committed ones, by number of the chunk. */
        private final TreeMap<Integer, long[]> committed = new TreeMap<>();
        /** Bits of those whose absence is no answer: requests that every replica executes, and transactions that are run again. */
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

        private void clear(long count) {
            long[] words = committed.get(chunk(count));
            if (words != null) {
                int bit = (int) (count % CHUNK);
                words[bit / Long.SIZE] &= ~(1L << bit);
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
    private final Predicate<TransactionId> undecided;
    /** Sorted, as is {@link #fenced}: equal states are encoded alike. */
    private final SortedMap<Integer, TreeMap<Long, Life>> nodes = new TreeMap<>();
    private final SortedMap<Integer, Long> fenced = new TreeMap<>();
    /** Requests that this replica is executing, by position. */
    private final Map<Long, TransactionId> executing = new HashMap<>();
    /** To which transactions runs belong, the earliest first; and the last run of each of these. */
    private final LinkedHashMap<TransactionId, TransactionId> runs = new LinkedHashMap<>();
    private final Map<TransactionId, TransactionId> lastRuns = new HashMap<>();

    /** Without any that others could finish. */
    Outcomes(boolean conclusive) {
        this(conclusive, _ -> false);
    }

    /**
     * @param conclusive whether each transaction commits by a message of its own node
     * @param undecided which may yet commit all the same, as the protocol says
     */
    Outcomes(boolean conclusive, Predicate<TransactionId> undecided) {
        this.conclusive = conclusive;
        this.undecided = undecided;
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
     * A fence was delivered. One of a life that nobody has heard of changes nothing: who asks for it has been asked about a transaction of that life, and
     * so has heard of it.
     *
     * @return whether it changed anything: the node's present life is that one
     */
    boolean fence(int node, long incarnation) {
        if (incarnation != lastLife(node)) {
            return false;
        }
        TreeMap<Long, Life> lives = nodes.get(node);
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
            TransactionId name = runs.get(id);
            if (name != null) {
                life.set(life.committed, count(name));
            }
        }
    }

    /** What a transaction has changed is left out everywhere after all. */
    void undone(TransactionId id) {
        Life life = life(id);
        if (life != null) {
            life.clear(count(id));
            TransactionId name = runs.get(id);
            if (name != null) {
                life.clear(count(name));
            }
        }
    }

    /** These, and behind them the names of those that are runs of others, as far as that is known. */
    List<TransactionId> withNames(List<TransactionId> transactions) {
        return Stream.concat(transactions.stream(), transactions.stream().map(runs::get).filter(Objects::nonNull))
                .toList();
    }

    /**
     * A transaction that has lost is run again.
     *
     * @param name under which it ran first
     * @param run of the same life; it may have committed already, by another node's message
     */
    void again(TransactionId name, TransactionId run) {
        Life life = life(name);
        if (life == null || life(run) != life) {
            return;
        }
        life.set(life.requests, count(name));
        runs.put(run, name);
        lastRuns.put(name, run);
        if (Life.get(life.committed, count(run))) {
            life.set(life.committed, count(name));
        }
        if (runs.size() > RUNS) {
            Map.Entry<TransactionId, TransactionId> oldest = runs.pollFirstEntry();
            lastRuns.remove(oldest.getValue(), oldest.getKey());
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
        if (Life.get(life.requests, count(id)) && !lastRuns.containsKey(id)) {
            return executing.containsValue(id) ? Answer.EXECUTING : Answer.UNKNOWN;
        }
        if (!life.over) {
            return Answer.OPEN;
        }
        if (undecided.test(id)) {
            return Answer.OPEN;
        }
        return conclusive ? Answer.ABORTED : Answer.UNKNOWN;
    }

    /** The same, when its node has said, in the order, that the transaction has ended. */
    Answer ofEnded(TransactionId id) {
        Answer answer = of(id);
        return answer == Answer.OPEN ? Answer.ABORTED : answer;
    }

    /** Whether the life of its node is known in which it began, and is over. */
    boolean isOver(TransactionId id) {
        Life life = life(id);
        return life != null && life.over;
    }

    // ------------------------------------------------------------------------------------------ snapshots

    /**
     * One life of a node in an image.
     *
     * @param lowest chunks below are not kept
     * @param committed bits of the committed ones, by number of the chunk
     * @param requests bits of those whose absence is no answer
     */
    record LifeImage(long incarnation, boolean over, int lowest, Map<Integer, long[]> committed,
            Map<Integer, long[]> requests) {
        private static final Type<Map<Integer, long[]>> BITS = Types.map(Types.COUNT, Types.longs(CHUNK_WORDS),
                2 * WINDOW / CHUNK);
        static final Schema<LifeImage> SCHEMA = Schema.part("life", LifeImage.class).of(
                Field.of("incarnation", Types.NATURAL, LifeImage::incarnation),
                Field.of("over", Types.BOOLEAN, LifeImage::over), Field.of("lowest", Types.COUNT, LifeImage::lowest),
                Field.of("committed", BITS, LifeImage::committed), Field.of("requests", BITS, LifeImage::requests),
                LifeImage::new);

        /** @throws IllegalArgumentException if a chunk is not one */
        LifeImage {
            for (Map<Integer, long[]> bits : List.of(committed, requests)) {
                for (long[] words : bits.values()) {
                    if (words.length != CHUNK_WORDS) {
                        throw new IllegalArgumentException("a chunk of " + words.length + " words");
                    }
                }
            }
        }
    }

    /** Everything but what is being executed, and which runs belong to which transaction. */
    record Image(Map<Integer, List<LifeImage>> nodes, Map<Integer, Long> fenced) {
        static final Schema<Image> SCHEMA = Schema.part("outcomes", Image.class).of(
                Field.of("nodes", Types.map(Types.u8(0, 255), Types.list(LifeImage.SCHEMA, LIVES), 256), Image::nodes),
                Field.of("fenced", Types.map(Types.u8(0, 255), Types.NATURAL, 256), Image::fenced), Image::new);
    }

    /** A view of what is here. */
    Image image() {
        Map<Integer, List<LifeImage>> images = new TreeMap<>();
        nodes.forEach((node, lives) -> images.put(node, lives.entrySet().stream().map(life -> new LifeImage(
                life.getKey(), life.getValue().over, life.getValue().lowest, life.getValue().committed,
                life.getValue().requests)).toList()));
        return new Image(images, fenced);
    }

    /** Begins from an image that was read. */
    void restore(Image image) {
        image.nodes.forEach((node, lives) -> {
            TreeMap<Long, Life> restored = new TreeMap<>();
            nodes.put(node, restored);
            for (LifeImage one : lives) {
                Life life = new Life();
                restored.put(one.incarnation, life);
                life.over = one.over;
                life.lowest = one.lowest;
                life.committed.putAll(one.committed);
                life.requests.putAll(one.requests);
            }
        });
        fenced.putAll(image.fenced);
    }
}
