package tutti.sim.world.order;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.group.GroupEffects;
import tutti.group.GroupMember;
import tutti.group.GroupParameters;
import tutti.group.MessageLog;
import tutti.group.Ordered;
import tutti.group.Packet;
import tutti.group.StableRecord;
import tutti.sim.disk.Journal;
import tutti.sim.host.Host;
import tutti.sim.kernel.Label;
import tutti.sim.net.Address;
import tutti.sim.net.Datagram;
import tutti.sim.net.Network;

/**
 * A total order made of real protocol code: {@link GroupMember} over the simulated network, its log on the simulated disk
 * (GORDA D5.1 section 2.3.3). One object is one life of a member.
 *
 * <p>
 * What the member delivers while it is told an event is handed on when it has returned, for it must not be called back.
 */
public final class GroupOrder implements SimOrder, GroupEffects {
    private static final int PORT = 1;
    private static final Label TIMER = Label.of("group", "timer");

    private final Host host;
    private final long life;
    private final Network network;
    private final Names names;
    private final GroupParameters parameters;
    private final Journal<StableRecord> journal;
    private final Address own;
    private final ArrayDeque<Runnable> toTell = new ArrayDeque<>();
    private @Nullable GroupMember member;
    /** Messages whose turn came while deliveries were suspended. */
    private final ArrayDeque<Ordered> held = new ArrayDeque<>();
    private @Nullable Reader reader;
    private @Nullable Listener listener;
    private @Nullable Letters letters;
    private boolean telling;
    private boolean suspended;
    private boolean closed;
    private long logBytes;

    /** How the hosts of members are called. */
    public interface Names {
        /** The host of a member. */
        String host(int node);
    }

    /**
     * A member for one life of its node.
     *
     * @param life number of this life, higher than those before
     * @param journal what its former lives wrote; the same object in each life
     */
    public GroupOrder(Host host, long life, Network network, Names names, GroupParameters parameters,
            Journal<StableRecord> journal) {
        this.host = host;
        this.life = life;
        this.network = network;
        this.names = names;
        this.parameters = parameters;
        this.journal = journal;
        this.own = Address.of(host.name(), PORT);
    }

    @Override
    public void join(Listener to) {
        listener = to;
    }

    @Override
    public void start(long after, Reader to) throws TruncatedException {
        MessageLog log = new MessageLog();
        List<StableRecord> survived = journal.recover();
        survived.forEach(log::apply);
        survived.forEach(one -> logBytes += one.encodedSize());
        reader = to;
        GroupMember made = new GroupMember(parameters, log, after, this);
        member = made;
        network.bind(host, PORT, this::received);
        letters = new Letters(host, life, network, this::letter);
        host.onCrash(() -> closed = true);
        made.start(host.now());
        tell();
    }

    private GroupMember member() {
        GroupMember made = member;
        if (made == null) {
            throw new IllegalStateException("the order has not been started");
        }
        return made;
    }

    private void received(Datagram datagram) {
        member().received(host.now(), node(datagram.from().host()), (Packet) datagram.payload());
        tell();
    }

    private void letter(String from, byte[] payload) {
        toTell.add(() -> {
            if (listener != null) {
                listener.received(node(from), ByteBuffer.wrap(payload));
            }
        });
        tell();
    }

    private int node(String name) {
        for (int one : parameters.members()) {
            if (names.host(one).equals(name)) {
                return one;
            }
        }
        throw new IllegalArgumentException("no member on host " + name);
    }

    /** Hands on what was delivered; what that leads to may deliver more. */
    private void tell() {
        if (telling) {
            return;
        }
        telling = true;
        boolean any = !toTell.isEmpty();
        for (Runnable next = toTell.poll(); next != null && !closed; next = toTell.poll()) {
            next.run();
        }
        telling = false;
        if (any && !closed && reader != null) {
            reader.batchEnd();
        }
    }

    // ------------------------------------------------------------------------------------------ Order

    @Override
    public void append(byte[] payload) throws OverflowException {
        if (!member().submit(host.now(), payload)) {
            throw new OverflowException(member().queuedBytes(), parameters.flow().queueBytes());
        }
        tell();
    }

    @Override
    public void multicast(byte[] payload, Set<Integer> nodes) {
        Letters carrier = letters;
        if (carrier == null) {
            throw new IllegalStateException("the order has not been started");
        }
        if (payload.length > maxPayloadBytes()) {
            throw new IllegalArgumentException(
                    "a message of " + payload.length + " bytes, the limit is " + maxPayloadBytes());
        }
        for (int to : new TreeSet<>(nodes)) {
            carrier.send(names.host(to), payload);
        }
    }

    @Override
    public View view() {
        return member().view();
    }

    @Override
    public void suspend() {
        suspended = true;
    }

    @Override
    public void resume() {
        if (suspended) {
            suspended = false;
            for (int count = held.size(); count > 0; count--) {
                toTell.add(this::deliverHeld);
            }
            tell();
        }
    }

    /** Keeps the order of what was held and what has come since: whatever is next waits behind what is held. */
    private void deliverHeld() {
        Reader to = reader;
        Ordered next = suspended ? null : held.poll();
        if (to != null && next != null) {
            to.delivered(next.position(), next.sender(), ByteBuffer.wrap(next.payload()));
        }
    }

    @Override
    public int maxPayloadBytes() {
        return parameters.flow().payloadBytesMax();
    }

    @Override
    public void truncate(long position) {
        member().truncate(position);
        tell();
    }

    @Override
    public Status status() {
        GroupMember made = member();
        return new Status(made.lastDelivered() - held.size(), made.lastKnown(), made.firstRetained(),
                made.queuedBytes(), logBytes);
    }

    @Override
    public void close() {
        if (!closed) {
            closed = true;
            journal.abandon();
            network.unbind(host, PORT);
            if (letters != null) {
                letters.close();
            }
        }
    }

    // ------------------------------------------------------------------------------------------ GroupEffects

    @Override
    public void send(int to, Packet packet) {
        if (!closed) {
            network.send(new Datagram(own, Address.of(names.host(to), PORT), packet, packet.encodedSize()));
        }
    }

    @Override
    public void multicast(Packet packet) {
        int bytes = packet.encodedSize();
        for (int to : parameters.members()) {
            if (to != parameters.self() && !closed) {
                network.send(new Datagram(own, Address.of(names.host(to), PORT), packet, bytes));
            }
        }
    }

    @Override
    public void timer(long id, long delayNanos) {
        host.after(delayNanos, TIMER, () -> {
            if (!closed) {
                member().timer(host.now(), id);
                tell();
            }
        });
    }

    @Override
    public void persist(long serial, StableRecord record) {
        int bytes = record.encodedSize();
        logBytes += bytes;
        journal.append(record, bytes);
        journal.sync(() -> {
            if (!closed) {
                member().persisted(host.now(), serial);
                tell();
            }
        });
    }

    @Override
    public void deliver(Ordered message) {
        toTell.add(() -> {
            held.add(message);
            deliverHeld();
        });
    }

    @Override
    public void optimistic(int sender, long incarnation, long number, byte[] payload) {
        Reader to = reader;
        if (to != null) {
            toTell.add(() -> {
                if (!suspended) {
                    to.tentative(sender, ByteBuffer.wrap(payload));
                }
            });
        }
    }

    @Override
    public void view(View view) {
        if (letters != null) {
            letters.absent(parameters.members().stream().filter(one -> !view.members().contains(one)).map(names::host)
                    .collect(Collectors.toSet()));
        }
        toTell.add(() -> {
            if (listener != null) {
                listener.view(view);
            }
        });
    }

    @Override
    public void stateNeeded(long firstRetained) {
        toTell.add(() -> {
            if (reader != null) {
                reader.failed(new TruncatedException(member().lastDelivered(), firstRetained));
            }
        });
    }
}
