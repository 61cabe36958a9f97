package tutti.check.history;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tutti.check.column.IntColumn;
import tutti.check.column.LongColumn;
import tutti.check.column.LongIndex;
import tutti.core.txn.TransactionId;

/**
 * Takes down a {@link History} while it happens: the world (simulated, or a model in a test) tells what transactions and
 * replicas do, in any order. A transaction is there as soon as it is mentioned. One thread; memory grows with the
 * history, up to 2^29 transactions or operations.
 */
public final class HistoryRecorder {
    final IntColumn nodes = new IntColumn();
    final LongColumn serials = new LongColumn();
    final IntColumn sessions = new IntColumn();
    final LongColumn begun = new LongColumn();
    final LongColumn answered = new LongColumn();
    final IntColumn answers = new IntColumn();
    final LongColumn snapshots = new LongColumn();
    final LongColumn positions = new LongColumn();
    final IntColumn attempts = new IntColumn();
    final Log reads = new Log();
    final Log writes = new Log();
    final LongIndex keys = new LongIndex();
    final Map<Long, String> keyNames = new HashMap<>();
    private final @Nullable LongIndex[] serialsOfNode = new @Nullable LongIndex[256];
    private final IntColumn[] transactionsOfNode = new IntColumn[256];
    private final TreeMap<Integer, Replica> replicas = new TreeMap<>();

    /** The index of a transaction, given now if it is new. */
    public int transaction(TransactionId id) {
        LongIndex index = serialsOfNode[id.node()];
        if (index == null) {
            index = new LongIndex();
            serialsOfNode[id.node()] = index;
            transactionsOfNode[id.node()] = new IntColumn();
        }
        int known = index.size();
        int number = index.add(id.serial());
        IntColumn transactions = transactionsOfNode[id.node()];
        if (number == known) {
            transactions.add(nodes.size());
            nodes.add(id.node());
            serials.add(id.serial());
            sessions.add(-1);
            begun.add(History.NO_INSTANT);
            answered.add(History.NO_INSTANT);
            answers.add(History.Answer.NONE.ordinal());
            snapshots.add(History.NO_SNAPSHOT);
            positions.add(0);
            attempts.add(0);
        }
        return transactions.get(number);
    }

    /**
     * Its client began it.
     *
     * @param session whose transactions run one after the other
     */
    public void begun(TransactionId id, int session, long nanos) {
        int transaction = transaction(id);
        sessions.set(transaction, session);
        begun.set(transaction, nanos);
    }

    /** Its client was answered. */
    public void answered(TransactionId id, long nanos, History.Answer answer) {
        int transaction = transaction(id);
        answered.set(transaction, nanos);
        answers.set(transaction, answer.ordinal());
    }

    /** Its snapshot holds the effects of all positions up to this one and of no others. */
    public void snapshot(TransactionId id, long position) {
        snapshots.set(transaction(id), position);
    }

    /** It read a key, and found the version of this writer, or of nobody ({@code null}): the initial one. */
    public void read(TransactionId id, long key, @Nullable TransactionId writer) {
        int transaction = transaction(id);
        reads.add(transaction, keys.add(key), writer == null ? History.INITIAL : transaction(writer),
                attempts.get(transaction));
    }

    /** It wrote a key. Only the first time counts, the version being that of the whole transaction. */
    public void write(TransactionId id, long key) {
        int transaction = transaction(id);
        writes.add(transaction, keys.add(key), 0, attempts.get(transaction));
    }

    /** It is executed once more from its beginning: what it has read and written so far does not count. */
    public void executedAgain(TransactionId id) {
        int transaction = transaction(id);
        attempts.set(transaction, attempts.get(transaction) + 1);
        snapshots.set(transaction, History.NO_SNAPSHOT);
    }

    /**
     * Its changes are part of the history, at this position.
     *
     * @param position at least 1; different for all transactions that change something
     * @throws IllegalStateException if another position was told before
     */
    public void committed(TransactionId id, long position) {
        int transaction = transaction(id);
        long before = positions.get(transaction);
        if (position < 1 || (before != 0 && before != position)) {
            throw new IllegalStateException(id + " committed at position " + position + ", before that at " + before);
        }
        positions.set(transaction, position);
    }

    /** What it has changed is no part of the history after all, whatever its client was told. */
    public void undone(TransactionId id) {
        int transaction = transaction(id);
        positions.set(transaction, 0);
        answers.set(transaction, History.Answer.NONE.ordinal());
    }

    /** That a replica has applied a transaction, as was {@linkplain #applied told}, does not count: it has made nothing of it, and others have left it out. */
    public void withdrawn(int replica, TransactionId id) {
        replicas.computeIfAbsent(replica, _ -> new Replica()).withdrawn.add(transaction(id));
    }

    /** What was told of a replica does not count. */
    public void forget(int replica) {
        replicas.remove(replica);
    }

    /** How people call a key. */
    public void name(long key, String name) {
        keyNames.put(key, name);
    }

    /** A replica started from the state of this position: 0 if from the initial one. A first start need not be told. */
    public void started(int replica, long after) {
        replicas.computeIfAbsent(replica, _ -> new Replica()).start(after);
    }

    /**
     * A replica made a transaction's changes visible. The position is also the transaction's own if none was told
     * before; that it is the same everywhere is for a checker to find out.
     *
     * @param state hash of its whole state now; 0 if not taken
     */
    public void applied(int replica, long position, TransactionId id, long state) {
        int transaction = transaction(id);
        if (positions.get(transaction) == 0) {
            positions.set(transaction, position);
        }
        Replica log = replicas.computeIfAbsent(replica, _ -> new Replica());
        log.applied(position, transaction, state);
    }

    /** A replica ended, and has not been started since if that is the last thing told of it. */
    public void crashed(int replica) {
        replicas.computeIfAbsent(replica, _ -> new Replica()).crashed = true;
    }

    /** What was told so far. The recorder can go on. */
    public History history() {
        return new History(this);
    }

    List<ReplicaLog> replicaLogs() {
        List<ReplicaLog> logs = new ArrayList<>();
        replicas.forEach((number, replica) -> logs.add(replica.log(number)));
        return List.copyOf(logs);
    }

    /** Reads or writes, in the order in which they were told. */
    static final class Log {
        private final IntColumn transactions = new IntColumn();
        private final IntColumn keys = new IntColumn();
        private final IntColumn writers = new IntColumn();
        private final IntColumn attempts = new IntColumn();

        void add(int transaction, int key, int writer, int attempt) {
            transactions.add(transaction);
            keys.add(key);
            writers.add(writer);
            attempts.add(attempt);
        }

        /** Those of the last attempts, sorted by transaction; the same key and writer once only. */
        Operations byTransaction(int count, IntColumn lastAttempts) {
            int[] starts = new int[count + 1];
            for (int i = 0; i < transactions.size(); i++) {
                if (attempts.get(i) == lastAttempts.get(transactions.get(i))) {
                    starts[transactions.get(i) + 1]++;
                }
            }
            for (int i = 0; i < count; i++) {
                starts[i + 1] += starts[i];
            }
            int[] sortedKeys = new int[starts[count]];
            int[] sortedWriters = new int[starts[count]];
            int[] next = starts.clone();
            for (int i = 0; i < transactions.size(); i++) {
                int transaction = transactions.get(i);
                if (attempts.get(i) == lastAttempts.get(transaction)) {
                    int at = next[transaction]++;
                    sortedKeys[at] = keys.get(i);
                    sortedWriters[at] = writers.get(i);
                }
            }
            return distinct(new Operations(starts, sortedKeys, sortedWriters));
        }

        private static Operations distinct(Operations all) {
            int count = all.starts.length - 1;
            int[] starts = new int[count + 1];
            int kept = 0;
            for (int transaction = 0; transaction < count; transaction++) {
                int from = all.starts[transaction];
                int to = all.starts[transaction + 1];
                // Most transactions are short; for the others a set.
                Set<Long> seen = to - from > 32 ? new HashSet<>() : Set.of();
                for (int i = from; i < to; i++) {
                    int key = all.keys[i];
                    int writer = all.writers[i];
                    boolean first = to - from > 32
                            ? seen.add((long) key << 32 | (writer & 0xffff_ffffL))
                            : !contains(all, starts[transaction], kept, key, writer);
                    if (first) {
                        all.keys[kept] = key;
                        all.writers[kept++] = writer;
                    }
                }
                starts[transaction + 1] = kept;
            }
            return new Operations(starts, Arrays.copyOf(all.keys, kept),
                    Arrays.copyOf(all.writers, kept));
        }

        private static boolean contains(Operations in, int from, int to, int key, int writer) {
            for (int i = from; i < to; i++) {
                if (in.keys[i] == key && in.writers[i] == writer) {
                    return true;
                }
            }
            return false;
        }
    }

    /** Operations of transaction t lie at indexes starts[t] to starts[t + 1] exclusive. */
    record Operations(int[] starts, int[] keys, int[] writers) {}

    private static final class Replica {
        private final List<ReplicaLog.Life> ended = new ArrayList<>();
        private boolean crashed;
        private long after;
        private LongColumn positions = new LongColumn();
        private IntColumn transactions = new IntColumn();
        private LongColumn states = new LongColumn();
        private final Set<Integer> withdrawn = new HashSet<>();

        void start(long from) {
            if (positions.size() > 0) {
                ended.add(life());
            }
            crashed = false;
            after = from;
            positions = new LongColumn();
            transactions = new IntColumn();
            states = new LongColumn();
        }

        void applied(long position, int transaction, long state) {
            positions.add(position);
            transactions.add(transaction);
            states.add(state);
        }

        private ReplicaLog.Life life() {
            return new ReplicaLog.Life(after, positions.toArray(), transactions.toArray(), states.toArray());
        }

        ReplicaLog log(int number) {
            List<ReplicaLog.Life> lives = new ArrayList<>(ended);
            lives.add(life());
            lives.replaceAll(this::counted);
            return new ReplicaLog(number, crashed, lives);
        }

        private ReplicaLog.Life counted(ReplicaLog.Life life) {
            int[] counted = IntStream.range(0, life.size()).filter(i -> !withdrawn.contains(life.transactions()[i]))
                    .toArray();
            return counted.length == life.size()
                    ? life
                    : new ReplicaLog.Life(life.after(),
                            IntStream.of(counted).mapToLong(i -> life.positions()[i]).toArray(),
                            IntStream.of(counted).map(i -> life.transactions()[i]).toArray(),
                            IntStream.of(counted).mapToLong(i -> life.states()[i]).toArray());
        }
    }
}
