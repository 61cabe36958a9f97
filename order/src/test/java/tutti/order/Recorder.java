package tutti.order;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongConsumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.DurableLog;
import tutti.core.spi.Group;

/** A listener that remembers what it was told and lets a test wait for it. */
public final class Recorder implements DurableLog.Reader, Group.Listener {
    /** One delivery. */
    public record Delivered(long position, int sender, String payload) {}

    private static final long WAIT_SECONDS = 30;

    /** One message outside of the order. */
    public record Letter(int sender, String payload) {}

    private final List<Delivered> deliveries = new ArrayList<>();
    private final List<Letter> letters = new ArrayList<>();
    private Group.@Nullable View view;
    private @Nullable Throwable failure;
    private volatile LongConsumer onDelivery = _ -> {};
    private int failures;

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

    public synchronized List<Letter> awaitLetters(int count) throws InterruptedException {
        await(() -> letters.size() >= count, count + " letters");
        return List.copyOf(letters);
    }

    public synchronized List<Delivered> awaitCount(int count) throws InterruptedException {
        await(() -> deliveries.size() >= count, count + " deliveries");
        return deliveries();
    }

    public synchronized Group.View awaitView(Predicate<Group.View> wanted) throws InterruptedException {
        await(() -> view != null && wanted.test(view), "a view");
        return java.util.Objects.requireNonNull(view);
    }

    public synchronized Throwable awaitFailure() throws InterruptedException {
        await(() -> failure != null, "a failure");
        return java.util.Objects.requireNonNull(failure);
    }

    private void await(BooleanSupplier condition, String what) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
        while (!condition.getAsBoolean()) {
            long left = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
            if (left <= 0) {
                throw new AssertionError("waited for " + what + "; " + deliveries.size() + " deliveries, view " + view
                        + ", failure " + failure);
            }
            wait(left);
        }
    }
}
