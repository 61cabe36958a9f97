package tutti.core.protocol.world;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntToLongFunction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;

/**
 * What a transaction of the test world does, step by step. Rows are named by small integers; row {@code k} lies in table
 * {@code k % TABLES}; a row that holds 0 is not there. What is written depends on everything read before, so that a replica
 * that read something else writes something else.
 *
 * @param tag makes what is written unlike what other programs write
 * @param steps at least one
 */
record Program(long tag, List<Step> steps) {
    /** Tables of the test world. */
    static final int TABLES = 3;
    /** Rows that may be there, in all tables together. */
    static final int ROWS = 18;

    /** One statement. */
    record Step(Action action, int argument) {
        boolean writes() {
            return action == Action.WRITE || action == Action.DELETE;
        }
    }

    /** What a statement does with its argument, a row or, for {@code SCAN}, a table. {@code LOCK} reads for update. */
    enum Action {
        READ, SCAN, LOCK, WRITE, DELETE;

        private static final Action[] VALUES = values();
    }

    /** One to five random statements on few rows, so that transactions meet. */
    static Program random(SplittableRandom random, long tag, boolean readOnly) {
        List<Step> steps = new ArrayList<>();
        int size = 1 + random.nextInt(5);
        int base = random.nextInt(ROWS);
        boolean oneTable = random.nextBoolean();
        for (int i = 0; i < size; i++) {
            int row = oneTable ? (base + random.nextInt(ROWS / TABLES) * TABLES) % ROWS : random.nextInt(ROWS);
            int dice = random.nextInt(20);
            Action action;
            if (dice < 5 || (readOnly && dice < 12)) {
                action = Action.READ;
            } else if (dice < 7 || readOnly) {
                action = Action.SCAN;
            } else if (dice < 9) {
                action = Action.LOCK;
            } else {
                action = dice < 18 ? Action.WRITE : Action.DELETE;
            }
            steps.add(new Step(action, action == Action.SCAN ? table(row) : row));
        }
        return new Program(tag, List.copyOf(steps));
    }

    /** Writes these rows and nothing else. */
    static Program writing(long tag, int... rows) {
        List<Step> steps = new ArrayList<>();
        for (int row : rows) {
            steps.add(new Step(Action.WRITE, row));
        }
        return new Program(tag, steps);
    }

    static int table(int row) {
        return row % TABLES;
    }

    /** Key of a row in write and read sets. */
    static long rowKey(int row) {
        return 1000L + row;
    }

    /** Key of a table in write and read sets, and its conflict class. */
    static long tableKey(int table) {
        return 1L + table;
    }

    private TreeSet<Long> tables() {
        TreeSet<Long> tables = new TreeSet<>();
        for (Step step : steps) {
            tables.add(tableKey(step.action() == Action.SCAN ? step.argument() : table(step.argument())));
        }
        return tables;
    }

    /** The tables that it touches. */
    ConflictClasses classes() {
        return ConflictClasses.of(tables());
    }

    /** What it is certified against when every replica executes it: the tables that it may write, as a schema change does. */
    KeySet exclusiveKeys() {
        KeySet.Builder keys = new KeySet.Builder();
        for (long table : tables()) {
            keys.add(table, KeyKind.EXCLUSIVE);
        }
        return keys.build();
    }

    /** Whether it changes a row of this table. */
    boolean writes(int table) {
        return steps.stream().anyMatch(step -> step.writes() && table(step.argument()) == table);
    }

    /** What the next read makes of what was read so far. */
    static long mix(long seen, long value) {
        long mixed = (seen ^ value) * 0x9E3779B97F4A7C15L;
        return mixed ^ mixed >>> 29;
    }

    /** What is written after this was seen; never 0. */
    static long written(long seen, int row) {
        return mix(seen, row) | 1;
    }

    /** Runs it in one go, alone, on a state; answers the rows that it changed. */
    Map<Integer, Long> run(IntToLongFunction state) {
        Map<Integer, Long> written = new TreeMap<>();
        long seen = tag;
        for (Step step : steps) {
            switch (step.action()) {
                case READ, LOCK -> seen = mix(seen, value(step.argument(), written, state));
                case SCAN -> {
                    for (int row = step.argument(); row < ROWS; row += TABLES) {
                        seen = mix(seen, value(row, written, state));
                    }
                }
                case WRITE -> written.put(step.argument(), written(seen, step.argument()));
                case DELETE -> written.put(step.argument(), 0L);
            }
        }
        return written;
    }

    private static long value(int row, Map<Integer, Long> written, IntToLongFunction state) {
        Long own = written.get(row);
        return own == null ? state.applyAsLong(row) : own;
    }

    /** As the statement of a whole request. */
    byte[] statement() {
        ByteBuffer to = ByteBuffer.allocate(12 + steps.size() * 5);
        to.putLong(tag).putInt(steps.size());
        for (Step step : steps) {
            to.put((byte) step.action().ordinal()).putInt(step.argument());
        }
        return to.array();
    }

    static Program parse(byte[] statement) {
        ByteBuffer from = ByteBuffer.wrap(statement);
        long tag = from.getLong();
        List<Step> steps = new ArrayList<>();
        for (int i = from.getInt(); i > 0; i--) {
            steps.add(new Step(Action.VALUES[from.get()], from.getInt()));
        }
        return new Program(tag, steps);
    }

    /**
     * The write set of a transaction that wrote these rows.
     *
     * @param before what each row held in the transaction's snapshot
     */
    static WriteSet writeSet(Map<Integer, Long> written, IntToLongFunction before) {
        if (written.isEmpty()) {
            return WriteSet.EMPTY;
        }
        KeySet.Builder keys = new KeySet.Builder();
        TreeSet<Integer> tables = new TreeSet<>();
        ByteBuffer to = ByteBuffer.allocate(4 + written.size() * 12).putInt(written.size());
        written.forEach((row, value) -> {
            tables.add(table(row));
            boolean stays = before.applyAsLong(row) != 0 && value != 0;
            keys.add(rowKey(row), stays ? KeyKind.UPDATE : KeyKind.EXCLUSIVE);
            to.putInt(row).putLong(value);
        });
        for (int table : tables) {
            keys.add(tableKey(table), KeyKind.REFERENCE);
        }
        return new WriteSet(keys.build(), to.array());
    }

    /** The rows and values of a write set. */
    static Map<Integer, Long> changes(WriteSet writes) {
        Map<Integer, Long> rows = new TreeMap<>();
        if (writes.isEmpty()) {
            return rows;
        }
        ByteBuffer from = ByteBuffer.wrap(writes.changes());
        for (int i = from.getInt(); i > 0; i--) {
            rows.put(from.getInt(), from.getLong());
        }
        return rows;
    }
}
