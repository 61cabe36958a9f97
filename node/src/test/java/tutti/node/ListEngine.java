package tutti.node;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;

/** An engine that is a list of committed changes; it outlives the replicas that use it. Ends what it is asked by itself. */
final class ListEngine implements Engine {
    private final ExecutorService worker = Executors
            .newSingleThreadExecutor(Thread.ofPlatform().daemon().name("list-engine").factory());
    private final List<String> committed = new ArrayList<>();
    private long applied;
    volatile @Nullable Runnable lost;

    /** What was committed, in order. */
    synchronized List<String> changes() {
        return List.copyOf(committed);
    }

    private synchronized void commit(long position, List<String> changes) {
        if (position <= applied) {
            throw new IllegalStateException("position " + position + " after " + applied);
        }
        applied = position;
        committed.addAll(changes);
    }

    @Override
    public void appliedPosition(Completion<Long> done) {
        worker.execute(() -> done.succeeded(applied()));
    }

    private synchronized long applied() {
        return applied;
    }

    @Override
    public void durablePosition(Completion<Long> done) {
        appliedPosition(done);
    }

    @Override
    public Applier openApplier() {
        return new Applier() {
            private List<WriteSet> open = List.of();

            @Override
            public void apply(long position, List<WriteSet> writes, Completion<Void> done) {
                open = writes;
                worker.execute(() -> done.succeeded(null));
            }

            @Override
            public void commit(long position, Completion<Void> done) {
                List<String> changes = open.stream()
                        .map(writes -> new String(writes.changes(), java.nio.charset.StandardCharsets.UTF_8)).toList();
                worker.execute(() -> {
                    ListEngine.this.commit(position, changes);
                    done.succeeded(null);
                });
            }

            @Override
            public void rollback(Runnable done) {
                worker.execute(done);
            }

            @Override
            public void execute(long position, byte[] statement, Completion<ExecuteResult> done) {
                worker.execute(() -> {
                    ListEngine.this.commit(position,
                            List.of(new String(statement, java.nio.charset.StandardCharsets.UTF_8)));
                    done.succeeded(new ExecuteResult(true, statement));
                });
            }

            @Override
            public void close() {
                // Nothing is open.
            }
        };
    }

    @Override
    public void onBlocked(BlockedListener listener) {
        // This engine has no locks.
    }

    @Override
    public void onLost(Runnable listener) {
        lost = listener;
    }

    @Override
    public void close() {
        worker.shutdown();
    }

    /** A client's transaction that has made one change and waits. */
    final class Session implements LocalTransaction {
        private final String change;
        final CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        final CompletableFuture<Void> rolledBack = new CompletableFuture<>();

        Session(String change) {
            this.change = change;
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            worker.execute(() -> {
                ListEngine.this.commit(position, List.of(change));
                done.succeeded(null);
            });
        }

        @Override
        public void rollback(Runnable done) {
            rolledBack.complete(null);
            worker.execute(done);
        }

        @Override
        public void answer(Outcome answer) {
            if (!outcome.complete(answer)) {
                throw new IllegalStateException(change + " was answered twice");
            }
        }
    }
}
