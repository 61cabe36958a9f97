package tutti.core.protocol;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;

/**
 * {@code active}: state machine replication. Whole deterministic requests are totally ordered and executed by every replica,
 * one after another: one-copy serializability without conflicts and without shipping changes (AKARA section 2.2; SQLware's
 * active replication without its logs).
 *
 * <pre>
 *  submitted                delivered at position p, at every replica alike
 *     |                          |
 *     +--- order the request ----+-- execute alone -- committed -- answer (where it was submitted)
 * </pre>
 *
 * <p>
 * <b>Why that is serializability.</b> Every replica executes the same requests in the same order from the same state, each
 * alone, and they are deterministic: that is a serial execution, the same everywhere. Even a former life's request that is
 * ordered after a restart is an ordinary request. A transaction that changes nothing reads one snapshot of its replica, the
 * state after some position, and stands there in the serial order.
 *
 * <p>
 * <b>What cannot be executed everywhere.</b> Nobody can foresee the statements of an interactive transaction, nor repeat a
 * request whose result may differ from run to run ({@link TransactionRequest.Placement#ONE}). Both run where they were submitted, as
 * optimistic transactions do, and end well if they turn out to have changed nothing; otherwise they are rolled back and
 * refused with the reason.
 */
public final class ActiveReplication implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "active";

    /** Its messages. */
    static final MessageSet<Message> MESSAGES = new MessageSet<>("active",
            "Under protocol `active`.", List.of(Execute.SCHEMA));

    /** Asks every replica to execute a request. */
    record Execute(TransactionId transaction, TransactionRequest.Whole request) implements Message {
        static final Schema<Execute> SCHEMA = Schema
                .message("execute", 1, Execute.class, "Asks every replica to execute a request.").of(
                        Field.of("transaction", TransactionId.SCHEMA, Execute::transaction),
                        Field.of("request", TransactionRequest.Whole.SCHEMA, Execute::request), Execute::new);
    }

    /** What this replica knows of a local transaction that has not been answered. */
    private enum Phase {
        /** Runs here, and may only read. */
        READING,
        /** Its request is on its way. */
        ORDERED
    }

    private final ReplicaWorld world;
    private final Map<TransactionId, Phase> local = new HashMap<>();
    private final Unanswered unanswered = new Unanswered();
    private long delivered;

    /** A replica at the beginning of the order. */
    public ActiveReplication(ReplicaWorld world) {
        this.world = world;
    }

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        boolean everywhere = request instanceof TransactionRequest.Whole whole
                && whole.placement() != TransactionRequest.Placement.ONE;
        if (local.putIfAbsent(transaction, everywhere ? Phase.ORDERED : Phase.READING) != null) {
            throw new IllegalStateException(transaction + " was submitted twice");
        }
        if (everywhere) {
            world.order(new Execute(transaction, (TransactionRequest.Whole) request));
        } else {
            world.run(transaction, ReplicaWorld.Priority.OPTIMISTIC);
        }
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        end(transaction);
        if (execution.writes().isEmpty()) {
            world.answer(transaction, new Outcome.Committed(0));
            return;
        }
        world.abort(transaction);
        world.answer(transaction, new Outcome.Aborted(new AbortReason.Refused(
                "under protocol '" + NAME
                        + "' every replica executes what changes the database, so it must be handed in as"
                        + " a whole request with a deterministic result (one multi-statement query, a CALL, or a"
                        + " registered transaction); interactive transactions may only read")));
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        end(transaction);
        world.answer(transaction, new Outcome.Aborted(cause));
    }

    @Override
    public void victim(TransactionId transaction, long forPosition) {
        end(transaction);
        world.answer(transaction, new Outcome.Aborted(new AbortReason.Victim(forPosition)));
    }

    private void end(TransactionId transaction) {
        if (local.remove(transaction) != Phase.READING) {
            throw new IllegalStateException(transaction + " ended but was not running");
        }
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        if (position <= delivered) {
            throw new IllegalStateException("position " + position + " delivered after " + delivered);
        }
        delivered = position;
        if (!(message instanceof Execute(TransactionId transaction, TransactionRequest.Whole request))) {
            throw new IllegalArgumentException("not a message of " + NAME + ": " + message);
        }
        world.execute(transaction, position, request);
        if (local.remove(transaction) != null) {
            unanswered.add(position, transaction);
        }
    }

    @Override
    public void committed(long position, long horizon) {
        unanswered.visible(position, world);
    }

    @Override
    public void timer(long timer) {
        throw new IllegalStateException(NAME + " asks for no timer, but " + timer + " ran out");
    }

    /** What it keeps in a snapshot: nothing that is decided depends on the past. */
    record Snapshot(long delivered) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema.message("active", 4, Snapshot.class, "Of protocol `active`.")
                .of(Field.of("delivered", Types.NATURAL, Snapshot::delivered), Snapshot::new);
    }

    @Override
    public byte[] snapshot() {
        return new Snapshot(delivered).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        delivered = Snapshots.open(snapshot, Snapshot.class).delivered();
    }
}
