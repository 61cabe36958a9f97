package tutti.server.watch;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.server.http.NodeStatus;

/**
 * What a node has done in the last two minutes, second by second, and what has happened to it and, as it sees it, to the others. It looks at the
 * node's status once a second. What it tells names no rows. Safe for use from any thread.
 */
public final class History implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(History.class);
    private static final long PERIOD_MILLIS = 1000;
    private static final int SAMPLES_MAX = 120;
    private static final int EVENTS_MAX = 50;

    private final Supplier<NodeStatus> status;
    private final Latencies latencies;
    private final Thread thread = Thread.ofPlatform().daemon().name("tutti-watch").unstarted(this::run);
    private final Deque<Sample> samples = new ArrayDeque<>();
    private final Deque<Event> events = new ArrayDeque<>();
    private @Nullable Look last;

    /**
     * A second, or as long as it was between two looks.
     *
     * @param time its end, in milliseconds since 1970
     * @param commits transactions that committed a change, per second
     * @param aborts transactions that were aborted, per second
     * @param median of the time from the request to commit to the answer, in milliseconds
     * @param worst that which 99 of 100 took at most, in milliseconds
     * @param lag in positions
     * @param sessions of clients, at its end
     */
    public record Sample(long time, double commits, double aborts, double median, double worst, long lag,
            int sessions) {}

    /**
     * Something that has happened.
     *
     * @param time in milliseconds since 1970
     * @param text for people
     */
    public record Event(long time, String text) {}

    /**
     * What a node tells of itself.
     *
     * @param status now
     * @param samples oldest first
     * @param events newest first
     */
    public record Told(NodeStatus status, List<Sample> samples, List<Event> events) {}

    private record Look(NodeStatus status, long[] latencies, long millis) {}

    /**
     * That looks at nothing before {@link #start}.
     *
     * @param status of the node; must not block
     */
    public History(Supplier<NodeStatus> status, Latencies latencies) {
        this.status = status;
        this.latencies = latencies;
    }

    /** Begins to look. */
    public void start() {
        thread.start();
    }

    private void run() {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                look(System.currentTimeMillis());
                Thread.sleep(PERIOD_MILLIS);
            }
        } catch (InterruptedException stopping) {
            LOG.debug("the node is not watched any more", stopping);
        }
    }

    /** Looks at the node, at this time in milliseconds since 1970. */
    public void look(long millis) {
        Look now = new Look(status.get(), latencies.counts(), millis);
        synchronized (this) {
            Look before = last;
            last = now;
            if (before == null) {
                happened(millis, "the process started; " + state(now.status));
                return;
            }
            if (millis > before.millis) {
                sample(before, now);
            }
            compare(before.status, now.status, millis);
        }
    }

    private void sample(Look before, Look now) {
        double seconds = (now.millis - before.millis) / 1000.0;
        samples.addLast(new Sample(now.millis, rate(before.status.committed(), now.status.committed(), seconds),
                rate(aborted(before.status), aborted(now.status), seconds),
                Latencies.quantile(before.latencies, now.latencies, 0.5),
                Latencies.quantile(before.latencies, now.latencies, 0.99), now.status.positions().lag(),
                now.status.sessions()));
        if (samples.size() > SAMPLES_MAX) {
            samples.removeFirst();
        }
    }

    private static double rate(long before, long now, double seconds) {
        return Math.round((now - before) / seconds * 10) / 10.0;
    }

    private static long aborted(NodeStatus status) {
        return status.aborted().values().stream().mapToLong(Long::longValue).sum();
    }

    private void compare(NodeStatus before, NodeStatus now, long millis) {
        if (before.state() != now.state()
                || (now.reason() != null && before.reason() == null)) {
            happened(millis, state(now));
        }
        if (before.majority() != now.majority()) {
            happened(millis, now.majority() ? "a majority is reached" : "no majority is reached: writes are refused");
        }
        Integer leader = now.leader();
        if (leader != null && !leader.equals(before.leader())) {
            happened(millis, name(now, leader) + " leads the order");
        }
        Map<Integer, NodeStatus.Member> earlier = new TreeMap<>();
        before.members().forEach(member -> earlier.put(member.id(), member));
        for (NodeStatus.Member member : now.members()) {
            NodeStatus.Member was = earlier.remove(member.id());
            if (was == null) {
                happened(millis, member.name() + " is a member now");
            } else if (was.reachable() != member.reachable()) {
                happened(millis, member.name() + (member.reachable() ? " is there" : " is not there"));
            }
        }
        earlier.values().forEach(gone -> happened(millis, gone.name() + " is no member any more"));
        for (Integer given : now.order().givenUp()) {
            if (!before.order().givenUp().contains(given)) {
                happened(millis, name(now, given) + " was away for too long: the log is not kept for it any more");
            }
        }
    }

    private static String name(NodeStatus status, int id) {
        return status.members().stream().filter(member -> member.id() == id).findFirst()
                .map(NodeStatus.Member::name).orElse(String.valueOf(id));
    }

    private static String state(NodeStatus status) {
        String state = status.state().name().toLowerCase(Locale.ROOT);
        return status.reason() == null ? state : state + ": " + status.reason();
    }

    private void happened(long millis, String text) {
        events.addFirst(new Event(millis, text));
        if (events.size() > EVENTS_MAX) {
            events.removeLast();
        }
    }

    /** What is known. */
    public Told told() {
        NodeStatus now = status.get();
        synchronized (this) {
            return new Told(now, new ArrayList<>(samples), new ArrayList<>(events));
        }
    }

    @Override
    public void close() {
        thread.interrupt();
    }
}
