package tutti.bookkeeper;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.zookeeper.ZooKeeper;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.schema.ByteStrings;
import tutti.order.batch.Batch;
import tutti.runtime.Loop;
import tutti.runtime.real.RealMachine;

@Tag("long")
@Timeout(120)
class LogWriterTest {
    private static final String PATH = "/tutti/writers";
    private static final String IDENTITY = "the log of a test";
    private static final int ROUNDS = 8;

    @TempDir
    private Path directory;

    /** One that takes the log over, writes a batch, and leaves it. */
    private static final class Contender implements LogRegistry.Listener, LogWriter.Owner, AutoCloseable {
        private final int node;
        private final Loop loop;
        private final LogRegistry registry;
        private final LedgerStore store;
        private final CountDownLatch connected = new CountDownLatch(2);
        private final Set<Long> wrote = new ConcurrentSkipListSet<>();
        private CompletableFuture<Void> round = new CompletableFuture<>();
        private @Nullable LogWriter writer;
        private int rounds;

        Contender(int node, LocalStore bookies) {
            this.node = node;
            loop = RealMachine.INSTANCE.loop("contender-" + node, _ -> {});
            BookKeeperParameters parameters = BookKeeperParameters
                    .of(Map.of("zookeeper", bookies.zookeeper(), "path", PATH), "test");
            registry = new LogRegistry(parameters, node, IDENTITY, 5000, loop, RealMachine.INSTANCE, this);
            store = new LedgerStore(parameters, node, 5, RealMachine.INSTANCE, loop, connected::countDown);
            loop.execute(registry::start);
            loop.execute(store::start);
        }

        CompletableFuture<Void> takeOver() {
            CompletableFuture<Void> begun = new CompletableFuture<>();
            loop.execute(() -> {
                round = begun;
                rounds++;
                writer = new LogWriter(store, registry, node, IDENTITY, 1 << 20, true, 0, () -> 1,
                        RealMachine.INSTANCE.clock(), this);
            });
            return begun;
        }

        @Override
        public void written(long ledger, long entry, long positions) {
            LogWriter present = writer;
            if (present == null) {
                return;
            }
            if (entry == 0) {
                present.submit(new Batch(node, rounds, 1, ByteStrings.of(List.of(new byte[]{1}))).bytes());
            } else {
                wrote.add(ledger);
                present.end("the round is over");
            }
        }

        @Override
        public void stopped(String why) {
            writer = null;
            round.complete(null);
        }

        @Override
        public void broken(IOException cause) {
            round.completeExceptionally(cause);
        }

        @Override
        public void reachable(boolean now) {
            if (now) {
                connected.countDown();
            }
        }

        @Override
        public void listed(LedgerList list) {}

        @Override
        public void owns() {}

        @Override
        public void ownsNot() {}

        @Override
        public void failed(IOException cause) {
            round.completeExceptionally(cause);
        }

        @Override
        public void close() {
            loop.close();
            registry.close();
            store.close();
        }
    }

    @Test
    void ofThoseWhoTakeOverAtOnceOneWritesAndWhatWasWrittenIsInTheList() throws Exception {
        try (LocalStore bookies = new LocalStore(directory, 3);
                Contender first = new Contender(0, bookies);
                Contender second = new Contender(1, bookies)) {
            assertTrue(first.connected.await(30, TimeUnit.SECONDS));
            assertTrue(second.connected.await(30, TimeUnit.SECONDS));
            first.takeOver().get(30, TimeUnit.SECONDS);
            for (int i = 0; i < ROUNDS; i++) {
                CompletableFuture<Void> one = first.takeOver();
                CompletableFuture<Void> other = second.takeOver();
                one.get(30, TimeUnit.SECONDS);
                other.get(30, TimeUnit.SECONDS);
            }
            Set<Long> wrote = new TreeSet<>(first.wrote);
            wrote.addAll(second.wrote);
            assertFalse(wrote.isEmpty());
            ZooKeeper outsider = new ZooKeeper(bookies.zookeeper(), 5000, _ -> {});
            LedgerList list = LedgerList.SET.decode(ByteBuffer.wrap(outsider.getData(PATH + "/ledgers", false, null)),
                    LedgerList.class);
            outsider.close();
            Set<Long> listed = list.segments().stream().map(LedgerList.Segment::ledger).collect(Collectors.toSet());
            assertTrue(listed.containsAll(wrote), "written to " + wrote + ", of which the log is " + listed);
        }
    }
}
