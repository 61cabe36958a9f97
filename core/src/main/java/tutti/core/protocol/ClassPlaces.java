package tutti.core.protocol;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.TransactionId;

/**
 * The places in class queues as of a position: what {@link Nodo} and {@link Akara} keep in their snapshots.
 *
 * @param delivered the position
 * @param places in the order of the queues
 */
record ClassPlaces(long delivered, List<Place> places) implements Encoded {
    static final Schema<ClassPlaces> SCHEMA = Schema
            .message("classes", 6, ClassPlaces.class, "Of protocols `nodo` and `akara`.").of(
                    Field.of("delivered", Types.NATURAL, ClassPlaces::delivered),
                    Field.of("places", Types.list(Place.SCHEMA, Integer.MAX_VALUE), ClassPlaces::places),
                    ClassPlaces::new);

    /** A place in the class queues. */
    record Place(long sequence, TransactionId transaction, ConflictClasses classes) implements TransactionQueues.Named {
        static final Schema<Place> SCHEMA = Schema.part("place", Place.class).of(
                Field.of("sequence", Types.LONG, Place::sequence),
                Field.of("transaction", TransactionId.SCHEMA, Place::transaction),
                Field.of("classes", ConflictClasses.SCHEMA, Place::classes), Place::new);
    }
}
