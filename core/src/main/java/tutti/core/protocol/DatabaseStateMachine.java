package tutti.core.protocol;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.BloomFilter;
import tutti.core.certify.CertificationIndex;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * {@code dbsm}: optimistic execution, one totally ordered message with write set and read set per transaction, non-voting
 * certification at every replica: one-copy serializability (the database state machine; AKARA section 2.3, GORDA D5.1
 * section 3.3.1 for read sets by table, D²STM for read sets as Bloom filters).
 *
 * <pre>
 *  client    executed             delivered at position p, at every replica alike
 *    |          |                       |
 *    +--run-----+--- order -------------+-- certify --+-- commit (where it ran) / apply (elsewhere) -- committed -- answer
 *                (begun, lastCommitted,               +-- skip; abort and answer (where it ran)
 *                 keys, changes, read set)
 * </pre>
 *
 * <p>
 * <b>What is certified.</b> Writes, and locks that change nothing, as in {@link SnapshotIsolation}. Besides, T with position p commits only if no
 * transaction that committed in (b, p) wrote what T read, where b is a position that was visible before T's first snapshot.
 * No engine certifies reads for us, so they are compared with everything after b and not, like writes, with what is after
 * the commit request only. T's snapshot s may lie above b: a write in (b, s] aborts T without need, and never admits it.
 *
 * <p>
 * <b>Why that is serializability.</b> Let T have snapshot s ≥ b and position p. No row that T read was written in (s, p), so
 * T read what it would have read had it run alone at p. Hence the execution equals the serial one in order of position.
 * <i>Phantoms</i>: what T looked for and did not find it has read too. A lookup by key reads that key, present or not, and
 * an insertion writes it (EXCLUSIVE); whatever else looks for rows reads the table (SCAN), whose key every write set that
 * touches the table carries, at least as REFERENCE. So an insertion into what T searched meets T's read set.
 * <i>Transactions that changed nothing</i> are not certified and never get here: each read one snapshot of one replica, the
 * state after some position s, and stands between s and s + 1 in the serial order. They do not meet the anomaly of read-only
 * transactions under weaker protocols, because the serial order of writers <i>is</i> the order in which they become visible.
 * <i>An empty read set</i> (blind writes) passes. <i>Requests that every replica executes</i> run alone at their position.
 *
 * <p>
 * <b>Read sets.</b> By row; a table of which more than {@code rowsPerTableMax} rows were read is taken as read entirely, which
 * bounds the message and aborts more. As a Bloom filter, rows take 10 to 20 bits and not 72, and every key written in
 * (b, p) is looked up in the filter, so that certification costs what was written meanwhile and not what was read. Each such
 * key that was not read is taken for one with the stated probability; a filter forgets nothing, so it can only abort.
 * Tables are always sent exactly.
 *
 * <p>
 * <b>Why replicas agree</b>, and when a transaction is too old: as in {@link SnapshotIsolation}.
 */
public final class DatabaseStateMachine extends NonVotingCertification {
    /** The name in configurations. */
    public static final String NAME = "dbsm";

    /** Its messages. */
    static final MessageSet<Message> MESSAGES = new MessageSet<>("dbsm",
            "Under protocol `dbsm`.",
            List.of(Certify.SCHEMA, Barrier.SCHEMA, Horizons.Progress.SCHEMA, NodeTurns.Over.SCHEMA));

    /** How read sets are sent. */
    public enum Reads {
        /** The key of every row. */
        ROWS,
        /** A filter that contains them. */
        BLOOM
    }

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included
     * @param windowPositions how far back a transaction may have executed, in positions: 1 to
     *            {@link CertificationIndex#SPAN_MAX}/2
     * @param keysMax how many keys of those that committed are remembered at most, at least 1
     * @param progressIntervalNanos how often an otherwise silent replica says how far it has come, in nanoseconds
     * @param reads how read sets are sent
     * @param rowsPerTableMax of how many rows a table's part of a read set may be, at least 0
     * @param falsePositiveRate probability with which a key that was not read is taken for one that was, if reads are sent as
     *            a filter: above 0, below 1
     * @param lossesToTurn after how many losses of a row in a row a node has its turn there; 0 for never
     */
    public record Parameters(int node, Set<Integer> replicas, long windowPositions, int keysMax,
            long progressIntervalNanos,
            Reads reads, int rowsPerTableMax, double falsePositiveRate, int lossesToTurn) {
        public Parameters {
            replicas = Checks.founders(replicas);
            Checks.window(windowPositions, keysMax);
            Checks.time("progressIntervalNanos", progressIntervalNanos);
            if (rowsPerTableMax < 0) {
                throw new IllegalArgumentException("rowsPerTableMax " + rowsPerTableMax);
            }
            if (!(falsePositiveRate > 0 && falsePositiveRate < 1)) {
                throw new IllegalArgumentException("falsePositiveRate " + falsePositiveRate);
            }
        }
    }

    /**
     * Asks for a transaction to be certified.
     *
     * @param reads keys that were read: all of them, or those of tables if there is a filter
     * @param rows keys of the rows that were read, unless they are in {@code reads}
     */
    record Certify(TransactionId transaction, long begun, long lastCommitted, long horizon, WriteSet writes,
            KeySet reads, @Nullable BloomFilter rows) implements Candidate {
        static final Schema<Certify> SCHEMA = Schema
                .message("certify", 1, Certify.class, "Asks for a transaction to be certified.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Certify::transaction),
                        Field.of("begun", Types.NATURAL, Certify::begun),
                        Field.of("lastCommitted", Types.NATURAL, Certify::lastCommitted),
                        Field.of("horizon", Types.NATURAL, Certify::horizon),
                        Field.of("writes", WriteSet.SCHEMA, Certify::writes),
                        Field.of("reads", KeySet.SCHEMA, Certify::reads),
                        Field.of("rows", Types.optional(BloomFilter.SCHEMA), Certify::rows), Certify::new);
    }

    /** Keys that were written at a position, in a way that reads of rows conflict with, and perhaps later, too. */
    record Written(long position, long[] keys) {
        static final Schema<Written> SCHEMA = Schema.part("written keys", Written.class).of(
                Field.of("position", Types.NATURAL, Written::position),
                Field.of("keys", Types.longs(Types.BYTES_MAX / Long.BYTES), Written::keys), Written::new);
    }

    /** What it keeps in a snapshot. */
    record Snapshot(Reads reads, Image certification, List<Written> written) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema.message("dbsm", 2, Snapshot.class, "Of protocol `dbsm`.").of(
                Field.of("reads", Types.oneOf(Reads.class), Snapshot::reads),
                Field.of("certification", Image.SCHEMA, Snapshot::certification),
                Field.of("written", Types.list(Written.SCHEMA, Integer.MAX_VALUE), Snapshot::written), Snapshot::new);
    }

    /** So many more are not worth looking through them. */
    private static final int WRITTEN_EXTRA = 1000;

    private final Parameters parameters;
    /**
     * What was written above the floor, oldest first; kept only if reads are sent as filters. A key need not stand where it was written before the last
     * time: whoever has not seen that has not seen the last time either.
     */
    private final ArrayDeque<Written> written = new ArrayDeque<>();
    /** Keys in all of these: about twice as many as the index has, at most. */
    private long writtenKeys;

    /** A replica at the beginning of the order. */
    public DatabaseStateMachine(Parameters parameters, ReplicaWorld world) {
        super(NAME, parameters.node(), parameters.replicas(), parameters.windowPositions(), parameters.keysMax(),
                parameters.progressIntervalNanos(),
                parameters.lossesToTurn(), world);
        this.parameters = parameters;
    }

    @Override
    Candidate candidate(TransactionId transaction, Execution execution, long horizon) {
        ReadSet reads = execution.reads().coarser(parameters.rowsPerTableMax());
        boolean byRow = parameters.reads() == Reads.ROWS;
        long after = index().comparedAfter(execution.begun(), execution.lastCommitted());
        return new Certify(transaction, execution.begun(), after, horizon, execution.writes(),
                byRow ? reads.keys() : reads.tableKeys(),
                byRow ? null : BloomFilter.of(reads.rowKeys(), parameters.falsePositiveRate()));
    }

    @Override
    @Nullable
    AbortReason conflict(Candidate candidate) {
        if (!(candidate instanceof Certify request)) {
            throw foreign(candidate);
        }
        AbortReason lost = index().certify(request.writes().keys(), request.begun(), request.lastCommitted());
        if (lost != null) {
            return lost;
        }
        AbortReason stale = index().stale(request.reads(), request.begun());
        BloomFilter rows = request.rows();
        return stale != null || rows == null ? stale : stale(rows, request.begun());
    }

    /** Why a transaction may not commit that has read rows of a filter; null if it may. */
    private @Nullable AbortReason stale(BloomFilter rows, long begun) {
        for (Iterator<Written> newest = written.descendingIterator(); newest.hasNext();) {
            Written transaction = newest.next();
            if (transaction.position() <= begun) {
                break;
            }
            for (long key : transaction.keys()) {
                if (rows.mayContain(key)) {
                    return new AbortReason.StaleRead(transaction.position());
                }
            }
        }
        return null;
    }

    @Override
    void note(KeySet keys, long position) {
        super.note(keys, position);
        if (parameters.reads() == Reads.BLOOM) {
            long[] hashes = new long[keys.size()];
            int size = 0;
            for (int i = 0; i < keys.size(); i++) {
                if (keys.kind(i).conflictsWith(KeyKind.READ)) {
                    hashes[size++] = keys.hash(i);
                }
            }
            written(new Written(position, Arrays.copyOf(hashes, size)));
        }
    }

    @Override
    void forget(long floor) {
        super.forget(floor);
        while (!written.isEmpty() && written.peek().position() <= index().floor()) {
            writtenKeys -= written.remove().keys().length;
        }
        if (writtenKeys > 2L * index().live() + WRITTEN_EXTRA) {
            keepLastWritten();
        }
    }

    private void written(Written at) {
        written.add(at);
        writtenKeys += at.keys().length;
    }

    /** Leaves each key where it was written last. */
    private void keepLastWritten() {
        List<Written> all = List.copyOf(written);
        written.clear();
        writtenKeys = 0;
        for (Written each : all) {
            long[] last = Arrays.stream(each.keys())
                    .filter(key -> index().lastConflicting(key, KeyKind.READ) == each.position()).toArray();
            if (last.length > 0) {
                written(new Written(each.position(), last));
            }
        }
    }

    @Override
    public byte[] snapshot() {
        return new Snapshot(parameters.reads(), image(), List.copyOf(written)).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        Snapshot from = Snapshots.open(snapshot, Snapshot.class);
        if (from.reads() != parameters.reads()) {
            throw new IllegalArgumentException("the snapshot is of replicas that do not send reads as "
                    + parameters.reads() + ": what certification needs is not in it");
        }
        restore(from.certification());
        from.written().forEach(this::written);
    }
}
