package tutti.sim.world.database;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.thread.Threads;
import tutti.sim.world.database.Program.Action;
import tutti.sim.world.database.Program.Step;

class DatabaseTest {
    private static final long A = 0;
    private static final long B = 1;
    private static final Step LINK = new Step(Action.LINK, Catalog.link(0), 3);
    private static final Step PARENT = new Step(Action.SET, Catalog.register(3));
    private static final Step NO_PARENT = new Step(Action.DELETE, Catalog.register(3));

    private final Kernel kernel = new Kernel(1);
    private final Host host = new Host(kernel, new Threads(kernel), "n0", HostConfig.DEFAULT);
    private final List<String> heard = new ArrayList<>();
    private Database database = database(EngineKind.POSTGRES);
    private SimEngine engine = Objects.requireNonNull(database.open());
    private long serial;
    private long position;

    private Database database(EngineKind kind) {
        Distribution time = new Distribution.Constant(Nanos.MICRO);
        if (host.state() == Host.State.DOWN) {
            host.boot();
        }
        Database made = new Database(host, kind,
                new Database.Timing(time, time, new Distribution.Constant(10 * Nanos.MILLI), time),
                new SimEngineContractTest.NoLog());
        made.boot();
        return made;
    }

    private void use(EngineKind kind) {
        database = database(kind);
        engine = Objects.requireNonNull(database.open());
    }

    /** A client's transaction, noted under a name. */
    private final class Client implements LocalTransaction {
        private final String name;
        private final SimTransaction transaction;

        Client(String name, Step... steps) {
            this.name = name;
            TransactionId id = new TransactionId(0, ++serial);
            transaction = engine.begin(this, id, new Program(serial, Arrays.asList(steps)), 0);
        }

        /** Carries out the next statement. */
        Client step() {
            transaction.perform(end -> heard.add(name + " " + end.label()));
            settle();
            return this;
        }

        @Override
        public void commit(long at, Completion<Void> done) {
            transaction.commit(at, done);
        }

        void commit() {
            transaction.capture();
            commit(++position, noted("commit"));
            settle();
        }

        @Override
        public void rollback(Runnable done) {
            transaction.rollback(done);
        }

        void rollback() {
            rollback(() -> {});
            settle();
        }

        @Override
        public void renewed() {
            heard.add(name + " renewed");
        }

        @Override
        public void answer(Outcome outcome) {
            throw new UnsupportedOperationException("there is no node");
        }
    }

    private static Step append(long list, int value) {
        return new Step(Action.APPEND, list, value);
    }

    private static Step read(long list) {
        return new Step(Action.READ, list);
    }

    private Completion<Void> noted(String name) {
        return new Completion<>() {
            @Override
            public void succeeded(Void nothing) {
                heard.add(name + " done");
            }

            @Override
            public void failed(EngineFailure failure) {
                heard.add(name + " " + failure.sqlState());
            }
        };
    }

    private void settle() {
        kernel.runUntil(kernel.now() + Nanos.MILLI / 2);
    }

    /** What another replica's transaction changes. */
    private WriteSet remote(Step... steps) {
        Client elsewhere = new Client("elsewhere", steps);
        for (Step _ : steps) {
            elsewhere.step();
        }
        WriteSet writes = elsewhere.transaction.capture();
        elsewhere.rollback();
        heard.clear();
        return writes;
    }

    /** Makes steps part of the database. */
    private void given(Step... steps) {
        Client client = new Client("given", steps);
        for (Step _ : steps) {
            client.step();
        }
        client.commit();
        heard.clear();
    }

    @Test
    void theSecondOfTwoThatUpdateARowFailsUnderSnapshots() {
        Client first = new Client("first", append(A, 1));
        Client second = new Client("second", read(B), append(A, 2)).step();
        first.step();
        second.step();
        assertEquals(List.of("second done", "first done"), heard, "it waits for the lock");
        first.commit();
        assertEquals("second first-updater", heard.getLast());
        assertArrayEquals(new int[]{1}, database.read(A));
    }

    @Test
    void inTheVirtualMachineATransactionThatFailsAtItsFirstStatementBeginsAnew() {
        use(EngineKind.H2);
        Client first = new Client("first", append(A, 1)).step();
        Client second = new Client("second", append(A, 2)).step();
        first.commit();
        kernel.runUntil(kernel.now() + 10 * Nanos.MILLI);
        assertEquals(List.of("first done", "commit done", "second renewed", "second done"), heard);
        second.commit();
        assertArrayEquals(new int[]{1, 2}, database.read(A));
    }

    @Test
    void hsqldbWaitsForNoRow() {
        use(EngineKind.HSQLDB);
        new Client("first", append(A, 1)).step();
        new Client("second", read(B), append(A, 2)).step().step();
        assertEquals(List.of("first done", "second done", "second first-updater"), heard);
    }

    @Test
    void aSnapshotDoesNotMove() {
        Client reader = new Client("reader", read(B), read(A)).step();
        new Client("writer", append(A, 1)).step().commit();
        reader.step();
        assertTrue(reader.transaction.capture().isEmpty());
        assertEquals(0, reader.transaction.run().snapshot());
        assertNull(reader.transaction.run().reads().get(A), "it read the initial version");
    }

    @Test
    void readersAndWritersWaitForEachOtherUnderLocking() {
        use(EngineKind.LOCKING);
        Client reader = new Client("reader", read(A)).step();
        new Client("writer", append(A, 1)).step();
        Client scan = new Client("scan", new Step(Action.SCAN, 0)).step();
        new Client("set", PARENT).step();
        assertEquals(List.of("reader done", "scan done"), heard);
        reader.rollback();
        scan.rollback();
        assertTrue(heard.containsAll(List.of("writer done", "set done")), heard.toString());
    }

    @Test
    void aCycleOfWaitsIsADeadlock() {
        Client one = new Client("one", append(A, 1), append(B, 1)).step();
        Client two = new Client("two", append(B, 2), append(A, 2)).step();
        one.step();
        two.step();
        assertEquals(List.of("one done", "two done", "two deadlock", "one done"), heard);
    }

    @ParameterizedTest
    @EnumSource(EngineKind.class)
    void whoeverIsInTheWayOfAnApplierIsNamedAndGivesWay(EngineKind kind) {
        use(kind);
        WriteSet writes = remote(append(A, 9));
        new Client("holder", append(A, 1)).step();
        engine.onBlocked((at, local) -> local.rollback(() -> heard.add("gave way to " + at)));
        Engine.Applier applier = engine.openApplier();
        applier.apply(5, List.of(writes), noted("apply"));
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        assertEquals(List.of("holder done", "gave way to 5", "apply done"), heard);
        applier.commit(5, noted("commit"));
        settle();
        assertArrayEquals(new int[]{9}, database.read(A));
        assertEquals(5, database.visible());
    }

    @Test
    void whileAnApplierGoesFirstNobodyElseGetsARow() {
        use(EngineKind.H2);
        WriteSet writes = remote(append(A, 9), append(B, 9));
        Client holder = new Client("holder", append(A, 1)).step();
        Engine.Applier applier = engine.openApplier();
        applier.apply(5, List.of(writes), noted("apply"));
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        new Client("late", read(A)).step();
        new Client("later", append(B, 1)).step();
        assertEquals(List.of("holder done"), heard, "it holds nothing, and keeps others from getting more");
        holder.rollback();
        assertEquals(List.of("apply done", "late done"), heard.subList(1, 3));
    }

    /** Else it could wait for one who waits for what is ordered behind it. */
    @Test
    void whileAnApplierGoesFirstOthersThatAreOrderedGetRows() {
        use(EngineKind.H2);
        WriteSet first = remote(append(A, 9));
        WriteSet second = remote(append(B, 9));
        new Client("holder", append(A, 1)).step();
        engine.openApplier().apply(5, List.of(first), noted("first"));
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        engine.openApplier().apply(6, List.of(second), noted("second"));
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        assertEquals(List.of("holder done", "second done"), heard);
    }

    /** Whoever was pushed aside by what all replicas execute and ran again at once kept it from ever being alone. */
    @ParameterizedTest
    @EnumSource(EngineKind.class)
    void whoeverRunsAgainAtOnceDoesNotKeepAnApplierFromBeingAlone(EngineKind kind) {
        use(kind);
        Program program = new Program(1000, List.of(append(A, 9), append(B, 9)));
        Set<LocalTransaction> pushed = new HashSet<>();
        engine.onBlocked((_, local) -> {
            if (pushed.add(local)) {
                local.rollback(() -> again(append(A, 1)));
            }
        });
        again(append(A, 1));
        again(append(B, 1));
        settle();
        engine.openApplier().execute(5, program.statement(new TransactionId(1, 1)), new Completion<>() {
            @Override
            public void succeeded(Engine.ExecuteResult result) {
                heard.add("executed " + result.tookEffect());
            }

            @Override
            public void failed(EngineFailure failure) {
                heard.add("failed " + failure);
            }
        });
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        assertTrue(heard.contains("executed true"), pushed.size() + " were pushed aside, " + heard);
        assertEquals(5, database.visible());
    }

    private void again(Step step) {
        new Client("again", step).transaction.perform(end -> heard.add("again " + end.label()));
    }

    @Test
    void anApplierThatPreparesSaysForWhomItWaits() {
        WriteSet writes = remote(append(A, 9));
        Client holder = new Client("holder", append(A, 1)).step();
        engine.onBlocked(new Engine.BlockedListener() {
            @Override
            public void blocked(long at, LocalTransaction local) {
                throw new AssertionError("it has no position");
            }

            @Override
            public void waits(Engine.Applier waiter, Set<LocalTransaction> locals,
                    Set<Engine.Applier> appliers) {
                assertEquals(Set.of(holder), locals);
                heard.add("waits");
            }
        });
        Engine.Applier applier = engine.openApplier();
        applier.apply(0, List.of(writes), noted("prepare"));
        kernel.runUntil(kernel.now() + 5 * Nanos.MILLI);
        applier.cancel();
        settle();
        assertEquals(List.of("holder done", "waits", "prepare 57014"), heard);
    }

    @Test
    void aParentStaysAsLongAsItsChild() {
        given(PARENT, LINK);
        new Client("delete", read(A), NO_PARENT).step().step();
        new Client("link", read(A), new Step(Action.LINK, Catalog.link(1), 4)).step().step();
        assertEquals(List.of("delete done", "delete foreign-key", "link done", "link foreign-key"), heard);
    }

    @Test
    void postgresLocksTheParentThatARowRefersTo() {
        given(PARENT);
        Client child = new Client("child", LINK).step();
        new Client("update", read(A), PARENT).step().step();
        new Client("delete", read(A), NO_PARENT).step().step();
        assertEquals(List.of("child done", "update done", "update done", "delete done"), heard,
                "an update goes together with it, a deletion waits");
        child.commit();
        new Client("other", read(A)).step();
        assertEquals(List.of("commit done", "other done"), heard.subList(4, 6), "it still waits for the update");
    }

    @Test
    void inTheVirtualMachineParentsAreNotLocked() {
        use(EngineKind.H2);
        given(PARENT);
        new Client("child", LINK).step();
        new Client("delete", read(A), NO_PARENT).step().step();
        assertEquals(List.of("child done", "delete done", "delete done"), heard, "certification has to find it");
    }

    @Test
    void aCrashLosesTheCommitsThatWereNotOnDisk() {
        new Client("first", append(A, 1)).step().commit();
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        Client second = new Client("second", append(A, 2)).step();
        second.commit();
        WriteSet writes = second.transaction.capture();
        long hash = database.stateHash();
        assertEquals(2, database.visible());
        assertEquals(1, database.durable());
        host.crash();
        host.boot();
        database.boot();
        engine = Objects.requireNonNull(database.open());
        assertEquals(1, database.visible());
        assertArrayEquals(new int[]{1}, database.read(A));
        Engine.Applier applier = engine.openApplier();
        applier.apply(2, List.of(writes), noted("apply"));
        settle();
        applier.commit(2, noted("again"));
        settle();
        assertEquals(List.of("apply done", "again done"), heard.subList(heard.size() - 2, heard.size()));
        assertEquals(hash, database.stateHash(), "the same rows, the same hash");
    }

    @Test
    void whoeverUsesAServerThatDiesIsTold() {
        engine.onLost(() -> heard.add("lost"));
        given(append(A, 1));
        Client open = new Client("open", append(A, 2)).step();
        open.transaction.capture();
        open.commit(2, noted("commit"));
        database.restart();
        settle();
        assertEquals(List.of("open done", "commit 08006", "lost"), heard);
        assertEquals(0, database.visible(), "nothing had been written");
        new Client("late", append(A, 3)).step();
        assertEquals("late disconnect", heard.getLast(), "these connections are gone for good");
    }

    @Test
    void aServerThatHangsGoesOnWhereItWas() {
        Client client = new Client("client", append(A, 1));
        database.setHangs(true);
        client.step();
        kernel.runUntil(kernel.now() + Nanos.SECOND);
        assertEquals(List.of(), heard);
        database.setHangs(false);
        settle();
        client.commit();
        assertEquals(List.of("client done", "commit done"), heard);
    }

    @ParameterizedTest
    @EnumSource(EngineKind.class)
    void whatALaterLifeIsToldOfAnAppliersPositionStays(EngineKind kind) {
        use(kind);
        WriteSet writes = remote(append(A, 9));
        Engine.Applier applier = engine.openApplier();
        applier.apply(1, List.of(writes), noted("apply"));
        settle();
        database.setCommitDelay(new Distribution.Constant(10 * Nanos.MILLI));
        applier.commit(1, noted("commit"));
        engine.close();
        whatALaterLifeIsToldStays();
    }

    @ParameterizedTest
    @EnumSource(EngineKind.class)
    void whatALaterLifeIsToldOfAClientsPositionStays(EngineKind kind) {
        use(kind);
        Client client = new Client("c", append(A, 9)).step();
        database.setCommitDelay(new Distribution.Constant(10 * Nanos.MILLI));
        client.commit();
        engine.close();
        whatALaterLifeIsToldStays();
    }

    private void whatALaterLifeIsToldStays() {
        List<Long> told = new ArrayList<>();
        Objects.requireNonNull(database.open()).appliedPosition(new Completion<>() {
            @Override
            public void succeeded(Long held) {
                told.add(held);
            }

            @Override
            public void failed(EngineFailure failure) {
                heard.add(failure.message());
            }
        });
        settle();
        assertEquals(told, List.of(database.visible()));
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        assertEquals(told, List.of(database.visible()));
    }

    @Test
    void anOldCopyIsBehindWhatWasDurable() {
        for (int i = 0; i < 20; i++) {
            given(append(A, i));
        }
        kernel.runUntil(kernel.now() + Nanos.SECOND);
        long hash = database.stateHash();
        assertEquals(20, database.durable());
        long copy = database.restartFromCopy();
        assertEquals(copy, database.visible());
        assertTrue(copy < 20);
        assertNotEquals(hash, database.stateHash());
        database.setRefuses(true);
        assertNull(database.open());
    }
}
