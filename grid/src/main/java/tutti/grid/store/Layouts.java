package tutti.grid.store;

import java.util.TreeMap;

/**
 * Who owns keys now, and did just before: a transaction goes by the layout in which its node has sent it, wherever it is dealt with. A layout
 * begins only when nothing is on its way any more that was sent before the one before it, so two are enough. One thread.
 */
public final class Layouts {
    private final TreeMap<Long, Owners> owners = new TreeMap<>();

    /** In its first layout. */
    public Layouts(long number, Owners first) {
        owners.put(number, first);
    }

    /** Another layout. Without effect if it is the present one. */
    public void next(long number, Owners next) {
        if (number > number()) {
            owners.put(number, next);
            owners.headMap(number - 1).clear();
        }
    }

    /** The number of the present one. */
    public long number() {
        return owners.lastKey();
    }

    /** Who owns keys now. */
    public Owners present() {
        return owners.lastEntry().getValue();
    }

    /** Whether a layout is the present one or the one before. */
    public boolean has(long number) {
        return owners.containsKey(number);
    }

    /** Who owns keys for what was sent in one of these. */
    public Owners in(long number) {
        Owners then = owners.get(number);
        if (then == null) {
            throw new IllegalStateException("something of layout " + number + " is on its way, in layout " + number());
        }
        return then;
    }
}
