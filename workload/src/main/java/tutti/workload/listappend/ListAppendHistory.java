package tutti.workload.listappend;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tutti.workload.client.ClientOutcome;

/**
 * What the clients of a list-append run saw: all transactions, those of a session in their order. Columns of primitive
 * numbers, about 45 bytes per transaction, 20 per operation and 4 per value read. Bounded. {@link #add} may be called from
 * any thread; reading is for after the run.
 */
public final class ListAppendHistory {
    private final int limit;
    private int size;
    private int[] sessions = new int[64];
    private int[] nodes = new int[64];
    private long[] begun = new long[64];
    private long[] ended = new long[64];
    private byte[] outcomes = new byte[64];
    private int[] operationStarts = new int[65];
    private long[] keys = new long[256];
    // Of an append, its value; of a read, 0.
    private int[] appended = new int[256];
    // Of an append -1; of a read, where its values begin.
    private int[] valueStarts = new int[256];
    private int[] valueEnds = new int[256];
    private int[] values = new int[1024];
    private int valueCount;

    /**
     * Empty.
     *
     * @param limit most transactions, at least 1
     */
    public ListAppendHistory(int limit) {
        if (limit < 1) {
            throw new IllegalArgumentException("limit must be at least 1, was " + limit);
        }
        this.limit = limit;
    }

    /** Notes a transaction that has ended; false if the history is full and it was not noted. */
    public synchronized boolean add(ListAppendTransaction transaction) {
        if (size >= limit) {
            return false;
        }
        if (size == sessions.length) {
            int larger = grown(size, 1);
            sessions = Arrays.copyOf(sessions, larger);
            nodes = Arrays.copyOf(nodes, larger);
            begun = Arrays.copyOf(begun, larger);
            ended = Arrays.copyOf(ended, larger);
            outcomes = Arrays.copyOf(outcomes, larger);
            operationStarts = Arrays.copyOf(operationStarts, larger + 1);
        }
        sessions[size] = transaction.session();
        nodes[size] = transaction.node();
        begun[size] = transaction.begunNanos();
        ended[size] = transaction.endedNanos();
        outcomes[size] = (byte) (transaction.outcome().ordinal() | (transaction.last() ? 4 : 0));
        int at = operationStarts[size];
        for (ListAppendOperation operation : transaction.operations()) {
            add(at++, operation);
        }
        operationStarts[++size] = at;
        return true;
    }

    private void add(int at, ListAppendOperation operation) {
        if (at == keys.length) {
            int larger = grown(at, 1);
            keys = Arrays.copyOf(keys, larger);
            appended = Arrays.copyOf(appended, larger);
            valueStarts = Arrays.copyOf(valueStarts, larger);
            valueEnds = Arrays.copyOf(valueEnds, larger);
        }
        keys[at] = operation.key();
        switch (operation) {
            case ListAppendOperation.Append append -> {
                appended[at] = append.value();
                valueStarts[at] = -1;
            }
            case ListAppendOperation.Read read -> {
                int length = read.values().length;
                if (valueCount + length > values.length) {
                    values = Arrays.copyOf(values, grown(valueCount, length));
                }
                System.arraycopy(read.values(), 0, values, valueCount, length);
                valueStarts[at] = valueCount;
                valueCount += length;
                valueEnds[at] = valueCount;
            }
        }
    }

    private static int grown(int size, int more) {
        long larger = Math.min(size + (long) (size >> 1) + more, Integer.MAX_VALUE - 8L);
        if (larger < size + (long) more) {
            throw new IllegalStateException("a history cannot hold more than " + size + " values");
        }
        return (int) larger;
    }

    /** How many transactions. */
    public synchronized int size() {
        return size;
    }

    /** Who ran it. */
    public int session(int transaction) {
        return sessions[transaction];
    }

    /** Where it ran: index of the database. */
    public int node(int transaction) {
        return nodes[transaction];
    }

    /** An instant before it began, in nanoseconds. */
    public long begunNanos(int transaction) {
        return begun[transaction];
    }

    /** An instant after it had ended, in nanoseconds; of no meaning if the outcome is unknown. */
    public long endedNanos(int transaction) {
        return ended[transaction];
    }

    /** How it ended. */
    public ClientOutcome outcome(int transaction) {
        return ClientOutcome.values()[outcomes[transaction] & 3];
    }

    /** Whether it read after everything else. */
    public boolean last(int transaction) {
        return (outcomes[transaction] & 4) != 0;
    }

    /** Index of its first operation; its operations end where those of the next transaction begin. */
    public int operationsFrom(int transaction) {
        return operationStarts[transaction];
    }

    /** Index after its last operation. */
    public int operationsTo(int transaction) {
        return operationStarts[transaction + 1];
    }

    /** The list concerned. */
    public long key(int operation) {
        return keys[operation];
    }

    /** Whether it is an append; otherwise a read. */
    public boolean isAppend(int operation) {
        return valueStarts[operation] < 0;
    }

    /** The value that an append appends. */
    public int appended(int operation) {
        return appended[operation];
    }

    /** How many values a read returned. */
    public int length(int read) {
        return valueEnds[read] - valueStarts[read];
    }

    /** A value that a read returned, by its place in the list from 0. */
    public int value(int read, int place) {
        return values[valueStarts[read] + place];
    }

    /** All values that a read returned. */
    public int[] values(int read) {
        return Arrays.copyOfRange(values, valueStarts[read], valueEnds[read]);
    }

    /** A transaction as it was added. */
    public ListAppendTransaction transaction(int transaction) {
        List<ListAppendOperation> operations = new ArrayList<>();
        for (int i = operationsFrom(transaction); i < operationsTo(transaction); i++) {
            operations.add(isAppend(i)
                    ? new ListAppendOperation.Append(keys[i], appended[i])
                    : new ListAppendOperation.Read(keys[i], values(i)));
        }
        return new ListAppendTransaction(sessions[transaction], nodes[transaction], begun[transaction],
                ended[transaction], outcome(transaction), last(transaction), operations);
    }
}
