package tutti.order;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;

/** A listener that remembers what it was told and lets a test wait for it. */
public final class Recorder implements DurableLog.Reader, Group.Listener {
    /** One delivery. */
    public record Delivered(long position, int sender, String payload) {}

    /** How long a test waits for what must happen. */
    private static final long WAIT_SECONDS = 30;
    private static final long LOOK_MILLIS = 10;

    /** How a test waits. */
    public interface Waiting {
        /** Returns when something holds, of which the monitor is notified or which is looked at again soon. */
        void await(Object monitor, BooleanSupplier condition, Supplier<String> what) throws InterruptedException;
    }

    /** Where threads do what is waited for. */
    public static final Waiting THREADS = (monitor, condition, what) -> {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
        synchronized (monitor) {
            while (!condition.getAsBoolean()) {
                if (System.nanoTime() > deadline) {
                    throw new AssertionError("waited for " + what.get());
                }
                monitor.wait(LOOK_MILLIS);
            }
        }
    };

    /** One message outside of the order. */
    public record Letter(int sender, String payload) {}

    private final Waiting waiting;
    private final List<Delivered> deliveries = new ArrayList<>();
    private final List<Letter> letters = new ArrayList<>();
    private final List<Group.View> views = new ArrayList<>();
    private Group.@Nullable View view;
    private @Nullable Throwable failure;
    private volatile LongConsumer onDelivery = _ -> {};
    private int failures;

    /** Where threads do what is waited for. */
    public Recorder() {
        this(THREADS);
    }

    public Recorder(Waiting waiting) {
        this.waiting = waiting;
    }

    /** Does something inside of each delivery that follows, before it is remembered. */
    public void onDelivery(LongConsumer position) {
        onDelivery = position;
    }

    @Override
    public void delivered(long position, int sender, ByteBuffer payload) {
        onDelivery.accept(position);
        synchronized (this) {
            deliveries.add(new Delivered(position, sender, StandardCharsets.UTF_8.decode(payload).toString()));
            notifyAll();
        }
    }

    @Override
    public synchronized void received(int sender, ByteBuffer payload) {
        letters.add(new Letter(sender, StandardCharsets.UTF_8.decode(payload).toString()));
        notifyAll();
    }

    @Override
    public synchronized void view(Group.View now) {
        view = now;
        views.add(now);
        notifyAll();
    }

    @Override
    public synchronized void failed(Throwable cause) {
        failure = cause;
        failures++;
        notifyAll();
    }

    public synchronized List<Delivered> deliveries() {
        return List.copyOf(deliveries);
    }

    public synchronized int failures() {
        return failures;
    }

    public synchronized Group.@Nullable View view() {
        return view;
    }

    /** All that there were, the oldest first. */
    public synchronized List<Group.View> views() {
        return List.copyOf(views);
    }

    public List<Letter> awaitLetters(int count) throws InterruptedException {
        await(() -> letters.size() >= count, count + " letters");
        synchronized (this) {
            return List.copyOf(letters);
        }
    }

    public List<Delivered> awaitCount(int count) throws InterruptedException {
        await(() -> deliveries.size() >= count, count + " deliveries");
        return deliveries();
    }

    public Group.View awaitView(Predicate<Group.View> wanted) throws InterruptedException {
        List<Group.View> found = new ArrayList<>();
        await(() -> view != null && wanted.test(view) && found.add(view), "a view");
        return found.getFirst();
    }

    public Throwable awaitFailure() throws InterruptedException {
        await(() -> failure != null, "a failure");
        return java.util.Objects.requireNonNull(failure);
    }

    private void await(BooleanSupplier condition, String what) throws InterruptedException {
        waiting.await(this, condition,
                () -> what + "; " + deliveries.size() + " deliveries, view " + view + ", failure "
                        + failure);
    }
}
