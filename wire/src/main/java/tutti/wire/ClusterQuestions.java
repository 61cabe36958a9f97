package tutti.wire;

import io.netty.buffer.ByteBuf;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;

/**
 * Has the node answer what a session's client asks about the cluster ({@link ClusterQuestion}), by itself or in a transaction. On the session's event loop.
 *
 * <p>
 * <b>What is waited for must be seen afterwards.</b> At REPEATABLE READ a transaction sees one snapshot, which the engine takes for the first statement that
 * is parsed, bound or executed and is not about the transaction itself. So a message that would be the first to take it is kept, and taken again when what is
 * asked for is visible. Where a snapshot may have been taken already, the engine's function is told so: it accepts the answer at READ COMMITTED, where the next
 * statement sees it, and otherwise if the snapshot is new enough; if not, it fails with 25001.
 *
 * <p>
 * <b>A transaction that waits can be rolled back.</b> Nothing is unanswered in the engine meanwhile, so that it gives way at once to what it waits for
 * ({@link #abandon}); a client may cancel it. The node limits the time.
 */
final class ClusterQuestions {
    /** What of the statements that are the session's takes a snapshot. */
    private static final Pattern LOOKS = Pattern.compile("\\b(?:prepare|fetch|move)\\b", Pattern.CASE_INSENSITIVE);

    /** The transaction certainly sees what is visible. */
    private static final long SEEN = -1;

    /** Deals with a message that was kept as if it had just come. */
    interface Again {
        void take(byte type, byte[] message);
    }

    /** The node has been asked. */
    private static final class Asked {
        private final SentMessage refused;

        Asked(SentMessage refused) {
            this.refused = refused;
        }
    }

    /** What the node has answered for the message that is taken again. */
    private record Answered(ClusterQuestion.Answer answer, long enough) {}

    private final Session session;
    private final CurrentTransaction transaction;
    private final BackendRequests backend;
    private final ClientCycle cycle;
    private @Nullable Again again;
    private @Nullable Asked asked;
    private @Nullable Answered answered;
    /** What was visible before the open transaction's snapshot was taken, to prepare a question; null if it has looked at something else since. */
    private ClusterQuestion.@Nullable Answer beforehand;

    ClusterQuestions(Session session) {
        this.session = session;
        this.transaction = session.transaction();
        this.backend = session.backend();
        this.cycle = session.cycle();
    }

    /** Who deals with messages that are taken again. */
    void speaksTo(Again to) {
        again = to;
    }

    // ------------------------------------------------------------------------------------------ snapshots

    /** Something takes a snapshot, if none was. */
    void looks() {
        transaction.work().looks();
        beforehand = null;
    }

    /** A statement is about to be executed; a question's portal has looked when it was bound. */
    void executes(StatementKind kind, String text) {
        if (kind.looks() || (kind == StatementKind.SESSION && LOOKS.matcher(text).find())) {
            looks();
        }
    }

    void cycleOver() {
        answered = null;
    }

    void transactionOver() {
        answered = null;
        beforehand = null;
    }

    // ------------------------------------------------------------------------------------------ asking

    /** Whether an unnamed question that is parsed outside of transactions is answered at once, whatever functions the database has. */
    boolean answersAtParse(ClusterQuestion question) {
        return !question.isOpen() && !cycle.inBlock() && !transaction.isOpen() && !backend.refusing()
                && !cycle.staysHere() && (!transaction.work().hasLooked() || !session.replicated());
    }

    /** Has the node answer a question outside of transactions; the engine then sends the answer as a result. */
    void answer(ClusterQuestion question, boolean simple) {
        cycle.await();
        ask(question, simple ? SentMessage.REFUSED_QUERY : SentMessage.REFUSED_PARSE, false, told -> {
            ByteBuf out = session.client().buffer();
            if (simple) {
                Frontend.query(out, told.answer().statement());
            } else {
                Frontend.parse(out, "", told.answer().statement());
            }
            backend.forward(out, simple ? SentMessage.QUERY : SentMessage.PARSE);
        });
    }

    /**
     * A message has come that prepares a question, or begins to execute it. If the node has to answer first, it is asked, and the message is kept and taken
     * again.
     *
     * @param type a Parse in a transaction, a Bind, or a simple query in a transaction
     * @return whether the message is dealt with; if not, and the node has answered, {@link #answers} says so
     */
    boolean waits(@Nullable ClusterQuestion question, byte type, ByteBuf buffer, int start, int bodyLength) {
        if (question == null || answered != null || question.isPosition() || !mayAsk()) {
            return false;
        }
        boolean parses = type == Frontend.PARSE;
        if (parses && (!question.isWait() || !transaction.isOpen() || transaction.work().hasLooked())) {
            return false;
        }
        ClusterQuestion.Answer known = beforehand;
        if (!parses && known != null && question.isMet(Long.parseLong(known.value()))) {
            answered = new Answered(known, SEEN);
            return false;
        }
        SentMessage refused = type == Frontend.QUERY ? SentMessage.REFUSED_QUERY : SentMessage.REFUSED_PARSE;
        if (question.isWait() && othersWait() && !question.isMetForGood(session.node().visiblePosition())) {
            backend.refuse(tooLate(), refused);
            return true;
        }
        byte[] message = Messages.copy(buffer, start, bodyLength);
        whenQuiet(() -> {
            boolean late = question.isWait() && transaction.work().hasLooked();
            ask(parses ? question.beforehand() : question, refused, late, told -> {
                answered = told;
                takeAgain(type, message);
            });
        });
        return true;
    }

    private void takeAgain(byte type, byte[] message) {
        Again to = again;
        if (to != null) {
            to.take(type, message);
        }
    }

    /** Whether the session can wait at this message, and be told. */
    private boolean mayAsk() {
        return session.replicated() && !backend.transactionFailed() && !backend.refusing()
                && transaction.unheardAbort() == null && !session.client().suppressed() && !cycle.staysHere()
                && (session.node().executesAtOnce() || !transaction.implicit());
    }

    /** Whether the open transaction has its turn, so that what is ordered behind it may wait for it. */
    private boolean othersWait() {
        OpenTransaction current = transaction.orNull();
        return current != null && current.handedIn() && !session.node().executesAtOnce();
    }

    private static ErrorFields tooLate() {
        return Errors.error("25001",
                "the transaction's turn has come, and what is ordered behind it may wait for it: it cannot wait for that")
                .with('H', "SELECT tutti_wait() first in the transaction block, or before BEGIN.");
    }

    /** What has been sent is answered first, so that the transaction can be rolled back while it waits; outside of one, its snapshot is given up. */
    private void whenQuiet(Runnable then) {
        cycle.await();
        if (transaction.isOpen() ? backend.idle() : !transaction.work().hasLooked()) {
            then.run();
            return;
        }
        backend.batch().sync(_ -> {
            if (session.client().suppressed() && transaction.isOpen()) {
                session.rollback().begin();
            } else if (cycle.failed()) {
                cycle.skip();
            } else {
                if (!transaction.isOpen()) {
                    transaction.cycleBegins();
                }
                then.run();
            }
        });
    }

    /** @param late whether a snapshot may have been taken before: then it is found out, too, which one is new enough */
    private void ask(ClusterQuestion question, SentMessage refused, boolean late, Consumer<Answered> then) {
        Asked now = new Asked(refused);
        asked = now;
        question.ask(session.node(), new Completion<>() {
            @Override
            public void succeeded(ClusterQuestion.Answer answer) {
                if (late) {
                    enough(answer, told -> session.onLoop(() -> over(now, () -> then.accept(told))));
                } else {
                    session.onLoop(() -> over(now, () -> then.accept(new Answered(answer, SEEN))));
                }
            }

            @Override
            public void failed(EngineFailure failure) {
                session.onLoop(() -> over(now,
                        () -> backend.refuse(Errors.error(failure.sqlState(), failure.message()), refused)));
            }
        });
    }

    /** What is visible may be behind the last position that has changed anything. */
    private void enough(ClusterQuestion.Answer answer, Consumer<Answered> then) {
        long visible = Long.parseLong(answer.value());
        session.capture().recorded(new Completion<>() {
            @Override
            public void succeeded(Long recorded) {
                then.accept(new Answered(answer, recorded));
            }

            @Override
            public void failed(EngineFailure unknown) {
                then.accept(new Answered(answer, visible));
            }
        });
    }

    private void over(Asked which, Runnable then) {
        if (asked == which) {
            asked = null;
            cycle.proceed();
            if (!cycle.skipping()) {
                then.run();
            }
        }
    }

    /** The node has answered for the message that is taken again. */
    boolean answers() {
        return answered != null;
    }

    /** A statement is prepared. What has been answered for that counts as long as nothing else is looked at. */
    void prepares(StatementKind kind) {
        Answered now = answered;
        answered = null;
        if (now != null) {
            beforehand = now.answer();
        } else if (isPlanned(kind)) {
            looks();
        }
    }

    /** Whether the engine needs a snapshot to parse and bind it. */
    private static boolean isPlanned(StatementKind kind) {
        return kind == StatementKind.READ || kind.mayWrite();
    }

    /** The question that a Bind message makes of one that is prepared; null if it makes none. */
    static @Nullable ClusterQuestion bound(Prepared prepared, ByteBuf bind, int start, int limit) {
        ClusterQuestion question = prepared.question();
        return question == null
                ? null
                : question.with(bind, Messages.end(bind, Messages.end(bind, start, limit) + 1, limit) + 1);
    }

    /** The portal of a statement that is about to be bound; if that is a question, as {@link #bound}. */
    Prepared binds(Prepared prepared, @Nullable ClusterQuestion question) {
        if (prepared.question() != null) {
            return Prepared.of(question == null ? null : executes(question));
        }
        if (isPlanned(prepared.kind())) {
            looks();
        }
        return prepared;
    }

    /**
     * A question is about to be executed, which takes a snapshot.
     *
     * @return the same, with what the engine's function is to be told, if the node has answered
     */
    ClusterQuestion executes(ClusterQuestion question) {
        Answered now = answered;
        answered = null;
        looks();
        return now == null ? question : question.answered(now.answer(), now.enough());
    }

    /** Has the engine's function answer what the node has, if this is the portal of a question. */
    void tell(@Nullable Prepared portal) {
        ClusterQuestion question = portal == null ? null : portal.question();
        if (question != null) {
            tell(question);
        }
    }

    /** Has the engine's function answer what the node has. */
    void tell(ClusterQuestion question) {
        String telling = question.telling();
        if (telling != null) {
            backend.batch().once(telling, SentMessage.OWN_EXECUTE).send();
        }
    }

    // ------------------------------------------------------------------------------------------ the end

    /**
     * The client cancels what it waits for.
     *
     * @return whether that was an answer of the node's
     */
    boolean cancelled() {
        Asked now = asked;
        if (now != null) {
            over(now, () -> backend.refuse(Errors.CANCELLED, now.refused));
        }
        return now != null;
    }

    /**
     * The transaction is about to be rolled back.
     *
     * @return whether it was waiting for the node's answer, of which nothing comes any more
     */
    boolean abandon() {
        boolean waited = asked != null;
        asked = null;
        return waited;
    }
}
