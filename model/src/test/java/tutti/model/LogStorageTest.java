package tutti.model;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Kernel;
import tutti.sim.kernel.Label;

class LogStorageTest {
    private static final Label ASK = Label.of("test", "asks");

    private final Kernel kernel = new Kernel(1);
    private final List<String> done = new ArrayList<>();

    private LogStorage storage(Calibration.Log log) {
        return new LogStorage(kernel, "a", log);
    }

    private void ask(LogStorage storage, String name, long at, int writes) {
        kernel.schedule(at, ASK,
                () -> storage.write(RequestKind.PAYMENT, writes, () -> done.add(name + "@" + kernel.now())));
    }

    @Test
    void whoWaitsForASharedLogIsServedByTheNextWriteTogether() {
        LogStorage storage = storage(new Calibration.Log(1, new Distribution.Constant(1000), 8, true));
        ask(storage, "a", 0, 1);
        ask(storage, "b", 200, 1);
        ask(storage, "c", 900, 1);
        ask(storage, "d", 1500, 1);
        ask(storage, "e", 5000, 1);
        kernel.run();
        assertEquals(List.of("a@1000", "b@2000", "c@2000", "d@3000", "e@6000"), done);
        assertEquals(4, storage.writes());
        assertEquals(4000, storage.busyNanos());
        assertEquals(0, storage.open());
        assertEquals(1, storage.places());
    }

    @Test
    void anUnsharedLogHasAsManyWritesAtATimeAsItHasPlaces() {
        for (Distribution access : List.of(new Distribution.Constant(1000),
                new Distribution.Empirical(List.of(1000L)))) {
            done.clear();
            LogStorage storage = storage(new Calibration.Log(1, access, 2, false));
            long from = kernel.now();
            ask(storage, "a", 0, 3);
            ask(storage, "b", 0, 1);
            ask(storage, "c", 0, 21);
            kernel.run();
            assertEquals(List.of("a@" + (from + 2000), "b@" + (from + 2000), "c@" + (from + 13000)), done,
                    access.toString());
            assertEquals(25_000, storage.busyNanos());
        }
    }

    @Test
    void aWriteGoesToThePlaceThatIsFreeFirst() {
        LogStorage storage = storage(new Calibration.Log(1, Distribution.parse("uniform 1us 100us"), 4, false));
        for (int i = 0; i < 1000; i++) {
            ask(storage, "w", 0, 1);
        }
        kernel.run();
        double ideal = storage.busyNanos() / 4.0;
        assertEquals(ideal, (double) kernel.now(), 0.01 * ideal);
    }

    @Test
    void aSharedWriteTakesAsLongAsForTheBiggestThatItServes() {
        LogStorage storage = storage(new Calibration.Log(1, new Distribution.Constant(1000),
                Map.of(RequestKind.DELIVERY, new Distribution.Constant(3000)), 8, true));
        ask(storage, "payment", 0, 4);
        kernel.schedule(100, ASK,
                () -> storage.write(RequestKind.DELIVERY, 130, () -> done.add("delivery@" + kernel.now())));
        ask(storage, "another", 200, 4);
        ask(storage, "last", 1500, 4);
        kernel.run();
        assertEquals(List.of("payment@1000", "delivery@4000", "another@4000", "last@5000"), done);
    }

    @Test
    void aCommitOfASharedLogIsOneWriteHoweverManyRowsItHas() {
        assertEquals(1, new Calibration.Log(3.8, new Distribution.Constant(1), 8, true).writes(100));
        assertEquals(380, new Calibration.Log(3.8, new Distribution.Constant(1), 8, false).writes(100));
        assertEquals(0, new Calibration.Log(3.8, new Distribution.Constant(1), 8, true).writes(0));
    }
}
