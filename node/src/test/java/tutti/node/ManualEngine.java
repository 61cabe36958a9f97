package tutti.node;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.Outcome;
import tutti.core.txn.WriteSet;

/**
 * An engine whose every operation ends when the test says so, and that checks what the pipeline may rely on nobody else
 * for: commits in order of position, each write set once, and no two open appliers with keys that meet.
 */
final class ManualEngine implements Engine {
    /** An operation under way. */
    interface Pending {
        void succeed();

        /** It fails without effect. */
        void fail(boolean transientFailure);

        /** It takes effect, but its result is lost on the way. */
        void succeedUnheard();

        /** The engine refuses a statement for its own sake. */
        void refuse();
    }

    private static final EngineFailure LOST = new EngineFailure("08006", "connection lost", true);

    final List<Pending> pending = new ArrayList<>();
    final List<Long> effects = new ArrayList<>();
    final AtomicLong applied = new AtomicLong();
    private final Set<Long> skipped = new HashSet<>();
    private final List<ManualApplier> appliers = new ArrayList<>();
    @Nullable
    BlockedListener blocked;
    @Nullable
    Runnable lost;
    boolean groupsSeen;

    synchronized List<Pending> takePending() {
        List<Pending> taken = new ArrayList<>(pending);
        pending.clear();
        return taken;
    }

    synchronized void pend(Runnable effect, Completion<@Nullable Void> done) {
        pend(effect, done, () -> {
            throw new UnsupportedOperationException();
        });
    }

    private synchronized void pend(Runnable effect, Completion<@Nullable Void> done, Runnable refused) {
        pending.add(new Pending() {
            @Override
            public void refuse() {
                refused.run();
            }

            @Override
            public void succeed() {
                effect.run();
                done.succeeded(null);
            }

            @Override
            public void fail(boolean transientFailure) {
                done.failed(new EngineFailure("40P01", "deadlock", transientFailure));
            }

            @Override
            public void succeedUnheard() {
                effect.run();
                done.failed(LOST);
            }
        });
    }

    synchronized void commit(List<Long> positions) {
        for (long position : positions) {
            if (position <= applied.get()) {
                throw new IllegalStateException("position " + position + " committed again after " + applied);
            }
            applied.set(position);
            effects.add(position);
        }
    }

    @Override
    public void appliedPosition(Completion<Long> done) {
        done.succeeded(applied.get());
    }

    @Override
    public void durablePosition(Completion<Long> done) {
        done.succeeded(applied.get());
    }

    @Override
    public void skippedPositions(Completion<Set<Long>> done) {
        done.succeeded(Set.copyOf(skipped));
    }

    @Override
    public synchronized Applier openApplier() {
        ManualApplier applier = new ManualApplier();
        appliers.add(applier);
        return applier;
    }

    synchronized Applier lastApplier() {
        return appliers.getLast();
    }

    @Override
    public void onBlocked(BlockedListener listener) {
        blocked = listener;
    }

    @Override
    public void onLost(Runnable listener) {
        lost = listener;
    }

    @Override
    public void close() {
        // Nothing is open.
    }

    private final class ManualApplier implements Applier {
        List<WriteSet> open = List.of();

        @Override
        public void apply(long position, List<WriteSet> writes, Completion<Void> done) {
            synchronized (ManualEngine.this) {
                if (!open.isEmpty()) {
                    throw new IllegalStateException("the applier is busy");
                }
                for (ManualApplier other : appliers) {
                    for (WriteSet mine : writes) {
                        for (WriteSet theirs : other.open) {
                            if (meet(mine, theirs)) {
                                throw new IllegalStateException("two appliers hold keys that meet, at " + position);
                            }
                        }
                    }
                }
                groupsSeen |= writes.size() > 1;
                open = writes;
            }
            pend(() -> {}, new Completion<>() {
                @Override
                public void succeeded(@Nullable Void value) {
                    done.succeeded(null);
                }

                @Override
                public void failed(EngineFailure failure) {
                    open = List.of();
                    done.failed(failure);
                }
            });
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            List<Long> positions = open.stream().map(ManualEngine::positionOf).toList();
            pend(() -> ManualEngine.this.commit(positions), new Completion<>() {
                @Override
                public void succeeded(@Nullable Void value) {
                    open = List.of();
                    done.succeeded(null);
                }

                @Override
                public void failed(EngineFailure failure) {
                    open = List.of();
                    done.failed(failure);
                }
            });
        }

        @Override
        public void rollback(Runnable done) {
            open = List.of();
            done.run();
        }

        @Override
        public void execute(long position, byte[] statement, Completion<ExecuteResult> done) {
            pend(() -> ManualEngine.this.commit(List.of(position)), new Completion<>() {
                @Override
                public void succeeded(@Nullable Void value) {
                    done.succeeded(ExecuteResult.done(statement));
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.failed(failure);
                }
            }, () -> done.succeeded(new ExecuteResult(new EngineFailure("42P07", "it exists already", false),
                    new byte[0])));
        }

        @Override
        public void skip(long position, EngineFailure why, Completion<ExecuteResult> done) {
            pend(() -> {
                ManualEngine.this.commit(List.of(position));
                skipped.add(position);
            }, new Completion<>() {
                @Override
                public void succeeded(@Nullable Void value) {
                    done.succeeded(new ExecuteResult(why, new byte[0]));
                }

                @Override
                public void failed(EngineFailure failure) {
                    done.failed(failure);
                }
            });
        }

        @Override
        public void close() {
            // Nothing is open.
        }
    }

    static long positionOf(WriteSet writes) {
        return java.nio.ByteBuffer.wrap(writes.changes()).getLong();
    }

    private static boolean meet(WriteSet one, WriteSet other) {
        for (int i = 0; i < one.keys().size(); i++) {
            for (int j = 0; j < other.keys().size(); j++) {
                if (one.keys().hash(i) == other.keys().hash(j)
                        && one.keys().kind(i).conflictsWith(other.keys().kind(j))) {
                    return true;
                }
            }
        }
        return false;
    }

    /** A session's transaction in this engine. */
    final class Session implements LocalTransaction {
        private final long writes;
        boolean rolledBack;
        final List<Outcome> answers = new ArrayList<>();

        Session(long position) {
            this.writes = position;
        }

        @Override
        public void commit(long position, Completion<Void> done) {
            if (rolledBack) {
                throw new IllegalStateException("asked to commit after it was rolled back");
            }
            pend(() -> ManualEngine.this.commit(List.of(writes)), done);
        }

        @Override
        public void rollback(Runnable done) {
            rolledBack = true;
            done.run();
        }

        @Override
        public synchronized void answer(Outcome outcome) {
            answers.add(outcome);
        }
    }
}
