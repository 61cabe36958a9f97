package tutti.sim.world.database;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.RowLock;
import tutti.core.txn.TransactionId;
import tutti.workload.listappend.ListAppendOperation;

/**
 * What a transaction does, statement by statement. What is written to registers depends on everything read before, so that
 * a replica that read something else writes something else; what is appended to lists is said beforehand, so that it names
 * the transaction.
 *
 * @param tag makes what is written to registers unlike what other programs write
 * @param steps at least one
 */
public record Program(long tag, List<Step> steps) {
    private static final int STEP_BYTES = 1 + 8 + 4;
    private static final long GOLDEN = 0x9E3779B97F4A7C15L;
    private static final int MIX_SHIFT = 29;

    public Program {
        steps = List.copyOf(steps);
        if (steps.isEmpty()) {
            throw new IllegalArgumentException("a program without statements");
        }
    }

    /**
     * What a statement does with its row; {@code SCAN} reads all registers, {@code LOCK} reads a row and locks it, {@code LINK} has a
     * link refer to the register whose number is the step's value, {@code ADVISE} takes an advisory lock.
     */
    public enum Action {
        READ, SCAN, LOCK, APPEND, SET, DELETE, LINK, ADVISE;

        private static final Action[] VALUES = values();

        /** Whether it changes something. */
        public boolean writes() {
            return this == APPEND || this == SET || this == DELETE || this == LINK;
        }
    }

    /**
     * One statement.
     *
     * @param row of the catalog; a list for {@code APPEND}, a register for {@code SET}, a register or link for {@code DELETE}, a
     *            link for {@code LINK}; 0 for {@code SCAN}; an advisory lock for {@code ADVISE}
     * @param value to be appended, or the number of the register; of {@code LOCK} and {@code ADVISE} how it is locked
     */
    public record Step(Action action, long row, int value) {
        /** A statement that locks what its front end tells its node of; others lock for update inside of functions, of which no node hears. */
        public static Step locking(Action action, long row, RowLock lock) {
            return new Step(action, row, 1 + lock.ordinal());
        }

        /** Of a statement that needs no value. */
        public Step(Action action, long row) {
            this(action, row, 0);
        }

        /** How it locks its row, if it does. */
        RowLock lock() {
            return value == 0 ? RowLock.UPDATE : RowLock.values()[value - 1];
        }

        /** Whether its node is told what it locks. */
        boolean tellsLock() {
            return (action == Action.LOCK || action == Action.ADVISE) && value > 0;
        }

        /** Whether it is about rows of a table. */
        boolean hasTable() {
            return action != Action.ADVISE;
        }

        int table() {
            return action == Action.SCAN ? Catalog.REGISTER_TABLE : Catalog.table(row);
        }
    }

    /** Whether it may change anything, as its statements' texts say; reading for update does in some databases. */
    public boolean writes() {
        return steps.stream().anyMatch(step -> step.action.writes() || step.action == Action.LOCK);
    }

    /** What it tries to do to lists, as a client knows it that was not told how it ended. */
    public List<ListAppendOperation> appends() {
        List<ListAppendOperation> appends = new ArrayList<>();
        for (Step step : steps) {
            if (step.action == Action.APPEND) {
                appends.add(new ListAppendOperation.Append(step.row, step.value));
            }
        }
        return appends;
    }

    /** Keys of the tables that it touches, also for a foreign key's sake. */
    public TreeSet<Long> tables() {
        TreeSet<Long> tables = new TreeSet<>();
        steps.stream().filter(Step::hasTable).forEach(step -> {
            tables.add(Catalog.tableKey(step.table()));
            // A link and the register that it refers to come along with each other.
            if (step.action == Action.LINK) {
                tables.add(Catalog.tableKey(Catalog.REGISTER_TABLE));
            } else if (step.action == Action.DELETE && Catalog.isRegister(step.row)) {
                tables.add(Catalog.tableKey(Catalog.LINK_TABLE));
            }
        });
        return tables;
    }

    /** The tables that it touches. */
    public ConflictClasses classes() {
        return ConflictClasses.of(tables());
    }

    /** What it is certified against when every replica executes it: its tables, as a schema change does. */
    public KeySet exclusiveKeys() {
        KeySet.Builder keys = new KeySet.Builder();
        tables().forEach(table -> keys.add(table, KeyKind.EXCLUSIVE));
        return keys.build();
    }

    /** What the next read makes of what was read so far. */
    static long mix(long seen, long value) {
        long mixed = (seen ^ value) * GOLDEN;
        return mixed ^ mixed >>> MIX_SHIFT;
    }

    /** As the statement of a whole request of this transaction. */
    public byte[] statement(TransactionId transaction) {
        ByteBuffer to = ByteBuffer.allocate(TransactionId.SCHEMA.size(transaction) + 12 + steps.size() * STEP_BYTES);
        TransactionId.SCHEMA.write(transaction, to);
        to.putLong(tag).putInt(steps.size());
        for (Step step : steps) {
            to.put((byte) step.action.ordinal()).putLong(step.row).putInt(step.value);
        }
        return to.array();
    }

    /**
     * What {@link Program#statement} wrote.
     *
     * @param transaction whose it is
     * @param program what it does
     */
    record Statement(TransactionId transaction, Program program) {
        static Statement parse(byte[] statement) {
            ByteBuffer from = ByteBuffer.wrap(statement);
            TransactionId transaction = TransactionId.SCHEMA.read(from);
            long tag = from.getLong();
            List<Step> steps = new ArrayList<>();
            for (int i = from.getInt(); i > 0; i--) {
                steps.add(new Step(Action.VALUES[from.get()], from.getLong(), from.getInt()));
            }
            return new Statement(transaction, new Program(tag, steps));
        }
    }
}
