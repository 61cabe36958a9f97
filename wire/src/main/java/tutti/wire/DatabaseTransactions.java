package tutti.wire;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.AbortReason;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.engine.postgres.databases.DatabaseTag;
import tutti.node.TransactionNames;
import tutti.node.TransactionOutcome;
import tutti.node.Transactions;
import tutti.node.metrics.NodeMetrics;
import tutti.node.trace.Traces;

/**
 * The node, as sessions of another than the configured database see it: what they hand in says of which database it is. Safe for use from any
 * thread.
 */
final class DatabaseTransactions implements Transactions {
    private final Transactions node;
    private final long database;
    private final long salt;

    /** @param database as {@link DatabaseTag} names it */
    DatabaseTransactions(Transactions node, long database) {
        this.node = node;
        this.database = database;
        this.salt = DatabaseTag.salt(database);
    }

    // ------------------------------------------------------------------------------------------ what says of which database it is

    @Override
    public Ticket begin(LocalTransaction transaction, long since, @Nullable TransactionId name) {
        return new Tagging(node.begin(transaction, since, name));
    }

    @Override
    public Ticket begin(LocalTransaction transaction, @Nullable TransactionId name) {
        return new Tagging(node.begin(transaction, name));
    }

    @Override
    public Ticket again(LocalTransaction transaction, long since, TransactionId name) {
        return new Tagging(node.again(transaction, since, name));
    }

    @Override
    public void barrier(byte[] statement, KeySet keys, @Nullable TransactionId name, Completion<ExecuteResult> done) {
        node.barrier(DatabaseTag.tag(database, statement), keys.salted(salt), name, done);
    }

    @Override
    public void request(byte[] request, ConflictClasses classes, KeySet keys, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        node.request(DatabaseTag.tag(database, request), classes.salted(salt), keys.salted(salt), name, done);
    }

    @Override
    public void undertake(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<ExecuteResult> done) {
        node.undertake(DatabaseTag.tag(database, request), classes.salted(salt), name, done);
    }

    @Override
    public void log(byte[] request, ConflictClasses classes, @Nullable TransactionId name,
            Completion<TransactionId> logged) {
        node.log(DatabaseTag.tag(database, request), classes.salted(salt), name, logged);
    }

    @Override
    public boolean isWanted(long key) {
        return node.isWanted(key ^ salt);
    }

    @Override
    public boolean wantsAny() {
        return node.wantsAny();
    }

    @Override
    public boolean mayBeWanted(int kind) {
        return node.mayBeWanted(kind ^ (int) (salt >>> Integer.SIZE));
    }

    @Override
    public void want(long key) {
        node.want(key ^ salt);
    }

    @Override
    public Booking book(long key, Completion<Long> come) {
        return node.book(key ^ salt, come);
    }

    /** A transaction of the database. */
    private final class Tagging implements Ticket {
        private final Ticket ticket;

        Tagging(Ticket ticket) {
            this.ticket = ticket;
        }

        @Override
        public TransactionId id() {
            return ticket.id();
        }

        @Override
        public void submit(TransactionRequest request) {
            ticket.submit(switch (request) {
                case TransactionRequest.Interactive(ConflictClasses classes) ->
                    new TransactionRequest.Interactive(classes.salted(salt));
                case TransactionRequest.Whole(byte[] statement, ConflictClasses classes, KeySet keys, var placement) ->
                    new TransactionRequest.Whole(DatabaseTag.tag(database, statement), classes.salted(salt),
                            keys.salted(salt), placement);
            });
        }

        @Override
        public void renewed(long since) {
            ticket.renewed(since);
        }

        @Override
        public void executed(WriteSet writes, ReadSet reads) {
            ticket.executed(DatabaseTag.tag(database, writes), reads.salted(salt));
        }

        @Override
        public void ended() {
            ticket.ended();
        }

        @Override
        public void failed(AbortReason.Failed cause) {
            ticket.failed(cause);
        }
    }

    // ------------------------------------------------------------------------------------------ the same for all databases

    @Override
    public boolean executesAtOnce() {
        return node.executesAtOnce();
    }

    @Override
    public boolean needsReads() {
        return node.needsReads();
    }

    @Override
    public boolean takesReads() {
        return node.takesReads();
    }

    @Override
    public boolean hearsOfWaits() {
        return node.hearsOfWaits();
    }

    @Override
    public boolean needsClasses() {
        return node.needsClasses();
    }

    @Override
    public boolean classesCoverReads() {
        return node.classesCoverReads();
    }

    @Override
    public boolean wholeOnly() {
        return node.wholeOnly();
    }

    @Override
    public boolean serializable() {
        return node.serializable();
    }

    @Override
    public boolean everywhereIfPossible() {
        return node.everywhereIfPossible();
    }

    @Override
    public long visiblePosition() {
        return node.visiblePosition();
    }

    @Override
    public long arrivedPosition() {
        return node.arrivedPosition();
    }

    @Override
    public long hold() {
        return node.hold();
    }

    @Override
    public void unhold(long position) {
        node.unhold(position);
    }

    @Override
    public TransactionNames names() {
        return node.names();
    }

    @Override
    public @Nullable TransactionId reserve() {
        return node.reserve();
    }

    @Override
    public void release(TransactionId name) {
        node.release(name);
    }

    @Override
    public void outcome(TransactionId transaction, Completion<TransactionOutcome> done) {
        node.outcome(transaction, done);
    }

    @Override
    public void await(long position, Completion<Long> done) {
        node.await(position, done);
    }

    @Override
    public void awaitAll(Completion<Long> done) {
        node.awaitAll(done);
    }

    @Override
    public boolean promises() {
        return node.promises();
    }

    @Override
    public void awaitElsewhere(long position, long patienceNanos, Completion<Set<Integer>> done) {
        node.awaitElsewhere(position, patienceNanos, done);
    }

    @Override
    public boolean undertakes() {
        return node.undertakes();
    }

    @Override
    public void repeats() {
        node.repeats();
    }

    @Override
    public void repeatedInVain() {
        node.repeatedInVain();
    }

    @Override
    public void lost(NodeMetrics.Loss loss) {
        node.lost(loss);
    }

    @Override
    public void slow(long nanos, String statement) {
        node.slow(nanos, statement);
    }

    @Override
    public Traces traces() {
        return node.traces();
    }

    @Override
    public @Nullable String refusal() {
        return node.refusal();
    }
}
