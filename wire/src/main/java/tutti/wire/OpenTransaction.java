package tutti.wire;

import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.protocol.ReplicaWorld.Priority;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.core.txn.WriteSet;
import tutti.node.Transactions.Ticket;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.StatementClasses;

/**
 * One transaction of a session, from its beginning until its outcome is known: what the node and the session know of it. The
 * node's calls, from any thread, are handed over to the session's event loop, where {@link Control} asks whether this is still the
 * current transaction; all else is on the event loop.
 */
final class OpenTransaction implements LocalTransaction {
    private static final Logger LOG = LoggerFactory.getLogger(OpenTransaction.class);

    /** What the session does as the node says. On the session's event loop. */
    interface Control {
        /** Its turn has come, to run or to run again. */
        void run(OpenTransaction asked, Priority priority);

        /** To commit at this position. */
        void commit(OpenTransaction asked, long position, Completion<Void> done);

        /** To roll back, whatever is going on. */
        void rollback(OpenTransaction asked, Runnable done);

        /** The end. */
        void answer(OpenTransaction asked, Outcome outcome);

        /** Nobody can decide about it at the moment, and its client is to wait no more. */
        void doubtful(OpenTransaction asked, TransactionId name);
    }

    /** How long it lasts by itself. */
    enum Extent {
        /** From the client's BEGIN to its COMMIT or ROLLBACK. */
        BLOCK,
        /** One cycle; the node has sent BEGIN. */
        CYCLE,
        /** One cycle; the node has yet to send BEGIN. */
        CYCLE_TO_BEGIN
    }

    /** How far its rollback is. */
    private enum Rollback {
        /** Nobody wants it. */
        NONE,
        /** The node wants it. */
        WANTED,
        /** It is rolled back in the engine, as the node wanted. */
        DONE_AS_WANTED,
        /** It is rolled back in the engine, which the node has not asked for. */
        DONE;

        private static final LegalSteps<Rollback> STEPS = new LegalSteps<>("a rollback", Rollback.class,
                Rollback::next);

        private Set<Rollback> next() {
            return switch (this) {
                case NONE -> EnumSet.of(WANTED, DONE);
                case WANTED -> EnumSet.of(DONE_AS_WANTED);
                // the transaction is run again
                case DONE_AS_WANTED, DONE -> EnumSet.of(NONE);
            };
        }
    }

    /** How far its turn is. */
    private enum Turn {
        /** It needs none, or has not been handed in. */
        NONE,
        /** It has been handed in. */
        AWAITED,
        /** It has come. */
        TAKEN,
        /** It is over before it has run. */
        LOST;

        private static final LegalSteps<Turn> STEPS = new LegalSteps<>("a transaction's turn", Turn.class, Turn::next);

        private Set<Turn> next() {
            return switch (this) {
                case NONE -> EnumSet.of(AWAITED);
                case AWAITED -> EnumSet.of(TAKEN, LOST);
                case TAKEN, LOST -> EnumSet.noneOf(Turn.class);
            };
        }
    }

    private final Control control;
    private final EventLoop loop;
    private @Nullable Ticket ticket;
    private @Nullable TransactionId name;
    private Extent extent;
    private boolean readOnly;
    private StatementClasses.@Nullable Declaration declared;
    private WriteSet writes = WriteSet.EMPTY;
    private boolean asked;
    private IntFunction<String> describe = _ -> "A key";
    private @Nullable Outcome outcome;

    private Rollback rollback = Rollback.NONE;
    private final List<Runnable> rollbackWaiters = new ArrayList<>();

    private Turn turn = Turn.NONE;
    private Runnable work = () -> {};
    private boolean repeatable;
    private boolean repeatAsked;
    private boolean givenUp;
    private @Nullable ErrorFields retry;
    private ConflictClasses classes = ConflictClasses.ALL;
    private boolean vouched;
    private Priority priority = Priority.OPTIMISTIC;
    private @Nullable Runnable watch;

    OpenTransaction(Control control, EventLoop loop, Extent extent) {
        this.control = control;
        this.loop = loop;
        this.extent = extent;
    }

    /**
     * It has been registered with the node.
     *
     * @param known name by which its client knows it; null if that is the ticket's, or none
     */
    void begun(Ticket given, @Nullable TransactionId known) {
        ticket = given;
        name = known;
    }

    Ticket ticket() {
        return Objects.requireNonNull(ticket, "begun");
    }

    /** By which its client can ask what has become of it. */
    TransactionId name() {
        TransactionId known = name;
        return known == null ? ticket().id() : known;
    }

    // ------------------------------------------------------------------------------------------ from the node

    @Override
    public void run(Priority with) {
        handOver(() -> control.run(this, with), () -> {});
    }

    @Override
    public void commit(long position, Completion<Void> done) {
        handOver(() -> control.commit(this, position, done),
                () -> done.failed(new EngineFailure("08006", "the session's event loop has stopped", true)));
    }

    @Override
    public void rollback(Runnable done) {
        handOver(() -> control.rollback(this, done), done);
    }

    @Override
    public void answer(Outcome end) {
        handOver(() -> control.answer(this, end), () -> {});
    }

    @Override
    public void doubtful(TransactionId name) {
        handOver(() -> control.doubtful(this, name), () -> {});
    }

    private void handOver(Runnable task, Runnable otherwise) {
        try {
            loop.execute(task);
        } catch (RejectedExecutionException stopped) {
            LOG.debug("the node speaks to a session whose event loop has stopped", stopped);
            otherwise.run();
        }
    }

    // ------------------------------------------------------------------------------------------ what it is

    Extent extent() {
        return extent;
    }

    void extent(Extent now) {
        extent = now;
    }

    /** It was begun to read only, so that it needs no turn. */
    void readsOnly() {
        readOnly = turn == Turn.NONE;
    }

    /** Whether it has to be handed in before it looks at the database, under a protocol that orders first. */
    boolean needsTurn() {
        return turn == Turn.NONE && !readOnly;
    }

    /** Its client has declared what it will touch. */
    void declares(StatementClasses.Declaration declaration) {
        declared = declaration;
    }

    /** What its client has declared, or null. */
    StatementClasses.@Nullable Declaration declared() {
        return declared;
    }

    /** What it has changed, empty until it has asked to commit. */
    WriteSet writes() {
        return writes;
    }

    /** It is about to ask to commit these changes. */
    void changed(WriteSet what, IntFunction<String> inWords) {
        writes = what;
        describe = inWords;
    }

    /** It does not ask to commit its changes. */
    void changedNothing() {
        writes = WriteSet.EMPTY;
    }

    /** It asks the node to commit its changes now: from here on the node alone knows what becomes of it. */
    void asks() {
        asked = true;
    }

    /** Whether it has asked to commit what it has changed. */
    boolean asked() {
        return asked;
    }

    /** What a key of its changes stands for, in words. */
    IntFunction<String> describe() {
        return describe;
    }

    /** The node's decision; null before that. */
    @Nullable
    Outcome outcome() {
        return outcome;
    }

    void decided(Outcome end) {
        outcome = end;
    }

    // ------------------------------------------------------------------------------------------ rollback

    /**
     * The node wants it to be rolled back.
     *
     * @return whether it did not before
     */
    boolean wantRollback(Runnable done) {
        rollbackWaiters.add(done);
        if (rollback != Rollback.NONE) {
            return false;
        }
        to(Rollback.WANTED);
        return true;
    }

    /** Whether the node wants it to be rolled back and that has not been done. */
    boolean rollbackWanted() {
        return rollback == Rollback.WANTED;
    }

    /** The session itself wants it to be rolled back. */
    void giveUp() {
        givenUp = true;
    }

    /** Whether the session wants that and it has not been done. */
    boolean givenUp() {
        return givenUp && !rolledBack();
    }

    /** Whether it is rolled back in the engine. */
    boolean rolledBack() {
        return rollback == Rollback.DONE || rollback == Rollback.DONE_AS_WANTED;
    }

    /** Whether the node has asked for its rollback, since it ran last. */
    boolean rollbackAsked() {
        return rollback == Rollback.WANTED || rollback == Rollback.DONE_AS_WANTED;
    }

    /** It has been rolled back in the engine. */
    void rollbackDone() {
        to(rollback == Rollback.NONE ? Rollback.DONE : Rollback.DONE_AS_WANTED);
        tellRollbackWaiters();
    }

    private void to(Rollback next) {
        rollback = Rollback.STEPS.step(rollback, next);
    }

    private void tellRollbackWaiters() {
        List<Runnable> waiters = List.copyOf(rollbackWaiters);
        rollbackWaiters.clear();
        waiters.forEach(Runnable::run);
    }

    // ------------------------------------------------------------------------------------------ turn

    /**
     * It is about to be handed in.
     *
     * @param canRepeat whether it is a whole request, which can be run again
     * @param vouchedFor whether its classes are what somebody says, so that they must be checked when it is over
     * @param what runs it
     */
    void awaitsTurn(ConflictClasses touches, boolean canRepeat, boolean vouchedFor, Runnable what) {
        if (handedIn()) {
            throw new IllegalStateException("a transaction is handed in twice; its turn is " + turn);
        }
        to(Turn.AWAITED);
        classes = touches;
        repeatable = canRepeat;
        vouched = vouchedFor;
        work = what;
    }

    private void to(Turn next) {
        turn = Turn.STEPS.step(turn, next);
    }

    boolean turnAwaited() {
        return turn == Turn.AWAITED;
    }

    boolean handedIn() {
        return turn != Turn.NONE;
    }

    /** Its turn has come. */
    void takesTurn() {
        to(Turn.TAKEN);
    }

    /** It is over before its turn has come. */
    void losesTurn() {
        to(Turn.LOST);
    }

    /** What runs it when its turn has come. */
    Runnable work() {
        return work;
    }

    /** The classes that it was handed in with. */
    ConflictClasses classes() {
        return classes;
    }

    /** Whether its classes are what somebody says. */
    boolean vouched() {
        return vouched;
    }

    /** Whether it is a whole request, which can be run again. */
    boolean repeatable() {
        return repeatable;
    }

    /** What has run of it must be repeated, or given up, for this error. */
    void retryFor(ErrorFields cause) {
        retry = cause;
    }

    /** Why what has run of it must be repeated; null if it need not. */
    @Nullable
    ErrorFields retry() {
        return retry;
    }

    /** It is to be run again as soon as it is rolled back. */
    void askToRepeat() {
        repeatAsked = true;
    }

    boolean repeatAsked() {
        return repeatAsked;
    }

    /** It is run again, as if for the first time. */
    void repeats() {
        repeatAsked = false;
        to(Rollback.NONE);
        retry = null;
        writes = WriteSet.EMPTY;
        asked = false;
    }

    /** Its priority against other local transactions. */
    void priority(Priority now) {
        priority = now;
    }

    /**
     * Whether the engine has to look after it, which it does not yet: it runs.
     *
     * @param whatever its priority
     */
    boolean needsWatch(boolean whatever) {
        return (whatever || priority == Priority.ORDERED) && watch == null && rollback == Rollback.NONE;
    }

    /** The engine looks after it until this is run. */
    void watched(Runnable end) {
        watch = end;
    }

    /** It is not the session's transaction any more. */
    void over() {
        if (watch != null) {
            watch.run();
            watch = null;
        }
    }

    /** Whoever waits for its rollback is told: it is over. */
    void overForWaiters() {
        tellRollbackWaiters();
    }
}
