package tutti.node.trace;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;

/**
 * The transactions that are followed at a node: its clients' by name, from when they ask to commit until they are over, and those of all nodes by position,
 * from their delivery to their decision. One that is not followed costs a look whether any is. Of the replica's loop, unless
 * something else is said.
 */
public final class Traces {
    /** Of a node that follows none. */
    public static final Traces OFF = new Traces();
    /** Most positions that wait for their decision; further ones are not followed here. */
    static final int POSITIONS_MAX = 10_000;

    /** A transaction of a client of this node. */
    private static final class Own {
        private final Span transaction;
        /** Its message that is on its way; null if none is. */
        private @Nullable Span ordering;

        Own(Span transaction) {
            this.transaction = transaction;
        }
    }

    /**
     * A position that was delivered.
     *
     * @param whole of which its steps are parts
     * @param certification which is under way
     */
    private record Undecided(Span whole, boolean received, Span certification) {}

    private volatile Tracer tracer = Tracer.NONE;
    private volatile CommitListener listener = (_, _) -> {};
    private final Map<TransactionId, Own> own = new ConcurrentHashMap<>();
    private final Map<Long, Undecided> undecided = new HashMap<>();

    /** Has spans recorded from now on; before the node starts. */
    public void by(Tracer records) {
        tracer = records;
    }

    /** Has somebody told what is committed; before the node starts. */
    public void tell(CommitListener somebody) {
        listener = somebody;
    }

    /** What a transaction has changed, of whatever node, is visible. */
    public void committed(long position, WriteSet writes) {
        listener.committed(position, writes);
    }

    /** Who records spans. Any thread. */
    public Tracer tracer() {
        return tracer;
    }

    /** A transaction of a client of this node, which is followed, has a name and is about to be ordered. Any thread. */
    public void begins(TransactionId name, Span transaction) {
        own.put(name, new Own(transaction));
    }

    /** It is over; nothing happens if it is not known. Any thread. */
    public void ends(TransactionId name) {
        own.remove(name);
    }

    /**
     * A message is about to be ordered.
     *
     * @param about the transaction that it is about, if it is about one
     * @return what is to go with it; null for nothing
     */
    public @Nullable TraceContext ordered(@Nullable TransactionId about) {
        if (about == null || own.isEmpty()) {
            return null;
        }
        Own one = own.get(about);
        if (one == null) {
            return null;
        }
        endOrdering(one);
        one.ordering = one.transaction.child(Span.Kind.ORDER, "order", 0);
        return one.ordering.context();
    }

    private static void endOrdering(Own one) {
        Span before = one.ordering;
        one.ordering = null;
        if (before != null) {
            before.end();
        }
    }

    /**
     * A message was delivered with which something has gone, and its effect is not there yet.
     *
     * @param about as for {@link #ordered}
     * @param context what has gone with it
     * @param agoNanos since when it is here, in nanoseconds
     */
    public void delivered(long position, @Nullable TransactionId about, TraceContext context, long agoNanos) {
        if (!tracer.on() || undecided.size() >= POSITIONS_MAX) {
            return;
        }
        Own mine = about == null ? null : own.get(about);
        if (mine != null && mine.ordering != null && mine.ordering.context().equals(context)) {
            endOrdering(mine);
        }
        Span whole = mine == null ? tracer.delivery(context, agoNanos) : mine.transaction;
        if (whole != null) {
            whole.with("tutti.position", position);
            undecided.put(position, new Undecided(whole, mine == null, whole.child(Span.Kind.STEP, "certify", 0)));
        }
    }

    /**
     * It is decided what happens at a position.
     *
     * @param effect whether anything does
     * @return what follows it from here on; null if it is not followed, or nothing happens
     */
    public @Nullable PositionTrace decided(long position, boolean effect) {
        Undecided one = undecided.isEmpty() ? null : undecided.remove(position);
        if (one == null) {
            return null;
        }
        one.certification().with("tutti.decision", effect ? "effect" : "nothing").end();
        if (effect) {
            return new PositionTrace(one.whole(), one.received());
        }
        if (one.received()) {
            one.whole().end();
        }
        return null;
    }
}
