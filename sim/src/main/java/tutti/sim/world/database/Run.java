package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.check.isolation.LockExclusionCheck;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.workload.listappend.ListAppendOperation;

/** One execution of a program: what it has read and written so far. Takes no locks; that is for whoever runs it. */
public final class Run {
    private static final int FIRST_VALUE = 1;

    private final TransactionId transaction;
    private final Program program;
    private final EngineKind kind;
    private final Map<Long, Store.Version> reads = new LinkedHashMap<>();
    private final TreeMap<Long, int @Nullable []> writes = new TreeMap<>();
    private final List<ListAppendOperation> operations = new ArrayList<>();
    private final ReadSet.Builder readSet = new ReadSet.Builder();
    private final LockedRows locked = new LockedRows();
    private boolean holdsLocked;
    private List<LockExclusionCheck.Hold> held = List.of();
    private long seen;
    private int next;
    private long snapshot;
    private List<Long> written = List.of();

    /**
     * At its beginning.
     *
     * @param salt of a program whose results differ from run to run, something that does; otherwise 0
     */
    Run(TransactionId transaction, Program program, long salt, EngineKind kind) {
        this.transaction = transaction;
        this.kind = kind;
        this.program = program;
        seen = Program.mix(program.tag(), salt);
    }

    /** Whose it is. */
    public TransactionId transaction() {
        return transaction;
    }

    /** The next statement; null if there is none. */
    Program.@Nullable Step next() {
        return next < program.steps().size() ? program.steps().get(next) : null;
    }

    /**
     * Carries the next statement out, on the rows as {@code reader} finds them.
     *
     * @return false if a foreign key forbids it; then nothing was done
     */
    boolean perform(LongFunction<Store.Version> reader) {
        Program.Step step = program.steps().get(next++);
        long row = step.row();
        switch (step.action()) {
            case READ, LOCK -> {
                int[] value = read(row, reader);
                if (Catalog.isList(row)) {
                    operations.add(new ListAppendOperation.Read(row, value == null ? new int[0] : value));
                }
                if (step.action() == Program.Action.LOCK && kind == EngineKind.H2 && value != null) {
                    writes.put(row, value);
                }
                if (value != null) {
                    lock(step);
                }
            }
            case ADVISE -> lock(step);
            case SCAN -> {
                readSet.scan(Catalog.tableKey(Catalog.REGISTER_TABLE));
                Catalog.allRegisters().forEach(register -> read(register, reader));
            }
            case APPEND -> {
                int[] before = read(row, reader);
                int length = before == null ? 0 : before.length;
                int[] longer = before == null ? new int[1] : Arrays.copyOf(before, length + 1);
                longer[length] = step.value();
                operations.add(new ListAppendOperation.Append(row, step.value()));
                writes.put(row, longer);
            }
            case SET -> writes.put(row, new int[]{(int) Program.mix(seen, row) | FIRST_VALUE});
            case DELETE -> {
                if (Catalog.isRegister(row) && isReferred(row, reader)) {
                    return false;
                }
                writes.put(row, null);
            }
            case LINK -> {
                if (peek(Catalog.register(step.value()), reader) == null) {
                    return false;
                }
                writes.put(row, new int[]{step.value(), (int) Program.mix(seen, row)});
            }
        }
        return true;
    }

    private void lock(Program.Step step) {
        if (step.tellsLock() && kind.locksAlone()) {
            locked.add(step.row(), step.lock());
        }
    }

    private boolean isReferred(long register, LongFunction<Store.Version> reader) {
        return Catalog.allLinks().stream().map(link -> peek(link, reader))
                .anyMatch(link -> link != null && Catalog.referred(link) == register);
    }

    /** What a row holds, for a foreign key's sake; what it decides is whether the transaction may go on, and nothing else. */
    private int @Nullable [] peek(long row, LongFunction<Store.Version> reader) {
        return writes.containsKey(row) ? writes.get(row) : reader.apply(row).value();
    }

    private int @Nullable [] read(long row, LongFunction<Store.Version> reader) {
        readSet.row(Catalog.tableKey(Catalog.table(row)), Catalog.rowKey(row));
        int[] value;
        if (writes.containsKey(row)) {
            value = writes.get(row);
        } else {
            Store.Version version = reader.apply(row);
            reads.putIfAbsent(row, version);
            value = version.value();
        }
        seen = Program.mix(seen, value == null ? 0 : Arrays.hashCode(value));
        return value;
    }

    void snapshot(long position) {
        snapshot = position;
    }

    /** The position whose state it has read. */
    public long snapshot() {
        return snapshot;
    }

    /** Whether the next statement is the first. */
    boolean isFresh() {
        return next == 0;
    }

    /** What it changed, given what was there before: all that it will have changed. */
    Changes changes(LongFunction<Store.Version> before) {
        TreeMap<Long, Changes.Change> rows = new TreeMap<>();
        writes.forEach((row, value) -> {
            Changes.Change change = Changes.Change.between(row, before.apply(row).value(), value);
            if (change != null) {
                rows.put(row, change);
            }
        });
        written = List.copyOf(rows.keySet());
        Changes changes = new Changes(transaction, rows);
        held = changes.holds();
        return changes;
    }

    /** What it has locked and not changed, of what a front end is told. */
    public LockedRows locked() {
        return locked;
    }

    /** It commits with what it has {@link #locked}, which it holds. */
    public void holdsLocked() {
        holdsLocked = true;
    }

    /** What it holds that nobody else may: what it changes, refers to, and has locked. */
    public List<LockExclusionCheck.Hold> held() {
        return holdsLocked ? Stream.concat(held.stream(), locked.holds()).toList() : held;
    }

    /** The rows that it has changed, ascending; known when it has executed all. */
    public List<Long> written() {
        return written;
    }

    /** What it read, as a read set. */
    public ReadSet readSet() {
        return readSet.build();
    }

    /** What it did to lists, as its client sees it. */
    public List<ListAppendOperation> operations() {
        return operations;
    }

    /** Who wrote the version of each row that it read and had not written itself; null for the initial one. */
    public Map<Long, @Nullable TransactionId> reads() {
        Map<Long, @Nullable TransactionId> writers = new LinkedHashMap<>();
        reads.forEach((row, version) -> writers.put(row, version.writer()));
        return writers;
    }
}
