package tutti.check.history;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import tutti.core.txn.TransactionId;

/**
 * What happened in a run, as somebody who sees all replicas from inside knows it: for each transaction when it ran, which
 * version of which key it read, what it wrote, how it ended and at which position; for each replica what it applied.
 * Transactions and keys are numbered from 0 in the order in which they were first mentioned. Columns of primitive
 * numbers, about 80 bytes per transaction and 8 per read or write. Immutable; made by {@link HistoryRecorder}.
 *
 * <p>
 * A version of a key is named by the transaction that wrote it, so that a transaction has at most one version of a key,
 * its last; {@link #INITIAL} names the version that was there before the run. Positions order the versions of a key.
 */
public final class History {
    /** In place of a writer: the version that was there before the run. */
    public static final int INITIAL = -1;
    /** In place of an instant that is not known. */
    public static final long NO_INSTANT = Long.MIN_VALUE;
    /** In place of a snapshot position that is not known. */
    public static final long NO_SNAPSHOT = -1;

    /** What the client was told. */
    public enum Answer {
        /** That the transaction committed. */
        COMMITTED,
        /** That it did not. */
        ABORTED,
        /** Nothing. */
        NONE
    }

    final int[] nodes;
    final long[] serials;
    final int[] sessions;
    final long[] begun;
    final long[] answered;
    final byte[] answers;
    final long[] snapshots;
    final long[] positions;
    final int[] readStarts;
    final int[] readKeys;
    final int[] readWriters;
    final int[] writeStarts;
    final int[] writeKeys;
    final long[] keys;
    final Map<Long, String> keyNames;
    private final List<ReplicaLog> replicas;

    History(HistoryRecorder from) {
        nodes = from.nodes.toArray();
        serials = from.serials.toArray();
        sessions = from.sessions.toArray();
        begun = from.begun.toArray();
        answered = from.answered.toArray();
        answers = new byte[nodes.length];
        for (int i = 0; i < answers.length; i++) {
            answers[i] = (byte) from.answers.get(i);
        }
        snapshots = from.snapshots.toArray();
        positions = from.positions.toArray();
        HistoryRecorder.Operations reads = from.reads.byTransaction(nodes.length, from.attempts);
        readStarts = reads.starts();
        readKeys = reads.keys();
        readWriters = reads.writers();
        HistoryRecorder.Operations writes = from.writes.byTransaction(nodes.length, from.attempts);
        writeStarts = writes.starts();
        writeKeys = writes.keys();
        keys = from.keys.toArray();
        keyNames = Map.copyOf(from.keyNames);
        replicas = from.replicaLogs();
    }

    /** How many transactions. */
    public int transactions() {
        return nodes.length;
    }

    /** How many keys. */
    public int keys() {
        return keys.length;
    }

    /** Name of a transaction. */
    public TransactionId id(int transaction) {
        return new TransactionId(nodes[transaction], serials[transaction]);
    }

    /** A transaction as people read it. */
    public String name(int transaction) {
        return transaction == INITIAL ? "the initial state" : "T" + id(transaction);
    }

    /** A key as people read it. */
    public String keyName(int key) {
        return Optional.ofNullable(keyNames.get(keys[key])).orElseGet(() -> "key " + keys[key]);
    }

    /** The session that ran it: transactions of a session run one after the other. -1 if not known. */
    public int session(int transaction) {
        return sessions[transaction];
    }

    /** When its client began it, in nanoseconds of a clock that is the same for all; or {@link #NO_INSTANT}. */
    public long begunNanos(int transaction) {
        return begun[transaction];
    }

    /** When its client was answered; or {@link #NO_INSTANT}. */
    public long answeredNanos(int transaction) {
        return answered[transaction];
    }

    /** What its client was told. */
    public Answer answer(int transaction) {
        return Answer.values()[answers[transaction]];
    }

    /** The position whose state it read, if the replica says so; or {@link #NO_SNAPSHOT}. */
    public long snapshot(int transaction) {
        return snapshots[transaction];
    }

    /** The position at which its changes were committed by some replica; 0 if none did. */
    public long position(int transaction) {
        return positions[transaction];
    }

    /** Whether it is part of what happened: it has a position, or its client was told that it committed. */
    public boolean committed(int transaction) {
        return positions[transaction] > 0 || answers[transaction] == (byte) Answer.COMMITTED.ordinal();
    }

    /** Index of its first read; its reads end where those of the next transaction begin. */
    public int readsFrom(int transaction) {
        return readStarts[transaction];
    }

    /** Index after its last read. */
    public int readsTo(int transaction) {
        return readStarts[transaction + 1];
    }

    /** The key of a read. */
    public int readKey(int read) {
        return readKeys[read];
    }

    /** The transaction whose version a read returned; or {@link #INITIAL}. */
    public int readWriter(int read) {
        return readWriters[read];
    }

    /** Index of its first write; its writes end where those of the next transaction begin. */
    public int writesFrom(int transaction) {
        return writeStarts[transaction];
    }

    /** Index after its last write. */
    public int writesTo(int transaction) {
        return writeStarts[transaction + 1];
    }

    /** The key of a write. No key is written twice by one transaction. */
    public int writeKey(int write) {
        return writeKeys[write];
    }

    /** Whether it wrote anything. */
    public boolean writes(int transaction) {
        return writeStarts[transaction] < writeStarts[transaction + 1];
    }

    /** What the replicas applied. */
    public List<ReplicaLog> replicas() {
        return replicas;
    }
}
