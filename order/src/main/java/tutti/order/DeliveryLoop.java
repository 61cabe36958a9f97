package tutti.order;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;
import tutti.runtime.Loop;
import tutti.runtime.Machine;

/**
 * Calls a node's reader and listener, one call at a time, on a loop of its own. The messages of the order are taken from a
 * {@link Source} when the reader takes them, so a slow reader costs no memory and holds up nobody else.
 *
 * <p>
 * Positions are checked where they are handed over: a gap or a repetition ends the delivery with an error.
 *
 * <p>
 * Public methods may be called from any thread unless they say otherwise.
 */
public final class DeliveryLoop implements AutoCloseable {
    private static final Logger LOGGER = LoggerFactory.getLogger(DeliveryLoop.class);

    /** Where the messages of the order come from. */
    public interface Source {
        /**
         * Hands over some of the next messages by {@link DeliveryLoop#deliver}, as long as {@link DeliveryLoop#mayDeliver}. On the
         * loop.
         *
         * @return whether there are more already
         * @throws IOException if they cannot be read
         */
        boolean deliverSome(DeliveryLoop to) throws IOException;
    }

    /** What the group has to tell, in turn. */
    private sealed interface Event {}

    private record Letter(int sender, ByteBuffer payload) implements Event {}

    private record Tentative(int sender, ByteBuffer payload) implements Event {}

    private record Viewed(Group.View now) implements Event {}

    private final String name;
    private final Loop loop;
    private final Source source;
    private final DurableLog.Reader reader;
    private final Group.@Nullable Listener listener;
    private final Consumer<Throwable> onFailure;
    private final ConcurrentLinkedQueue<Event> events = new ConcurrentLinkedQueue<>();
    /** How many views are among them. */
    private final AtomicInteger views = new AtomicInteger();
    /** A turn has been handed to the loop and has not begun. */
    private final AtomicBoolean queued = new AtomicBoolean();
    private volatile boolean suspended;
    private volatile boolean ended;
    private volatile long lastDelivered;
    /* Of the loop. */
    private long next;
    private boolean inBatch;

    /**
     * Opens the loop. Nobody is called before {@link #more} or another call says that there is a reason.
     *
     * @param name for people
     * @param after the first message to be delivered is the one behind this position
     * @param listener null if nobody wants to hear of the group
     * @param onFailure told, on the loop, what source, reader or listener threw; the reader is told afterwards
     */
    public DeliveryLoop(Machine machine, String name, long after, Source source, DurableLog.Reader reader,
            Group.@Nullable Listener listener, Consumer<Throwable> onFailure) {
        this.name = name;
        this.source = source;
        this.reader = reader;
        this.listener = listener;
        this.onFailure = onFailure;
        next = after + 1;
        loop = machine.loop(name, this::broken);
    }

    /**
     * The source may have something.
     *
     * @param here whether it may be delivered by the caller, before this returns, if nobody else delivers now; the caller holds
     *            no lock and has the time
     */
    public void more(boolean here) {
        if (!queued.get() && queued.compareAndSet(false, true)) {
            if (here) {
                loop.run(this::turn);
            } else {
                loop.execute(this::turn);
            }
        }
    }

    /** The group has changed: each change is told, and before what is received after it. {@code here} as for {@link #more}. */
    public void viewed(Group.View now, boolean here) {
        views.incrementAndGet();
        events.add(new Viewed(now));
        more(here);
    }

    /** A node has sent something outside of the order; the bytes are kept. {@code here} as for {@link #more}. */
    public void received(int sender, ByteBuffer payload, boolean here) {
        events.add(new Letter(sender, payload));
        more(here);
    }

    /** A message will probably be delivered soon; the bytes are kept. Told no later than {@link #more} has it delivered. */
    public void tentative(int sender, ByteBuffer payload) {
        events.add(new Tentative(sender, payload));
        more(false);
    }

    /** As {@link DurableLog#suspend}. */
    public void suspend() {
        suspended = true;
    }

    /** As {@link DurableLog#resume}. */
    public void resume() {
        if (suspended) {
            suspended = false;
            more(false);
        }
    }

    /** Highest position handed over, 0 if none. */
    public long lastDelivered() {
        return lastDelivered;
    }

    /** Whether the next message may be handed over now: not if there is a view to be told before it. On the loop. */
    public boolean mayDeliver() {
        return !suspended && !ended && views.get() == 0;
    }

    /** Hands the next message over. By the source, on the loop. */
    public void deliver(long position, int sender, ByteBuffer payload) {
        if (position != next) {
            throw new IllegalStateException(name + ": position " + position + " was about to be delivered where "
                    + next + " is the next: the order has a gap or repeats itself");
        }
        inBatch = true;
        reader.delivered(position, sender, payload);
        lastDelivered = position;
        next++;
    }

    private void turn() {
        queued.set(false);
        for (Event event = events.poll(); event != null && !ended; event = events.poll()) {
            tell(event);
        }
        boolean more = false;
        try {
            more = mayDeliver() && source.deliverSome(this);
        } catch (IOException unreadable) {
            broken(unreadable);
        }
        if (inBatch && !ended) {
            inBatch = false;
            reader.batchEnd();
        }
        if (!ended && ((more && !suspended) || views.get() > 0)) {
            more(false);
        }
    }

    private void tell(Event event) {
        switch (event) {
            case Viewed(Group.View now) -> {
                views.decrementAndGet();
                if (listener != null) {
                    listener.view(now);
                }
            }
            case Letter(int sender, ByteBuffer payload) -> {
                if (listener != null) {
                    listener.received(sender, payload);
                }
            }
            case Tentative(int sender, ByteBuffer payload) -> {
                if (!suspended) {
                    reader.tentative(sender, payload);
                }
            }
        }
    }

    private void broken(Throwable cause) {
        if (!ended) {
            LOGGER.error("{} ends after position {}", name, lastDelivered, cause);
            onFailure.accept(cause);
            end(cause);
        }
    }

    /** Ends delivery with a call of {@link DurableLog.Reader#failed}; the first cause counts. */
    public void fail(Throwable cause) {
        loop.execute(() -> end(cause));
    }

    private void end(Throwable cause) {
        if (!ended) {
            ended = true;
            loop.close();
            reader.failed(cause);
        }
    }

    /** No call begins after this returns; one may be running if it is the caller. */
    @Override
    public void close() {
        ended = true;
        loop.close();
    }
}
