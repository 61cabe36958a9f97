package tutti.macro.distribution;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.certify.CertificationIndex;
import tutti.core.txn.AbortReason;
import tutti.core.txn.WriteSet;

/**
 * One node's part in a {@link TransactionalComponent} (MacroDDB, section 4.3.4): transactions run here, and their commits, which the total order
 * brings to all nodes, are decided here.
 *
 * <p>
 * <b>Nodes decide alike.</b> A decision follows from the commit's message, its position and the index of keys, which follows
 * from the decisions before it: no node looks at anything of its own. A node that begins with another's copy begins with its index, and
 * one that begins with its own state reads the whole order again and skips only what it has applied.
 *
 * <p>
 * <b>Nothing is lost.</b> A transaction names the last position that was visible here before it began, so it has seen everything up to there. If
 * somebody changed one of its keys after that, it is refused, the first committer wins: snapshot isolation. It
 * may have seen more than it says, and be refused in vain; never the other way round.
 *
 * @param <C> the component's interface
 */
final class DeferredUpdates<C> {
    /** Keys that commits are compared with, at most: transactions that began before the oldest of them are refused. */
    private static final int KEYS_MAX = 1 << 20;

    private final String id;
    private final TransactionalComponent<C> component;
    /** Of commits that have been sent, until they are delivered here. */
    private final Map<RequestId, TransactionalComponent.Transaction<C>> awaited = new ConcurrentHashMap<>();
    /** Used in the thread of the total order alone, or before it has begun. */
    private CertificationIndex index = new CertificationIndex();
    /** Everything that was decided up to here is visible. */
    private volatile long visible;

    DeferredUpdates(String id, TransactionalComponent<C> component) {
        this.id = id;
        this.component = component;
    }

    /** Sends commits. */
    interface Commits {
        /**
         * Sends it and waits for what was decided.
         *
         * @param before called with the name of the request before it is sent
         */
        void commit(CommitOperation commit, Consumer<RequestId> before) throws Throwable;

        /** Waits until this node has executed everything that was ordered before. */
        void catchUp() throws Throwable;
    }

    boolean isConflict(Throwable thrown) {
        return thrown instanceof TransactionConflictException || component.isConflict(thrown);
    }

    Open begin(boolean readOnly) throws Exception {
        return new Open(readOnly);
    }

    /** A transaction that has not been sent. */
    final class Open implements AutoCloseable {
        private final TransactionalComponent.Transaction<C> transaction;
        private volatile long snapshot = visible;
        private boolean over;
        private boolean sent;

        private Open(boolean readOnly) throws Exception {
            transaction = component.begin(readOnly, () -> snapshot = visible);
        }

        C component() {
            return transaction.component();
        }

        /** Commits, and ends it; returns false if it had changed nothing. */
        boolean commit(Commits commits) throws Throwable {
            if (over) {
                throw new IllegalStateException("the transaction is over");
            }
            WriteSet writes = transaction.changes();
            if (writes.isEmpty()) {
                close();
                return false;
            }
            AtomicReference<@Nullable RequestId> sentAs = new AtomicReference<>();
            try {
                commits.commit(new CommitOperation(snapshot, writes), name -> {
                    over = true;
                    sent = true;
                    sentAs.set(name);
                    awaited.put(name, transaction);
                });
            } finally {
                undecided(sentAs.get());
            }
            return true;
        }

        /** Whether its changes were sent, or tried to be. */
        boolean sent() {
            return sent;
        }

        @Override
        public void close() {
            if (!over) {
                over = true;
                transaction.end();
            }
        }
    }

    /** Nobody waits for a commit any more. If it is decided later, its changes are applied as those of other nodes are. */
    private void undecided(@Nullable RequestId name) {
        TransactionalComponent.Transaction<C> own = name == null ? null : awaited.remove(name);
        if (own != null) {
            own.end();
        }
    }

    /** Decides a commit, at its place of the total order. */
    Response decide(CommitOperation commit, RequestId name, long position) {
        TransactionalComponent.Transaction<C> own = awaited.remove(name);
        AbortReason lost = index.certify(commit.writes().keys(), commit.snapshot(), commit.snapshot());
        Throwable refused = null;
        if (lost != null) {
            refused = new TransactionConflictException("a transaction of component " + id
                    + " that began after position " + commit.snapshot() + " lost at position " + position + ": "
                    + lost);
        } else if (position > component.position()) {
            refused = make(commit, own, position);
        }
        if (lost == null) {
            // Also of what was refused then: whether it was is not known when the order is read again.
            index.note(commit.writes().keys(), position);
            index.bound(KEYS_MAX);
        }
        if (refused != null && own != null) {
            own.end();
        }
        visible = position;
        return refused == null ? new Response.Empty() : new Response.ExceptionResponse(refused);
    }

    private @Nullable Throwable make(CommitOperation commit, TransactionalComponent.@Nullable Transaction<C> own,
            long position) {
        if (own != null && own.commit(position)) {
            return null;
        }
        try {
            component.apply(position, commit.writes());
            return null;
        } catch (RuntimeException broken) {
            throw broken;
        } catch (Exception refused) {
            return refused;
        }
    }

    /** The node has stopped: what was sent will not be decided here. */
    void abandon() {
        awaited.keySet().forEach(this::undecided);
    }

    void save(Output to, ObjectCodec values, StateCodec<C> state) {
        CertificationIndex.Image image = index.image();
        to.writeUnsigned(visible);
        to.writeLong(image.base());
        to.writeLong(image.floor());
        to.writeLong(image.newest());
        to.writeUnsigned(image.slots().length);
        for (int slot : image.slots()) {
            to.writeSigned(slot);
        }
        try (Open reader = begin(true)) {
            state.save(reader.component(), to, values);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("component " + id + " cannot be copied: " + e.getMessage(), e);
        }
    }

    void load(Input from, ObjectCodec values, StateCodec<C> state) {
        long at = from.readUnsigned();
        long base = from.readLong();
        long floor = from.readLong();
        long newest = from.readLong();
        int[] slots = new int[from.readCount()];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = (int) from.readSigned();
        }
        index = CertificationIndex.of(new CertificationIndex.Image(base, floor, newest, slots));
        try (Open writer = begin(false)) {
            state.load(writer.component(), from, values);
            WriteSet writes = writer.transaction.changes();
            if (!writes.isEmpty()) {
                if (writer.transaction.commit(at)) {
                    writer.over = true;
                } else {
                    component.apply(at, writes);
                }
            }
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("component " + id + " cannot be filled: " + e.getMessage(), e);
        }
        visible = at;
    }
}
