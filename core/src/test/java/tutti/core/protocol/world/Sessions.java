package tutti.core.protocol.world;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Execution;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.TransactionRequest;
import tutti.core.protocol.Trait;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * Local transactions and appliers of one site, against its {@link ModelEngine}: statements, waits, deadlocks,
 * first-updater-wins, victims, changes of others that are prepared, and positions becoming visible in order.
 */
final class Sessions {
    enum Phase {
        /** Not running: waits for its protocol. */
        IDLE,
        /** Between its first statement and commit, or rolled back there. */
        RUNNING,
        /** Has executed. */
        ASKED,
        /** Has a position. */
        CERTIFIED,
        /** Has been answered. */
        ENDED
    }

    /** A client's transaction. */
    static final class Local extends ModelEngine.Owner {
        final TransactionId id;
        final Program program;
        final TransactionRequest request;
        final long acknowledged;
        final Map<Integer, Long> writes = new TreeMap<>();
        final Map<Integer, Long> reads = new TreeMap<>();
        ReadSet.Builder readSet = new ReadSet.Builder();
        Phase phase = Phase.IDLE;
        Priority priority = Priority.OPTIMISTIC;
        boolean told;
        boolean rolledBack;
        int runs;
        long begun;
        long snapshot;
        long position;
        int next;
        long seen;

        Local(TransactionId id, Program program, TransactionRequest request, long acknowledged) {
            this.id = id;
            this.program = program;
            this.request = request;
            this.acknowledged = acknowledged;
        }

        @Override
        public String toString() {
            return id + " " + phase + (rolledBack ? " rolled back" : "") + " " + request.getClass().getSimpleName();
        }
    }

    /** Changes of a remote transaction that are made and not committed. */
    static final class Prepared extends ModelEngine.Owner {
        final TransactionId id;
        final Map<Integer, Long> rows;
        Set<TransactionId> toldBlockers = Set.of();
        boolean done;
        boolean certified;

        Prepared(TransactionId id, Map<Integer, Long> rows) {
            this.id = id;
            this.rows = rows;
        }
    }

    enum SlotKind {
        SKIP, REMOTE, LOCAL, PREPARED, BARRIER
    }

    /** A position that is decided and not visible. */
    static final class Slot extends ModelEngine.Owner {
        final long position;
        SlotKind kind;
        boolean applied;
        Map<Integer, Long> rows = Map.of();
        @Nullable
        Local local;
        @Nullable
        Prepared preparation;
        @Nullable
        Program program;

        Slot(long position, SlotKind kind) {
            this.position = position;
            this.kind = kind;
        }

        @Override
        public String toString() {
            return kind + " at " + position;
        }
    }

    private final Site site;
    private final ArrayDeque<Slot> slots = new ArrayDeque<>();

    Sessions(Site site) {
        this.site = site;
    }

    void clear() {
        slots.clear();
    }

    @Nullable
    Slot head() {
        return slots.peek();
    }

    // ------------------------------------------------------------------------------------------ clients

    /** A client begins. */
    void begin(Program program, TransactionRequest request, boolean toldEarly) {
        Local local = new Local(site.nextId(), program, request, site.world.history.acknowledged());
        site.locals.put(local.id, local);
        boolean forAll = request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.ALL;
        if (site.world.protocol.has(Trait.EXECUTES_AT_ONCE) && !forAll) {
            start(local);
            if (toldEarly) {
                submit(local);
            }
        } else {
            submit(local);
        }
    }

    private void submit(Local local) {
        if (!local.told) {
            local.told = true;
            site.tell(() -> site.protocol.submitted(local.id, local.request));
        }
    }

    private void start(Local local) {
        local.phase = Phase.RUNNING;
        local.rolledBack = false;
        local.runs++;
        local.begun = site.engine.visible();
        local.snapshot = -1;
        local.next = 0;
        local.seen = local.program.tag();
        if (local.request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.ONE) {
            // Another run, another result.
            local.seen = Program.mix(local.seen, local.runs);
        }
        local.writes.clear();
        local.reads.clear();
        local.readSet = new ReadSet.Builder();
    }

    List<Local> running() {
        List<Local> running = new ArrayList<>();
        for (Local local : site.locals.values()) {
            if (local.phase == Phase.RUNNING && !local.rolledBack) {
                running.add(local);
            }
        }
        return running;
    }

    /** The next statement of a running transaction, or its commit. */
    void step(Local local) {
        if (local.next == local.program.steps().size()) {
            finish(local);
            return;
        }
        if (local.snapshot < 0) {
            local.snapshot = site.engine.visible();
        }
        Program.Step step = local.program.steps().get(local.next);
        int argument = step.argument();
        switch (step.action()) {
            case READ -> read(local, argument);
            case LOCK -> {
                if (!lock(local, argument)) {
                    return;
                }
                read(local, argument);
            }
            case SCAN -> {
                local.readSet.scan(Program.tableKey(argument));
                for (int row = argument; row < Program.ROWS; row += Program.TABLES) {
                    read(local, row);
                }
            }
            case WRITE, DELETE -> {
                if (!lock(local, argument)) {
                    return;
                }
                local.writes.put(argument,
                        step.action() == Program.Action.DELETE ? 0L : Program.written(local.seen, argument));
            }
        }
        local.next++;
    }

    private void read(Local local, int row) {
        local.readSet.row(Program.tableKey(Program.table(row)), Program.rowKey(row));
        Long own = local.writes.get(row);
        long value = own == null ? site.engine.read(row, local.snapshot) : own;
        if (own == null) {
            local.reads.put(row, value);
        }
        local.seen = Program.mix(local.seen, value);
    }

    /** Takes a row's lock; if that is not possible now, the transaction waits, or has failed. */
    private boolean lock(Local local, int row) {
        ModelEngine.Owner holder = site.engine.holder(row);
        if (local.priority == Priority.ORDERED && holder instanceof Local other && other != local
                && other.priority == Priority.OPTIMISTIC && other.phase != Phase.CERTIFIED) {
            giveWay(other, site.delivered);
            holder = site.engine.holder(row);
        }
        if (holder != null && holder != local) {
            if (site.engine.deadlock(local, holder)) {
                fail(local, "deadlock");
            } else {
                local.waitsFor = holder;
            }
            return false;
        }
        local.waitsFor = null;
        if (site.engine.lastWritten(row) > local.snapshot) {
            fail(local, "first-updater");
            return false;
        }
        site.engine.lock(row, local);
        return true;
    }

    private void finish(Local local) {
        local.waitsFor = null;
        WriteSet writes = Program.writeSet(local.writes, row -> site.engine.read(row, local.snapshot));
        History.Run run = new History.Run(local.id, local.acknowledged, local.snapshot, Map.copyOf(local.reads),
                writes.changes());
        if (writes.isEmpty() && site.world.protocol.has(Trait.EXECUTES_AT_ONCE)) {
            site.world.history.read(run);
            site.engine.release(local);
            local.phase = Phase.ENDED;
            site.locals.remove(local.id);
            return;
        }
        if (writes.isEmpty()) {
            site.world.history.read(run);
        }
        submit(local);
        local.phase = Phase.ASKED;
        site.world.history.executed(run);
        ReadSet reads = site.world.protocol.has(Trait.NEEDS_READS) ? local.readSet.build() : ReadSet.EMPTY;
        Execution execution = new Execution(local.begun, site.engine.visible(), writes, reads);
        site.tell(() -> site.protocol.executed(local.id, execution));
    }

    /** The engine or the client ends a running transaction. */
    void fail(Local local, String label) {
        rollback(local);
        if (local.told) {
            local.phase = Phase.IDLE;
            site.tell(() -> site.protocol.failed(local.id, new AbortReason.Failed(label)));
        } else {
            site.world.count(label);
            local.phase = Phase.ENDED;
            site.locals.remove(local.id);
        }
    }

    private void rollback(Local local) {
        local.rolledBack = true;
        site.engine.release(local);
    }

    /** The session of a transaction that has executed dies; nobody is told. */
    void lose(Local local) {
        if (local.phase == Phase.CERTIFIED) {
            becomeRemote(local);
        } else {
            rollback(local);
        }
    }

    /** A local transaction stands in the way of a position. */
    private void giveWay(Local local, long forPosition) {
        if (local.rolledBack) {
            throw new AssertionError(local + " holds locks though it was rolled back");
        }
        site.world.count("gave-way-" + local.phase);
        if (local.phase == Phase.CERTIFIED) {
            becomeRemote(local);
            return;
        }
        rollback(local);
        if (!local.told) {
            site.world.count("victim-untold");
            local.phase = Phase.ENDED;
            site.locals.remove(local.id);
            return;
        }
        int run = local.runs;
        Phase phase = local.phase;
        site.events.add(() -> {
            if (local.runs == run && local.phase == phase) {
                site.tell(() -> site.protocol.victim(local.id, forPosition));
            }
        });
    }

    /** What the local transaction at its position has changed is applied in its place. */
    private void becomeRemote(Local local) {
        rollback(local);
        for (Slot slot : slots) {
            if (slot.local == local) {
                slot.kind = SlotKind.REMOTE;
                slot.local = null;
            }
        }
    }

    // ------------------------------------------------------------------------------------------ what protocols ask

    private Local known(TransactionId transaction) {
        Local local = site.locals.get(transaction);
        if (local == null) {
            throw new AssertionError(transaction + " is not open here");
        }
        return local;
    }

    void run(TransactionId transaction, Priority priority) {
        Local local = known(transaction);
        if (local.request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.ALL) {
            throw new AssertionError(local + " is to be executed by every replica, not run");
        }
        local.priority = priority;
        if (local.phase == Phase.RUNNING && !local.rolledBack) {
            return;
        }
        if (local.phase == Phase.CERTIFIED || (local.phase == Phase.ASKED && !local.rolledBack)) {
            throw new AssertionError(local + " is to run though it has executed");
        }
        if (local.runs > 0 && local.request instanceof TransactionRequest.Interactive) {
            local.phase = Phase.IDLE;
            site.events.add(() -> {
                if (local.phase == Phase.IDLE) {
                    site.tell(() -> site.protocol.failed(local.id, new AbortReason.Failed("cannot-repeat")));
                }
            });
            return;
        }
        start(local);
    }

    void prepare(TransactionId transaction, WriteSet writes) {
        if (site.prepared.put(transaction, new Prepared(transaction, Program.changes(writes))) != null) {
            throw new AssertionError(transaction + " is prepared twice");
        }
    }

    List<Prepared> preparing() {
        return site.prepared.values().stream().filter(preparation -> !preparation.done).toList();
    }

    /** Takes the locks for the changes of a remote transaction, as far as they are free. */
    void step(Prepared preparation) {
        for (int row : preparation.rows.keySet()) {
            ModelEngine.Owner holder = site.engine.holder(row);
            if (holder != null && holder != preparation) {
                if (site.engine.deadlock(preparation, holder)) {
                    failPrepared(preparation, "deadlock");
                } else {
                    preparation.waitsFor = holder;
                    tellBlocked(preparation);
                }
                return;
            }
            site.engine.lock(row, preparation);
        }
        preparation.waitsFor = null;
        preparation.done = true;
        site.tell(() -> site.protocol.prepared(preparation.id));
    }

    /** For whom it waits has changed, or may have. */
    private void tellBlocked(Prepared preparation) {
        Set<TransactionId> holders = new LinkedHashSet<>();
        for (ModelEngine.Owner next = preparation.waitsFor; next != null; next = next.waitsFor) {
            if (next instanceof Prepared other) {
                holders.add(other.id);
            } else if (next instanceof Local local && local.phase == Phase.ASKED) {
                holders.add(local.id);
            }
        }
        if (!holders.equals(preparation.toldBlockers)) {
            preparation.toldBlockers = holders;
            site.tell(() -> site.protocol.blocked(preparation.id, holders));
        }
    }

    private void failPrepared(Prepared preparation, String label) {
        site.engine.release(preparation);
        site.prepared.remove(preparation.id, preparation);
        site.tell(() -> site.protocol.failed(preparation.id, new AbortReason.Failed(label)));
    }

    void abort(TransactionId transaction) {
        Prepared preparation = site.prepared.remove(transaction);
        if (preparation != null) {
            site.engine.release(preparation);
        }
        Local local = site.locals.get(transaction);
        if (local != null) {
            if (local.phase == Phase.CERTIFIED) {
                throw new AssertionError(local + " is aborted though it has a position");
            }
            rollback(local);
            local.phase = Phase.IDLE;
        }
    }

    void answered(Local local, Outcome outcome) {
        if (outcome.equals(new Outcome.Committed(0))) {
            if (!local.writes.isEmpty()) {
                throw new AssertionError(local + " has changed something, and is told " + outcome);
            }
            site.engine.release(local);
        } else if (!local.locked.isEmpty()) {
            throw new AssertionError(local + " is told " + outcome + " but holds locks");
        }
        local.phase = Phase.ENDED;
        site.locals.remove(local.id);
    }

    // ------------------------------------------------------------------------------------------ positions

    void add(Slot slot) {
        Slot last = slots.peekLast();
        if (last != null && last.position >= slot.position) {
            throw new AssertionError(slot + " comes after " + last);
        }
        slots.add(slot);
    }

    void remote(TransactionId transaction, long position, WriteSet writes) {
        Prepared preparation = site.prepared.remove(transaction);
        if (preparation != null) {
            site.engine.release(preparation);
        }
        Local local = site.locals.get(transaction);
        if (local != null) {
            if (!local.rolledBack) {
                throw new AssertionError(local + " is applied while it holds its locks");
            }
            local.phase = Phase.CERTIFIED;
        }
        Slot slot = new Slot(position, SlotKind.REMOTE);
        slot.rows = Program.changes(writes);
        add(slot);
    }

    void commit(TransactionId transaction, long position, WriteSet writes) {
        Slot slot = new Slot(position, SlotKind.LOCAL);
        slot.rows = Program.changes(writes);
        Prepared preparation = site.prepared.get(transaction);
        if (preparation != null) {
            if (!preparation.done) {
                throw new AssertionError(transaction + " is committed before it is prepared");
            }
            slot.kind = SlotKind.PREPARED;
            slot.preparation = preparation;
            preparation.certified = true;
        } else {
            Local local = known(transaction);
            if (local.phase != Phase.ASKED) {
                throw new AssertionError(local + " is committed");
            }
            local.phase = Phase.CERTIFIED;
            local.position = position;
            if (local.rolledBack) {
                slot.kind = SlotKind.REMOTE;
            } else {
                slot.local = local;
            }
        }
        add(slot);
    }

    /** Slots that an applier could begin with. */
    List<Slot> appliable() {
        List<Slot> free = new ArrayList<>();
        Map<Integer, Slot> busy = new HashMap<>();
        for (Slot slot : slots) {
            if (slot.kind == SlotKind.BARRIER) {
                break;
            }
            if (slot.kind == SlotKind.REMOTE && !slot.applied
                    && slot.rows.keySet().stream().noneMatch(busy::containsKey)) {
                free.add(slot);
            }
            slot.rows.keySet().forEach(row -> busy.put(row, slot));
        }
        return free;
    }

    /** Makes the changes of a slot, pushing aside who stands in the way. */
    void apply(Slot slot) {
        for (int row : slot.rows.keySet()) {
            pushAside(row, slot.position);
            site.engine.lock(row, slot);
        }
        slot.applied = true;
    }

    private void pushAside(int row, long position) {
        ModelEngine.Owner holder = site.engine.holder(row);
        if (holder instanceof Local local) {
            giveWay(local, position);
        } else if (holder instanceof Prepared preparation) {
            site.engine.release(preparation);
            if (preparation.certified) {
                for (Slot later : slots) {
                    if (later.preparation == preparation) {
                        later.kind = SlotKind.REMOTE;
                        later.preparation = null;
                    }
                }
            } else if (preparation.done) {
                throw new AssertionError(preparation.id + " was prepared, and position " + position
                        + " needs its locks");
            }
        } else if (holder instanceof Slot later) {
            // It began early; positions come first.
            site.engine.release(later);
            later.applied = false;
        }
    }

    /** Makes the next position visible; false if there is none. */
    boolean commitHead() {
        Slot head = slots.peek();
        if (head == null) {
            return false;
        }
        Map<Integer, Long> rows = head.rows;
        Local local = head.local;
        Prepared preparation = head.preparation;
        switch (head.kind) {
            case SKIP -> {
                // Nothing changes.
            }
            case REMOTE -> {
                if (!head.applied) {
                    apply(head);
                }
            }
            case LOCAL -> {
                if (local == null || !local.writes.equals(rows)) {
                    throw new AssertionError(local + " is committed with other changes than its own");
                }
            }
            case PREPARED -> {
                if (preparation == null || !preparation.rows.equals(rows)) {
                    throw new AssertionError("what was prepared for " + head + " is committed with other changes");
                }
            }
            case BARRIER -> rows = execute(head);
        }
        slots.remove();
        site.engine.commit(head.position, rows);
        site.engine.release(head);
        if (local != null) {
            site.engine.release(local);
        }
        if (preparation != null) {
            site.engine.release(preparation);
            site.prepared.remove(preparation.id);
        }
        return true;
    }

    /** A request that is executed alone takes the tables that it changes from everybody. */
    private Map<Integer, Long> execute(Slot slot) {
        Program program = slot.program;
        if (program == null) {
            throw new AssertionError(slot + " has no statement");
        }
        for (int row = 0; row < Program.ROWS; row++) {
            if (program.writes(Program.table(row))) {
                pushAside(row, slot.position);
            }
        }
        long before = site.engine.visible();
        return program.run(row -> site.engine.read(row, before));
    }
}
