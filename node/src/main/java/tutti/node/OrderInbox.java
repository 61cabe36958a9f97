package tutti.node;

import java.nio.ByteBuffer;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.Message;
import tutti.core.schema.DecodeException;
import tutti.core.schema.MessageSet;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.node.trace.TraceContext;
import tutti.runtime.Clock;
import tutti.runtime.Loop;

/**
 * Takes from the order what concerns this node, reads it, and hands it to the replica's loop, so many deliveries at a time as
 * have come. Called on the order's thread, or on the loop from inside {@link DurableLog#append}.
 *
 * <p>
 * <b>What cannot be read.</b> The bytes of a position are the same at all nodes, and a kind of a version means the same in all releases that know it.
 * So what is damaged in itself, as no node writes it by its own rules, counts for nothing, at every node. A kind or version that this build does not
 * know may mean something to the others: then this node stops, before it is of another mind than they. Outside of the order nothing is decided, so
 * whatever cannot be read there is left out.
 */
final class OrderInbox implements DurableLog.Reader, Group.Listener {
    private static final Logger LOG = LoggerFactory.getLogger(OrderInbox.class);

    /** What is told on the replica's loop, but for {@link #failed}. */
    interface Events {
        /** There are deliveries to {@linkplain #poll take}. */
        void delivered();

        /** A message came outside of the order. */
        void received(int sender, Message message);

        /** Another node has said outside of the order what it shows, or wants to know it. */
        void received(int sender, VisibilityMessage message);

        /** A message of the protocol will most likely be delivered soon. */
        void tentative(int sender, Message message);

        /** Other nodes can be reached than before. */
        void viewed(Group.View view);

        /** The order cannot go on. From any thread. */
        void failed(Throwable cause);
    }

    /**
     * One ordered message.
     *
     * @param bytes how long it is
     * @param digest of them
     * @param message none that is {@link Control.Traced}; null if it cannot be read and counts for nothing
     * @param context what has gone with it; null for nothing
     * @param nanos when it came, by the machine's clock; only if something has gone with it
     */
    record Delivery(long position, int sender, int bytes, int digest, @Nullable Control message,
            @Nullable TraceContext context, long nanos) {}

    private final int node;
    private final Loop loop;
    private final Clock clock;
    private final Control.Messages ordered;
    private final MessageSet<Message> protocol;
    private final Backlog backlog;
    private final Events events;
    private final ConcurrentLinkedQueue<Delivery> deliveries = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean announced = new AtomicBoolean();
    /** Those who have sent something outside of the order that could not be read: it is told once. */
    private final Set<Integer> misread = ConcurrentHashMap.newKeySet();
    /** Whether something was delivered that this node does not know, and cannot go on without. */
    private volatile boolean stopped;
    private volatile long arrivedPosition;
    private volatile Group.View view = Group.View.NONE;

    /**
     * One that has received nothing.
     *
     * @param node this one's number
     * @param ordered what is in the order
     * @param protocol what is outside of it
     * @param backlog counts what has come
     */
    OrderInbox(int node, Loop loop, Clock clock, Control.Messages ordered, MessageSet<Message> protocol,
            Backlog backlog,
            Events events) {
        this.node = node;
        this.loop = loop;
        this.clock = clock;
        this.ordered = ordered;
        this.protocol = protocol;
        this.backlog = backlog;
        this.events = events;
    }

    /** Highest position that the order has handed over, whether the loop has come to it or not. Any thread. */
    long arrivedPosition() {
        return arrivedPosition;
    }

    /** Which nodes can be reached. Any thread. */
    Group.View view() {
        return view;
    }

    /** Takes the next delivery, if there is one. On the loop. */
    @Nullable
    Delivery poll() {
        return deliveries.poll();
    }

    @Override
    public void delivered(long position, int sender, ByteBuffer payload) {
        if (stopped) {
            return;
        }
        int bytes = payload.remaining();
        int digest = LogContinuity.digest(sender, payload);
        Control read;
        try {
            read = read(position, sender, payload);
        } catch (IllegalStateException unknown) {
            stopped = true;
            // Behind what was delivered before it, which may say more: that this node runs another protocol than the cluster.
            loop.execute(() -> {
                events.delivered();
                events.failed(unknown);
            });
            return;
        }
        backlog.add(bytes);
        deliveries.add(read instanceof Control.Traced(TraceContext context, Message message, var _)
                ? new Delivery(position, sender, bytes, digest, ordered.said(message), context, clock.nanoTime())
                : new Delivery(position, sender, bytes, digest, read, null, 0));
        arrivedPosition = position;
        if (!announced.get() && announced.compareAndSet(false, true)) {
            loop.execute(() -> {
                announced.set(false);
                events.delivered();
            });
        }
    }

    private @Nullable Control read(long position, int sender, ByteBuffer payload) {
        try {
            return ordered.read(payload);
        } catch (DecodeException unreadable) {
            if (unreadable.mayBeOfAnotherRelease()) {
                throw new IllegalStateException("node " + node + " does not know what node " + sender
                        + " has ordered at position " + position + " (" + unreadable.getMessage()
                        + "), and cannot go on without it: if other nodes run a newer release, upgrade this node to it",
                        unreadable);
            }
            LOG.error(
                    "node {}: what node {} has ordered at position {} is damaged and counts for nothing, at all nodes: {}",
                    node, sender, position, unreadable.getMessage());
            return null;
        }
    }

    @Override
    public void view(Group.View now) {
        view = now;
        LOG.info("node {} sees {}, leader {}, {}", node, now.members(), now.leader(),
                now.majority() ? "a majority" : "no majority");
        loop.execute(() -> events.viewed(now));
    }

    @Override
    public void received(int sender, ByteBuffer payload) {
        try {
            if (VisibilityMessage.is(payload)) {
                VisibilityMessage message = VisibilityMessage.SET.decode(payload);
                loop.execute(() -> events.received(sender, message));
            } else {
                Message message = protocol.decode(payload);
                loop.execute(() -> events.received(sender, message));
            }
        } catch (DecodeException unreadable) {
            tellMisread(sender, unreadable);
        }
    }

    @Override
    public void tentative(int sender, ByteBuffer payload) {
        try {
            Message message = switch (ordered.read(payload)) {
                case Control.Said said -> said.message();
                case Control.Traced said -> said.message();
                default -> null;
            };
            if (message != null) {
                loop.execute(() -> events.tentative(sender, message));
            }
        } catch (DecodeException unreadable) {
            tellMisread(sender, unreadable);
        }
    }

    private void tellMisread(int sender, DecodeException unreadable) {
        if (misread.add(sender)) {
            LOG.warn(
                    "node {}: a message of node {} outside of the order cannot be read and is left out, as will be further ones: {}",
                    node, sender, unreadable.getMessage());
        }
    }

    @Override
    public void failed(Throwable cause) {
        events.failed(cause);
    }
}
