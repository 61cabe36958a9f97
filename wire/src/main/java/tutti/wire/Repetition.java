package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.AbortReason;
import tutti.core.txn.KeySet;
import tutti.core.txn.Outcome;
import tutti.core.txn.TransactionId;
import tutti.node.Transactions;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;

/**
 * Runs a transaction that has lost again, so that its client need not: what the client has said since the transaction began is kept,
 * and said to the engine again; what the engine answers then must be, byte for byte, what the client has heard so far, and
 * from there on it goes to the client. If it is something else, the client hears of the loss, as it would have done at once. On the
 * session's event loop.
 *
 * <p>
 * <b>Why the client cannot tell.</b> A client's messages follow from what it has heard, and the repeated transaction begins
 * after the lost one has been rolled back, so that nothing of that is left in the database. If the client had begun
 * at that later time, it would have heard the same answers (they are compared, {@link ResultFingerprint}) and so have said the same messages (those are
 * what is said again): the run that is left is one in which the client was slow. Before a repeated transaction may
 * commit, all that the client has heard must have been compared ({@link #proven}); what comes later, it hears for the first time.
 *
 * <p>
 * <b>What a rollback does not undo</b> must not be met twice: {@link SaidMessages} tells. Values of sequences are lost, as they are by every
 * rollback. What functions do outside of the database is done again: {@code limits.repetitions: 0} switches this off.
 *
 * <p>
 * <b>Who loses again and again.</b> A transaction that has lost waits until others of its node that lost the same key before are over
 * ({@link RetryQueue}, {@link LostRows}), for
 * {@value #FIRST_PATIENCE_MILLIS} ms at most, and if it has lost twice, for {@value #PATIENCE_MILLIS} ms. All that wait for a row
 * lose it together, whenever one of them has changed it: run again at once, they would do it in vain. It begins when all is visible that
 * has been delivered to its node.
 *
 * <p>
 * <b>Bounds.</b> {@link SaidMessages} keeps so many bytes; a longer transaction, and one of a query that
 * has ended another transaction, is not repeated. A transaction is repeated as often as the setting says.
 */
final class Repetition {
    /** SQLSTATE of nextval() when the sequence, or this node's share of it, has no value left. */
    static final String SPENT = "2200H";
    private static final ErrorFields NO_VALUES = Errors.error("40001",
            "could not serialize access: this node had to get more values of a sequence, and the transaction would have seen others");
    private static final int SHARES_LOG_MAX = 12;
    private static final Pattern NO_BOUND = Pattern.compile(" \\(-?922337203685477580[78]\\)");
    private static final Pattern LOADS = Pattern.compile("\\s*(?:truncate|copy)\\b", Pattern.CASE_INSENSITIVE);
    private static final Logger LOG = LoggerFactory.getLogger(Repetition.class);
    private static final int FIRST_PATIENCE_MILLIS = 50;
    private static final int PATIENCE_MILLIS = 1000;
    private static final int BOOKING_MILLIS = 2000;
    /** What a client may hear in the cycle in which its transaction begins, before that. */
    private static final int EARLY_BYTES_MAX = 1 << 10;

    /**
     * What the client does, as it knows it. While what it has heard has not been answered again ({@link #proven}), the session's cycle
     * does not tell: it may end though its end is withheld from the client.
     */
    private enum Client {
        /** Nothing: no cycle is under way. */
        IDLE,
        /** Its cycle has not ended. */
        SPEAKING,
        /** It waits for the end of its cycle. */
        WAITING
    }

    private final Session session;
    private final int most;
    private final RetryQueue losers;

    private final SaidMessages said = new SaidMessages();
    /** What the engine has said of a sequence that had no value left here; null if that was not the reason. */
    private @Nullable String spent;
    /** No node has been given any more then. */
    private boolean spentInVain;
    private final ResultFingerprint heard = new ResultFingerprint();

    private @Nullable ClientSide clientSide;
    private @Nullable LostRows lostRows;
    /** The keys that the run has lost which is over. */
    private long[] lost = LostRows.UNKNOWN;
    private int times;
    /** How often anything has been run again, by which what a run waits for is told from what another has waited for. */
    private long runs;
    private boolean running;
    /** What must happen before: a position becomes visible, its turn comes. */
    private int awaited;
    private RetryQueue.@Nullable Place place;
    /** In which order those come that would see what others change. */
    private Transactions.@Nullable Booking booking;
    /** What has to be booked before it is run again; 0 if nothing has. */
    private long toBook;
    /** It loads a table: it is run again when schema changes before it are made. */
    private boolean toLoad;
    private boolean speaking;
    private int next;
    private boolean differs;
    private ErrorFields cause = RollbackSequence.answerLost();
    private Client client = Client.IDLE;
    private boolean blockFails;

    /**
     * Of a session.
     *
     * @param most how often a transaction is repeated; 0 if not at all
     * @param losers of all sessions of the node
     */
    Repetition(Session session, int most, RetryQueue losers) {
        this.session = session;
        this.most = most;
        this.losers = losers;
    }

    /** Who deals with messages that are said again, and who knows what they look for. */
    void speaksTo(ClientSide to, LostRows rows) {
        clientSide = to;
        lostRows = rows;
    }

    // ------------------------------------------------------------------------------------------ what the client says and hears

    /** The client has sent a message. */
    void said(byte type, ByteBuf buffer, int start, int bodyLength) {
        if (most == 0) {
            return;
        }
        if (session.cycle().none() && !session.transaction().isOpen() && session.backend().outsideOfTransaction()) {
            begin();
        }
        if (!proven() && !ClientSide.copies(type)) {
            client = ClientSide.endsCycle(type) ? Client.WAITING : Client.SPEAKING;
        }
        if (type == Frontend.FUNCTION_CALL && !mustWaitToLoad()) {
            said.spoil(); // nothing tells which function it is, nor what a rollback does not undo
        }
        said.say(type, buffer, start, bodyLength);
    }

    private void begin() {
        said.begin();
        heard.clear();
        times = 0;
        spentInVain = false;
        over();
    }

    private void over() {
        running = false;
        awaited = 0;
        toBook = 0;
        toLoad = false;
        heard.forgive();
        differs = false;
        session.loads().loaded();
        leave();
    }

    /** Whoever waits for its turn need not wait for this session. */
    void leave() {
        RetryQueue.Place left = place;
        place = null;
        if (left != null) {
            left.leave();
        }
        Transactions.Booking booked = booking;
        booking = null;
        if (booked != null) {
            booked.end();
        }
    }

    /** A transaction has ended as its client knows: what follows in the same cycle is not repeated. */
    void transactionEnded() {
        said.spoil();
        leave();
    }

    /**
     * Something is about to go to the client.
     *
     * @return what of it the client is to hear; the ownership passes both ways
     */
    ByteBuf heard(ByteBuf bytes) {
        if (most == 0 || (!said.repeatable() && proven())) {
            return bytes;
        }
        if (differs) {
            return bytes.skipBytes(bytes.readableBytes());
        }
        int old = (int) Math.min(heard.owed(), bytes.readableBytes());
        if (old > 0) {
            differs = !heard.same(bytes, bytes.readerIndex(), old);
            if (differs) {
                wants();
            }
            bytes.skipBytes(differs ? bytes.readableBytes() : old);
        }
        int fresh = bytes.readableBytes();
        if (fresh > 0 && heard.length() + fresh > EARLY_BYTES_MAX && !session.transaction().isOpen()) {
            said.spoil();
        } else if (fresh > 0) {
            heard.add(bytes, bytes.readerIndex(), fresh);
        }
        return bytes;
    }

    // ------------------------------------------------------------------------------------------ what others change meanwhile

    /** What the client has seen has changed since: who looks at it next, books it before. */
    private void wants() {
        int statement = heard.statementsAlike();
        SaidMessages.Executed seen = statement < 0 ? null : said.executed(statement);
        LostRows rows = lostRows;
        int kind = seen == null || rows == null ? 0 : rows.kind(seen);
        if (seen != null && rows != null && kind != 0) {
            session.node().want(rows.booked(seen, kind));
        }
    }

    /**
     * A message of the client's has come, which was said and not looked at. If it is about to look at what others want to change, the
     * transaction is rolled back and begins anew, as if it had lost, when those before it are over: so it holds nothing while it waits, and sees what
     * they have left.
     *
     * @return whether the message has been dealt with
     */
    boolean waits(byte type) {
        OpenTransaction current = session.transaction().orNull();
        LostRows rows = lostRows;
        if (type == Frontend.FUNCTION_CALL) {
            boolean waits = current != null && mustWaitToLoad() && mayBook(current) && said.undone();
            said.spoil(); // from then on, also if the line has changed since it was said
            if (current != null && waits) {
                beginAnew(type, current, 0);
            }
            return waits;
        }
        if (current == null || rows == null || (type != Frontend.BIND && type != Frontend.QUERY)) {
            return false;
        }
        if (type == Frontend.QUERY && session.loads().mustWait() && loads(current) && mayBook(current)
                && said.undone()) {
            beginAnew(type, current, 0);
            return true;
        }
        if (!session.node().wantsAny() || !mayBook(current)) {
            return false;
        }
        SaidMessages.Executed statement = said.executedNext();
        int kind = rows.kind(statement);
        if (kind == 0 || !session.node().mayBeWanted(kind) || !said.undone()) {
            return false;
        }
        long key = rows.booked(statement, kind);
        if (!session.node().isWanted(key)) {
            return false;
        }
        beginAnew(type, current, key);
        return true;
    }

    /** Whether the open transaction might lose to a schema change in line if it called a function, as those that load large objects do. */
    private boolean mustWaitToLoad() {
        OpenTransaction current = session.transaction().orNull();
        return current != null && session.loads().mustWait() && current.extent() == OpenTransaction.Extent.BLOCK;
    }

    /** @param key what it books before; 0 if it waits for schema changes instead */
    private void beginAnew(byte type, OpenTransaction current, long key) {
        cause = RollbackSequence.answerLost();
        note(current);
        toBook = key;
        toLoad = key == 0;
        client = ClientSide.endsCycle(type) ? Client.WAITING : Client.SPEAKING;
        current.retryFor(cause);
        session.rollback().inPeace(current);
    }

    /** Whether the query that has come loads a table, or empties it for that, and the transaction has looked at nothing before. */
    private boolean loads(OpenTransaction current) {
        SaidMessages.Executed next = said.executedNext();
        return !session.transaction().work().mayHaveChanged() && !session.transaction().work().hasLooked()
                && current.extent() == OpenTransaction.Extent.BLOCK && next.query()
                && LOADS.matcher(new String(next.message(), Messages.HEADER, next.message().length - Messages.HEADER,
                        StandardCharsets.ISO_8859_1)).lookingAt();
    }

    /** Whether it could begin anew: it is a block that may write, has booked nothing so far, and nothing has befallen it. */
    private boolean mayBook(OpenTransaction current) {
        ClientCycle cycle = session.cycle();
        return most > 0 && booking == null && !running && proven() && said.repeatable()
                && session.node().executesAtOnce() && current.needsTurn()
                && current.extent() == OpenTransaction.Extent.BLOCK && current.retry() == null
                && !current.rollbackWanted()
                && session.transaction().is(SessionState.IN_TRANSACTION) && !session.backend().transactionFailed()
                && !cycle.skipping() && !cycle.isEnding() && !cycle.blocked();
    }

    /** It asks to commit: if it does, what it has booked is over. */
    void asks(TransactionId run) {
        Transactions.Booking booked = booking;
        if (booked != null) {
            booked.isFor(run);
        }
    }

    // ------------------------------------------------------------------------------------------ a loss

    /** An error as the client sees it: where a sequence ends for this node is nothing to it. */
    static ErrorFields shown(ErrorFields error) {
        return error.sqlState().equals(SPENT)
                ? error.with('M', NO_BOUND.matcher(error.message()).replaceAll("")).with('H',
                        "If the sequence has values left, this node is getting some: try again.")
                : error;
    }

    /** The client hears an error: when it tries again, there are to be values. */
    void notRepeated(ErrorFields error) {
        if (error.sqlState().equals(SPENT) && !spentInVain) {
            session.sequences().spent(error.message(), 1, _ -> {});
        }
    }

    /** Whether the open transaction is repeated if it is lost for this reason. */
    boolean repeats(ErrorFields why) {
        return times < most && said.repeatable() && !differs && !session.client().gone()
                && (why.sqlState().equals("40001") || why.sqlState().equals("40P01")
                        || (why.sqlState().equals(SPENT) && !spentInVain))
                && !session.transaction().get().repeatable() && (times > 0 || said.undone());
    }

    /**
     * The node has decided against a transaction, which is rolled back in the engine.
     *
     * @return whether it is run again, so that its client hears nothing
     */
    boolean lost(OpenTransaction over, Outcome.Aborted outcome, ErrorFields why) {
        long winner = outcome.reason().lostTo();
        if (differs) {
            rolledBack(over, true);
            return true;
        }
        if (winner < 0 || !repeats(why)) {
            return false;
        }
        cause = why;
        note(over);
        lost = outcome.reason() instanceof AbortReason.LostCertification(int key, long _)
                && key < over.writes().keys().size() ? new long[]{over.writes().keys().hash(key)} : LostRows.UNKNOWN;
        again(over, winner, true);
        return true;
    }

    /**
     * The engine has failed the open transaction in a way that lets it be run again: it will be.
     *
     * @param unanswered how many of the client's statements have been sent and not been answered, the one that has failed first; 0 if it
     *            was none of them
     */
    void failed(OpenTransaction current, ErrorFields why, int unanswered) {
        LostRows rows = lostRows;
        lost = unanswered == 0 || rows == null
                ? LostRows.UNKNOWN
                : rows.of(said.executed(running ? next : said.end(), unanswered - 1));
        spent = why.sqlState().equals(SPENT) ? why.message() : null;
        cause = spent == null ? why : NO_VALUES;
        note(current);
        current.retryFor(cause);
    }

    /** It is rolled back in the engine, after {@link #failed} or because it went another way. */
    void rolledBack(OpenTransaction over, boolean decided) {
        if (differs) {
            end(over, decided);
            tell();
        } else {
            again(over, 0, decided);
        }
    }

    /** Notes what the client does now, unless the transaction is being repeated, so that this is known. */
    private void note(OpenTransaction current) {
        if (running || toBook != 0 || toLoad) {
            return;
        }
        if (proven()) {
            ClientCycle cycle = session.cycle();
            client = cycle.none() ? Client.IDLE : cycle.busy() || cycle.keepsSync() ? Client.WAITING : Client.SPEAKING;
        }
        blockFails = current.extent() == OpenTransaction.Extent.BLOCK && !session.commit().askedByClient();
    }

    private void end(OpenTransaction over, boolean decided) {
        session.transaction().forgetToRepeat();
        if (!decided) {
            over.ticket().ended();
        }
        session.transaction().workOver();
        session.commit().abandon();
        session.transaction().becomes(SessionState.IDLE);
        session.client().show();
        session.client().drop();
        session.forgetCycle();
    }

    private void again(OpenTransaction over, long winner, boolean decided) {
        end(over, decided);
        running = true;
        next = 0;
        heard.again();
        session.client().tellsParametersAgain();
        awaited = 0;
        runs++;
        if (toBook != 0) {
            book();
            return;
        }
        if (toLoad) {
            toLoad = false;
            session.loads().awaitLoad(awaited(), null);
            return;
        }
        times++;
        session.node().repeats();
        LOG.debug("a transaction is run again, for the {}. time: {}", times, cause.message());
        long seen = Math.max(winner, session.node().arrivedPosition());
        if (seen > session.node().visiblePosition()) {
            awaitVisible(seen, winner);
        }
        String error = spent;
        if (error != null) {
            spent = null;
            awaitValues(error);
        }
        if (hasLostTheSchema()) {
            session.loads().awaitLoad(awaited(), null);
        }
        awaitTurn();
    }

    private boolean hasLostTheSchema() {
        KeySet schema = session.capture().barrierKeys();
        return lost.length == 1 && schema.size() > 0 && lost[0] == schema.hash(0);
    }

    private void book() {
        Runnable come = awaited();
        booking = session.node().book(toBook, whenThere(come));
        toBook = 0;
        session.later(BOOKING_MILLIS, come);
    }

    /** The node had no value of a sequence left: it gets more, each time many more, so that there are enough in the end. */
    private void awaitValues(String error) {
        Runnable there = awaited();
        session.sequences().spent(error, 1 << Math.min(2 * (times - 1), SHARES_LOG_MAX), got -> session.onLoop(() -> {
            spentInVain = !got;
            there.run();
        }));
    }

    /**
     * Before the winner is visible, it would lose again; so it might to whatever else has been delivered to this node, for which it does not
     * wait long, since the node may lag.
     */
    private void awaitVisible(long position, long winner) {
        Runnable visible = awaited();
        if (winner <= session.node().visiblePosition()) {
            session.later(FIRST_PATIENCE_MILLIS, visible);
        }
        session.node().await(position, whenThere(visible));
    }

    private static Completion<Long> whenThere(Runnable then) {
        return new Completion<>() {
            @Override
            public void succeeded(Long visiblePosition) {
                then.run();
            }

            @Override
            public void failed(EngineFailure failure) {
                then.run();
            }
        };
    }

    private void awaitTurn() {
        RetryQueue.Place mine = place == null ? losers.enter() : place;
        place = mine;
        Runnable come = awaited();
        mine.whenItsTurn(lost, come);
        lost = LostRows.UNKNOWN;
        session.later(times == 1 ? FIRST_PATIENCE_MILLIS : PATIENCE_MILLIS, come);
    }

    /** Something must happen first; it is told by what this returns, from any thread and perhaps more than once. */
    private Runnable awaited() {
        long run = runs;
        boolean[] told = {false};
        awaited++;
        return () -> session.onLoop(() -> {
            if (!told[0] && runs == run && awaited > 0) {
                told[0] = true;
                awaited--;
            }
        });
    }

    /**
     * The client cancels what it waits for.
     *
     * @return whether that was a transaction that waits to be run again; then its client hears so
     */
    boolean cancelled() {
        if (!running || awaited == 0 || client == Client.IDLE) {
            return false;
        }
        cause = Errors.CANCELLED;
        differs = true;
        return true;
    }

    /** Whether rows of the open transaction are withheld, so that it can be repeated though they come out differently. */
    boolean hidesRows() {
        return most > 0 && session.transaction().implicit();
    }

    /** Whether messages of the client's are being said again, so that it must not say more. */
    boolean running() {
        return running;
    }

    /** Whether the engine has answered again all that the client has heard. */
    boolean proven() {
        return heard.owed() == 0 && !differs;
    }

    /** Goes on, as far as it can. */
    void proceed() {
        if (speaking) {
            return;
        }
        speaking = true;
        try {
            while (running && awaited == 0 && !differs && next < said.end() && speak()) {
                // said
            }
        } finally {
            speaking = false;
        }
        running &= next < said.end() || differs;
        differs |= heard.owed() > 0 && !running && session.cycle().none() && session.backend().idle();
        if (differs) {
            giveUp();
        }
    }

    /** Says the next message again. Returns whether another may follow at once. */
    private boolean speak() {
        byte type = said.type(next);
        int length = said.length(next);
        ClientSide to = clientSide;
        if ((to == null || !to.passesBlocked(type)) && session.blocked()) {
            return false;
        }
        if (!ClientSide.copies(type) && session.cycle().isEnding() && type != Frontend.SYNC) {
            session.cycle().await();
            session.backend().flushAnswers();
            return false;
        }
        if (to != null && to.mustKnow(type)) {
            to.awaitAnswers();
            return false;
        }
        byte[] message = said.message(next);
        if (type == Frontend.PARSE && message[Messages.HEADER] != 0) {
            byte[] name = said.name(next).getBytes(StandardCharsets.ISO_8859_1);
            session.backend().batch().close(new String(name, StandardCharsets.UTF_8)).send();
        }
        next += length;
        ByteBuf buffer = Unpooled.wrappedBuffer(message);
        if (to != null && to.take(type, buffer, Messages.HEADER, length - Messages.HEADER)) {
            session.backend().write(buffer);
        } else {
            buffer.release();
        }
        return true;
    }

    // ------------------------------------------------------------------------------------------ in vain

    /** The repeated transaction is about to commit, though the client has heard something else. */
    void refuseCommit(OpenTransaction current) {
        differs = true;
        current.retryFor(cause);
    }

    /** The repeated transaction went another way: it is rolled back, and its client hears that it has lost. */
    private void giveUp() {
        OpenTransaction current = session.transaction().orNull();
        ClientCycle cycle = session.cycle();
        if (current != null) {
            if (current.retry() == null) {
                note(current);
                current.retryFor(cause);
                session.rollback().ofItself(current);
            }
        } else if (session.backend().idle() && !session.transaction().state().busy()) {
            if (cycle.none() || cycle.busy()) {
                session.forgetCycle();
                tell();
            } else if (!cycle.blocked()) {
                cycle.await();
                session.backend().batch().sync(_ -> session.forgetCycle());
            }
        }
    }

    /** The client hears that its transaction was lost, where it is. */
    private void tell() {
        over();
        said.spoil();
        session.transaction().repeatsNoMore();
        session.node().repeatedInVain();
        if (client == Client.IDLE) {
            session.transaction().abortUnheard(cause);
            return;
        }
        session.cycleMayBegin();
        if (client == Client.WAITING) {
            session.cycle().complete();
        }
        session.rollback().tell(cause, blockFails);
    }
}
