package tutti.sim.world.engine;

import java.util.List;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;

/** A transaction in the engine that holds locks until it is committed or rolled back. */
public abstract sealed class Branch extends Locks.Owner permits SimSession, PreparedChanges {
    final SimEngine engine;
    private boolean rolledBack;
    private boolean committing;

    Branch(SimEngine engine) {
        this.engine = engine;
    }

    /** Whether it was rolled back. */
    public boolean isRolledBack() {
        return rolledBack;
    }

    /** Whether its commit is under way, so that nothing can stop it but a failure of its own. */
    public boolean isCommitting() {
        return committing;
    }

    abstract Changes changes();

    /** Commits at a position; a failure has rolled it back. */
    final void commitChanges(long position, Completion<Void> done) {
        if (rolledBack || committing) {
            throw new IllegalStateException("a commit of what is rolled back or being committed");
        }
        committing = true;
        engine.commitLater(() -> {
            committing = false;
            if (engine.aborts()) {
                rollBack();
                done.failed(new EngineFailure("40P01", "aborted by a fault", true));
                return;
            }
            engine.commit(position, List.of(changes()));
            rolledBack = true;
            engine.locks().release(this);
            done.succeeded(null);
        });
    }

    /** Releases all locks now; what it wrote is forgotten. Idempotent; without effect while a commit is under way. */
    public final void rollBack() {
        if (!committing) {
            rolledBack = true;
            engine.locks().release(this);
        }
    }
}
