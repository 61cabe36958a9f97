package tutti.grid.view;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/** What nodes tell each other to agree on the next view. */
public sealed interface ViewMessage extends Encoded {
    /** All of them. */
    static List<Schema<? extends ViewMessage>> schemas() {
        return List.of(Prepare.SCHEMA, Promise.SCHEMA, Accept.SCHEMA, Accepted.SCHEMA, Installed.SCHEMA);
    }

    /** The number of the view that it is about. */
    long number();

    /** Who takes part in a ballot takes part in no lower one afterwards. */
    record Prepare(long number, long ballot) implements ViewMessage {
        static final Schema<Prepare> SCHEMA = Schema
                .message("prepare view", 20, Prepare.class, "Asks to take part in no lower ballot for a view.").of(
                        Field.of("number", Types.POSITIVE, Prepare::number),
                        Field.of("ballot", Types.POSITIVE, Prepare::ballot), Prepare::new);
    }

    /**
     * The answer.
     *
     * @param acceptedBallot the highest in which the sender has accepted a view; 0 if it has not
     * @param accepted that view
     */
    record Promise(long number, long ballot, long acceptedBallot, @Nullable View accepted) implements ViewMessage {
        static final Schema<Promise> SCHEMA = Schema.message("promise view", 21, Promise.class,
                "Takes part in no lower ballot, and has accepted this before.").of(
                        Field.of("number", Types.POSITIVE, Promise::number),
                        Field.of("ballot", Types.POSITIVE, Promise::ballot),
                        Field.of("acceptedBallot", Types.NATURAL, Promise::acceptedBallot),
                        Field.of("accepted", Types.optional(View.SCHEMA), Promise::accepted), Promise::new);
    }

    /** Asks to accept a view. */
    record Accept(long ballot, View view) implements ViewMessage {
        static final Schema<Accept> SCHEMA = Schema.message("accept view", 22, Accept.class, "Asks to accept a view.")
                .of(
                        Field.of("ballot", Types.POSITIVE, Accept::ballot), Field.of("view", View.SCHEMA, Accept::view),
                        Accept::new);

        @Override
        public long number() {
            return view.number();
        }
    }

    /** A view was accepted in a ballot. */
    record Accepted(long number, long ballot) implements ViewMessage {
        static final Schema<Accepted> SCHEMA = Schema
                .message("accepted view", 23, Accepted.class, "The sender has accepted the view of a ballot.").of(
                        Field.of("number", Types.POSITIVE, Accepted::number),
                        Field.of("ballot", Types.POSITIVE, Accepted::ballot), Accepted::new);
    }

    /** A view is decided. */
    record Installed(View view) implements ViewMessage {
        static final Schema<Installed> SCHEMA = Schema
                .message("installed view", 24, Installed.class, "A view was agreed on.").of(
                        Field.of("view", View.SCHEMA, Installed::view), Installed::new);

        @Override
        public long number() {
            return view.number();
        }
    }
}
