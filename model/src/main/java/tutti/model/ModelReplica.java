package tutti.model;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import tutti.core.protocol.Claims;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.Response;
import tutti.core.protocol.TransactionRequest;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.sim.kernel.Clock;
import tutti.sim.kernel.Label;

/**
 * One replica of the model: its protocol, which is the real one, and the modelled database below it. Events are told to the
 * protocol one at a time. Each costs processor time, for which ordinary work gives way; what the protocol asks for
 * during an event is carried out when that time has passed, as D5.1 section 2.1.3 has it.
 */
final class ModelReplica implements ReplicaWorld, Channel.Receiver {
    private static final Label TIMER = Label.of("model", "protocol timer");

    /** What an event costs by. */
    enum Charge {
        /** A message and its bytes. */
        MESSAGE,
        /** Anything else that happens to a transaction. */
        EVENT,
        /** What is told in passing: nothing. */
        FREE
    }

    private record Event(Charge charge, int bytes, Runnable action) {}

    private final Site site;
    private final Channel channel;
    private final CodeCharge charge;
    private final Claims claims;
    private final Protocol protocol;
    private final ModelTransactions locals;
    private final ModelUndertakings undertakings;
    private final ModelPipeline pipeline;
    private final ArrayDeque<Event> events = new ArrayDeque<>();
    private List<Runnable> effects = new ArrayList<>();
    private final Map<Long, Clock.Timer> timers = new HashMap<>();
    private boolean busy;
    private boolean over;
    private long delivered;
    private boolean decided;
    private long told;

    ModelReplica(Site site, Channel channel, CodeCharge charge, Claims claims,
            Function<ReplicaWorld, Protocol> protocol) {
        this.site = site;
        this.channel = channel;
        this.charge = charge;
        this.claims = claims;
        this.protocol = protocol.apply(this);
        this.undertakings = new ModelUndertakings(this, site);
        this.locals = new ModelTransactions(this, site, undertakings);
        this.pipeline = new ModelPipeline(site, this::visible, this::advanced);
    }

    /** Begins. */
    void start() {
        channel.start(site.node(), this);
    }

    /** Ends for good, as by a crash: nothing more happens here, and clients see their connections break. */
    void crash() {
        over = true;
        events.clear();
        site.engines().clear();
        locals.crash();
    }

    /** The site where transactions that may change something have to run, as far as is known here: this one, or the primary. */
    int updatesAt() {
        return protocol.primary().orElse(site.node());
    }

    boolean isOver() {
        return over;
    }

    Site site() {
        return site;
    }

    Protocol protocol() {
        return protocol;
    }

    /** What the protocol asks of a replica. */
    Claims claims() {
        return claims;
    }

    long visible() {
        return pipeline.visible();
    }

    long delivered() {
        return delivered;
    }

    /**
     * A client asks for something.
     *
     * @param travelNanos on the way from the client and back, which it sees as latency
     */
    void begin(Work work, long travelNanos, ClientModel client) {
        locals.begin(work, travelNanos, client);
    }

    // ------------------------------------------------------------------------------------------ events

    /** Has the protocol told something when it has been told all that came before. */
    void tell(Charge by, int bytes, Runnable action) {
        if (!over) {
            events.add(new Event(by, bytes, action));
            work();
        }
    }

    private void work() {
        while (!busy && !events.isEmpty()) {
            busy = true;
            Event event = events.remove();
            long nanos = charge.run(event.charge(), event.bytes(), event.action());
            if (nanos > 0) {
                site.cpu().execute(nanos, true, this::finish);
            } else {
                carryOut();
                busy = false;
            }
        }
    }

    private void finish() {
        if (!over) {
            carryOut();
            busy = false;
            work();
        }
    }

    private void carryOut() {
        List<Runnable> asked = effects;
        effects = new ArrayList<>();
        asked.forEach(Runnable::run);
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        tell(Charge.MESSAGE, message.encodedSize(), charge.arriving(message, () -> {
            delivered = position;
            decided = false;
            protocol.delivered(position, sender, message);
        }));
    }

    @Override
    public void tentative(int sender, Message message) {
        tell(Charge.MESSAGE, message.encodedSize(),
                charge.arriving(message, () -> protocol.tentative(sender, message)));
    }

    @Override
    public void received(int sender, Message message) {
        tell(Charge.MESSAGE, message.encodedSize(),
                charge.arriving(message, () -> protocol.received(sender, message)));
    }

    @Override
    public void view(Set<Integer> members) {
        tell(Charge.EVENT, 0, () -> protocol.view(members));
    }

    private void visible(ModelPipeline.Slot slot) {
        if (slot.work == null) {
            site.world().skipped(site.node(), slot.position);
        } else {
            locals.visible(slot);
            site.world().visible(site.node(), slot.position, slot.work);
            site.engines().visible(slot.position, slot.work);
        }
    }

    private void advanced() {
        // Several may have become visible before the protocol can be told: once is enough.
        tell(Charge.FREE, 0, () -> {
            if (pipeline.visible() > told) {
                told = pipeline.visible();
                protocol.committed(told, locals.horizon());
            }
        });
    }

    // ------------------------------------------------------------------------------------------ effects

    private void decide(long position, Runnable then) {
        if (position <= pipeline.visible() || (decided && position == delivered)) {
            throw new IllegalStateException("position " + position + " is decided when " + delivered + " is delivered");
        }
        decided = true;
        effects.add(then);
    }

    @Override
    public void apply(TransactionId transaction, long position, WriteSet writes) {
        decide(position, () -> locals.decided(transaction, position, pipeline, false));
    }

    @Override
    public void commit(TransactionId transaction, long position, WriteSet writes) {
        decide(position, () -> locals.decided(transaction, position, pipeline, true));
    }

    @Override
    public void execute(TransactionId transaction, long position, TransactionRequest.Whole request) {
        decide(position, () -> locals.execute(transaction, position, pipeline));
    }

    @Override
    public void skip(long position) {
        decide(position, () -> locals.skip(position, pipeline));
    }

    @Override
    public void run(TransactionId transaction, Priority priority) {
        effects.add(() -> {
            if (!undertakings.run(transaction)) {
                locals.run(transaction, priority);
            }
        });
    }

    @Override
    public void undertake(TransactionId transaction, List<TransactionRequest.Whole> requests) {
        effects.add(() -> undertakings.undertake(transaction, requests));
    }

    @Override
    public void respond(TransactionId transaction, Response response) {
        // The answer follows, and says all that a client of the model wants to know.
    }

    @Override
    public void includes(TransactionId transaction, long position) {
        effects.add(() -> locals.includes(transaction));
    }

    @Override
    public void prepare(TransactionId transaction, WriteSet writes) {
        effects.add(() -> locals.prepare(transaction));
    }

    @Override
    public void abort(TransactionId transaction) {
        effects.add(() -> {
            if (!undertakings.abort(transaction)) {
                locals.abort(transaction);
            }
        });
    }

    @Override
    public void answer(TransactionId transaction, Outcome outcome) {
        effects.add(() -> locals.answer(transaction, outcome));
    }

    @Override
    public void order(Message message) {
        charge.sending(message);
        effects.add(() -> channel.order(site.node(), message));
    }

    @Override
    public void multicast(Message message, Set<Integer> nodes) {
        charge.sending(message);
        effects.add(() -> channel.multicast(site.node(), message, nodes));
    }

    @Override
    public void timer(long timer, long delayNanos) {
        effects.add(() -> {
            Clock.Timer before = timers.remove(timer);
            if (before != null) {
                before.cancel();
            }
            timers.put(timer, site.clock().after(delayNanos, TIMER, () -> {
                timers.remove(timer);
                tell(Charge.FREE, 0, () -> protocol.timer(timer));
            }));
        });
    }
}
