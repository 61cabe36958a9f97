package tutti.sim.world.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.host.Host;
import tutti.sim.host.HostConfig;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Nanos;
import tutti.sim.thread.Threads;
import tutti.sim.world.engine.Program.Action;
import tutti.sim.world.engine.Program.Step;
import tutti.sim.world.engine.SimEngine.Concurrency;

class SimEngineTest {
    private static final long A = 0;
    private static final long B = 1;
    private static final String DONE = "done";

    private final Kernel kernel = new Kernel(1);
    private final Host host = new Host(kernel, new Threads(kernel), "n0", HostConfig.DEFAULT);
    private final List<String> heard = new ArrayList<>();
    private SimEngine engine = engine(Concurrency.SNAPSHOT);
    private long serial;
    private long position;

    private SimEngine engine(Concurrency concurrency) {
        SimEngine made = new SimEngine(host, concurrency, new SimEngine.Timing(new Distribution.Constant(1000),
                new Distribution.Constant(1000), new Distribution.Constant(10 * Nanos.MILLI)));
        if (host.state() == Host.State.DOWN) {
            host.boot();
        }
        made.boot();
        return made;
    }

    private SimSession begin(Step... steps) {
        return engine.begin(new TransactionId(0, ++serial), new Program(serial, Arrays.asList(steps)), 0, false);
    }

    private static Step append(long list, int value) {
        return new Step(Action.APPEND, list, value);
    }

    private static Step read(long list) {
        return new Step(Action.READ, list);
    }

    /** Carries out the next statement, and notes under a name how it ends. */
    private void step(SimSession session, String name) {
        session.perform(failed -> heard.add(name + " " + (failed == null ? DONE : failed)));
    }

    private Completion<Void> noted(String name) {
        return new Completion<>() {
            @Override
            public void succeeded(Void nothing) {
                heard.add(name + " " + DONE);
            }

            @Override
            public void failed(EngineFailure failure) {
                heard.add(name + " " + failure.sqlState());
            }
        };
    }

    private void commit(SimSession session) {
        session.capture();
        session.commit(++position, noted("commit"));
        kernel.runUntil(kernel.now() + Nanos.MILLI);
    }

    /** What another replica's transaction changes. */
    private WriteSet remote(long list, int value) {
        SimSession elsewhere = begin(append(list, value));
        step(elsewhere, "elsewhere");
        WriteSet writes = elsewhere.capture();
        elsewhere.rollBack();
        heard.clear();
        return writes;
    }

    private void settle() {
        kernel.runUntil(kernel.now() + Nanos.MILLI);
    }

    @Test
    void theSecondOfTwoThatUpdateARowFailsUnderSnapshots() {
        SimSession first = begin(append(A, 1));
        SimSession second = begin(read(B), append(A, 2));
        step(second, "second");
        step(first, "first");
        step(second, "second");
        assertEquals(List.of("second done", "first done"), heard, "it waits for the lock");
        commit(first);
        assertEquals("second first-updater", heard.getLast());
        assertArrayEquals(new int[]{1}, engine.read(A));
    }

    @Test
    void aSnapshotDoesNotMove() {
        SimSession reader = begin(read(B), read(A));
        step(reader, "reader");
        SimSession writer = begin(append(A, 1));
        step(writer, "writer");
        commit(writer);
        step(reader, "reader");
        assertTrue(reader.capture().isEmpty());
        assertEquals(0, reader.run().snapshot());
        assertNull(reader.run().reads().get(A), "it read the initial version");
    }

    @Test
    void readersAndWritersWaitForEachOtherUnderLocking() {
        engine = engine(Concurrency.LOCKING);
        SimSession reader = begin(read(A));
        step(reader, "reader");
        SimSession writer = begin(append(A, 1));
        step(writer, "writer");
        SimSession scan = begin(new Step(Action.SCAN, 0));
        step(scan, "scan");
        SimSession set = begin(new Step(Action.SET, Catalog.register(3)));
        step(set, "set");
        assertEquals(List.of("reader done", "scan done"), heard);
        reader.rollBack();
        scan.rollBack();
        settle();
        assertTrue(heard.containsAll(List.of("writer done", "set done")), heard.toString());
    }

    @Test
    void aCycleOfWaitsIsADeadlock() {
        SimSession one = begin(append(A, 1), append(B, 1));
        SimSession two = begin(append(B, 2), append(A, 2));
        step(one, "one");
        step(two, "two");
        step(one, "one");
        step(two, "two");
        settle();
        assertEquals(List.of("one done", "two done", "two deadlock", "one done"), heard);
    }

    @Test
    void whoeverIsInTheWayOfAnApplierIsToldAndGivesWay() {
        WriteSet writes = remote(A, 9);
        SimSession holder = begin(append(A, 1));
        step(holder, "holder");
        SimSession waiter = begin(append(A, 2));
        step(waiter, "waiter");
        engine.onBlocked((at, local) -> local.rollback(() -> heard.add("gave way to " + at)));
        Engine.Applier applier = engine.openApplier();
        applier.apply(5, List.of(writes), noted("apply"));
        settle();
        assertEquals(List.of("holder done", "gave way to 5", "apply done"), heard, "and goes before who waits");
        applier.commit(5, noted("commit"));
        settle();
        assertEquals(List.of("commit done", "waiter first-updater"), heard.subList(3, 5));
        assertArrayEquals(new int[]{9}, engine.read(A));
        assertEquals(5, engine.visible());
    }

    @Test
    void aCrashLosesTheCommitsThatWereNotOnDisk() {
        SimSession first = begin(append(A, 1));
        step(first, "first");
        commit(first);
        kernel.runUntil(kernel.now() + 20 * Nanos.MILLI);
        SimSession second = begin(append(A, 2));
        step(second, "second");
        commit(second);
        long hash = engine.stateHash();
        assertEquals(2, engine.visible());
        engine.durablePosition(new Completion<>() {
            @Override
            public void succeeded(Long durable) {
                assertEquals(1, durable);
            }

            @Override
            public void failed(EngineFailure failure) {
                throw new AssertionError(failure);
            }
        });
        host.crash();
        host.boot();
        engine.boot();
        assertEquals(1, engine.visible());
        assertArrayEquals(new int[]{1}, engine.read(A));
        Engine.Applier applier = engine.openApplier();
        SimSession again = begin(append(A, 2));
        step(again, "again");
        WriteSet writes = again.capture();
        again.rollBack();
        applier.apply(2, List.of(writes), noted("apply"));
        settle();
        applier.commit(2, noted("commit"));
        settle();
        assertEquals(hash, engine.stateHash(), "the same rows, the same hash");
        assertFalse(heard.contains("commit 40P01"));
    }
}
