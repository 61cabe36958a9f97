package tutti.core.protocol;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.CertificationIndex;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * {@code si}: optimistic execution, one totally ordered message per transaction, non-voting certification of write
 * against write, and of reads for those who ask: one-copy snapshot isolation (MacroDDB sections 4.3.2 and 4.3.4; the snapshot-isolation variant of DBSM in
 * GORDA D5.1 and AKARA section 2.3).
 *
 * <pre>
 *  client    executed          delivered at position p, at every replica alike
 *    |          |                    |
 *    +--run-----+--- order ----------+-- certify --+-- commit (where it ran) / apply (elsewhere) -- committed -- answer
 *                (lastCommitted,                   +-- skip; abort and answer (where it ran)
 *                 keys, changes)
 * </pre>
 *
 * <p>
 * <b>What is certified.</b> A transaction T executed at replica A carries b, a position visible at A before its first
 * snapshot, and c ≥ b, the position visible at A when it held all its locks. It commits at p iff no transaction that
 * committed in (c, p), or in (b, p) for keys that T touches exclusively, touched one of its keys in a conflicting way
 * ({@link tutti.core.txn.KeyKind}).
 *
 * <p>
 * <b>Why that is snapshot isolation.</b> T's snapshot at A is the prefix 1..s for some s in [b, c], because A makes
 * positions visible in order. First-committer-wins asks that no committed transaction in (s, p) wrote what T wrote. For
 * (c, p) certification says so. For (s, c]: such a transaction was applied at A while T was open. If it was applied
 * before T wrote the row, the engine's first-updater-wins rule refused T's write; if T wrote the row first, T held the
 * lock that the applier needed, and was made a {@link #victim} before the position could become visible. So T did not
 * reach {@code executed} with that c. (A session that asked for READ COMMITTED reads the newest version before it writes;
 * the argument for writes is the same with s the snapshot of the statement.)
 *
 * <p>
 * <b>Why exclusive keys look back to b.</b> Appliers check no foreign keys and no deferrable unique constraints: a child
 * that is applied at A does not wait for T, which has deleted its parent, nor does the second of two equal deferrable
 * keys. The engine has caught neither, so certification does. The other direction needs no more than c: a child that T
 * inserted holds a share lock on its parent, for which the parent's deletion waits at A. An engine without such locks
 * ({@link tutti.core.spi.Engine#locksReferencedRows()}) has c = b, and then everything is compared from the snapshot on.
 *
 * <p>
 * <b>Locks that change nothing</b> (docs/decisions/0128). A row that T has locked is among its keys: exclusively, or read, so that it is compared from b on, and
 * refused if another has locked or changed the row meanwhile. Who has changed a row that another has only locked is compared from b on, too, if anybody has locked
 * anything since ({@link CertificationIndex#comparedAfter}): A applies no lock, so the engine has not compared the two. So of two concurrent transactions one of
 * which has locked what the other has locked or changed, in conflicting ways, one is aborted.
 *
 * <p>
 * <b>Why replicas agree.</b> The decision is a function of b, c, the keys and the outcomes at positions in (b, p), all of
 * which are functions of the ordered prefix. So is the floor below which the index forgets ({@link Horizons}; the number of keys above it, by
 * which it is raised, is one as well). A transaction
 * with b below it is aborted by every replica, whatever it happens to remember. That is rare: only a message of a replica's
 * former life that arrives late, or one older than the window, is below the floor.
 *
 * <p>
 * <b>Serializable transactions.</b> A transaction may bring what it has read ({@link CertifyReads}): then it commits only if
 * nothing that it read was written in (b, p) either, as under {@link DatabaseStateMachine}, so it read what it would have
 * read had it run alone at p. Those who bring nothing are decided, and told, as if there were no such transactions. Put all
 * writers in order of position and each transaction that changed nothing behind its snapshot: every dependency between
 * transactions leads forward, except an anti-dependency that leaves a writer which has not brought what it read. So
 * serializable transactions, and those that only read, have seen what those before them in this one order have left, the others' writes
 * included; a writer that is not serializable has its effect at its place in the order, but may have decided on it by what was older.
 *
 * <p>
 * <b>Turns.</b> A transaction that would pass is refused all the same if it is another node's turn at a row that it changes
 * ({@link NodeTurns}). Its client is answered when that turn is over.
 *
 * <p>
 * <b>Victims that were ordered already.</b> A transaction that was rolled back in the engine while its message was on its
 * way is certified like any other. If it passes, its write set is applied in its place and its client sees success: it
 * stood in the way by a lock that is no write (SELECT FOR UPDATE, a foreign key's share lock), or it would not pass.
 */
public final class SnapshotIsolation extends NonVotingCertification {
    /** The name in configurations. */
    public static final String NAME = "si";

    /** Its messages. */
    static final MessageSet<Message> MESSAGES = new MessageSet<>("si",
            "Under protocol `si`.",
            List.of(Certify.SCHEMA, Barrier.SCHEMA, Horizons.Progress.SCHEMA, NodeTurns.Over.SCHEMA,
                    CertifyReads.SCHEMA));

    /** Of a table of which a transaction has read more rows than this, it is taken to have read everything. */
    static final int ROWS_PER_TABLE_MAX = 1000;

    /**
     * Parameters; the same at every replica except {@code node}.
     *
     * @param node this replica
     * @param replicas all replicas, alive or not, this one included
     * @param windowPositions how far back a transaction may have executed, in positions: 1 to
     *            {@link CertificationIndex#SPAN_MAX}/2; bounds the memory of the index while a replica is away
     * @param keysMax how many keys of those that committed are remembered at most, at least 1
     * @param progressIntervalNanos how often an otherwise silent replica says how far it has come, in nanoseconds
     * @param lossesToTurn after how many losses of a row in a row a node has its turn there; 0 for never
     */
    public record Parameters(int node, Set<Integer> replicas, long windowPositions, int keysMax,
            long progressIntervalNanos,
            int lossesToTurn) {
        public Parameters {
            replicas = Checks.founders(replicas);
            Checks.window(windowPositions, keysMax);
            Checks.time("progressIntervalNanos", progressIntervalNanos);
        }
    }

    /** Asks for a transaction to be certified. */
    record Certify(TransactionId transaction, long begun, long lastCommitted, long horizon,
            WriteSet writes) implements Candidate {
        static final Schema<Certify> SCHEMA = Schema
                .message("certify", 1, Certify.class, "Asks for a transaction to be certified.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Certify::transaction),
                        Field.of("begun", Types.NATURAL, Certify::begun),
                        Field.of("lastCommitted", Types.NATURAL, Certify::lastCommitted),
                        Field.of("horizon", Types.NATURAL, Certify::horizon),
                        Field.of("writes", WriteSet.SCHEMA, Certify::writes), Certify::new);
    }

    /**
     * Asks for a serializable transaction to be certified.
     *
     * @param reads keys of what it read
     */
    record CertifyReads(TransactionId transaction, long begun, long lastCommitted, long horizon, WriteSet writes,
            KeySet reads) implements Candidate {
        static final Schema<CertifyReads> SCHEMA = Schema
                .message("certify-reads", 5, CertifyReads.class,
                        "Asks for a transaction to be certified, and with it what it has read.")
                .of(
                        Field.of("transaction", TransactionId.SCHEMA, CertifyReads::transaction),
                        Field.of("begun", Types.NATURAL, CertifyReads::begun),
                        Field.of("lastCommitted", Types.NATURAL, CertifyReads::lastCommitted),
                        Field.of("horizon", Types.NATURAL, CertifyReads::horizon),
                        Field.of("writes", WriteSet.SCHEMA, CertifyReads::writes),
                        Field.of("reads", KeySet.SCHEMA, CertifyReads::reads), CertifyReads::new);
    }

    private final Parameters parameters;

    /** A replica at the beginning of the order. */
    public SnapshotIsolation(Parameters parameters, ReplicaWorld world) {
        super(NAME, parameters.node(), parameters.replicas(), parameters.windowPositions(), parameters.keysMax(),
                parameters.progressIntervalNanos(),
                parameters.lossesToTurn(), world);
        this.parameters = parameters;
    }

    /** What it was made with. */
    public Parameters parameters() {
        return parameters;
    }

    @Override
    Candidate candidate(TransactionId transaction, Execution execution, long horizon) {
        long after = index().comparedAfter(execution.begun(), execution.lastCommitted());
        return execution.reads().isEmpty()
                ? new Certify(transaction, execution.begun(), after, horizon, execution.writes())
                : new CertifyReads(transaction, execution.begun(), after, horizon,
                        execution.writes(), execution.reads().coarser(ROWS_PER_TABLE_MAX).keys());
    }

    @Override
    @Nullable
    AbortReason conflict(Candidate candidate) {
        AbortReason lost = index().certify(candidate.writes().keys(), candidate.begun(), candidate.lastCommitted());
        return lost == null && candidate instanceof CertifyReads serializable
                ? index().stale(serializable.reads(), serializable.begun())
                : lost;
    }

    /** What it keeps in a snapshot. */
    record Snapshot(Image certification) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema.message("si", 1, Snapshot.class, "Of protocol `si`.")
                .of(Field.of("certification", Image.SCHEMA, Snapshot::certification), Snapshot::new);
    }

    @Override
    public byte[] snapshot() {
        return new Snapshot(image()).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        restore(Snapshots.open(snapshot, Snapshot.class).certification());
    }
}
