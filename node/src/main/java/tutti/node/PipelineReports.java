package tutti.node;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Protocol;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.metrics.NodeMetrics;
import tutti.node.trace.PositionTrace;

/** What becomes of what the pipeline does, told to those of the node's parts that it concerns. On the replica's loop. */
final class PipelineReports implements CommitPipeline.Events {
    private static final Logger LOG = LoggerFactory.getLogger(PipelineReports.class);

    private final ReplicaCore core;
    private final ProtocolWorld world;
    private final Protocol protocol;
    private final ClientTransactions transactions;
    private final Outcomes outcomes;
    private final Backlog backlog;
    private final NodeMetrics metrics;

    PipelineReports(ReplicaCore core, ProtocolWorld world, Protocol protocol, ClientTransactions transactions,
            Outcomes outcomes, Backlog backlog, NodeMetrics metrics) {
        this.core = core;
        this.world = world;
        this.protocol = protocol;
        this.transactions = transactions;
        this.outcomes = outcomes;
        this.backlog = backlog;
        this.metrics = metrics;
    }

    @Override
    public void decided(Slot slot) {
        PositionTrace follows = core.traces().decided(slot.position(), slot.kind() != Slot.Kind.SKIP);
        if (follows != null) {
            slot.followedBy(follows);
        }
    }

    @Override
    public void committed(long position, WriteSet writes) {
        core.logKeeping().written(position, writes.keys());
        core.traces().committed(position, writes);
    }

    @Override
    public void visible(long position) {
        core.visible(position);
    }

    @Override
    public void prepared(TransactionId transaction) {
        world.tell(() -> protocol.prepared(transaction));
    }

    @Override
    public void blocked(TransactionId transaction, Set<TransactionId> holders) {
        world.tell(() -> protocol.blocked(transaction, holders));
    }

    @Override
    public void notPrepared(TransactionId transaction, EngineFailure cause) {
        LOG.debug("{} could not be prepared: {} {}", transaction, cause.sqlState(), cause.message());
        world.tell(() -> protocol.failed(transaction, new AbortReason.Failed("prepare")));
    }

    @Override
    public void executed(long position, ExecuteResult result) {
        metrics.barrierExecuted();
        if (!result.tookEffect()) {
            core.settlement().leavesOut(position);
        }
        outcomes.executed(position, result.tookEffect());
        transactions.executed(position, result);
        core.questions().reconsider();
    }

    @Override
    public void refused(Slot slot, EngineFailure why) {
        core.settlement().refused(slot, core.partialTables(slot.writes()), why);
        if (core.settlement().listens()) {
            backlog.measured(0);
        }
    }

    @Override
    public @Nullable EngineFailure leftOut(long position) {
        return core.settlement().leftOut(position);
    }

    @Override
    public boolean holds(long position) {
        return core.settlement().holds(position);
    }

    @Override
    public boolean wasLeftOut(long position) {
        return core.settlement().wasLeftOut(position);
    }

    @Override
    public void leavesOut(long position, TransactionId transaction, EngineFailure why) {
        core.settlement().leavesOut(position);
        transactions.included().all(position, transaction).forEach(each -> transactions.leftOut(each, why));
    }

    @Override
    public void takesBack(TransactionId transaction) {
        transactions.takeBack(transaction);
    }

    @Override
    public void failed(Throwable cause) {
        core.fail(cause, true);
    }
}
