package tutti.server;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.engine.StateView;
import tutti.node.ReplicaNode;
import tutti.runtime.real.RealMachine;
import tutti.server.http.ComparisonJson;

/**
 * This node's part in a comparison of all nodes' databases, which {@code tutti compare} leads: each node opens a view of its database at
 * the same position of the order, and tells digests of what that shows. One comparison at a time; one that nobody asks about for a
 * minute is given up, with its view.
 *
 * <p>
 * <b>Load.</b> Between two pieces of a table the node pauses: so that it reads no more bytes in a second than it was told, and at
 * least for as long as the piece took. Any thread.
 */
final class NodeComparison implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(NodeComparison.class);
    private static final Duration IDLE_MAX = Duration.ofMinutes(1);
    private static final Duration OPENING_MAX = Duration.ofSeconds(20);
    private static final int PARTS_MAX = 4096;
    private static final int ROWS_MAX = 100_000;
    private static final Executor LATER = CompletableFuture.delayedExecutor(IDLE_MAX.toSeconds() + 1, TimeUnit.SECONDS);

    private final ReplicaNode node;
    private final NodeDatabase database;
    private final Asking asking;
    private final ReentrantLock using = new ReentrantLock();
    private volatile @Nullable Comparison present;
    private volatile long usedNanos;

    /** Asks the node, and waits for its answer. */
    @FunctionalInterface
    interface Asking {
        void ask(Consumer<Completion<Void>> question) throws IOException;
    }

    /** One that was begun. */
    private record Comparison(long number, CompletableFuture<Seen> seen,
            CompletableFuture<List<StateView.Relation>> tables) {
        void close() {
            seen.completeExceptionally(new IOException("the comparison has ended"));
            seen.thenAccept(opened -> opened.view().close());
        }
    }

    /** What is looked at. */
    private record Seen(long position, StateView view) {}

    NodeComparison(ReplicaNode node, NodeDatabase database, Asking asking) {
        this.node = node;
        this.database = database;
        this.asking = asking;
    }

    /**
     * Takes a step. Blocks.
     *
     * @param asked {@code do}: {@code expect} that the number {@code id} is ordered; have it ordered ({@code look}); tell the
     *            {@code digests} of all tables, of {@code parts} of a {@code table}, or the {@code rows} of one {@code part};
     *            {@code end}. {@code rate}: bytes to read in a second at most
     * @return JSON
     */
    String step(Map<String, String> asked) throws IOException {
        long number = number(asked, "id", Long.MIN_VALUE, Long.MAX_VALUE);
        if (!using.tryLock()) {
            throw new IOException("the node is busy with another comparison; try again when that has ended");
        }
        try {
            usedNanos = System.nanoTime();
            return switch (String.valueOf(asked.get("do"))) {
                case "expect" -> expect(number);
                case "look" -> {
                    asking.ask(done -> node.look(number, done));
                    yield "{}\n";
                }
                case "digests" -> digests(begun(number), pace(asked));
                case "parts" -> parts(begun(number), asked);
                case "rows" -> rows(begun(number), asked);
                case "end" -> {
                    begun(number);
                    close();
                    yield "{}\n";
                }
                default -> throw new IOException(
                        "say what is to be done: do=expect, look, digests, parts, rows or end");
            };
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("the node is stopping", interrupted);
        } finally {
            usedNanos = System.nanoTime();
            using.unlock();
        }
    }

    private static long number(Map<String, String> asked, String name, long min, long max) throws IOException {
        try {
            long number = Long.parseLong(String.valueOf(asked.get(name)));
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException none) {
            LOG.debug("not a number", none);
        }
        throw new IOException(name + " must be a number from " + min + " to " + max);
    }

    private String expect(long number) throws IOException {
        if (present != null) {
            LOG.info("the comparison before gives way to another one");
        }
        close();
        Comparison begun = new Comparison(number, new CompletableFuture<>(), new CompletableFuture<>());
        present = begun;
        LATER.execute(this::expire);
        asking.ask(done -> node.expect(number, (position, goOn) -> RealMachine.INSTANCE.background("tutti-compare",
                () -> open(begun, position, goOn)), done));
        return "{}\n";
    }

    private void open(Comparison begun, long position, BooleanSupplier goOn) {
        StateView view;
        try {
            view = database.view();
        } catch (IOException | RuntimeException failed) {
            boolean _ = goOn.getAsBoolean();
            begun.seen.completeExceptionally(failed);
            return;
        }
        if (!goOn.getAsBoolean()) {
            view.close();
            begun.seen.completeExceptionally(
                    new IOException("the database could not be looked at in time; compare again"));
        } else if (!begun.seen.complete(new Seen(position, view))) {
            view.close();
        }
    }

    private Comparison begun(long number) throws IOException {
        Comparison begun = present;
        if (begun == null || begun.number != number) {
            throw new IOException("the node takes no part in this comparison any more");
        }
        return begun;
    }

    private static Seen seen(Comparison begun) throws IOException, InterruptedException {
        try {
            return begun.seen.get(OPENING_MAX.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException failed) {
            throw new IOException(failed.getCause().getMessage(), failed);
        } catch (TimeoutException late) {
            throw new IOException("the node has not come to the comparison's position within " + OPENING_MAX.toSeconds()
                    + " s; compare again when it has caught up", late);
        }
    }

    private String digests(Comparison begun, StateView.Pace pace) throws IOException, InterruptedException {
        Seen seen = seen(begun);
        List<String> lacks = node.lacks().stream().map(ReplicaNode.PlacedTable::name).toList();
        List<StateView.Relation> tables = seen.view.tables().stream().filter(table -> !lacks.contains(table.name()))
                .toList();
        begun.tables.complete(tables);
        List<ComparisonJson.Table> told = new ArrayList<>();
        for (StateView.Relation table : tables) {
            try {
                StateView.Digest digest = seen.view.digests(table, 1, pace).getFirst();
                told.add(new ComparisonJson.Table(table.name(), table.definition(), digest.rows(), digest.sum(), null));
            } catch (IOException unreadable) {
                told.add(new ComparisonJson.Table(table.name(), table.definition(), 0, 0, unreadable.getMessage()));
            }
        }
        return ComparisonJson.write(new ComparisonJson.Tables(seen.position, told, lacks));
    }

    private static StateView.Relation table(Comparison begun, Map<String, String> asked) throws IOException {
        return begun.tables.getNow(List.of()).stream().filter(table -> table.name().equals(asked.get("table")))
                .findFirst().orElseThrow(() -> new IOException("there is no table " + asked.get("table")));
    }

    private static String parts(Comparison begun, Map<String, String> asked) throws IOException, InterruptedException {
        int parts = (int) number(asked, "parts", 1, PARTS_MAX);
        return ComparisonJson.write(new ComparisonJson.Parts(seen(begun).view
                .digests(table(begun, asked), parts, pace(asked)).stream()
                .map(digest -> digest.rows() + ":" + digest.sum()).toList()));
    }

    private static String rows(Comparison begun, Map<String, String> asked) throws IOException, InterruptedException {
        int parts = (int) number(asked, "parts", 1, PARTS_MAX);
        int part = (int) number(asked, "part", 0, parts - 1L);
        List<StateView.Row> rows = seen(begun).view.rows(table(begun, asked), parts, part, ROWS_MAX, pace(asked));
        return ComparisonJson.write(new ComparisonJson.Rows(rows == null
                ? null
                : rows.stream().map(row -> new ComparisonJson.Row(row.key(), row.hash())).toList()));
    }

    private static StateView.Pace pace(Map<String, String> asked) throws IOException {
        long rate = number(asked, "rate", 1, Long.MAX_VALUE);
        return (bytes, nanos) -> {
            long least = (long) (bytes * 1e9 / rate) - nanos;
            Thread.sleep(Duration.ofNanos(Math.max(nanos, least)));
        };
    }

    private void expire() {
        if (present == null) {
            return;
        }
        if (using.tryLock()) {
            try {
                if (System.nanoTime() - usedNanos > IDLE_MAX.toNanos()) {
                    LOG.warn("a comparison is given up that nobody has asked about for {}", IDLE_MAX);
                    close();
                    return;
                }
            } finally {
                using.unlock();
            }
        }
        LATER.execute(this::expire);
    }

    @Override
    public void close() {
        Comparison ending = present;
        present = null;
        if (ending != null) {
            ending.close();
        }
    }
}
