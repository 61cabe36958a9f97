package tutti.model;

import org.jspecify.annotations.Nullable;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.protocol.Stage;
import tutti.core.txn.TransactionId;

/** A transaction of a client at its site, from the client's asking to its answer. */
final class ModelTransaction extends LockHolder {
    final TransactionId id;
    final Work work;
    final ClientModel client;
    private final ModelTransactions locals;
    /** When it came, and when it entered its stage. */
    final long since;
    long stageSince;
    Stage stage = Stage.ORDERING;
    Priority priority = Priority.OPTIMISTIC;
    /** Whether the protocol knows of it. */
    boolean told;
    /** What was visible when it ran last; not below {@link #startedAt}. */
    long begun;
    /** What was visible when it was started last. */
    long startedAt;
    int runs;
    /** Whether it holds locks, or waits for them. */
    boolean active;
    /** Increases when what was to be told to the protocol of it has no meaning any more. */
    int epoch;
    Engines.@Nullable Job job;
    /** Where it runs. */
    Engines.Engine engine;
    /** Which statement it executes, if it executes one after the other. */
    int statement;
    /** Processor time of the database, and of its client, that it took before its first statement. */
    double approachNanos;
    double approachClientNanos;

    ModelTransaction(ModelTransactions locals, Work work, ClientModel client, long now) {
        this.locals = locals;
        this.id = work.id;
        this.work = work;
        this.client = client;
        this.since = now;
        this.stageSince = now;
        this.engine = locals.primary();
    }

    @Override
    void acquired() {
        locals.acquired(this);
    }

    @Override
    void pushedAside() {
        locals.pushedAside(this);
    }

    @Override
    void overtaken() {
        locals.overtaken(this);
    }

    @Override
    boolean pushesAside() {
        return priority == Priority.ORDERED;
    }
}
