package tutti.sim.world.replica;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.Replica;
import tutti.core.protocol.Request;
import tutti.core.spi.Completion;
import tutti.core.spi.DurableLog;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.Group;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.host.Host;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Label;
import tutti.sim.world.engine.Run;
import tutti.sim.world.engine.SimEngine;
import tutti.sim.world.order.SimOrder;

/**
 * One life of a replica: its protocol, what the protocol asks for, and how it comes back after a crash, by the rules that
 * {@code tutti.node.ReplicaNode} follows. The newest protocol snapshot that is not ahead of the engine is restored, and the
 * order is delivered from there; what the engine holds already is decided again and not done again. The replica serves
 * when a message of its own, submitted after the start, has come back and everything before it is visible.
 *
 * <p>
 * Events are told to the protocol one at a time; what it asks for during one is carried out after it.
 */
final class SimReplica implements Replica {
    private static final Label TIMER = Label.of("replica", "timer");
    private static final Label TELL = Label.of("replica", "tell restart position");
    private static final Label VISIBLE = Label.of("replica", "state");
    private static final Label EFFECT = Label.of("replica", "effect");
    private static final int EFFECT_BITS = 4;

    private final ReplicaHost home;
    private final Host host;
    private final int node;
    private final SimEngine engine;
    private final SimOrder order;
    private final Protocol protocol;
    private final Locals locals;
    private final Pipeline pipeline;
    private final ArrayDeque<Runnable> events = new ArrayDeque<>();
    private final List<Runnable> effects = new ArrayList<>();
    private final Map<Long, Clock.Timer> timers = new TreeMap<>();
    private final ArrayDeque<byte[]> unsent = new ArrayDeque<>();
    private final Map<Integer, Long> restart = new TreeMap<>();
    private final Map<TransactionId, Run> barriers = new TreeMap<>(ReplicaHost.BY_NODE_AND_SERIAL);
    private boolean telling;
    private boolean inEvent;
    private boolean decided;
    private long delivered;
    private long recovered;
    private long helloPosition;
    private long serial;
    private long snapshotPosition;
    private long toldRestart;
    private boolean ready;
    private boolean over;

    SimReplica(ReplicaHost home, SimOrder order) {
        this.home = home;
        this.host = home.host();
        this.node = home.node();
        this.engine = home.engine();
        this.order = order;
        this.protocol = home.settings().protocol().create(node, home.settings().replicas(), this);
        this.pipeline = new Pipeline(host, engine, home.settings().appliers(), new Positions());
        this.locals = new Locals(this, host, engine, home.log(), home.settings(),
                host.random("clients " + host.life()));
        engine.onExecuted(run -> barriers.put(run.transaction(), run));
    }

    void start() throws DurableLog.TruncatedException {
        recovered = engine.visible();
        Snapshots.Saved snapshot = home.snapshots().newestUpTo(recovered);
        if (snapshot != null) {
            protocol.restore(snapshot.state());
            snapshotPosition = snapshot.position();
        }
        delivered = snapshotPosition;
        home.log().started(node, host.life(), recovered, delivered);
        host.onCrash(this::crash);
        order.onTentative(this::tentative);
        tell(() -> protocol.committed(recovered, recovered));
        Deliveries deliveries = new Deliveries();
        order.join(deliveries);
        order.start(delivered, deliveries);
        submit(Envelope.hello(host.life()));
        host.after(home.settings().restartInterval().sample(home.random()), TELL, this::tellRestart);
    }

    private void crash() {
        over = true;
        home.log().crashed(node, host.life());
        locals.crash();
    }

    Protocol protocol() {
        return protocol;
    }

    Pipeline pipeline() {
        return pipeline;
    }

    long visible() {
        return pipeline.visible();
    }

    long delivered() {
        return delivered;
    }

    boolean isReady() {
        return ready;
    }

    /** Nothing is left to be done or told. */
    boolean isQuiet() {
        return ready && pipeline.isEmpty() && unsent.isEmpty() && locals.open().isEmpty()
                && order.status().queuedBytes() == 0 && pipeline.visible() == delivered;
    }

    void begin(Submission submission, Client client) {
        locals.begin(new TransactionId(node, host.life() << Integer.SIZE | ++serial), submission, client);
    }

    // ------------------------------------------------------------------------------------------ events

    /** Has the protocol told something, when it has been told all that came before, and does what it asks for then. */
    void tell(Runnable event) {
        events.add(event);
        if (telling) {
            return;
        }
        telling = true;
        for (Runnable next = events.poll(); next != null && !over; next = events.poll()) {
            inEvent = true;
            next.run();
            inEvent = false;
            List<Runnable> asked = List.copyOf(effects);
            effects.clear();
            asked.forEach(Runnable::run);
        }
        telling = false;
    }

    private void effect(int kind, long number, Runnable effect) {
        if (!inEvent) {
            throw new IllegalStateException("an effect was asked outside an event");
        }
        host.kernel().trace(EFFECT, (number << EFFECT_BITS) + kind);
        effects.add(effect);
    }

    private void tentative(int sender, byte[] payload) {
        Envelope envelope = Envelope.decode(ByteBuffer.wrap(payload));
        if (envelope.kind() == Envelope.Kind.PROTOCOL) {
            Message message = protocol.decode(envelope.content());
            tell(() -> protocol.tentative(sender, message));
        }
    }

    private final class Deliveries implements DurableLog.Reader, Group.Listener {
        @Override
        public void delivered(long position, int sender, ByteBuffer payload) {
            Envelope envelope = Envelope.decode(payload);
            home.log().delivered(node, host.life(), position, envelope.number());
            switch (envelope.kind()) {
                case PROTOCOL -> {
                    Message message = protocol.decode(envelope.content());
                    tell(() -> deliver(position, sender, message));
                }
                case HELLO -> {
                    long life = envelope.content().getLong();
                    tell(() -> {
                        control(position);
                        if (sender == node && life == host.life()) {
                            helloPosition = position;
                            effects.add(SimReplica.this::maybeReady);
                        }
                    });
                }
                case RESTART -> {
                    long from = envelope.content().getLong();
                    tell(() -> {
                        control(position);
                        restart.merge(sender, from, Math::max);
                        effects.add(SimReplica.this::truncate);
                    });
                }
            }
        }

        @Override
        public void received(int sender, ByteBuffer payload) {
            Message message = protocol.decode(payload);
            tell(() -> protocol.received(sender, message));
        }

        @Override
        public void batchEnd() {
            sendQueued();
            maybeSnapshot();
        }

        @Override
        public void view(Group.View view) {
            tell(() -> protocol.view(view.members()));
        }

        @Override
        public void failed(Throwable cause) {
            throw new IllegalStateException("the order of replica " + node + " cannot go on", cause);
        }
    }

    private void deliver(long position, int sender, Message message) {
        delivered = position;
        decided = false;
        protocol.delivered(position, sender, message);
        effects.add(() -> {
            if (!decided) {
                throw new IllegalStateException("nothing was decided for position " + position + ", " + message);
            }
        });
    }

    /** A position of the world's own. */
    private void control(long position) {
        delivered = position;
        if (position > recovered) {
            effects.add(() -> pipeline.add(Pipeline.skip(position)));
        }
    }

    private void maybeReady() {
        if (!ready && helloPosition > 0 && pipeline.visible() >= helloPosition) {
            ready = true;
            home.becameReady();
        }
    }

    private final class Positions implements Pipeline.Events {
        @Override
        public void visible(Slot slot) {
            locals.visible(slot);
            TransactionId transaction = slot.transaction;
            if (transaction == null) {
                return;
            }
            Run run = barriers.remove(transaction);
            if (run != null) {
                home.log().executed(run);
                Local local = locals.find(transaction);
                if (local != null) {
                    local.executed = run;
                }
            }
            host.kernel().trace(VISIBLE, engine.stateHash());
            home.log().applied(node, slot.position, transaction, engine.stateHash());
        }

        @Override
        public void advanced() {
            tell(() -> protocol.committed(pipeline.visible(), locals.horizon()));
            maybeReady();
        }
    }

    // ------------------------------------------------------------------------------------------ snapshots and truncation

    private void maybeSnapshot() {
        if (!telling && !over && delivered >= snapshotPosition + home.settings().snapshotPositions()) {
            snapshotPosition = delivered;
            home.snapshots().save(delivered, protocol.snapshot());
        }
    }

    /** Tells the others from where on this replica would need the order after a crash. */
    private void tellRestart() {
        engine.durablePosition(new Completion<>() {
            @Override
            public void succeeded(Long durable) {
                Snapshots.Saved safe = home.snapshots().newestDurableUpTo(durable);
                if (safe != null && safe.position() > toldRestart) {
                    toldRestart = safe.position();
                    submit(Envelope.restart(toldRestart));
                }
            }

            @Override
            public void failed(EngineFailure failure) {
                // Asked again soon.
            }
        });
        host.after(home.settings().restartInterval().sample(home.random()), TELL, this::tellRestart);
    }

    private void truncate() {
        if (restart.keySet().containsAll(home.settings().replicas())) {
            order.truncate(restart.values().stream().mapToLong(Long::longValue).min().orElse(0));
        }
    }

    // ------------------------------------------------------------------------------------------ effects

    private void submit(byte[] content) {
        long number = home.nextMessage();
        byte[] payload = Envelope.numbered(content, number);
        home.log().sent(node, host.life(), number);
        unsent.add(payload);
        sendQueued();
    }

    /** What does not fit into the order's queue waits here. */
    private void sendQueued() {
        while (!unsent.isEmpty() && !over) {
            try {
                byte[] payload = unsent.remove();
                try {
                    order.append(payload);
                } catch (DurableLog.OverflowException full) {
                    unsent.addFirst(payload);
                    return;
                }
            } catch (IllegalArgumentException tooLong) {
                throw new IllegalStateException("the order takes no such message", tooLong);
            }
        }
    }

    private void decide(int kind, long position, @Nullable Runnable then) {
        effect(kind, position, () -> {
            if (position != delivered || decided) {
                throw new IllegalStateException(
                        "position " + position + " is decided when " + delivered + " is delivered");
            }
            decided = true;
            if (position > recovered && then != null) {
                then.run();
            }
        });
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        decide(1, position, () -> pipeline.add(locals.apply(transaction, position, writes)));
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        decide(2, position, () -> pipeline.add(locals.commit(transaction, position, writes)));
    }

    @Override
    public void execute(TransactionId transaction, long position, Request.Whole request) {
        decide(3, position, () -> {
            Slot slot = new Slot(position, Slot.Kind.BARRIER);
            slot.transaction = transaction;
            slot.request = request;
            pipeline.add(slot);
        });
    }

    @Override
    public void skip(long position) {
        decide(4, position, () -> pipeline.add(Pipeline.skip(position)));
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        effect(5, transaction.serial(), () -> locals.run(transaction, priority));
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        effect(6, transaction.serial(), () -> locals.prepare(transaction, writes));
    }

    @Override
    public void abort(TransactionId transaction) {
        effect(7, transaction.serial(), () -> locals.abort(transaction));
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        effect(8, transaction.serial(), () -> locals.answer(transaction, outcome));
    }

    @Override
    public void order(Message message) {
        byte[] content = Envelope.protocol(message);
        effect(9, content.length, () -> submit(content));
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        ByteBuffer to = ByteBuffer.allocate(message.encodedSize());
        message.encode(to);
        byte[] payload = to.array();
        effect(10, payload.length, () -> order.multicast(payload, nodes));
    }

    @Override
    public void timer(long timer, long delayNanos) {
        effect(11, timer, () -> {
            Clock.Timer before = timers.put(timer, host.after(delayNanos, TIMER, () -> {
                timers.remove(timer);
                tell(() -> protocol.timer(timer));
            }));
            if (before != null) {
                before.cancel();
            }
        });
    }

    @Override
    public String toString() {
        return "replica " + node + (ready ? "" : " catching up") + ", delivered " + delivered + ", visible "
                + pipeline.visible() + ", next " + pipeline.head() + ", open " + locals.open() + ", unsent "
                + unsent.size() + ", " + order.status();
    }
}
