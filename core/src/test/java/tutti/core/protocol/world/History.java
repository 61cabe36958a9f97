package tutti.core.protocol.world;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Guarantee;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/**
 * What happened in one run: what each position was decided to be, what each transaction saw and wrote, what its client was
 * told. Replicas that decide differently are found when they do; everything else by {@link #check} at the end.
 */
final class History {
    enum Kind {
        WRITE, EXECUTE, SKIP
    }

    /** What happens at a position. */
    record Decision(Kind kind, @Nullable TransactionId transaction, byte[] content) {
        static final Decision SKIP = new Decision(Kind.SKIP, null, new byte[0]);

        boolean same(Decision other) {
            return kind == other.kind && (transaction == null
                    ? other.transaction == null
                    : transaction.equals(other.transaction)) && Arrays.equals(content, other.content);
        }

        @Override
        public String toString() {
            return kind == Kind.SKIP ? "nothing" : kind + " of " + transaction;
        }
    }

    /**
     * One execution of a transaction.
     *
     * @param acknowledged the highest position that any client had been told of when this one was submitted
     * @param snapshot what it read: the state at this position
     * @param reads what it found in rows that it had not written
     * @param changes its write set's
     */
    record Run(TransactionId transaction, long acknowledged, long snapshot, Map<Integer, Long> reads, byte[] changes) {}

    private final TreeMap<Long, Decision> decisions = new TreeMap<>();
    private final Map<TransactionId, List<Run>> runs = new HashMap<>();
    private final List<Run> readers = new ArrayList<>();
    private final Map<TransactionId, Outcome> answers = new HashMap<>();
    private final ModelEngine serial = new ModelEngine();
    private long acknowledged;

    /** A replica decided. */
    void decided(int node, long position, Decision decision) {
        Decision before = decisions.putIfAbsent(position, decision);
        if (before != null && !before.same(decision)) {
            throw new AssertionError("position " + position + " is " + decision + " at replica " + node + ", but "
                    + before + " elsewhere");
        }
    }

    Map<Long, Decision> after(long position) {
        return decisions.tailMap(position, false);
    }

    void executed(Run run) {
        runs.computeIfAbsent(run.transaction(), _ -> new ArrayList<>()).add(run);
    }

    /** A transaction that changed nothing ended. */
    void read(Run run) {
        readers.add(run);
    }

    void answered(TransactionId transaction, Outcome outcome) {
        Outcome before = answers.put(transaction, outcome);
        if (before != null) {
            throw new AssertionError(transaction + " was told " + before + " and then " + outcome);
        }
        if (outcome instanceof Outcome.Committed committed) {
            acknowledged = Math.max(acknowledged, committed.position());
        }
    }

    boolean hasAnswered(TransactionId transaction) {
        return answers.containsKey(transaction);
    }

    /** Highest position that any client has been told of. */
    long acknowledged() {
        return acknowledged;
    }

    /** Replays everything one by one, and compares it with what was seen and told. */
    void check(Guarantee guarantee) {
        Map<TransactionId, Long> committed = new HashMap<>();
        decisions.forEach((position, decision) -> {
            TransactionId transaction = decision.transaction();
            if (transaction == null) {
                return;
            }
            Long before = committed.put(transaction, position);
            if (before != null) {
                throw new AssertionError(transaction + " is in the history at " + before + " and at " + position);
            }
            if (decision.kind() == Kind.EXECUTE) {
                Program program = Program.parse(decision.content());
                serial.commit(position, program.run(row -> serial.read(row, position - 1)));
            } else {
                Run run = runOf(transaction, decision.content(), position);
                Map<Integer, Long> changes = Program.changes(Site.writes(decision.content()));
                checkRun(run, changes, position, guarantee);
                serial.commit(position, changes);
            }
        });
        for (Run reader : readers) {
            checkReads(reader, reader.snapshot(), "its snapshot");
        }
        answers.forEach((transaction, outcome) -> {
            long told = outcome instanceof Outcome.Committed c ? c.position() : 0;
            long position = committed.getOrDefault(transaction, 0L);
            if (told != position) {
                throw new AssertionError(transaction + " was told " + outcome + ", but "
                        + (position == 0 ? "is not in the history" : "is in the history at " + position));
            }
        });
    }

    /** The last that wrote this: an earlier one was rolled back. */
    private Run runOf(TransactionId transaction, byte[] content, long position) {
        byte[] changes = Site.writes(content).changes();
        for (Run run : runs.getOrDefault(transaction, List.of()).reversed()) {
            if (Arrays.equals(run.changes(), changes)) {
                return run;
            }
        }
        throw new AssertionError(transaction + " at " + position + " writes what no run of it wrote");
    }

    private void checkRun(Run run, Map<Integer, Long> changes, long position, Guarantee guarantee) {
        if (run.snapshot() >= position) {
            throw new AssertionError(run.transaction() + " read the state at " + run.snapshot() + " and has position "
                    + position);
        }
        checkReads(run, run.snapshot(), "its snapshot");
        for (int row : changes.keySet()) {
            if (serial.lastWritten(row) > run.snapshot()) {
                throw new AssertionError("lost update: " + run.transaction() + " at " + position + " read the state at "
                        + run.snapshot() + " and overwrites row " + row + " of position " + serial.lastWritten(row));
            }
        }
        if (guarantee == Guarantee.SERIALIZABILITY) {
            checkReads(run, position - 1, "a serial execution");
        }
        if (guarantee == Guarantee.STRONG_SNAPSHOT_ISOLATION && run.snapshot() < run.acknowledged()) {
            throw new AssertionError(run.transaction() + " at " + position + " read the state at " + run.snapshot()
                    + " though position " + run.acknowledged() + " had been acknowledged before it was submitted");
        }
    }

    private void checkReads(Run run, long position, String expected) {
        run.reads().forEach((row, value) -> {
            long there = serial.read(row, position);
            if (there != value) {
                throw new AssertionError(run.transaction() + " with snapshot " + run.snapshot() + " found " + value
                        + " in row " + row + ", but in " + expected + " (after " + position + ") it holds " + there);
            }
        });
    }

    /** Compares what a replica holds, having made everything visible, with the serial replay; after {@link #check}. */
    void compare(int node, Map<Integer, Long> state) {
        Map<Integer, Long> expected = serial.state();
        if (!state.equals(expected)) {
            throw new AssertionError("replica " + node + " holds " + state + ", the history gives " + expected);
        }
    }
}
