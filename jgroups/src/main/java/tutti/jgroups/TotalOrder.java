package tutti.jgroups;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jgroups.Address;
import org.jgroups.BytesMessage;
import org.jgroups.Event;
import org.jgroups.Message;
import org.jgroups.View;
import org.jgroups.ViewId;
import org.jgroups.annotations.MBean;
import org.jgroups.annotations.ManagedAttribute;
import org.jgroups.annotations.ManagedOperation;
import org.jgroups.annotations.Property;
import org.jgroups.conf.AttributeType;
import org.jgroups.conf.ClassConfigurator;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.stack.Protocol;
import org.jgroups.util.ByteArray;
import org.jgroups.util.UUID;
import org.jgroups.util.Util;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.txn.TransactionId;
import tutti.grid.multicast.LamportClock;
import tutti.grid.multicast.Multicast;
import tutti.grid.multicast.MulticastMessage;
import tutti.grid.multicast.MulticastMessages;
import tutti.grid.multicast.Ordered;
import tutti.jgroups.ViewMessages.Numbers;
import tutti.jgroups.ViewMessages.Report;

/**
 * Total order multicast as the topmost protocols of a JGroups stack: a message to an {@link Anycast} is delivered at those of its members
 * that are in the view, in an order that is the same at all and has no circles, and only sender and destinations take part in it. All
 * other messages pass. The state machine is {@link Multicast}, whose page has the argument; what it asks of its world is made here of what
 * JGroups gives: reliable unicasts in order (UNICAST3, or a successor), and views (GMS), of which {@link Numbering} makes one sequence.
 *
 * <p>
 * <b>Views.</b> A view of JGroups is not used at once: each member reports to its coordinator, which numbers the members and says that it
 * is used. Until then members go on in the last one, and what they are to send waits. Messages carry the view in which they were sent and
 * the number of their sender in it; they wait for that view, and are dropped where their sender has another number, or none.
 *
 * <p>
 * <b>What is survived.</b> Crashes of {@code crashes} members at a time leave the order at the others as it was at those; of more, the
 * others agree among each other. Parts of a divided group without a majority deliver what was on its way among themselves, and order
 * nothing else. When the group is whole again they begin anew: what they had sent and not delivered is lost there ({@code lost}).
 *
 * <p>
 * Threads: any. Receivers are called by one thread at a time, without a lock of this protocol.
 */
@MBean(description = "Total order multicast to some members")
public abstract sealed class TotalOrder extends Protocol permits TOM2, TOM3 {
    static {
        ClassConfigurator.add(TotalOrderHeader.MAGIC, TotalOrderHeader.class);
    }

    @Property(description = "How many members may crash at a time without that others deliver anything else than they did. 0 saves"
            + " the acknowledgements, as in the paper")
    private int crashes = 1;
    @Property(description = "Whether a part of a divided group orders nothing unless it has more than half of the members before, or half"
            + " with the first of them")
    private boolean majority = true;
    @Property(description = "How often members tell each other what they have delivered, after which messages are not kept any longer", type = AttributeType.TIME)
    private long settled_interval = 1000;
    @Property(description = "How many messages may wait for a view in which they can be ordered. Who sends more gets an exception")
    private int max_waiting = 10_000;
    @Property(description = "How many bytes of messages may be held for views that are not used here yet. Who would hold more lets go of"
            + " those of the latest view, and begins anew in the one after it", type = AttributeType.BYTES)
    private long max_held = 64 << 20;

    private final Multicast.Steps steps;
    private final ReentrantLock lock = new ReentrantLock();
    private final Line sends = new Line(e -> log.error(local_addr + ": cannot send", e));
    private final Line deliveries = new Line(
            e -> log.error(local_addr + ": a message was delivered, and its receiver has failed", e));

    /** The last view that JGroups has told. */
    private @Nullable View current;
    /** As its coordinator: the reports that have come. */
    private final Map<Integer, Report> reports = new HashMap<>();
    /** As its coordinator: what was decided of it. */
    private @Nullable ViewMessages decided;
    /** What its coordinator has said of it has come. */
    private boolean isAnswered;
    private ViewHistory views = new ViewHistory(new UUID());
    private LamportClock clock = new LamportClock(0);
    private @Nullable Multicast multicast;
    private long serial;
    private final Queue<Outgoing> waiting = new ArrayDeque<>();
    private final HeldMessages held = new HeldMessages();
    /** A view is used by others of whose messages some were let go here: this member keeps no part of the history after. */
    private boolean isLeftOut;
    private final Map<Address, Long> settled = new HashMap<>();
    private @Nullable Future<?> timer;
    private long ordered;
    private long delivered;
    private long lost;

    private record Outgoing(List<Address> to, byte[] payload) {}

    TotalOrder(Multicast.Steps steps) {
        this.steps = steps;
    }

    // ------------------------------------------------------------------------------------------ for the stack

    @Override
    public void init() throws Exception {
        super.init();
        if (crashes < 0 || max_waiting < 1 || max_held < 1 || settled_interval < 1) {
            throw new IllegalArgumentException(getName() + ": crashes must not be negative, max_waiting, max_held and"
                    + " settled_interval must be positive");
        }
    }

    @Override
    public void start() throws Exception {
        super.start();
        lock.lock();
        try {
            current = null;
            views = new ViewHistory(local_addr);
            multicast = null;
            reports.clear();
            waiting.clear();
            held.clear();
            isLeftOut = false;
            settled.clear();
            sends.clear();
            deliveries.clear();
            timer = getTransport().getTimer().scheduleWithFixedDelay(this::tick, settled_interval, settled_interval,
                    TimeUnit.MILLISECONDS);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void stop() {
        Future<?> last = timer;
        if (last != null) {
            last.cancel(false);
        }
        super.stop();
    }

    /** Whether messages can be ordered in the present view of JGroups. */
    @ManagedAttribute(description = "Whether messages can be ordered in the present view")
    public boolean isActive() {
        return locked(() -> isUsed() ? 1 : 0) == 1;
    }

    /** Messages of this member that were given to the order. */
    @ManagedAttribute(description = "Messages of this member that were given to the order")
    public long getOrdered() {
        return locked(() -> ordered);
    }

    /** Messages that were delivered here. */
    @ManagedAttribute(description = "Messages that were delivered here in total order")
    public long getDelivered() {
        return locked(() -> delivered);
    }

    /** Messages of this member that no member left will deliver, and what it was to deliver itself when it had to begin anew. */
    @ManagedAttribute(description = "Messages of this member whose destinations were gone, and those that were to be delivered here"
            + " too when it had to begin anew after a partition")
    public long getLost() {
        return locked(() -> lost);
    }

    /** Messages that wait for a view in which they can be ordered. */
    @ManagedAttribute(description = "Messages that wait for a view in which they can be ordered")
    public long getWaiting() {
        return locked(() -> (long) waiting.size());
    }

    /** Bytes of messages that are held for a view that is not used here yet. */
    @ManagedAttribute(description = "Bytes of messages that are held for a view that is not used here yet", type = AttributeType.BYTES)
    public long getHeldBytes() {
        return locked(held::bytes);
    }

    /** Messages that are kept, since others may ask for them. */
    @ManagedAttribute(description = "Messages that are kept, since others may ask for them")
    public long getKept() {
        return locked(() -> multicast == null ? 0L : multicast.size());
    }

    /** What this member knows of views, for people. */
    @ManagedOperation(description = "What this member knows of views, and what waits for them")
    public String printViews() {
        lock.lock();
        try {
            return local_addr + ": view " + current + ", used " + views + ", reports of places " + reports.keySet()
                    + ", held " + held + ", waiting " + waiting.size();
        } finally {
            lock.unlock();
        }
    }

    private long locked(LongSupplier of) {
        lock.lock();
        try {
            return of.getAsLong();
        } finally {
            lock.unlock();
        }
    }

    // ------------------------------------------------------------------------------------------ sending

    /**
     * Orders a message to an {@link Anycast}.
     *
     * @throws IllegalStateException if too many wait for a view in which they can be ordered
     * @throws IllegalArgumentException if it is larger than 64 MiB
     */
    @Override
    public Object down(Message message) {
        if (!(message.getDest() instanceof Anycast anycast)) {
            return down_prot.down(message);
        }
        List<Address> to = new ArrayList<>(anycast.members());
        if (message.isFlagSet(Message.TransientFlag.DONT_LOOPBACK)) {
            to.remove(local_addr);
        }
        byte[] payload = payload(message);
        locked(() -> {
            if (waiting.size() >= max_waiting) {
                throw new IllegalStateException(waiting.size() + " messages wait for a view with a majority");
            }
            waiting.add(new Outgoing(to, payload));
            sendWaiting();
            return 0;
        });
        work();
        return message;
    }

    private byte[] payload(Message message) {
        try {
            Message plain = message.copy(true, true).setDest(null).setSrc(local_addr);
            ByteArray bytes = Util.messageToByteBuffer(plain);
            if (bytes.length() > MulticastMessages.PAYLOAD_BYTES_MAX) {
                throw new IllegalArgumentException("a message of " + bytes.length() + " bytes; at most "
                        + MulticastMessages.PAYLOAD_BYTES_MAX + " can be ordered");
            }
            return Arrays.copyOfRange(bytes.array(), bytes.offset(), bytes.offset() + bytes.length());
        } catch (IllegalArgumentException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalArgumentException("a message that cannot be written: " + e.getMessage(), e);
        }
    }

    private boolean isUsed() {
        return current != null && current.equals(views.used());
    }

    private void sendWaiting() {
        if (!isUsed()) {
            return;
        }
        Multicast machine = Objects.requireNonNull(multicast);
        for (Outgoing next = waiting.poll(); next != null; next = waiting.poll()) {
            Set<Integer> to = new TreeSet<>();
            for (Address address : next.to()) {
                Integer number = views.numbers().get(address);
                if (number != null) {
                    to.add(number);
                }
            }
            if (to.isEmpty()) {
                lost++;
            } else {
                ordered++;
                machine.send(new TransactionId(views.own(), serial++), to, next.payload());
            }
        }
    }

    private void send(Address to, ViewId view, Encoded message) {
        TotalOrderHeader header = new TotalOrderHeader(view, views.own());
        Message made = new BytesMessage(to, message.bytes()).setSrc(local_addr).putHeader(id, header);
        sends.add(() -> down_prot.down(made));
    }

    private void work() {
        sends.work();
        deliveries.work();
    }

    private final class Out implements Multicast.World {
        @Override
        public void send(int to, MulticastMessage message) {
            Address address = views.addresses().get(to);
            if (address != null) {
                TotalOrder.this.send(address, Objects.requireNonNull(views.used()).getViewId(), message);
            }
        }

        @Override
        public void announced(Ordered message) {
            // Nothing is made of it before it is delivered.
        }

        @Override
        public void ordered(Ordered message) {
            // As above.
        }

        @Override
        public void delivered(Ordered message) {
            delivered++;
            byte[] payload = message.payload();
            deliveries.add(() -> deliver(payload));
        }

        @Override
        public void lost(Ordered message) {
            lost++;
        }
    }

    private void deliver(byte[] payload) {
        Message message;
        try {
            message = Util.messageFromByteBuffer(payload, 0, payload.length);
        } catch (Exception e) {
            log.error(local_addr + ": a message was delivered that cannot be read", e);
            return;
        }
        up_prot.up(message.setDest(local_addr));
    }

    // ------------------------------------------------------------------------------------------ receiving

    @Override
    public Object up(Message message) {
        if (!(message.getHeader(id) instanceof TotalOrderHeader)) {
            return up_prot.up(message);
        }
        locked(() -> {
            receive(message);
            return 0;
        });
        work();
        return message;
    }

    /** Takes a message, or holds it until its view is there. */
    private void receive(Message message) {
        TotalOrderHeader header = message.getHeader(id);
        Encoded content;
        try {
            content = ViewMessages.set()
                    .decode(ByteBuffer.wrap(message.getArray(), message.getOffset(), message.getLength()));
        } catch (DecodeException e) {
            log.warn("%s: a message of %s is dropped: %s", local_addr, message.getSrc(), e.getMessage());
            return;
        }
        boolean isOrder = content instanceof MulticastMessage || content instanceof ViewMessages.Settled;
        View view = isOrder ? views.used() : current;
        if (view == null || header.view().getId() > view.getViewId().getId()) {
            hold(header.view().getId(), message);
        } else if (isOrder) {
            Integer number = views.numbers().get(message.getSrc());
            if (number != null && number == header.number()) {
                ordered(message.getSrc(), number, content);
            }
        } else if (header.view().equals(view.getViewId())) {
            ofView(message.getSrc(), view, (ViewMessages) content);
        }
    }

    private void hold(long view, Message message) {
        if (held.add(view, message, max_held)) {
            log.error(
                    "%s: more than max_held (%d bytes) has come for views that are not used here yet. What is of the latest is let go, and this member begins anew"
                            + " behind that",
                    local_addr, max_held);
        }
    }

    private void ordered(Address from, int number, Encoded content) {
        if (content instanceof MulticastMessage message) {
            Objects.requireNonNull(multicast).received(number, message);
        } else if (content instanceof ViewMessages.Settled all) {
            // So that who takes part in nothing does not hold up the others.
            clock.seen(all.stamp());
            settled.put(from, all.stamp());
            forget();
        }
    }

    private void ofView(Address from, View view, ViewMessages message) {
        int place = view.getMembers().indexOf(from);
        boolean isCoordinator = place == 0;
        switch (message) {
            case Report report when place >= 0 && view.getCoord().equals(local_addr) -> reported(place, report);
            case Numbers all when isCoordinator && all.numbers().length == view.size() -> {
                isAnswered = !held.misses(view.getViewId().getId());
                if (!isAnswered) {
                    isLeftOut = true;
                    send(from, view.getViewId(), new ViewMessages.Missed());
                } else if (!view.equals(views.used())) {
                    use(view, all);
                }
            }
            case ViewMessages.Refused refused when isCoordinator -> {
                isAnswered = true;
                views.refused(view);
                log.warn("%s: no messages are ordered in view %s: %s", local_addr, view, refused.why());
            }
            case ViewMessages.Again _ when isCoordinator -> report(view);
            case ViewMessages.Missed _ when place >= 0 && view.getCoord().equals(local_addr) ->
                getTransport().getTimer().execute(() -> castNext(view));
            default -> log.warn("%s: %s has no business to send %s", local_addr, from, message);
        }
    }

    private void tick() {
        locked(() -> {
            Multicast machine = multicast;
            View view = current;
            if (view != null && decided instanceof ViewMessages.Again) {
                decided = null;
                reports.clear();
                tell(view, new ViewMessages.Again());
                report(view);
            } else if (view != null && !isAnswered && view.size() <= ViewMessages.MEMBERS_MAX) {
                // Connections are made anew where members come back, which can cost messages.
                report(view);
            }
            View last = views.used();
            if (machine != null && last != null) {
                settled.put(local_addr, machine.settled());
                tell(last, new ViewMessages.Settled(machine.settled()));
                forget();
            }
            return 0;
        });
        work();
    }

    private void tell(View view, Encoded message) {
        for (Address member : view.getMembers()) {
            if (!member.equals(local_addr)) {
                send(member, view.getViewId(), message);
            }
        }
    }

    private void forget() {
        if (settled.keySet().containsAll(views.numbers().keySet())) {
            Objects.requireNonNull(multicast).forget(Collections.min(settled.values()));
        }
    }

    // ------------------------------------------------------------------------------------------ views

    @Override
    public Object up(Event event) {
        if (event.getType() == Event.VIEW_CHANGE) {
            View view = event.getArg();
            locked(() -> {
                installed(view);
                return 0;
            });
            work();
        }
        return up_prot.up(event);
    }

    private void installed(View view) {
        if (current != null && view.getViewId().getId() <= current.getViewId().getId()) {
            return;
        }
        current = view;
        reports.clear();
        decided = null;
        isAnswered = false;
        if (view.size() > ViewMessages.MEMBERS_MAX) {
            log.error("%s: no messages are ordered in a view of %d members; at most %d", local_addr, view.size(),
                    ViewMessages.MEMBERS_MAX);
            return;
        }
        report(view);
        release();
    }

    /** Makes another view of the same members, in which those begin anew that cannot use this one. */
    private void castNext(View view) {
        GMS groups = getProtocolStack().findProtocol(GMS.class);
        if (groups == null || !view.equals(groups.view())) {
            return;
        }
        View next = groups.getNextView(null, null, null);
        groups.castViewChangeAndSendJoinRsps(next, null, next.getMembers(), null, null);
    }

    /** Tells a view's coordinator what is known here. */
    private void report(View view) {
        Report report = views.report(view, isLeftOut, multicast == null || multicast.isClean());
        if (view.getCoord().equals(local_addr)) {
            reported(0, report);
        } else {
            send(view.getCoord(), view.getViewId(), report);
        }
    }

    private void reported(int place, Report report) {
        View view = Objects.requireNonNull(current);
        if (decided != null && !(decided instanceof ViewMessages.Again)) {
            if (place > 0) {
                send(view.getMembers().get(place), view.getViewId(), decided);
            }
            return;
        }
        reports.put(place, report);
        if (reports.size() < view.size()) {
            return;
        }
        List<Report> all = new ArrayList<>();
        for (int i = 0; i < view.size(); i++) {
            all.add(Objects.requireNonNull(reports.get(i)));
        }
        ViewMessages answer = Numbering.of(all, majority);
        decided = answer;
        if (!(answer instanceof ViewMessages.Again)) {
            tell(view, answer);
            ofView(local_addr, view, answer);
        }
    }

    private void use(View view, Numbers all) {
        int before = views.own();
        ViewHistory.Change change = views.use(view, all);
        isLeftOut = false;
        held.forget(view.getViewId().getId());
        settled.keySet().removeIf(member -> !change.stayed().contains(views.numbers().getOrDefault(member, -1)));
        long number = 2 * view.getViewId().getId();
        Multicast machine = multicast;
        if (machine == null || change.isAnew()) {
            lost += machine == null ? 0 : machine.pending().stream().filter(of -> of.id().node() == before).count();
            serial = view.getViewId().getId() << Integer.SIZE;
            clock = new LamportClock(views.own());
            machine = new Multicast(views.own(), steps, crashes, clock, views.addresses().keySet(), new Out());
            multicast = machine;
        } else if (change.isLess()) {
            machine.view(number, change.stayed());
        }
        machine.view(number + 1, views.addresses().keySet());
        release();
        sendWaiting();
    }

    /** Takes what was held for a view that is there now; what is held still waits for a later one. */
    private void release() {
        held.take().forEach(this::receive);
    }
}
