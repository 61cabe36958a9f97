package tutti.node;

import java.util.EnumSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.TransactionRequest;
import tutti.core.spi.Engine.ExecuteResult;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.trace.PositionTrace;

/** One position that has been decided: what is to become visible there, and how far that is. Of the replica's loop. */
final class Slot {
    /** What is to become visible. */
    enum Kind {
        /** Nothing. */
        SKIP,
        /** A write set, which an applier applies. */
        REMOTE,
        /** A transaction of this node, which commits in its own session. */
        LOCAL,
        /** Changes that have been made already and hold their locks. */
        PREPARED,
        /** What every replica executes, alone. */
        BARRIER,
        /** Nothing, but not before somebody has looked at what is visible. */
        LOOK
    }

    /** How far it is. */
    enum State {
        /** Decided, nothing done in the engine yet, or (local, prepared) holding its locks. */
        WAITING,
        /** Being applied by an applier. */
        APPLYING,
        /** Applied, not committed. */
        APPLIED,
        /** Its commit has been asked for. */
        COMMITTING,
        /** The engine refuses it: what becomes of it the nodes decide. */
        REFUSED,
        /** Over. */
        VISIBLE;

        /** Back to waiting leads what the engine refuses; what waits is visible at once if there is nothing to do. */
        private Set<State> next() {
            return switch (this) {
                case WAITING -> EnumSet.of(APPLYING, COMMITTING, REFUSED, VISIBLE);
                case APPLYING -> EnumSet.of(APPLIED, COMMITTING, WAITING, VISIBLE);
                case APPLIED -> EnumSet.of(COMMITTING);
                case COMMITTING -> EnumSet.of(WAITING, REFUSED, VISIBLE);
                case REFUSED -> EnumSet.of(WAITING);
                case VISIBLE -> EnumSet.noneOf(State.class);
            };
        }
    }

    private final long position;
    private final @Nullable TransactionId transaction;
    private final WriteSet writes;
    private final TransactionRequest.@Nullable Whole barrier;
    private Kind kind;
    private State state = State.WAITING;
    private @Nullable LocalTransaction local;
    private Preparations.@Nullable Preparation preparation;
    private @Nullable ApplyGroup group;
    private @Nullable Consumer<Runnable> look;
    private int attempts;
    private @Nullable ExecuteResult refusal;
    private long lingersUntilNanos;
    private @Nullable PositionTrace trace;

    private Slot(long position, Kind kind, @Nullable TransactionId transaction, WriteSet writes,
            TransactionRequest.@Nullable Whole barrier) {
        this.position = position;
        this.transaction = transaction;
        this.kind = kind;
        this.writes = writes;
        this.barrier = barrier;
    }

    static Slot skipped(long position) {
        return new Slot(position, Kind.SKIP, null, WriteSet.EMPTY, null);
    }

    static Slot remote(long position, TransactionId transaction, WriteSet writes) {
        return new Slot(position, Kind.REMOTE, transaction, writes, null);
    }

    static Slot local(long position, TransactionId transaction, WriteSet writes, LocalTransaction local) {
        Slot slot = new Slot(position, Kind.LOCAL, transaction, writes, null);
        slot.local = local;
        return slot;
    }

    static Slot prepared(long position, WriteSet writes, Preparations.Preparation preparation) {
        Slot slot = new Slot(position, Kind.PREPARED, preparation.transaction(), writes, null);
        slot.preparation = preparation;
        return slot;
    }

    static Slot barrier(long position, TransactionId transaction, TransactionRequest.Whole request) {
        return new Slot(position, Kind.BARRIER, transaction, WriteSet.EMPTY, request);
    }

    static Slot look(long position, Consumer<Runnable> look) {
        Slot slot = new Slot(position, Kind.LOOK, null, WriteSet.EMPTY, null);
        slot.look = look;
        return slot;
    }

    long position() {
        return position;
    }

    /** Whose effects they are; none if nothing is to become visible. */
    TransactionId transaction() {
        return given(transaction);
    }

    /** Empty unless rows are changed. */
    WriteSet writes() {
        return writes;
    }

    /** Bytes of its changes. */
    int bytes() {
        return writes.changes().length;
    }

    /** Bytes of the request that is executed; 0 if none is. */
    int requestBytes() {
        return barrier == null ? 0 : barrier.statement().length;
    }

    Kind kind() {
        return kind;
    }

    boolean is(Kind asked, State at) {
        return kind == asked && state == at;
    }

    State state() {
        return state;
    }

    /** Takes the next step. */
    void become(State next) {
        if (!state.next().contains(next)) {
            throw new Defect(this + " cannot become " + next);
        }
        if (trace != null) {
            tell(trace, next);
        }
        state = next;
    }

    private void tell(PositionTrace to, State next) {
        switch (next) {
            case APPLYING -> to.begins("apply");
            case APPLIED -> to.over();
            case COMMITTING -> {
                if (state == State.APPLYING) {
                    to.commitsToo();
                } else {
                    to.begins(kind == Kind.BARRIER ? "execute" : "commit");
                }
            }
            case WAITING -> to.failed("again");
            case REFUSED -> to.failed("refused");
            case VISIBLE -> to.visible();
        }
    }

    /** It is followed. */
    void followedBy(PositionTrace follows) {
        trace = follows;
    }

    /** Its write set is applied, in place of a commit that cannot be, or did not work. What was prepared is the caller's. */
    Preparations.@Nullable Preparation becomeRemote() {
        if (state != State.WAITING) {
            become(State.WAITING);
        }
        Preparations.Preparation before = preparation;
        kind = Kind.REMOTE;
        local = null;
        preparation = null;
        return before;
    }

    /** What a local one commits. */
    LocalTransaction local() {
        return given(local);
    }

    /** Who looks; it runs what it is given, on the loop, when it has. */
    Consumer<Runnable> look() {
        return given(look);
    }

    /** What a barrier executes. */
    TransactionRequest.Whole barrier() {
        return given(barrier);
    }

    /** Hands over what a prepared one commits. */
    Preparations.Preparation takePreparation() {
        Preparations.Preparation taken = given(preparation);
        preparation = null;
        return taken;
    }

    private <T> T given(@Nullable T part) {
        if (part == null) {
            throw new Defect(this + " has nothing of the kind");
        }
        return part;
    }

    /** The group with which it is applied, if it has one. */
    @Nullable
    ApplyGroup group() {
        return group;
    }

    void group(@Nullable ApplyGroup with) {
        group = with;
    }

    /** How often its effects have been tried in vain. */
    int attempts() {
        return attempts;
    }

    void attempted() {
        attempts++;
    }

    /** The engine's answer to a barrier that it refused last; null if there is none. */
    @Nullable
    ExecuteResult refusal() {
        return refusal;
    }

    void refusal(ExecuteResult answer) {
        refusal = answer;
    }

    /** Until when it may wait for more to come, by the machine's clock. */
    long lingersUntilNanos() {
        return lingersUntilNanos;
    }

    void lingersUntil(long nanos) {
        lingersUntilNanos = nanos;
    }

    @Override
    public String toString() {
        return "position " + position + " (" + kind + ", " + state + ", " + attempts + " attempts)";
    }
}
