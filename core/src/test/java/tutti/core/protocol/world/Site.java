package tutti.core.protocol.world;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.protocol.world.History.Decision;
import tutti.core.protocol.world.History.Kind;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * One replica of the test world: its protocol, what the protocol asked for and has not been done, and its restarts, by the
 * rules that {@code tutti.node.ReplicaNode} follows. What happens next is the scheduler's choice ({@link World}); what its
 * engine does with transactions is in {@link Sessions}.
 */
final class Site implements ReplicaWorld {
    /** A snapshot of the protocol that survives crashes. */
    record Saved(long position, byte[] state) {}

    /** What has been received by multicast and not been told. */
    record Letter(int sender, byte[] payload) {}

    final World world;
    final int node;
    final ModelEngine engine = new ModelEngine();
    final List<Saved> saved = new ArrayList<>();
    final ArrayDeque<World.Entry> outbox = new ArrayDeque<>();
    final List<Letter> inbox = new ArrayList<>();
    final ArrayDeque<World.Entry> guesses = new ArrayDeque<>();
    final ArrayDeque<Set<Integer>> views = new ArrayDeque<>();
    final ArrayDeque<Runnable> events = new ArrayDeque<>();
    final Map<Long, Long> timers = new TreeMap<>();
    final Map<TransactionId, Sessions.Local> locals = new LinkedHashMap<>();
    final Map<TransactionId, Sessions.Prepared> prepared = new HashMap<>();
    final Sessions sessions;
    Protocol protocol;
    long incarnation;
    long delivered;
    boolean up = true;
    boolean ready = true;
    private final List<Runnable> effects = new ArrayList<>();
    private boolean inEvent;
    private boolean decided;
    private long serial;
    private long recovered;
    private long helloPosition;

    Site(World world, int node) {
        this.world = world;
        this.node = node;
        this.protocol = world.create(node, this);
        this.sessions = new Sessions(this);
    }

    TransactionId nextId() {
        return new TransactionId(node, incarnation << 32 | ++serial);
    }

    SplittableRandom random() {
        return world.random;
    }

    /** Everything delivered here is visible, and nothing waits to be told. */
    boolean quiet() {
        return delivered == world.order.size() && engine.visible() == delivered && outbox.isEmpty() && inbox.isEmpty()
                && events.isEmpty() && views.isEmpty();
    }

    /** No transaction told of from now on has begun below it. */
    private long horizon() {
        long lowest = engine.visible();
        for (Sessions.Local local : locals.values()) {
            if (local.runs > 0 && local.phase != Sessions.Phase.ENDED) {
                lowest = Math.min(lowest, local.begun);
            }
        }
        return lowest;
    }

    // ------------------------------------------------------------------------------------------ events

    /** Tells the protocol something, and then does what it asked for meanwhile. */
    void tell(Runnable event) {
        if (inEvent) {
            throw new AssertionError("an event inside an event");
        }
        inEvent = true;
        event.run();
        inEvent = false;
        List<Runnable> asked = List.copyOf(effects);
        effects.clear();
        asked.forEach(Runnable::run);
    }

    private void effect(int kind, long number, Runnable effect) {
        if (!inEvent) {
            throw new AssertionError("an effect was asked outside an event");
        }
        world.trace(node * 16L + kind, number);
        effects.add(effect);
    }

    void deliver() {
        World.Entry entry = world.order.get((int) delivered);
        long position = ++delivered;
        byte[] payload = entry.payload();
        if (payload == null) {
            if (position > engine.visible()) {
                sessions.add(new Sessions.Slot(position, Sessions.SlotKind.SKIP));
            }
            if (entry.sender() == node && entry.incarnation() == incarnation && entry.hello()) {
                helloPosition = position;
            }
            return;
        }
        decided = false;
        ByteBuffer from = ByteBuffer.wrap(payload);
        Message message = world.protocol.messages().decode(from);
        tell(() -> protocol.delivered(position, entry.sender(), message));
        if (!decided) {
            throw new AssertionError("nothing was decided for position " + position + ", " + message);
        }
    }

    /** Tells of a message that may be delivered soon, unless it has been. */
    boolean tellGuess() {
        World.Entry entry = guesses.poll();
        if (entry == null) {
            return false;
        }
        int position = world.order.indexOf(entry) + 1;
        byte[] payload = entry.payload();
        if (payload != null && (position == 0 || position > delivered)) {
            tell(() -> protocol.tentative(entry.sender(), world.protocol.messages().decode(ByteBuffer.wrap(payload))));
        }
        return true;
    }

    /** Makes up to {@code count} positions visible and says so once. */
    void becomeVisible(int count) {
        long before = engine.visible();
        for (int i = 0; i < count; i++) {
            if (!sessions.commitHead()) {
                break;
            }
        }
        long visible = engine.visible();
        if (visible > before) {
            tell(() -> protocol.committed(visible, horizon()));
        }
        if (!ready && helloPosition > 0 && visible >= helloPosition) {
            ready = true;
        }
    }

    void save() {
        saved.add(new Saved(delivered, protocol.snapshot()));
    }

    void crash() {
        world.count("crash");
        up = false;
        ready = false;
        for (World.Entry entry : outbox) {
            if (random().nextBoolean()) {
                world.ghosts.add(entry);
            }
        }
        outbox.clear();
        inbox.clear();
        guesses.clear();
        views.clear();
        events.clear();
        timers.clear();
        locals.clear();
        prepared.clear();
        sessions.clear();
        long visible = engine.visible();
        engine.crash(random().nextInt(3) == 0 ? random().nextLong(visible + 1) : visible);
    }

    void restart() {
        world.count("restart");
        up = true;
        incarnation++;
        serial = 0;
        helloPosition = 0;
        recovered = engine.visible();
        protocol = world.create(node, this);
        delivered = 0;
        List<Saved> usable = saved.stream().filter(snapshot -> snapshot.position() <= recovered).toList();
        if (!usable.isEmpty() && random().nextInt(5) > 0) {
            Saved snapshot = usable.get(random().nextInt(3) == 0 ? random().nextInt(usable.size()) : usable.size() - 1);
            protocol.restore(snapshot.state());
            delivered = snapshot.position();
        }
        tell(() -> protocol.committed(recovered, recovered));
        outbox.add(new World.Entry(node, null, incarnation, true));
    }

    // ------------------------------------------------------------------------------------------ effects

    static byte[] content(WriteSet writes) {
        ByteBuffer to = ByteBuffer.allocate(WriteSet.SCHEMA.size(writes));
        WriteSet.SCHEMA.write(writes, to);
        return to.array();
    }

    static WriteSet writes(byte[] content) {
        return WriteSet.SCHEMA.read(ByteBuffer.wrap(content));
    }

    private void decide(int effect, long position, Decision decision, Runnable then) {
        effect(effect, position, () -> {
            if (position != delivered || decided) {
                throw new AssertionError("position " + position + " is decided when " + delivered + " is delivered");
            }
            decided = true;
            world.history.decided(node, position, decision);
            if (position > engine.visible()) {
                then.run();
            }
        });
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        decide(1, position, new Decision(Kind.WRITE, transaction, content(writes)),
                () -> sessions.remote(transaction, position, writes));
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        decide(2, position, new Decision(Kind.WRITE, transaction, content(writes)),
                () -> sessions.commit(transaction, position, writes));
    }

    @Override
    public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
        decide(3, position, new Decision(Kind.EXECUTE, transaction, request.statement()), () -> {
            Sessions.Slot slot = new Sessions.Slot(position, Sessions.SlotKind.BARRIER);
            slot.program = Program.parse(request.statement());
            sessions.add(slot);
        });
    }

    @Override
    public void skip(long position) {
        decide(4, position, Decision.SKIP,
                () -> sessions.add(new Sessions.Slot(position, Sessions.SlotKind.SKIP)));
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        effect(5, transaction.serial(), () -> sessions.run(transaction, priority));
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        effect(6, transaction.serial(), () -> sessions.prepare(transaction, writes));
    }

    @Override
    public void abort(TransactionId transaction) {
        effect(7, transaction.serial(), () -> sessions.abort(transaction));
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        effect(8, transaction.serial(), () -> {
            Sessions.Local local = locals.get(transaction);
            if (local == null) {
                throw new AssertionError(transaction + " is answered but not open here");
            }
            if (outcome instanceof Outcome.Committed committed && committed.position() > engine.visible()) {
                throw new AssertionError(transaction + " is answered before it is visible");
            }
            world.count(switch (outcome) {
                case Outcome.Committed _ -> "committed";
                case Outcome.Aborted(AbortReason reason) -> reason.label();
            });
            world.history.answered(transaction, outcome);
            sessions.answered(local, outcome);
        });
    }

    private byte[] encode(Message message) {
        ByteBuffer to = ByteBuffer.allocate(message.encodedSize());
        message.encode(to);
        if (to.hasRemaining()) {
            throw new AssertionError("encodedSize of " + message + " is too large by " + to.remaining());
        }
        ByteBuffer from = ByteBuffer.wrap(to.array());
        Message again = world.protocol.messages().decode(from);
        ByteBuffer twice = ByteBuffer.allocate(again.encodedSize());
        again.encode(twice);
        if (from.hasRemaining() || !Arrays.equals(to.array(), twice.array())
                || !again.getClass().equals(message.getClass())) {
            throw new AssertionError(message + " is read back as " + again);
        }
        return to.array();
    }

    @Override
    public void order(Message message) {
        byte[] payload = encode(message);
        effect(9, payload.length, () -> {
            World.Entry entry = new World.Entry(node, payload, incarnation, false);
            outbox.add(entry);
            world.guess(entry);
        });
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        byte[] payload = encode(message);
        effect(10, payload.length, () -> {
            for (int to : nodes) {
                Site site = world.sites.get(to);
                if (site.up) {
                    site.inbox.add(new Letter(node, payload));
                }
            }
        });
    }

    @Override
    public void timer(long timer, long delayNanos) {
        if (delayNanos < 0) {
            throw new AssertionError("timer " + timer + " in " + delayNanos + " ns");
        }
        effect(11, timer, () -> timers.put(timer, world.nowNanos + delayNanos));
    }

    @Override
    public String toString() {
        return "replica " + node + (up ? ready ? "" : " catching up" : " down") + ", delivered " + delivered + " of "
                + world.order.size() + ", visible " + engine.visible() + ", next " + sessions.head() + ", open "
                + locals.values();
    }
}
