package tutti.wire;

import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;

/**
 * Where a client's current cycle of messages stands: a simple query, or extended-protocol messages up to Sync. One cycle is
 * under way at a time; further messages wait in the socket. On the session's event loop.
 */
final class ClientCycle {
    /** Where it stands. */
    private enum State {
        /** None is under way. */
        NONE,
        /** Extended-protocol messages have come, Sync has not. */
        OPEN,
        /** Open; a COMMIT or ROLLBACK by Execute is under way in the engine, and what follows it, except Sync, waits. */
        ENDING,
        /** Open; the client's next message waits. */
        WAITING,
        /** Open; messages are skipped up to Sync, as the engine does after an error. */
        SKIPPING,
        /** The same; at Sync the transaction block is made to fail, because the engine has rolled it back already. */
        SKIPPING_TO_FAILURE,
        /** Complete; its ReadyForQuery is awaited. */
        BUSY;

        private static final LegalSteps<State> STEPS = new LegalSteps<>("a client's cycle", State.class, State::next);

        private Set<State> next() {
            return switch (this) {
                case NONE -> EnumSet.of(OPEN);
                case OPEN -> EnumSet.of(ENDING, WAITING, SKIPPING, SKIPPING_TO_FAILURE, BUSY);
                case ENDING -> EnumSet.of(OPEN, WAITING, SKIPPING, SKIPPING_TO_FAILURE, BUSY);
                case WAITING -> EnumSet.of(OPEN, SKIPPING, SKIPPING_TO_FAILURE);
                case SKIPPING -> EnumSet.of(WAITING, SKIPPING_TO_FAILURE, BUSY);
                case SKIPPING_TO_FAILURE -> EnumSet.of(BUSY);
                // open again: to be repeated; skipping: the engine skips its query
                case BUSY -> EnumSet.of(NONE, OPEN, SKIPPING);
            };
        }
    }

    /** Whether the client copies rows into a table. */
    private enum Copy {
        /** It does not. */
        NONE,
        /** It has asked to, or has done so. */
        ASKED,
        /** The engine takes its data. */
        RUNNING
    }

    /** What the engine would say of a statement if there were no more of a transaction than the client knows. */
    private record Warning(SentMessage before, ErrorFields fields) {}

    private State state = State.NONE;
    private Copy copy = Copy.NONE;
    /** Whether the client has sent the end of the data that it was asked for last. */
    private boolean dataEnded;
    /** Answers a Sync that has come before the data of a COPY; null if there is none that may have to be answered. */
    private @Nullable Runnable earlySync;
    private boolean inBlock;
    private boolean failed;
    private boolean staysHere;
    private boolean untilAnswered;
    private @Nullable Warning warning;
    private boolean hasExecuted;
    private boolean inImplicitBlock;
    private @Nullable MultiStatementQuery script;

    private void to(State next) {
        state = State.STEPS.step(state, next);
    }

    // ------------------------------------------------------------------------------------------ messages

    /**
     * A message has come that is not skipped.
     *
     * @return whether it begins a cycle
     */
    boolean begins() {
        if (state == State.NONE) {
            to(State.OPEN);
            return true;
        }
        return false;
    }

    /** No further message belongs to it: a simple query, or Sync, has come. */
    void complete() {
        to(State.BUSY);
    }

    /** Further messages belong to it after all. */
    void reopen() {
        to(State.OPEN);
    }

    /** The client's next message waits, until {@link #proceed} or {@link #skip}. */
    void await() {
        if (state != State.BUSY) {
            to(State.WAITING);
        }
    }

    /** The client's next message waits until all before it is answered. */
    void awaitAnswers() {
        await();
        untilAnswered = true;
    }

    /** All that has been sent is answered. */
    void answered() {
        if (untilAnswered) {
            untilAnswered = false;
            proceed();
        }
    }

    /** The client's next message need not wait any longer. */
    void proceed() {
        if (state == State.WAITING) {
            to(State.OPEN);
        }
    }

    /** The client's next message need not wait any longer; if the cycle has failed, it is skipped. */
    void proceedUnlessFailed() {
        if (failed) {
            skip();
        } else {
            proceed();
        }
    }

    /** Messages are skipped up to Sync. */
    void skip() {
        untilAnswered = false;
        if (state != State.SKIPPING_TO_FAILURE) {
            to(State.SKIPPING);
        }
    }

    /** Messages are skipped up to Sync, and then the transaction block is to be made to fail. */
    void skipToFailure() {
        to(State.SKIPPING_TO_FAILURE);
    }

    /** An Execute is under way that ends the transaction: what follows it waits. */
    void ending() {
        to(State.ENDING);
    }

    /** The Execute that ends the transaction has been completed. */
    void ended() {
        if (state == State.ENDING || state == State.WAITING) {
            to(State.OPEN);
        }
    }

    /** The cycle is over. */
    void over() {
        to(State.NONE);
        forget();
    }

    /** It never was: its messages will be said again, or not be answered. */
    void forget() {
        state = State.NONE;
        copy = Copy.NONE;
        dataEnded = false;
        earlySync = null;
        failed = false;
        staysHere = false;
        untilAnswered = false;
        hasExecuted = false;
        inImplicitBlock = false;
        warning = null;
        script = null;
    }

    /** Whether none is under way. */
    boolean none() {
        return state == State.NONE;
    }

    /** Whether further messages belong to it, and need not wait or be skipped. */
    boolean open() {
        return state == State.OPEN;
    }

    /** Whether its ReadyForQuery is awaited. */
    boolean busy() {
        return state == State.BUSY;
    }

    /** Whether the client's next message has to wait. */
    boolean blocked() {
        return state == State.BUSY || state == State.WAITING;
    }

    /** Whether the client's next message, unless it is Sync, has to wait because the transaction is being ended. */
    boolean isEnding() {
        return state == State.ENDING;
    }

    /** Whether messages are skipped up to Sync. */
    boolean skipping() {
        return state == State.SKIPPING || state == State.SKIPPING_TO_FAILURE;
    }

    /** Whether the transaction block is to be made to fail at Sync. */
    boolean failsAtSync() {
        return state == State.SKIPPING_TO_FAILURE;
    }

    // ------------------------------------------------------------------------------------------ what is known of it

    /** An error of this cycle has been passed on to the client, or will be unless it is repeated. */
    void fail() {
        failed = true;
    }

    /** Whether {@link #fail} was called in this cycle. */
    boolean failed() {
        return failed;
    }

    /** Executes what it has executed again, as if for the first time. */
    void repeats() {
        failed = false;
        hasExecuted = false;
        inImplicitBlock = false;
    }

    /** Whether its messages are in a transaction block, as far as they have been sent. */
    boolean inBlock() {
        return inBlock;
    }

    /** Its messages are in a transaction block from here on, or are not. */
    void inBlock(boolean is) {
        inBlock = is;
    }

    /**
     * A statement is executed by the extended protocol.
     *
     * @param controls whether it begins or ends a transaction
     * @return whether it is the cycle's first
     */
    boolean executesFirst(boolean controls) {
        boolean first = !hasExecuted;
        hasExecuted = true;
        inImplicitBlock = !controls;
        return first;
    }

    /** Whether the statement that it has executed last by the extended protocol leaves a transaction open until Sync: to the engine what follows is in a block. */
    boolean inImplicitBlock() {
        return inImplicitBlock;
    }

    /** What the client is told before the completion of the message that is answered like this next. */
    void warns(SentMessage as, ErrorFields warning) {
        this.warning = new Warning(as, warning);
    }

    /** What is to be told before the completion of such a message, which is told now; or null. */
    @Nullable
    ErrorFields takeWarning(SentMessage completed) {
        Warning waiting = warning;
        if (waiting == null || waiting.before() != completed) {
            return null;
        }
        warning = null;
        return waiting.fields();
    }

    /** It is known that it is executed by this node, not by every one. */
    void stayHere() {
        staysHere = true;
    }

    boolean staysHere() {
        return staysHere;
    }

    /** The statements of a simple query that are run one by one, or null. */
    @Nullable
    MultiStatementQuery script() {
        return script;
    }

    void script(MultiStatementQuery running) {
        script = running;
    }

    // ------------------------------------------------------------------------------------------ COPY from the client

    /** A statement has been sent that may take data from the client. */
    void copyAsked() {
        copy = Copy.ASKED;
        dataEnded = false;
    }

    /** The engine takes data. */
    void copyBegins() {
        copy = Copy.RUNNING;
        if (earlySync != null) {
            proceed();
        }
    }

    /** Data of the client's, or its end, is passed on: an engine that reads it has ignored a Sync that came before. */
    void copies(boolean end) {
        dataEnded = end;
        earlySync = null;
    }

    /** Data is made to fail by the node. If the client knows that the engine takes it, a Sync that came before is ignored. */
    void copyFails() {
        if (copy == Copy.RUNNING) {
            copy = Copy.ASKED;
            earlySync = null;
        }
    }

    /**
     * Whether it depends on a COPY whether a Sync that comes now is answered: an engine that takes data ignores it, until the data has ended; it answers it if
     * it does not come to that, or fails before it has read anything.
     */
    boolean mayIgnoreSync() {
        return copy != Copy.NONE && !dataEnded;
    }

    /**
     * A Sync has come that the engine {@linkplain #mayIgnoreSync may ignore}. It is kept, and what follows it waits, until it is known whether the
     * engine takes data.
     *
     * @param answer answers it after all, when everything before it has been answered
     */
    void keepSync(Runnable answer) {
        earlySync = answer;
        if (copy == Copy.ASKED) {
            await();
        }
    }

    /** A Sync that is kept has to be answered: all before it has been. */
    void answerKeptSync() {
        Runnable sync = earlySync;
        if (sync != null) {
            earlySync = null;
            proceed();
            sync.run();
        }
    }

    /** Whether a Sync is kept of which it is not known yet whether the engine takes data. */
    boolean syncWaits() {
        return earlySync != null && copy != Copy.RUNNING;
    }

    /** Whether a Sync is kept that may have to be answered. */
    boolean keepsSync() {
        return earlySync != null;
    }

    /** The engine takes no more data for now. */
    void copyEnds() {
        if (copy == Copy.RUNNING) {
            copy = Copy.ASKED;
        }
    }

    /** No statement under way takes data. */
    void noCopy() {
        copy = Copy.NONE;
    }

    /** The engine is sent something else than data, and ends the session: the client's next message waits for that. */
    void breaksCopy() {
        noCopy();
        await();
    }

    /** Whether data of the client's may be passed on. */
    boolean copies() {
        return copy != Copy.NONE;
    }

    /** Whether the engine takes data, and nothing else before its end. */
    boolean takesDataOnly() {
        return copy == Copy.RUNNING && !dataEnded;
    }

    /** Whether the engine takes data. */
    boolean copyRuns() {
        return copy == Copy.RUNNING;
    }
}
