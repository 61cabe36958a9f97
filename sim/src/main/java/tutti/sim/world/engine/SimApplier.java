package tutti.sim.world.engine;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import tutti.core.spi.Completion;
import tutti.core.spi.Engine;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.WriteSet;

/** Applies what was ordered. Goes before clients' transactions, which are told to leave when they are in its way. */
final class SimApplier extends Locks.Owner implements Engine.Applier {
    private final SimEngine engine;
    private final List<Changes> applied = new ArrayList<>();
    private final ArrayDeque<LockStep> locks = new ArrayDeque<>();
    private long position;

    SimApplier(SimEngine engine) {
        this.engine = engine;
    }

    @Override
    boolean priority() {
        return true;
    }

    long position() {
        return position;
    }

    @Override
    public void apply(long first, List<WriteSet> writes, Completion<Void> done) {
        position = first;
        writes.forEach(one -> {
            Changes changes = Changes.of(one);
            applied.add(changes);
            locks.addAll(LockStep.of(engine, changes));
        });
        lock(done);
    }

    private void lock(Completion<Void> done) {
        while (!locks.isEmpty()) {
            LockStep next = locks.remove();
            if (engine.locks().acquire(this, next.key(), next.mode(), () -> lock(done)) != Locks.Result.GRANTED) {
                return;
            }
        }
        engine.applyLater(() -> {
            if (engine.aborts()) {
                giveUp();
                done.failed(new EngineFailure("40P01", "aborted by a fault", true));
            } else {
                done.succeeded(null);
            }
        });
    }

    private void giveUp() {
        applied.clear();
        locks.clear();
        engine.locks().release(this);
    }

    @Override
    public void commit(long last, Completion<Void> done) {
        engine.commitLater(() -> {
            engine.commit(last, applied);
            giveUp();
            done.succeeded(null);
        });
    }

    @Override
    public void rollback(Runnable done) {
        giveUp();
        done.run();
    }

    @Override
    public void execute(long at, byte[] statement, Completion<Engine.ExecuteResult> done) {
        position = at;
        engine.applyLater(() -> {
            if (engine.aborts()) {
                done.failed(new EngineFailure("40P01", "aborted by a fault", true));
                return;
            }
            engine.execute(this, statement);
            done.succeeded(new Engine.ExecuteResult(true, new byte[0]));
        });
    }

    @Override
    public void close() {
        giveUp();
    }
}
