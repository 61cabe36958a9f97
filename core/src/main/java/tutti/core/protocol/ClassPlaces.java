package tutti.core.protocol;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;

/**
 * The places in class queues as of a position: what {@link Nodo} and {@link Akara} keep in their snapshots.
 *
 * @param delivered the position
 * @param places in the order of the queues
 */
record ClassPlaces(long delivered, List<Place> places) {
    private static final byte VERSION = 1;

    /** A place in the class queues. */
    record Place(long sequence, TransactionId transaction, ConflictClasses classes) implements ClassQueues.Member {}

    byte[] encode() {
        int size = 1 + 8 + 4;
        for (Place place : places) {
            size += 8 + TransactionId.ENCODED_BYTES + place.classes().encodedSize();
        }
        ByteBuffer to = ByteBuffer.allocate(size).put(VERSION).putLong(delivered).putInt(places.size());
        for (Place place : places) {
            to.putLong(place.sequence());
            place.transaction().encode(to);
            place.classes().encode(to);
        }
        return to.array();
    }

    /** @throws IllegalArgumentException if these are no such bytes */
    static ClassPlaces decode(byte[] snapshot) {
        ByteBuffer from = Snapshots.open(snapshot, VERSION);
        long delivered = from.getLong();
        List<Place> places = new ArrayList<>();
        for (int count = from.getInt(); count > 0; count--) {
            places.add(new Place(from.getLong(), TransactionId.decode(from), ConflictClasses.decode(from)));
        }
        return new ClassPlaces(delivered, places);
    }
}
