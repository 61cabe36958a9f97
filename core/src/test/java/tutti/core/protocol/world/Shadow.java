package tutti.core.protocol.world;

import java.nio.ByteBuffer;
import java.util.function.Consumer;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.ReplicaAdapter;
import tutti.core.protocol.TransactionRequest;
import tutti.core.protocol.world.History.Decision;
import tutti.core.protocol.world.History.Kind;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * A replica without engine or clients that begins from a snapshot, or from nothing, and is delivered the rest of the order
 * and nothing else: it must decide what the others have decided, or the decisions depend on more than the order.
 */
final class Shadow extends ReplicaAdapter {
    private final History history;
    private final int node;
    private long decided;

    private Shadow(History history, int node) {
        this.history = history;
        this.node = node;
    }

    /** One from the beginning, and one from each of up to three snapshots that were taken during the run. */
    static void check(World world) {
        Site site = world.sites.get(world.random.nextInt(world.sites.size()));
        check(world, site.node, new Site.Saved(0, new byte[0]));
        for (int i = 0; i < 3 && !site.saved.isEmpty(); i++) {
            check(world, site.node, site.saved.get(world.random.nextInt(site.saved.size())));
        }
    }

    private static void check(World world, int node, Site.Saved from) {
        Shadow shadow = new Shadow(world.history, node);
        Protocol protocol = world.create(node, shadow);
        if (from.position() > 0) {
            protocol.restore(from.state());
            Protocol again = world.create(node, shadow);
            again.restore(protocol.snapshot());
            protocol = again;
        }
        for (long position = from.position() + 1; position <= world.order.size(); position++) {
            World.Entry entry = world.order.get((int) position - 1);
            byte[] payload = entry.payload();
            if (payload != null) {
                protocol.delivered(position, entry.sender(),
                        world.protocol.messages().decode(ByteBuffer.wrap(payload)));
                if (shadow.decided != position) {
                    throw new AssertionError("restored from " + from.position() + ", nothing was decided at "
                            + position);
                }
            }
        }
    }

    private void decide(long position, Decision decision) {
        decided = position;
        history.decided(node, position, decision);
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        decide(position, new Decision(Kind.WRITE, transaction, Site.content(writes)));
    }

    @Override
    public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
        decide(position, new Decision(Kind.EXECUTE, transaction, request.statement()));
    }

    @Override
    public void skip(long position) {
        decide(position, Decision.SKIP);
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        throw new AssertionError(transaction + " of a former life is committed as if it were here");
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        throw new AssertionError(transaction + " of a former life is answered");
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        throw new AssertionError(transaction + " of a former life is run");
    }

    /** It has no engine, no clients and no clock, and what it would have to say the others have said. */
    @Override
    protected void ask(Consumer<ReplicaWorld> effect) {
        // Nobody does it.
    }
}
