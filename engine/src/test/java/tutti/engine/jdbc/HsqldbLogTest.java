package tutti.engine.jdbc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static tutti.engine.jdbc.EnginePair.execute;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.spi.Engine.Applier;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;
import tutti.engine.EngineContract.Result;
import tutti.engine.jdbc.EmbeddedDatabase.GrowingLog;
import tutti.engine.jdbc.hsqldb.HsqldbDatabase;

/** A database is written anew while it is in use, and nothing is lost, whenever the process is killed. */
@Timeout(120)
class HsqldbLogTest {
    private static final int LOG_BYTES_MIN = 20_000;
    /** Of each kind. */
    private static final int LANES = 3;
    private static final int TRANSACTIONS_EACH = 25;
    private static final String PADDING = "x".repeat(500);

    @TempDir
    private Path directory;
    private Path files;

    @BeforeEach
    void makeDirectory() throws Exception {
        files = Files.createDirectory(directory.resolve("node")).resolve("db");
    }

    private static HsqldbDatabase open(Path files) throws SQLException {
        return HsqldbDatabase.inFiles(files, SqlSyntax.OWN, LOG_BYTES_MIN);
    }

    private static void createTables(JdbcEngine engine) throws Exception {
        try (Applier applier = engine.openApplier()) {
            long position = 0;
            for (String sql : List.of("CREATE TABLE A (ID INTEGER PRIMARY KEY, V VARCHAR(1000))",
                    "CREATE TABLE C (ID INTEGER PRIMARY KEY, N INTEGER)")) {
                Result<ExecuteResult> executed = new Result<>();
                applier.execute(++position, new BarrierStatement("PUBLIC", sql).toBytes(), executed);
                assertTrue(executed.success().tookEffect());
            }
        }
    }

    /** Beside its row, each transaction changes one of its lane, so that rows are deleted as well. */
    private static String[] transaction(int lane, int number) {
        return new String[]{
                "INSERT INTO A VALUES (" + (lane * 100_000 + number) + ", '" + PADDING + "')",
                number == 0
                        ? "INSERT INTO C VALUES (" + lane + ", 1)"
                        : "UPDATE C SET N = N + 1 WHERE ID = " + lane};
    }

    private static long commit(JdbcEngine engine, long position, String... statements) throws Exception {
        try (JdbcSession session = engine.openSession(() -> null)) {
            execute(session, statements);
            session.capture();
            Result<Void> done = new Result<>();
            session.commit(position, done);
            done.success();
        }
        return position;
    }

    private static long durable(JdbcEngine engine) throws Exception {
        Result<Long> durable = new Result<>();
        engine.durablePosition(durable);
        return durable.success();
    }

    private static GrowingLog log(EmbeddedDatabase database) {
        GrowingLog log = database.growingLog();
        if (log == null) {
            throw new IllegalStateException("in memory");
        }
        return log;
    }

    /** What another node's clients change, in each lane. */
    private static List<List<WriteSet>> writeSets() throws Exception {
        List<List<WriteSet>> all = new ArrayList<>();
        try (EnginePair pair = EnginePair.inMemory(EngineKind.HSQLDB,
                "CREATE TABLE A (ID INTEGER PRIMARY KEY, V VARCHAR(1000))",
                "CREATE TABLE C (ID INTEGER PRIMARY KEY, N INTEGER)")) {
            for (int lane = LANES; lane < 2 * LANES; lane++) {
                List<WriteSet> sets = new ArrayList<>();
                for (int number = 0; number < TRANSACTIONS_EACH; number++) {
                    sets.add(pair.commit(transaction(lane, number)).writes());
                }
                all.add(sets);
            }
        }
        return all;
    }

    /** The order: positions are given as they are asked for, and commits wait for each other. */
    private static final class Turns {
        private long next;
        private long visible;

        Turns(long first) {
            next = first;
            visible = first - 1;
        }

        synchronized long take() {
            return next++;
        }

        synchronized void await(long position) throws InterruptedException {
            while (visible != position - 1) {
                wait();
            }
        }

        synchronized void visible(long position) {
            visible = position;
            notifyAll();
        }

        synchronized long visible() {
            return visible;
        }
    }

    private static Void client(JdbcEngine engine, Turns turns, int lane, CrashCopies crashes) throws Exception {
        try (JdbcSession session = engine.openSession(() -> null)) {
            for (int number = 0; number < TRANSACTIONS_EACH || rewrites(crashes) < 2; number++) {
                execute(session, transaction(lane, number));
                session.capture();
                long position = turns.take();
                turns.await(position);
                Result<Void> done = new Result<>();
                session.commit(position, done);
                done.success();
                turns.visible(position);
            }
        }
        return null;
    }

    private static long rewrites(CrashCopies crashes) {
        return crashes.all().stream()
                .filter(copy -> copy.operation().startsWith("rename") && copy.operation().endsWith(".script.next"))
                .count();
    }

    /** Begins without waiting for its turn. */
    private static Void applier(JdbcEngine engine, Turns turns, List<WriteSet> sets) throws Exception {
        try (Applier applier = engine.openApplier()) {
            for (WriteSet writes : sets) {
                long position = turns.take();
                Result<Void> applied = new Result<>();
                applier.apply(position, List.of(writes), applied);
                applied.success();
                turns.await(position);
                Result<Void> done = new Result<>();
                applier.commit(position, done);
                done.success();
                turns.visible(position);
            }
        }
        return null;
    }

    @Tag("long")
    @Test
    void beneathClientsAndAppliersTheLogIsShortenedAgainAndAgainAndACrashAtAnyStepLosesNothing() throws Exception {
        List<List<WriteSet>> sets = writeSets();
        HsqldbDatabase database = open(files);
        AtomicLong durable = new AtomicLong();
        CrashCopies crashes;
        long last;
        try (JdbcEngine engine = JdbcEngine.open(database)) {
            createTables(engine);
            Turns turns = new Turns(engine.appliedPosition() + 1);
            durable.set(durable(engine));
            crashes = CrashCopies.of(database, Files.createDirectory(directory.resolve("crashes")), durable::get);
            AtomicBoolean over = new AtomicBoolean();
            try (ExecutorService threads = Executors.newCachedThreadPool()) {
                List<Callable<Void>> lanes = new ArrayList<>();
                for (int i = 0; i < LANES; i++) {
                    int lane = i;
                    lanes.add(() -> client(engine, turns, lane, crashes));
                    lanes.add(() -> applier(engine, turns, sets.get(lane)));
                }
                Future<Void> asking = threads.submit(() -> {
                    while (!over.get()) {
                        durable.set(durable(engine));
                        // What the node's engine does by itself afterwards, here so that it has been done.
                        engine.rewriting().look();
                    }
                    return null;
                });
                List<Future<Void>> running = lanes.stream().map(threads::submit).toList();
                for (Future<Void> lane : running) {
                    lane.get();
                }
                over.set(true);
                asking.get();
            }
            last = turns.visible();
            // What was committed since it was looked at last may be enough again.
            engine.rewriting().look();
            assertTrue(log(database).length() < log(database).enough());
        }
        for (CrashCopies.Copy copy : crashes.all()) {
            try (JdbcEngine recovered = JdbcEngine.open(open(copy.files()))) {
                long position = recovered.appliedPosition();
                assertTrue(position >= copy.least() && position <= last, () -> position + " of " + copy);
                long transactions = position - 2;
                assertEquals(List.of(transactions + "," + transactions),
                        EnginePair.rows(recovered,
                                "SELECT (SELECT COUNT(*) FROM A), (SELECT COALESCE(SUM(N), 0) FROM C) FROM (VALUES(0))"),
                        copy::toString);
            }
        }
    }

    private static long fill(JdbcEngine engine, GrowingLog log, long position) throws Exception {
        long at = position;
        long before = log.length();
        long wanted = before + log.enough();
        while (log.length() < wanted) {
            at = commit(engine, at + 1, "INSERT INTO A VALUES (" + at + ", '" + PADDING + "')");
            engine.database().sync();
        }
        return at;
    }

    @Test
    void transactionsThatAreOpenMeanwhileAreCommittedAfterwardsAndOnlyThen() throws Exception {
        WriteSet applied = writeSets().getFirst().getFirst();
        HsqldbDatabase database = open(files);
        long last;
        try (JdbcEngine engine = JdbcEngine.open(database);
                JdbcSession client = engine.openSession(() -> null);
                JdbcSession other = engine.openSession(() -> null);
                Applier applier = engine.openApplier()) {
            createTables(engine);
            execute(client, "INSERT INTO C VALUES (1, 1)");
            execute(other, "INSERT INTO C VALUES (2, 2)");
            last = fill(engine, log(database), engine.appliedPosition());
            Result<Void> done = new Result<>();
            applier.apply(last + 2, List.of(applied), done);
            done.success();
            long before = log(database).length();
            engine.rewriting().look();
            assertTrue(log(database).length() < before);
            client.capture();
            done = new Result<>();
            client.commit(++last, done);
            done.success();
            done = new Result<>();
            applier.commit(++last, done);
            done.success();
            assertEquals(last, durable(engine));
            database.crash();
        }
        try (JdbcEngine again = JdbcEngine.open(open(files))) {
            assertEquals(last, again.appliedPosition());
            assertEquals(List.of("1,1", LANES + ",1"), EnginePair.rows(again, "SELECT * FROM C ORDER BY ID"));
        }
    }

    /** Has the script wait when a part of it has been written. */
    private static CountDownLatch holdScript(HsqldbDatabase database, CountDownLatch writing) throws SQLException {
        CountDownLatch goOn = new CountDownLatch(1);
        CrashCopies.writeThrough(database, ".script.next", out -> new FilterOutputStream(out) {
            @Override
            public void write(byte[] bytes, int from, int length) throws IOException {
                writing.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException interrupted) {
                    throw new IOException(interrupted);
                }
                out.write(bytes, from, length);
            }
        });
        return goOn;
    }

    @Test
    void whileTheDatabaseIsWrittenOthersCommitAndNothingOfThatIsLost() throws Exception {
        HsqldbDatabase database = open(files);
        long last;
        try (JdbcEngine engine = JdbcEngine.open(database); Applier applier = engine.openApplier()) {
            createTables(engine);
            last = fill(engine, log(database), engine.appliedPosition());
            skip(applier, ++last);
            CountDownLatch writing = new CountDownLatch(1);
            CountDownLatch goOn = holdScript(database, writing);
            try (ExecutorService other = Executors.newSingleThreadExecutor()) {
                Future<?> written = other.submit(() -> engine.rewriting().look());
                writing.await();
                // HSQLDB names the session and the schema of its lines if they are not those of the lines before.
                skip(applier, ++last);
                last = commit(engine, last + 1, "INSERT INTO C VALUES (1, 1)", "DELETE FROM A WHERE ID = 2");
                assertEquals(last, durable(engine));
                last = commit(engine, last + 1, "UPDATE C SET N = 2");
                goOn.countDown();
                written.get();
            }
            assertTrue(log(database).length() < log(database).enough());
            assertEquals(last, durable(engine));
            database.crash();
        }
        try (JdbcEngine again = JdbcEngine.open(open(files))) {
            assertEquals(last, again.appliedPosition());
            assertEquals(List.of("1,2"), EnginePair.rows(again, "SELECT * FROM C"));
            assertEquals(List.of((last - 7) + ",3"), EnginePair.rows(again, "SELECT COUNT(*), MIN(ID) FROM A"));
        }
    }

    private static void skip(Applier applier, long position) throws Exception {
        Result<ExecuteResult> skipped = new Result<>();
        applier.skip(position, new EngineFailure("22000", "a test", false), skipped);
        skipped.success();
    }

    @Test
    void aSchemaChangeDoesNotWaitForTheDatabaseToBeWritten() throws Exception {
        HsqldbDatabase database = open(files);
        try (JdbcEngine engine = JdbcEngine.open(database)) {
            createTables(engine);
            long last = fill(engine, log(database), engine.appliedPosition());
            long before = log(database).length();
            CountDownLatch writing = new CountDownLatch(1);
            CountDownLatch goOn = holdScript(database, writing);
            try (ExecutorService other = Executors.newSingleThreadExecutor(); Applier applier = engine.openApplier()) {
                Future<?> written = other.submit(() -> engine.rewriting().look());
                writing.await();
                Result<ExecuteResult> executed = new Result<>();
                applier.execute(last + 1,
                        new BarrierStatement("PUBLIC", "ALTER TABLE C ADD COLUMN M INTEGER").toBytes(),
                        executed);
                while (!engine.schemaLock().hasQueuedThreads()) {
                    Thread.onSpinWait();
                }
                goOn.countDown();
                assertTrue(executed.success().tookEffect());
                written.get();
            }
            assertTrue(log(database).length() >= before);
            // It is tried again when the log is longer.
            engine.rewriting().look();
            assertTrue(log(database).length() >= before);
            fill(engine, log(database), last + 1);
            engine.rewriting().look();
            assertTrue(log(database).length() < before);
        }
    }

    /** HSQLDB itself commits in memory then, and says nothing. */
    @Test
    void aLogThatCannotBeWrittenEndsTheEngine() throws Exception {
        HsqldbDatabase database = open(files);
        CompletableFuture<Void> lost = new CompletableFuture<>();
        JdbcEngine engine = JdbcEngine.open(database);
        engine.onLost(() -> lost.complete(null));
        createTables(engine);
        AtomicBoolean full = new AtomicBoolean();
        CrashCopies.writeThrough(database, ".log.next", out -> new Disk(out, full));
        long position = fill(engine, log(database), engine.appliedPosition());
        engine.rewriting().look();
        assertEquals(position, durable(engine));
        full.set(true);
        commit(engine, position + 1, "INSERT INTO C VALUES (3, 3)");
        Result<Long> durable = new Result<>();
        engine.durablePosition(durable);
        assertEquals("58030", durable.failure().sqlState());
        lost.get();
        database.crash();
        engine.close();
        try (JdbcEngine again = JdbcEngine.open(open(files))) {
            assertEquals(position, again.appliedPosition());
        }
    }

    private static final class Disk extends FilterOutputStream {
        private final AtomicBoolean full;

        Disk(OutputStream out, AtomicBoolean full) {
            super(out);
            this.full = full;
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            if (full.get()) {
                throw new IOException("No space left on device");
            }
            out.write(bytes, from, length);
        }
    }

    @Test
    void ifTheDatabaseCannotBeWrittenTheLogGoesOn() throws Exception {
        HsqldbDatabase database = open(files);
        long position;
        try (JdbcEngine engine = JdbcEngine.open(database)) {
            createTables(engine);
            position = fill(engine, log(database), engine.appliedPosition());
            long before = log(database).length();
            AtomicBoolean full = new AtomicBoolean(true);
            CrashCopies.writeThrough(database, ".script.next", out -> new Disk(out, full));
            engine.rewriting().look();
            assertTrue(log(database).length() >= before);
            position = commit(engine, position + 1, "INSERT INTO C VALUES (1, 1)");
            assertEquals(position, durable(engine));
            full.set(false);
            database.crash();
        }
        try (JdbcEngine again = JdbcEngine.open(open(files))) {
            assertEquals(position, again.appliedPosition());
            assertEquals(List.of("1,1"), EnginePair.rows(again, "SELECT * FROM C"));
        }
    }

    /** HSQLDB is told of some failures and says nothing; a full disk may have room again for what is written next. */
    @Test
    void aWriteOfTheScriptThatFailsOnceIsNoticedWhicheverItIs() throws Exception {
        HsqldbDatabase database = open(files);
        long position;
        try (JdbcEngine engine = JdbcEngine.open(database)) {
            createTables(engine);
            position = fill(engine, log(database), engine.appliedPosition());
            long before = log(database).length();
            FailingOnce disk = new FailingOnce();
            CrashCopies.writeThrough(database, ".script.next", disk::of);
            int failed = 0;
            while (!rewritten(log(database), disk.failNext(failed))) {
                failed++;
                assertTrue(log(database).length() >= before);
            }
            assertTrue(failed > 1, "of several writes each was to fail");
            assertTrue(log(database).length() < before);
            database.crash();
        }
        try (JdbcEngine again = JdbcEngine.open(open(files))) {
            assertEquals(position, again.appliedPosition());
        }
    }

    private static boolean rewritten(GrowingLog log, FailingOnce disk) {
        try {
            assertTrue(log.rewrite(() -> false));
            assertTrue(disk.left() >= 0, "a write has failed, and nobody has heard of it");
            return true;
        } catch (SQLException noticed) {
            return false;
        }
    }

    /** One of the writes fails when half of it is done, and those after it do not. */
    private static final class FailingOnce {
        private int left;

        FailingOnce failNext(int behind) {
            left = behind;
            return this;
        }

        /** How many writes are to come before the one that fails; negative when it has. */
        int left() {
            return left;
        }

        OutputStream of(OutputStream file) {
            return new FilterOutputStream(file) {
                @Override
                public void write(byte[] bytes, int from, int length) throws IOException {
                    if (left-- == 0) {
                        out.write(bytes, from, length / 2);
                        throw new IOException("No space left on device");
                    }
                    out.write(bytes, from, length);
                }
            };
        }
    }

    /** HSQLDB syncs under the lock that a commit needs, which holds the one of all transactions. */
    @Test
    void whileTheDeviceIsBusyOthersCommit() throws Exception {
        HsqldbDatabase database = open(files);
        try (JdbcEngine engine = JdbcEngine.open(database)) {
            createTables(engine);
            Device device = new Device();
            CrashCopies.writeThrough(database, ".log.next", out -> out, device::sync);
            long position = fill(engine, log(database), engine.appliedPosition());
            engine.rewriting().look();
            device.busy.set(true);
            position = commit(engine, position + 1, "INSERT INTO C VALUES (1, 1)");
            Result<Long> durable = new Result<>();
            long next = position + 1;
            try (ExecutorService other = Executors.newSingleThreadExecutor()) {
                engine.durablePosition(durable);
                device.asked.await();
                Future<Long> committed = other.submit(() -> commit(engine, next, "INSERT INTO C VALUES (2, 2)"));
                try {
                    assertEquals(next, committed.get(20, TimeUnit.SECONDS));
                    assertEquals(next, inDatabase(engine));
                } catch (TimeoutException waits) {
                    throw new AssertionError("a commit waits for the device", waits);
                } finally {
                    device.done.countDown();
                }
            }
            assertEquals(position, durable.success());
            assertEquals(1, device.times.get());
        }
    }

    private static long inDatabase(JdbcEngine engine) throws Exception {
        return Long.parseLong(EnginePair.rows(engine, "SELECT MAX(POSITION) FROM TUTTI.APPLIED").getFirst());
    }

    /** Answers late. */
    private static final class Device {
        private final AtomicBoolean busy = new AtomicBoolean();
        private final AtomicLong times = new AtomicLong();
        private final CountDownLatch asked = new CountDownLatch(1);
        private final CountDownLatch done = new CountDownLatch(1);

        void sync() throws IOException {
            if (!busy.get()) {
                return;
            }
            times.incrementAndGet();
            asked.countDown();
            try {
                done.await();
            } catch (InterruptedException interrupted) {
                throw new IOException(interrupted);
            }
        }
    }
}
