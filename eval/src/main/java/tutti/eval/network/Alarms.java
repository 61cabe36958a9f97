package tutti.eval.network;

import java.util.Comparator;
import java.util.PriorityQueue;

/** The timers of a station. */
final class Alarms {
    private record Alarm(long at, long id) {}

    private final PriorityQueue<Alarm> waiting = new PriorityQueue<>(Comparator.comparingLong(Alarm::at));

    void add(long at, long id) {
        waiting.add(new Alarm(at, id));
    }

    /** Tells a program of all that are due. */
    boolean tell(long now, SocketProgram program) {
        boolean any = false;
        for (Alarm next = waiting.peek(); next != null && next.at <= now; next = waiting.peek()) {
            waiting.remove();
            program.timer(next.id);
            any = true;
        }
        return any;
    }

    /** For how many whole ticks a station may sleep at most: until the next one, or until the end. */
    long sleepTicks(long now, long end) {
        Alarm next = waiting.peek();
        long until = next == null ? end : Math.min(end, next.at);
        return Math.max(1, Math.ceilDiv(until - now, Stations.TICK_NANOS));
    }
}
