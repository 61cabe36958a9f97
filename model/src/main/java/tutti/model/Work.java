package tutti.model;

import java.util.Arrays;
import java.util.List;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.KeySet;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.workload.tpcc.TpccInput;

/** One transaction of a client, in the database's terms: rows, bytes and processor time. */
final class Work {
    private static final long[] NONE = {};

    final RequestKind kind;
    /** Warehouse of the client. */
    final int warehouse;
    /** What its user typed in; of no meaning for maintenance. */
    final TpccInput input;
    final TransactionRequest request;
    /** Whether every replica executes it. */
    final boolean active;
    final long cpuNanos;
    /** Processor time of its client, and time in which neither computes. */
    final long clientNanos;
    final long waitingNanos;
    /** Its number in the run. */
    final long number;
    /** Whether its user gives it up when it has executed. */
    boolean givenUp;
    /* Known when it runs first. */
    long[] exclusive = NONE;
    long[] shared = NONE;
    int rows;
    WriteSet writes = new WriteSet(KeySet.EMPTY, new byte[0]);
    ReadSet reads = ReadSet.EMPTY;
    boolean resolved;
    /** What it executes one after the other; empty if it takes its locks at once and then computes. */
    List<Statement> statements = List.of();

    /**
     * A statement: it locks rows, one after the other, then computes; then its client may have to send the next one.
     *
     * @param rowsEnd up to which of the rows in {@link #exclusive} it locks
     * @param share of the processor time that the transaction takes when it has come as far as its first lock
     * @param endsCall whether the client has to be asked before the next one
     */
    record Statement(int rowsEnd, double share, boolean endsCall) {}

    /** Whether the owner of its log executes it. */
    boolean isForOwner() {
        return request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.OWNER;
    }

    /** How often its client is asked while it executes. */
    long calls() {
        return statements.stream().filter(Statement::endsCall).count();
    }

    /** Those that commit with it at one position, itself included. */
    List<Work> parts = List.of(this);

    /**
     * Several that are executed, and commit, in one transaction: under the name of the first. A row that more than one of them has changed is changed once.
     *
     * @param works resolved, at least one
     */
    static Work together(List<Work> works) {
        Work first = works.getFirst();
        if (works.size() == 1) {
            return first;
        }
        Work all = new Work(first.number, first.kind, first.warehouse, first.input, first.request, false,
                works.stream().mapToLong(work -> work.cpuNanos).sum(), 0, 0);
        all.id = first.id;
        all.parts = List.copyOf(works);
        all.resolved = true;
        all.exclusive = works.stream().flatMapToLong(work -> Arrays.stream(work.exclusive)).distinct().toArray();
        int twice = works.stream().mapToInt(work -> work.exclusive.length).sum() - all.exclusive.length;
        all.rows = works.stream().mapToInt(work -> work.rows).sum() - twice;
        KeySet.Builder keys = new KeySet.Builder();
        int bytes = 0;
        for (Work work : works) {
            KeySet own = work.writes.keys();
            for (int i = 0; i < own.size(); i++) {
                keys.add(own.hash(i), own.kind(i));
            }
            bytes += work.writes.changes().length;
        }
        all.writes = new WriteSet(keys.build(), new byte[bytes]);
        return all;
    }

    /* Known when a replica takes it. */
    TransactionId id = new TransactionId(0, 0);

    Work(long number, RequestKind kind, int warehouse, TpccInput input, TransactionRequest request, boolean active,
            long cpuNanos,
            long clientNanos, long waitingNanos) {
        this.number = number;
        this.kind = kind;
        this.warehouse = warehouse;
        this.input = input;
        this.request = request;
        this.active = active;
        this.cpuNanos = cpuNanos;
        this.clientNanos = clientNanos;
        this.waitingNanos = waitingNanos;
    }
}
