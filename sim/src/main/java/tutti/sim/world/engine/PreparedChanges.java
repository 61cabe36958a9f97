package tutti.sim.world.engine;

import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import tutti.core.spi.Completion;
import tutti.core.txn.WriteSet;

/**
 * Changes of a remote transaction that are made and not committed (two-phase commit). Waits for locks like a client's
 * transaction, and goes before nobody.
 */
public final class PreparedChanges extends Branch {
    private final Changes changes;
    private final Iterator<LockStep> locks;
    private final Consumer<Boolean> ended;
    private boolean ready;

    PreparedChanges(SimEngine engine, WriteSet writes, Consumer<Boolean> ended) {
        super(engine);
        this.changes = Changes.of(writes);
        this.locks = LockStep.of(engine, changes).iterator();
        this.ended = ended;
    }

    void begin() {
        while (locks.hasNext()) {
            LockStep next = locks.next();
            switch (engine.locks().acquire(this, next.key(), next.mode(), this::begin)) {
                case GRANTED -> {
                    // On to the next.
                }
                case WAITS -> {
                    return;
                }
                case DEADLOCK -> {
                    rollBack();
                    ended.accept(false);
                    return;
                }
            }
        }
        ready = true;
        ended.accept(true);
    }

    /** Whether it holds all its locks. */
    public boolean isReady() {
        return ready && !isRolledBack();
    }

    /** For whom it waits now, directly or through others. */
    public List<Branch> blockers() {
        return Locks.waitsFor(this).stream().filter(Branch.class::isInstance).map(Branch.class::cast).toList();
    }

    @Override
    boolean priority() {
        return false;
    }

    @Override
    Changes changes() {
        return changes;
    }

    /** Commits at a position; a failure has rolled it back. */
    public void commit(long position, Completion<Void> done) {
        commitChanges(position, done);
    }
}
