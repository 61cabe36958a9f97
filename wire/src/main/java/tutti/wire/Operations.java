package tutti.wire;

/**
 * Which answers are still to come from the engine? One byte per message that was sent and will be answered, first in
 * first out, in a ring that grows to a bound.
 */
final class Operations {
    /** Most answers that may be outstanding; the session stops reading from its client before that. */
    static final int LIMIT = 1 << 16;

    /** Of the client: Parse, Bind, Describe, Execute, Close, Sync, Query. */
    static final byte PARSE = 1, BIND = 2, DESCRIBE = 3, EXECUTE = 4, CLOSE = 5, SYNC = 6, QUERY = 7;
    /** Of the client: an Execute that ends the transaction. */
    static final byte ENDING = 8;
    /** Of the client: a simple query that ends the transaction and perhaps begins another. */
    static final byte ENDING_QUERY = 9;
    /** Our own: Parse, Bind, Close, Execute, Sync, Query. */
    static final byte OWN_PARSE = 16, OWN_BIND = 17, OWN_CLOSE = 18, OWN_EXECUTE = 19, OWN_SYNC = 20, OWN_QUERY = 21;
    /** Our own Execute whose rows matter: a COMMIT; the capture's closing value; one row of settings. */
    static final byte OWN_COMMIT = 22, OWN_CLOSING = 23, OWN_SETTINGS = 24;
    /** Our own Parse, the last of those that prepare our statements. */
    static final byte OWN_PREPARED = 27;
    /** Our own messages up to a Sync, whose whole result matters. */
    static final byte OWN_COLLECTED = 28;
    /** Our own, made to fail so that the client hears an error of ours in its place: a Parse, a Query. */
    static final byte REFUSED_PARSE = 25, REFUSED_QUERY = 26;

    private byte[] ring = new byte[64];
    private int head;
    private int size;

    void add(byte operation) {
        if (size == ring.length) {
            if (size >= LIMIT) {
                throw new IllegalStateException(LIMIT + " answers are outstanding");
            }
            byte[] larger = new byte[size * 2];
            for (int i = 0; i < size; i++) {
                larger[i] = ring[(head + i) & (ring.length - 1)];
            }
            ring = larger;
            head = 0;
        }
        ring[(head + size++) & (ring.length - 1)] = operation;
    }

    /** The operation that is answered next, 0 if none. */
    byte first() {
        return size == 0 ? 0 : ring[head];
    }

    byte poll() {
        byte first = first();
        if (size > 0) {
            head = (head + 1) & (ring.length - 1);
            size--;
        }
        return first;
    }

    /** Takes back the last one. */
    void removeLast() {
        size--;
    }

    int size() {
        return size;
    }

    void clear() {
        size = 0;
    }

    /** After an error: the engine answers nothing before the next Sync. */
    void dropToSync() {
        while (size > 0 && first() != SYNC && first() != OWN_SYNC) {
            poll();
        }
    }

    static boolean own(byte operation) {
        return operation >= OWN_PARSE;
    }
}
