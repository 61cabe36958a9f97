package tutti.sim.kernel;

import java.util.Arrays;

/**
 * Finds the next event: a hierarchy of wheels (Varghese and Lauck, Hashed and Hierarchical Timing Wheels, 1987, scheme 7) of 64
 * slots each, where a slot of a wheel is as long as a whole turn of the wheel below. A slot is a list of events; nothing is
 * allocated for one.
 *
 * <p>
 * <b>Where an event lies.</b> Let the base be a time that is not after any event's. The highest six-bit digit in which an event's
 * time differs from the base is its wheel, and the value of that digit its slot; if none differs, it lies in the lowest wheel. So
 * an event in a lower wheel is before all of any higher wheel, in one wheel the earlier slot has the earlier events, and all of
 * one slot of the lowest wheel have the same time. The next event is therefore in the first slot in use of the lowest wheel in
 * use; if that is not the lowest of all, the base goes to the slot's beginning, the slot's events go to lower wheels, and one
 * looks again. A higher wheel's events differ from the new base in the same digit as from the old one, so they stay.
 *
 * <p>
 * <b>Order.</b> Events of one time always lie in the same slot, since where one lies follows from its time and the base. They
 * are appended to its list, and a list is emptied into lower wheels from its front: so they come in the order in which they
 * were added.
 *
 * <p>
 * <b>Cost.</b> An event is added, removed and moved in constant time, and moved at most once per wheel; a slot with a single event
 * is not emptied, the event is taken. Of 10,000 events within a millisecond each moves two to three times.
 */
final class EventWheel {
    private static final int DIGIT_BITS = 6;
    private static final int SLOTS = 1 << DIGIT_BITS;
    private static final int WHEELS = (Long.SIZE - 1 + DIGIT_BITS - 1) / DIGIT_BITS;
    private static final int NONE = -1;

    /** By wheel and slot: first and last event of its list, meaningful if the slot is in use. */
    private final int[] firsts = new int[WHEELS * SLOTS];
    private final int[] lasts = new int[WHEELS * SLOTS];
    /** By wheel: a bit for each slot that is in use. */
    private final long[] slotsInUse = new long[WHEELS];
    /** A bit for each wheel that is in use. */
    private int wheelsInUse;
    private long base;

    /** By event: its time, and its neighbours in its list. */
    private long[] times;
    private int[] next;
    private int[] previous;

    /** Of events 0 to {@code capacity - 1}, none of which it has. */
    EventWheel(int capacity) {
        times = new long[capacity];
        next = new int[capacity];
        previous = new int[capacity];
    }

    /** Makes room for more events. */
    void grow(int capacity) {
        times = Arrays.copyOf(times, capacity);
        next = Arrays.copyOf(next, capacity);
        previous = Arrays.copyOf(previous, capacity);
    }

    /** Time of an event that it has, or that it gave last. */
    long time(int event) {
        return times[event];
    }

    /**
     * Adds an event that it does not have.
     *
     * @param time at least 0, and not before any {@code until} or event that {@link #removeFirst} was called with or gave
     */
    void add(int event, long time) {
        times[event] = time;
        append(event, place(time));
    }

    private int place(long time) {
        int wheel = (Long.SIZE - 1 - Long.numberOfLeadingZeros((time ^ base) | 1)) / DIGIT_BITS;
        return (wheel << DIGIT_BITS) | ((int) (time >>> (wheel * DIGIT_BITS)) & (SLOTS - 1));
    }

    private void append(int event, int place) {
        int wheel = place >>> DIGIT_BITS;
        long bit = 1L << place;
        next[event] = NONE;
        if ((slotsInUse[wheel] & bit) == 0) {
            slotsInUse[wheel] |= bit;
            wheelsInUse |= 1 << wheel;
            previous[event] = NONE;
            firsts[place] = event;
        } else {
            int last = lasts[place];
            previous[event] = last;
            next[last] = event;
        }
        lasts[place] = event;
    }

    /** Removes an event that it has. */
    void remove(int event) {
        int place = place(times[event]);
        int before = previous[event];
        int after = next[event];
        if (before == NONE && after == NONE) {
            empty(place);
        } else if (before == NONE) {
            firsts[place] = after;
            previous[after] = NONE;
        } else if (after == NONE) {
            lasts[place] = before;
            next[before] = NONE;
        } else {
            next[before] = after;
            previous[after] = before;
        }
    }

    private void empty(int place) {
        int wheel = place >>> DIGIT_BITS;
        long left = slotsInUse[wheel] & ~(1L << place);
        slotsInUse[wheel] = left;
        if (left == 0) {
            wheelsInUse &= ~(1 << wheel);
        }
    }

    /**
     * Removes the event with the least time, of several the one that was added first.
     *
     * @param until at least any time that this was called with before
     * @return the event, or -1 if there is none at or before that time
     */
    int removeFirst(long until) {
        while (wheelsInUse != 0) {
            int wheel = Integer.numberOfTrailingZeros(wheelsInUse);
            int place = (wheel << DIGIT_BITS) | Long.numberOfTrailingZeros(slotsInUse[wheel]);
            int event = firsts[place];
            int after = next[event];
            if (wheel == 0 || after == NONE) {
                if (times[event] > until) {
                    return NONE;
                }
                base = times[event];
                if (after == NONE) {
                    empty(place);
                } else {
                    firsts[place] = after;
                    previous[after] = NONE;
                }
                return event;
            }
            long start = times[event] & (-1L << (wheel * DIGIT_BITS));
            if (start > until) {
                return NONE;
            }
            base = start;
            empty(place);
            for (int moved = event; moved != NONE; moved = after) {
                after = next[moved];
                append(moved, place(times[moved]));
            }
        }
        return NONE;
    }
}
