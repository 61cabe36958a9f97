package tutti.sim.world.database;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract;
import tutti.sim.disk.DiskConfig;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.thread.Threads;
import tutti.sim.world.VirtualTime;
import tutti.sim.world.database.Program.Action;
import tutti.sim.world.database.Program.Step;

/** The suite that real engines pass, bound to each kind of the simulated one. Keys are lists of one element. */
class SimEngineContractTest {
    @Nested
    class Postgres extends Bound {
        Postgres() {
            super(EngineKind.POSTGRES);
        }
    }

    @Nested
    class H2 extends Bound {
        H2() {
            super(EngineKind.H2);
        }
    }

    @Nested
    class Hsqldb extends Bound {
        Hsqldb() {
            super(EngineKind.HSQLDB);
        }
    }

    @Nested
    class Locking extends Bound {
        Locking() {
            super(EngineKind.LOCKING);
        }
    }

    abstract static class Bound extends EngineContract {
        private final EngineKind kind;

        Bound(EngineKind kind) {
            this.kind = kind;
        }

        @Override
        protected Harness open() {
            return new SimHarness(kind);
        }
    }

    private static final class SimHarness implements EngineContract.Harness {
        private static final int KEYS = 10;

        private final Database database;
        private final SimEngine sim;
        private final VirtualTime time;
        private final Engine engine;
        private final List<String> values = new ArrayList<>();
        private final Map<Integer, int[]> other = new HashMap<>();
        private long serial;

        SimHarness(EngineKind kind) {
            Kernel kernel = new Kernel(1);
            Host host = new Host(kernel, new Threads(kernel), "n0",
                    HostConfig.DEFAULT.withDisk(DiskConfig.DEFAULT.withLatency(Distribution.ZERO)));
            host.boot();
            Distribution short_ = new Distribution.Constant(Nanos.MILLI);
            database = new Database(host, kind, new Database.Timing(short_, short_, Distribution.ZERO, short_),
                    new NoLog());
            database.boot();
            sim = Objects.requireNonNull(database.open());
            time = new VirtualTime(kernel);
            engine = time.shared(Engine.class, sim);
        }

        @Override
        public Engine engine() {
            return engine;
        }

        private int number(String value) {
            values.add(value);
            return values.size() - 1;
        }

        private WriteSet change(int key, int @Nullable [] value) {
            int[] before = value == null ? other.remove(key) : other.put(key, value);
            Changes.Change change = Objects.requireNonNull(Changes.Change.between(key, before, value));
            return new Changes(new TransactionId(1, ++serial), new TreeMap<>(Map.of((long) key, change))).writeSet();
        }

        @Override
        public WriteSet put(int key, String value) {
            return change(key, new int[]{number(value)});
        }

        @Override
        public WriteSet remove(int key) {
            return change(key, null);
        }

        @Override
        public Map<Integer, String> contents() throws Exception {
            return time.inTurn(() -> {
                Map<Integer, String> contents = new HashMap<>();
                for (int key = 0; key < KEYS; key++) {
                    int[] row = database.read(key);
                    if (row != null) {
                        contents.put(key, values.get(row[0]));
                    }
                }
                return contents;
            });
        }

        @Override
        public EngineContract.Local begin(int key, String value) throws Exception {
            Program program = new Program(1, List.of(new Step(Action.APPEND, key, number(value))));
            CompletableFuture<StatementEnd> ended = new CompletableFuture<>();
            Session session = time.inTurn(() -> {
                Session begun = new Session(time, sim, program, new TransactionId(0, ++serial));
                begun.transaction.perform(ended::complete);
                return begun;
            });
            if (ended.get(20, TimeUnit.SECONDS) != StatementEnd.DONE) {
                throw new IllegalStateException("the statement failed");
            }
            return new EngineContract.Local(session, time.inTurn(session.transaction::capture));
        }

        /** A statement that can be executed once. */
        @Override
        public byte[] createTable() {
            return new Program(2, List.of(new Step(Action.DELETE, Catalog.register(5)),
                    new Step(Action.SET, Catalog.register(5)), new Step(Action.LINK, Catalog.link(0), 5)))
                    .statement(new TransactionId(0, ++serial));
        }

        @Override
        public String placeable() {
            return String.valueOf(Catalog.table(1));
        }

        @Override
        public void close() {
            time.close();
        }
    }

    private static final class Session implements LocalTransaction {
        private final VirtualTime time;
        private final SimTransaction transaction;

        Session(VirtualTime time, SimEngine engine, Program program, TransactionId id) {
            this.time = time;
            this.transaction = engine.begin(this, id, program, 0);
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            time.run(() -> transaction.commit(position, done));
        }

        @Override
        public void rollback(Runnable done) {
            time.run(() -> transaction.rollback(done));
        }

        @Override
        public void answer(Outcome outcome) {
            throw new UnsupportedOperationException("not asked for here");
        }
    }

    static final class NoLog implements DatabaseLog {
        @Override
        public void undertaken(Run run) {
            // Nobody looks.
        }

        @Override
        public void skipped(long position) {
            // Nobody asks.
        }

        @Override
        public void applied(TransactionId transaction, long stateHash) {
            // Nobody judges.
        }

        @Override
        public void passedOver(TransactionId transaction, long stateHash) {
            // All tables are everywhere.
        }

        @Override
        public void holds(TransactionId transaction, int table, long hash) {
            // All tables are everywhere.
        }

        @Override
        public void executed(Run run) {
            // Nobody judges.
        }

        @Override
        public void inconsistent(long position, String what) {
            throw new AssertionError(position + ": " + what);
        }
    }
}
