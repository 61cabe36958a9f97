package tutti.sim.kernel;

import java.util.Arrays;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Makes happen what is next in the simulated world. Events happen one at a time, in the total order of (time, sequence
 * of being scheduled), each at an instant of virtual time; while one runs, time stands still. Everything that an event
 * does must follow from the state of the simulation and from {@link #random}, so that seed, configuration and build
 * determine the whole run.
 *
 * <p>
 * <b>The trace hash</b> is how that is seen: every event mixes its time and its label into it, and models mix what they
 * decide ({@link #trace}). Two runs with the same hash did the same things at the same times.
 *
 * <p>
 * <b>Cost.</b> Scheduling an event makes no object: what is known of it lies in arrays, in a slot that is used again when it has
 * happened or was cancelled.
 *
 * <p>
 * Bounds: 16,777,216 pending events, 5 * 10^11 events scheduled in a run, a million (or as set) at one instant, virtual
 * times below 2^62 nanoseconds (146 years); each is refused with a {@link SimulationFailure}. One thread at a time.
 */
public final class Kernel implements Clock {
    /** No handle that {@link #schedule} returns is this. */
    public static final long NO_EVENT = 0;

    private static final int SLOT_BITS = 24;
    private static final int SLOT_MASK = (1 << SLOT_BITS) - 1;
    private static final long SEQUENCE_MAX = (1L << (Long.SIZE - 1 - SLOT_BITS)) - 1;
    private static final long TIME_MAX = 1L << 62;
    private static final int FIRST_SLOTS = 64;
    private static final long EVENTS_PER_INSTANT_MAX = 1_000_000;

    private final long seed;
    private final RandomStream random;
    private final EventWheel wheel = new EventWheel(FIRST_SLOTS);

    /** By slot: handle of its event, or 0 if the slot is free. */
    private long[] handles = new long[FIRST_SLOTS];
    /** By slot: a Runnable or a LongAction. */
    private @Nullable Object[] actions = new Object[FIRST_SLOTS];
    private long[] arguments = new long[FIRST_SLOTS];
    private @Nullable Label[] labels = new Label[FIRST_SLOTS];
    private int[] freeSlots = new int[FIRST_SLOTS];
    private int free;
    private int slots;

    private long now;
    private long sequence;
    private long executed;
    private long executedAtInstant;
    private long perInstantMax = EVENTS_PER_INSTANT_MAX;
    private long hash;
    private boolean running;
    private boolean stopped;
    private @Nullable Listener listener;

    /** A world in which nothing has happened yet, at time 0. */
    public Kernel(long seed) {
        this.seed = seed;
        this.random = new RandomStream(seed);
        this.hash = BitMixer.mix64(seed);
    }

    /** What an event with a number does; one object serves any number of events. */
    public interface LongAction {
        /** The event happens. */
        void run(long argument);
    }

    /** Hears of every event just before it happens: for logs, and for finding where two runs part. */
    public interface Listener {
        /** An event. */
        void event(long nanos, Label label, long argument);
    }

    /** The seed of everything random here. */
    public long seed() {
        return seed;
    }

    /** True time, nanoseconds since the beginning. */
    @Override
    public long now() {
        return now;
    }

    /** Events that wait to happen. */
    public int pending() {
        return slots - free;
    }

    /** Events that have happened. */
    public long executed() {
        return executed;
    }

    /** The rolling hash of all that has happened. */
    public long hash() {
        return hash;
    }

    /** Seed, number of events, time and hash in one line, equal for equal runs. */
    public String fingerprint() {
        return "seed " + seed + ", " + executed + " events, time " + Nanos.text(now) + ", hash "
                + HexFormat.of().toHexDigits(hash);
    }

    /** The random stream of a label: the same one, from its beginning, each time it is asked for. */
    public RandomStream random(String label) {
        return random.fork(label);
    }

    /** Mixes something that was decided into the hash. */
    public void trace(Label label, long value) {
        mix(label.digest() ^ Long.rotateLeft(value, 32));
    }

    /** Sets who hears of events; null for nobody. */
    public void listen(@Nullable Listener to) {
        listener = to;
    }

    /** Sets how many events may happen without time going on before the run is taken for an endless loop. */
    public void limitEventsPerInstant(long most) {
        if (most < 1) {
            throw new IllegalArgumentException("at least one event must be able to happen, not " + most);
        }
        perInstantMax = most;
    }

    /**
     * Has something done after a delay, after everything that was scheduled for the same instant before.
     *
     * @param delayNanos at least 0
     * @param label for the trace
     * @return a handle for {@link #cancel}, never {@link #NO_EVENT}, never used again
     */
    public long schedule(long delayNanos, Label label, Runnable action) {
        return add(delayNanos, label, action, 0);
    }

    /** Like {@link #schedule(long, Label, Runnable)}, for an action that takes a number; it is part of the trace. */
    public long schedule(long delayNanos, Label label, LongAction action, long argument) {
        return add(delayNanos, label, action, argument);
    }

    @Override
    public Timer after(long delayNanos, Label label, Runnable action) {
        long handle = schedule(delayNanos, label, action);
        return () -> cancel(handle);
    }

    private long add(long delayNanos, Label label, Object action, long argument) {
        if (delayNanos < 0) {
            throw new IllegalArgumentException(label + " was scheduled " + -delayNanos + " ns in the past");
        }
        long time = now + delayNanos;
        if (time < 0 || time >= TIME_MAX) {
            throw new SimulationFailure(label + " was scheduled beyond the end of time: in " + delayNanos + " ns", now,
                    seed);
        }
        if (sequence == SEQUENCE_MAX) {
            throw new SimulationFailure("more than " + SEQUENCE_MAX + " events were scheduled", now, seed);
        }
        int slot = free > 0 ? freeSlots[--free] : newSlot();
        long handle = ++sequence << SLOT_BITS | slot;
        handles[slot] = handle;
        actions[slot] = action;
        arguments[slot] = argument;
        labels[slot] = label;
        wheel.add(slot, time);
        return handle;
    }

    private int newSlot() {
        if (slots == handles.length) {
            if (slots > SLOT_MASK) {
                throw new SimulationFailure("more than " + slots + " events are pending", now, seed);
            }
            int length = 2 * slots;
            handles = Arrays.copyOf(handles, length);
            actions = Arrays.copyOf(actions, length);
            arguments = Arrays.copyOf(arguments, length);
            labels = Arrays.copyOf(labels, length);
            freeSlots = Arrays.copyOf(freeSlots, length);
            wheel.grow(length);
        }
        return slots++;
    }

    /**
     * Keeps an event from happening.
     *
     * @param handle what {@link #schedule} returned, or {@link #NO_EVENT}
     * @return false if it has happened already, was cancelled before, or is none
     */
    public boolean cancel(long handle) {
        int slot = (int) (handle & SLOT_MASK);
        if (handle == NO_EVENT || slot >= slots || handles[slot] != handle) {
            return false;
        }
        wheel.remove(slot);
        release(slot);
        return true;
    }

    private void release(int slot) {
        handles[slot] = NO_EVENT;
        actions[slot] = null;
        labels[slot] = null;
        freeSlots[free++] = slot;
    }

    /** Runs until nothing is pending or {@link #stop} is called. */
    public void run() {
        loop(TIME_MAX);
    }

    /**
     * Runs all events up to and at a time, and leaves the clock there (unless {@link #stop} is called).
     *
     * @param nanos true time, not in the past
     */
    public void runUntil(long nanos) {
        if (nanos < now) {
            throw new IllegalArgumentException("it is " + Nanos.text(now) + " already, past " + Nanos.text(nanos));
        }
        loop(nanos);
        if (!stopped) {
            passTo(nanos);
        }
    }

    /** Lets the present event be the last of this run. Those pending stay, and another run goes on with them. */
    public void stop() {
        stopped = true;
    }

    private void loop(long until) {
        if (running) {
            throw new IllegalStateException("the kernel runs already: an event must not run it");
        }
        running = true;
        stopped = false;
        try {
            while (!stopped) {
                int slot = wheel.removeFirst(until);
                if (slot < 0) {
                    break;
                }
                happen(slot);
            }
        } finally {
            running = false;
        }
    }

    private void happen(int slot) {
        Object action = actions[slot];
        Label label = labels[slot];
        long argument = arguments[slot];
        release(slot);
        if (action == null || label == null) {
            throw new IllegalStateException("slot " + slot + " is empty");
        }
        passTo(wheel.time(slot));
        executed++;
        mix(label.digest() ^ argument * BitMixer.GOLDEN);
        if (++executedAtInstant > perInstantMax) {
            throw new SimulationFailure(
                    "time does not go on: " + perInstantMax + " events happened at this instant, now "
                            + label,
                    now, seed);
        }
        if (listener != null) {
            listener.event(now, label, argument);
        }
        try {
            if (action instanceof LongAction numbered) {
                numbered.run(argument);
            } else {
                ((Runnable) action).run();
            }
        } catch (SimulationFailure e) {
            throw e;
        } catch (Throwable e) {
            throw new SimulationFailure("event " + label, now, seed, e);
        }
    }

    private void passTo(long time) {
        if (time != now) {
            now = time;
            executedAtInstant = 0;
        }
    }

    private void mix(long value) {
        hash = (Long.rotateLeft(hash, 5) ^ (value + now * BitMixer.STAFFORD)) * BitMixer.GOLDEN;
    }
}
