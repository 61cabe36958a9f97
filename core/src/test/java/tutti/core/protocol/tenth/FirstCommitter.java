package tutti.core.protocol.tenth;

import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tutti.core.protocol.Execution;
import tutti.core.protocol.Message;
import tutti.core.protocol.Protocol;
import tutti.core.protocol.ReplicaWorld;
import tutti.core.protocol.TransactionRequest;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.txn.AbortReason;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * {@code first-committer}: a transaction commits only if nothing has committed since it began. The smallest protocol that is
 * right: it shows what adding one takes.
 *
 * <p>
 * <b>Why that is serializability.</b> A transaction that commits at p began at b, and nothing committed in (b, p). So its
 * snapshot, which lies in [b, p), is the state before p: it ran as if alone at p. <b>Why replicas agree:</b> the decision is
 * a function of b and of the last position that committed, which is one of the ordered prefix.
 */
public final class FirstCommitter implements Protocol {
    /** The name in configurations. */
    public static final String NAME = "first-committer";

    /** Asks for a transaction to be decided, or for a request to be executed by every replica. */
    record Decide(TransactionId transaction, long begun, WriteSet writes,
            TransactionRequest.Whole request) implements Message {
        private static final TransactionRequest.Whole NONE = new TransactionRequest.Whole(new byte[0],
                TransactionRequest.Interactive.UNDECLARED.classes(),
                WriteSet.EMPTY.keys(), TransactionRequest.Placement.ONE);

        boolean forAll() {
            return request.placement() == TransactionRequest.Placement.ALL;
        }

        static final Schema<Decide> SCHEMA = Schema.message("decide", 1, Decide.class, "Asks for a decision.").of(
                Field.of("transaction", TransactionId.SCHEMA, Decide::transaction),
                Field.of("begun", Types.NATURAL, Decide::begun), Field.of("writes", WriteSet.SCHEMA, Decide::writes),
                Field.of("request", TransactionRequest.Whole.SCHEMA, Decide::request), Decide::new);
    }

    /** What it keeps in a snapshot. */
    record Snapshot(long lastCommitted) implements Encoded {
        static final Schema<Snapshot> SCHEMA = Schema.message("snapshot", 2, Snapshot.class, "In a snapshot.")
                .of(Field.of("lastCommitted", Types.NATURAL, Snapshot::lastCommitted), Snapshot::new);
        static final MessageSet<Snapshot> SET = new MessageSet<>("first-committer states", "In snapshots.",
                List.of(SCHEMA));
    }

    /** Its messages. */
    static final MessageSet<Message> MESSAGES = new MessageSet<>(NAME, "Under the tenth protocol.",
            List.of(Decide.SCHEMA));

    private final ReplicaWorld world;
    /** Run here, and have not asked to commit. */
    private final Set<TransactionId> executing = new HashSet<>();
    /** Of this replica, their message is on its way. */
    private final Set<TransactionId> ordered = new HashSet<>();
    /** Those that are to be answered when their position is visible. */
    private final TreeMap<Long, TransactionId> unanswered = new TreeMap<>();
    private long lastCommitted;

    FirstCommitter(ReplicaWorld world) {
        this.world = world;
    }

    @Override
    public void submitted(TransactionId transaction, TransactionRequest request) {
        if (request instanceof TransactionRequest.Whole whole
                && whole.placement() == TransactionRequest.Placement.ALL) {
            ordered.add(transaction);
            world.order(new Decide(transaction, 0, WriteSet.EMPTY, whole));
        } else {
            executing.add(transaction);
        }
    }

    @Override
    public void executed(TransactionId transaction, Execution execution) {
        executing.remove(transaction);
        ordered.add(transaction);
        world.order(new Decide(transaction, execution.begun(), execution.writes(), Decide.NONE));
    }

    @Override
    public void failed(TransactionId transaction, AbortReason.Failed cause) {
        executing.remove(transaction);
        world.answer(transaction, new Outcome.Aborted(cause));
    }

    /** One that is ordered will be refused when it is delivered: what it gave way to has committed since it began. */
    @Override
    public void victim(TransactionId transaction, long forPosition) {
        if (executing.remove(transaction)) {
            world.answer(transaction, new Outcome.Aborted(new AbortReason.Victim(forPosition)));
        }
    }

    @Override
    public void delivered(long position, int sender, Message message) {
        Decide decide = (Decide) message;
        TransactionId transaction = decide.transaction();
        boolean here = ordered.remove(transaction);
        if (decide.forAll()) {
            world.execute(transaction, position, decide.request());
        } else if (decide.begun() < lastCommitted) {
            world.skip(position);
            if (here) {
                world.abort(transaction);
                world.answer(transaction,
                        new Outcome.Aborted(new AbortReason.TooOld(decide.begun(), lastCommitted)));
            }
            return;
        } else if (here) {
            world.commit(transaction, position, decide.writes());
        } else {
            world.apply(transaction, position, decide.writes());
        }
        lastCommitted = position;
        if (here) {
            unanswered.put(position, transaction);
        }
    }

    @Override
    public void committed(long position, long horizon) {
        while (!unanswered.isEmpty() && unanswered.firstKey() <= position) {
            Map.Entry<Long, TransactionId> first = unanswered.pollFirstEntry();
            world.answer(first.getValue(), new Outcome.Committed(first.getKey()));
        }
    }

    @Override
    public void timer(long timer) {
        throw new IllegalStateException(NAME + " asks for no timer");
    }

    @Override
    public byte[] snapshot() {
        return new Snapshot(lastCommitted).bytes();
    }

    @Override
    public void restore(byte[] snapshot) {
        lastCommitted = Snapshot.SET.decode(ByteBuffer.wrap(snapshot)).lastCommitted();
    }
}
