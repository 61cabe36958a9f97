package tutti.node;

import java.io.IOException;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ChosenProtocol;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Guarantee;
import tutti.core.protocol.Trait;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.spi.Completion;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Engine;
import tutti.core.spi.Group;
import tutti.core.spi.Order;
import tutti.core.txn.KeySet;
import tutti.core.txn.TablePlacement;
import tutti.core.txn.WriteSet;
import tutti.node.ReplicaNode.State;
import tutti.node.metrics.NodeMetrics;
import tutti.node.trace.Traces;
import tutti.runtime.Clock;
import tutti.runtime.Directory;
import tutti.runtime.Loop;
import tutti.runtime.Machine;

/**
 * What a replica consists of, put together: its protocol between order, engine and clients' transactions, and the way from
 * what engine and log hold to a state in which it may serve. Of the replica's loop, unless something else is said.
 */
final class ReplicaCore {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicaCore.class);

    private final ReplicaNode.Settings settings;
    private final Order order;
    private final Engine engine;
    private final Protocol protocol;
    private final NodeMetrics metrics;
    private final ReplicaNode.FailureListener failureListener;
    private final Clock clock;
    private final Loop loop;
    private final Parts parts = new Parts();
    private final Horizon horizon = new Horizon();
    private final Lifecycle lifecycle = new Lifecycle();
    private final ControlMessages.Life life;
    private final ClientTransactions transactions;
    private final Outcomes outcomes;
    private final ShownElsewhere elsewhere;
    private final Questions questions;
    private final Backlog backlog;
    private final Control.Messages messages;
    private final OrderInbox inbox;
    private final Outbox outbox;
    private final ClusterProtocol clusterProtocol;
    private final ControlMessages controlMessages;
    private final ProtocolWorld world;
    private final LogKeeping logKeeping;
    private final CommitPipeline pipeline;
    private final Ballots ballots;
    private final Settlement settlement;
    private final LogContinuity continuity = new LogContinuity();
    private final Snapshots snapshots;
    private final Copies copies;
    private final ReadsAtPosition readsAtPosition;
    private final Members members;
    private final Placements placements;
    private final MemberChanges changes;
    private final PlacementChanges placementChanges;
    private final ParameterChanges parameters;
    private final Arrival arrival = new Arrival();
    private final Traces traces = new Traces();
    private final Presence presence;

    /* Read from any thread. */
    private volatile long visiblePosition;
    private volatile long deliveredPosition;

    /** As {@link ReplicaNode#ReplicaNode}. */
    ReplicaCore(ReplicaNode.Settings settings, Machine machine, Directory directory, Order order, Engine engine,
            Function<ReplicaWorld, Protocol> protocol, NodeMetrics metrics, ReplicaNode.FailureListener failureListener)
            throws IOException {
        this.settings = settings;
        this.order = order;
        this.engine = engine;
        this.metrics = metrics;
        this.failureListener = failureListener;
        NodeFiles files = new NodeFiles(directory);
        this.life = new ControlMessages.Life(settings.node(), settings.replicas(), files.nextIncarnation(),
                machine.random("life of node " + settings.node() + " since " + machine.clock().now()).nextLong(),
                settings.protocol());
        this.clock = machine.clock();
        this.loop = machine.loop("tutti-replica-" + settings.node(), cause -> fail(cause, false));
        this.world = new ProtocolWorld(parts, loop, metrics);
        this.protocol = protocol.apply(world);
        this.transactions = new ClientTransactions(settings.node(), life.incarnation(), settings.inFlightMax(),
                settings.waitingBytesMax(), machine.clock(), loop, parts, metrics, horizon, engine, settings.names(),
                settings.doubtNanos());
        this.outcomes = new Outcomes(settings.protocol().has(Trait.COMMITS_BY_OWN_MESSAGE), this.protocol::undecided);
        this.backlog = new Backlog(settings.backlogBytesMax(), order.log());
        this.placements = new Placements(settings.placement());
        this.logKeeping = new LogKeeping(settings, engine, machine, loop, files, placements, parts);
        LostKeys lostKeys = new LostKeys();
        this.pipeline = new CommitPipeline(engine, machine.clock(), loop,
                new PipelineReports(this, world, this.protocol, transactions, outcomes, backlog, metrics), metrics,
                settings.applying(), lostKeys, this::unwatched);
        this.questions = new Questions(parts, outcomes, life.incarnation() << 32);
        this.elsewhere = new ShownElsewhere(parts, settings.node());
        this.messages = new Control.Messages(settings.protocol().messages());
        this.inbox = new OrderInbox(settings.node(), loop, machine.clock(), messages, settings.protocol().messages(),
                backlog, new OrderEvents());
        this.outbox = new Outbox(order.log(), loop);
        this.ballots = new Ballots(settings.replicas(), placements);
        this.members = new Members(settings.replicas());
        this.presence = new Presence(this.protocol, order.group(), inbox, members, ballots);
        this.settlement = new Settlement(life, files, ballots, parts);
        this.snapshots = new Snapshots(files, this.protocol, outcomes, ballots, continuity, members,
                placements, lostKeys);
        this.copies = new Copies(settings.node(), placements, engine, loop, files, snapshots, outcomes,
                logKeeping, order.group(), parts);
        this.readsAtPosition = new ReadsAtPosition(loop, pipeline);
        this.changes = new MemberChanges(settings.node(), members, placements, order.group(), settings.protocol(),
                outcomes, logKeeping, settlement, parts);
        this.placementChanges = new PlacementChanges(settings.node(), placements, engine, loop, order.group(),
                logKeeping, settlement, parts);
        this.parameters = new ParameterChanges(settings.node(), members::voters, settings.protocol(), this.protocol,
                parts);
        this.clusterProtocol = new ClusterProtocol(settings.protocol(), this::ordered);
        this.controlMessages = new ControlMessages(life, clusterProtocol, files, outcomes, questions, transactions,
                logKeeping, ballots,
                settlement, copies, changes, placementChanges, parts);
    }

    /** As {@link ReplicaNode#start}. Any thread. */
    CompletableFuture<Void> start() {
        lifecycle.begins();
        engine.onBlocked(new Blockers(loop, transactions, pipeline));
        engine.onLost(() -> fail(new IllegalStateException(
                "the engine's server went away or restarted; its last commits must be made again from the log"), true));
        engine.appliedPosition(answered(position -> engine.skippedPositions(answered(skipped -> {
            try {
                recover(position, skipped);
            } catch (IOException | DurableLog.TruncatedException | RuntimeException cannot) {
                fail(cannot, false);
            }
        }))));
        return lifecycle.joined();
    }

    private <T> LoopCompletion<T> answered(Consumer<T> then) {
        return new LoopCompletion<>(loop, then, unknown -> fail(new IllegalStateException(
                "the database does not tell its position: " + unknown.sqlState() + " " + unknown.message()
                        + "; see that it can be reached"),
                true));
    }

    private void recover(long position, Set<Long> skipped) throws IOException, DurableLog.TruncatedException {
        arrival.begins(position);
        long before = snapshots.restore(position);
        if (before > 0) {
            logKeeping.recovered(before);
            clusterProtocol.recovered();
        }
        pipeline.open(position, before);
        deliveredPosition = before;
        visiblePosition = position;
        logKeeping.mayHaveBeenWritten(position);
        settlement.recovered(position, skipped);
        long seen = horizon.visible(position);
        LOG.info("node {} incarnation {}: engine holds position {}, protocol begins at {}", settings.node(),
                life.incarnation(), position, before);
        order.group().join(inbox);
        order.log().start(continuity.startAfter(), inbox);
        lifecycle.joins();
        // the first message of this life, as a fence ends with it
        parts.send(life.hello());
        world.tell(() -> protocol.committed(position, seen));
        world.tell(parameters::recovered);
        logKeeping.begin();
        changes.recovered();
    }

    // ------------------------------------------------------------------------------------------ for the outside

    Loop loop() {
        return loop;
    }

    /** Any thread. */
    Lifecycle lifecycle() {
        return lifecycle;
    }

    ControlMessages.Life life() {
        return life;
    }

    /** As of the position that was delivered last. Any thread. */
    Claims claims() {
        return parameters.claims();
    }

    Horizon horizon() {
        return horizon;
    }

    ClientTransactions transactions() {
        return transactions;
    }

    Questions questions() {
        return questions;
    }

    ShownElsewhere elsewhere() {
        return elsewhere;
    }

    Traces traces() {
        return traces;
    }

    OrderInbox inbox() {
        return inbox;
    }

    Settlement settlement() {
        return settlement;
    }

    LogKeeping logKeeping() {
        return logKeeping;
    }

    CommitPipeline pipeline() {
        return pipeline;
    }

    Copies copies() {
        return copies;
    }

    ReadsAtPosition readsAtPosition() {
        return readsAtPosition;
    }

    /** Tables that a write set changes, if some nodes lack one of them; otherwise none. */
    Set<Long> partialTables(WriteSet writes) {
        TablePlacement placement = placements.now();
        if (placement.isEverywhere() || writes.isEmpty()) {
            return Set.of();
        }
        Set<Long> changed = engine.changedTables(writes);
        return placement.keptByAll(changed) ? Set.of() : changed;
    }

    MemberChanges changes() {
        return changes;
    }

    PlacementChanges placements() {
        return placementChanges;
    }

    ParameterChanges parameters() {
        return parameters;
    }

    void configured(ChosenProtocol now) {
        world.tell(() -> parameters.configured(now));
    }

    /** Has a message ordered, in a version that all nodes can read. */
    void send(Control message) {
        parts.send(message);
    }

    /** Any thread. */
    long visiblePosition() {
        return visiblePosition;
    }

    /** Any thread. */
    long deliveredPosition() {
        return deliveredPosition;
    }

    /** Why writes are refused at the moment, or null if they are accepted. Any thread. */
    @Nullable
    String refusal() {
        return lifecycle.refusal(visiblePosition, deliveredPosition, settlement.waits(), inbox.view());
    }

    /** Whether nobody at this node waits to see something, and no other node does to hear that it can be seen here. */
    private boolean unwatched() {
        return lifecycle.state() == State.READY && transactions.none()
                && !claims().has(Trait.VISIBILITY_AWAITED_ELSEWHERE);
    }

    private void ordered(Message message) {
        boolean all = order.group().allCan(Group.TRACES);
        parts.send(messages.said(message, all ? traces.ordered(message.transaction()) : null));
    }

    // ------------------------------------------------------------------------------------------ its parts

    /** What the parts of this node need of it, and of each other. */
    private final class Parts
            implements
                ProtocolWorld.Node,
                ClientTransactions.Node,
                Questions.Node,
                ShownElsewhere.Node,
                LogKeeping.Node,
                ControlMessages.Node,
                Copies.Node,
                MemberChanges.Node,
                PlacementChanges.Node,
                ParameterChanges.Node,
                Settlement.Node {
        @Override
        public Protocol protocol() {
            return protocol;
        }

        @Override
        public CommitPipeline pipeline() {
            return pipeline;
        }

        @Override
        public ClientTransactions transactions() {
            return transactions;
        }

        @Override
        public Outcomes outcomes() {
            return outcomes;
        }

        @Override
        public void tell(Runnable event) {
            world.tell(event);
        }

        @Override
        public @Nullable String refusal() {
            return ReplicaCore.this.refusal();
        }

        @Override
        public boolean isReady() {
            return lifecycle.state() == State.READY;
        }

        @Override
        public long visible() {
            return visiblePosition;
        }

        @Override
        public long deliveredPosition() {
            return deliveredPosition;
        }

        @Override
        public long engineHoldsAtMost() {
            return pipeline.engineHoldsAtMost();
        }

        @Override
        public void hurry(long position) {
            pipeline.hurry(position);
        }

        @Override
        public boolean listens() {
            return settlement.listens();
        }

        @Override
        public boolean tellsFirst(int node) {
            return claims().guarantee() == Guarantee.STRONG_SNAPSHOT_ISOLATION
                    && protocol.primary().equals(OptionalInt.of(node));
        }

        @Override
        public boolean locksExclude() {
            return engine.locksReferencedRows();
        }

        @Override
        public Claims claims() {
            return parameters.claims();
        }

        @Override
        public int payloadBytesMax() {
            return order.log().maxPayloadBytes();
        }

        @Override
        public boolean isGone(int node) {
            Group.View view = inbox.view();
            return view.majority() && (!view.members().contains(node) || ballots.excluded().contains(node)
                    || !members.has(node));
        }

        @Override
        public void barrier(byte[] statement, KeySet keys, Completion<Engine.ExecuteResult> done) {
            transactions.barrier(statement, keys, null, done);
        }

        @Override
        public void schedule(long delayNanos, Runnable task) {
            loop.schedule(delayNanos, task);
        }

        @Override
        public void order(Message message) {
            clusterProtocol.order(message);
        }

        @Override
        public void send(Control control) {
            if (lifecycle.state() != State.EXCLUDED) {
                outbox.send(control.bytes(order.group().wireVersion()));
            }
        }

        @Override
        public void decide(long position, Set<Integer> voters) {
            world.tell(() -> protocol.members(position, voters));
            parameters.follow();
        }

        @Override
        public void membersChanged() {
            tellView();
            maybeReady();
        }

        @Override
        public void isTroubled(int number, long position) {
            presence.isTroubled(number, position);
            membersChanged();
        }

        @Override
        public void isBeyond(int number, long position) {
            if (presence.isBeyond(number, position)) {
                membersChanged();
            }
        }

        @Override
        public boolean isFull() {
            return pipeline.queuedBytes() > settings.backlogBytesMax();
        }

        /** From now on it takes part in the order, and in nothing else. */
        @Override
        public void exclude(Throwable cause) {
            if (!lifecycle.excluded(cause)) {
                return;
            }
            LOG.error("node {} is excluded: {}", settings.node(), cause.getMessage());
            pipeline.halt();
            copies.abandon("the node serves nobody any more");
            outbox.send(new Control.Fence(settings.node(), life.incarnation()).bytes(order.group().wireVersion()));
            failureListener.excluded(cause);
        }

        @Override
        public void multicast(Message message, Set<Integer> nodes) {
            order.group().multicast(message.bytes(order.group().wireVersion()), nodes);
        }

        @Override
        public void multicast(VisibilityMessage message, Set<Integer> nodes) {
            order.group().multicast(message.bytes(order.group().wireVersion()), nodes);
        }

        @Override
        public Set<Integer> serving() {
            Set<Integer> serving = presence.nodes();
            serving.removeAll(members.now().learners());
            return serving;
        }

        @Override
        public boolean isMember(int number) {
            return members.has(number);
        }

        @Override
        public Set<Integer> members() {
            return members.all();
        }

        @Override
        public Group.View view() {
            return inbox.view();
        }

        @Override
        public Set<Integer> excluded() {
            Set<Integer> all = new TreeSet<>(ballots.excluded());
            if (lifecycle.state() == State.EXCLUDED) {
                all.add(settings.node());
            }
            return all;
        }

        @Override
        public long logBytes() {
            return order.log().status().logBytes();
        }

        @Override
        public void truncate(long position) {
            order.log().truncate(position);
        }

        @Override
        public boolean engineHeld(long position) {
            return pipeline.engineHeld(position);
        }

        @Override
        public void joinedAt(long position) {
            arrival.joinedAt(position);
            settlement.joined(position);
            maybeReady();
        }

        @Override
        public void fail(Throwable cause, boolean restartable) {
            ReplicaCore.this.fail(cause, restartable);
        }
    }

    // ------------------------------------------------------------------------------------------ order

    private final class OrderEvents implements OrderInbox.Events {
        @Override
        public void delivered() {
            takeDeliveries();
        }

        @Override
        public void received(int sender, Message message) {
            world.tell(() -> protocol.received(sender, message));
        }

        @Override
        public void received(int sender, VisibilityMessage message) {
            elsewhere.received(sender, message);
        }

        @Override
        public void tentative(int sender, Message message) {
            world.tell(() -> protocol.tentative(sender, message));
        }

        @Override
        public void viewed(Group.View now) {
            transactions.viewed();
            tellView();
        }

        @Override
        public void failed(Throwable cause) {
            fail(cause, false);
        }
    }

    private void takeDeliveries() {
        long bytes = 0;
        for (OrderInbox.Delivery next = inbox.poll(); next != null; next = inbox.poll()) {
            if (continuity.isNew(next.position(), next.digest())) {
                deliveredPosition = next.position();
                bytes += next.bytes();
                Control message = next.message();
                if (lifecycle.state() != State.EXCLUDED) {
                    take(next);
                } else if (message != null) {
                    controlMessages.deliveredToExcluded(next.position(), next.sender(), message);
                }
            }
        }
        if (lifecycle.state() == State.EXCLUDED || settlement.listens()) {
            outbox.flush();
            backlog.measured(0);
            return;
        }
        transactions.logMore();
        questions.reconsider();
        outbox.flush();
        presence.advise();
        backlog.measured(pipeline.queuedBytes());
        metrics.waitingRequests(protocol.waitingBytes());
        logKeeping.delivered(deliveredPosition, bytes, protocol.waitingBytes(),
                () -> snapshots.take(deliveredPosition));
        logKeeping.visible(visiblePosition, snapshots::complete);
        copies.delivered(deliveredPosition);
    }

    private void take(OrderInbox.Delivery next) {
        Control control = next.message();
        if (control == null || !members.has(next.sender())) {
            skipUnlessListening(next);
            return;
        }
        boolean counts = outcomes.counts(next.sender());
        if (control instanceof Control.Said && settlement.listens()) {
            return;
        }
        if (counts && control instanceof Control.Said(Message message, var _)) {
            if (next.context() != null && !pipeline.engineHeld(next.position())) {
                traces.delivered(next.position(), message.transaction(), next.context(),
                        clock.nanoTime() - next.nanos());
            }
            world.deliver(protocol, next.position(), next.sender(), message);
            parameters.delivered(next.position(), next.sender(), message);
            if (next.sender() == settings.node()) {
                transactions.tellLogged();
            }
            return;
        }
        skipUnlessListening(next);
        if (counts || control instanceof Control.Hello) {
            controlMessages.delivered(next.position(), next.sender(), control);
        }
    }

    private void skipUnlessListening(OrderInbox.Delivery next) {
        if (!settlement.listens()) {
            readsAtPosition.decide(next.position(), next.message());
        }
    }

    /**
     * Tells the protocol which nodes take part: those that can be reached, but for those that hold what others do not, and those that stand still. Without a
     * majority nobody does: what it would ask for because it misses the others would be ordered when they are there again.
     */
    private void tellView() {
        Set<Integer> well = inbox.view().majority() ? presence.well() : Set.of();
        world.tell(() -> protocol.view(well));
        questions.reconsider();
        elsewhere.reconsider();
    }

    private void maybeReady() {
        if (arrival.complete(pipeline.visible()) && changes.decides() && lifecycle.catchesUp()) {
            LOG.info("node {} is ready at position {}", settings.node(), pipeline.visible());
            placementChanges.come();
        }
    }

    /** Everything up to a position has become visible in the engine. */
    void visible(long position) {
        visiblePosition = position;
        settlement.visible(position);
        transactions.included().visible(position);
        if (lifecycle.state() == State.EXCLUDED) {
            return;
        }
        transactions.logMore();
        questions.visible(position);
        elsewhere.visible(position);
        transactions.bookings().visible(position);
        copies.visible(position);
        logKeeping.visible(position, snapshots::complete);
        long seen = horizon.visible(position);
        world.tell(() -> protocol.committed(position, seen));
        backlog.measured(pipeline.queuedBytes());
        maybeReady();
    }

    /** The replica cannot go on. */
    void fail(Throwable cause, boolean restartable) {
        if (!lifecycle.fails(cause)) {
            return;
        }
        LOG.error("node {} stops: {}", settings.node(), cause.getMessage(), cause);
        failureListener.failed(cause, restartable);
    }

    /** As {@link ReplicaNode#close}. */
    void close() {
        lifecycle.stops();
        loop.close();
        order.close();
        pipeline.close();
        logKeeping.awaitSnapshot();
    }
}
