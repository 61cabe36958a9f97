package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.Cancellation;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;

/**
 * What a session has sent to its engine and what of it is still to be answered: the client's messages that were passed on,
 * and what the node itself has asked between them. Answers to the latter are gathered in {@link BackendReply replies}, one up to
 * each Sync or simple query of the node's. On the session's event loop.
 */
final class BackendRequests {
    /** What goes on when the node's messages have been answered. */
    interface Answered {
        void with(BackendReply reply);
    }

    /** What the node has asked up to a Sync or query. */
    private record Exchange(BackendReply reply, Answered then) {}

    private final OwnMessages own;
    private final BackendConnection connection;
    private final Channel channel;
    private final FrameReader clientReader;
    private final Runnable settle;
    private final UnansweredMessages unanswered = new UnansweredMessages();
    private final ArrayDeque<Exchange> exchanges = new ArrayDeque<>();
    /** What becomes of the names in client's messages that are unanswered, in their order. */
    private final ArrayDeque<NameChange> names = new ArrayDeque<>();
    private NameChange nextChange = NameChange.NONE;
    /** What is parsed for statements that tell their rows: one for each PARSE_IN_BAND and QUERY_IN_BAND that is unanswered. */
    private final ArrayDeque<InBandStatement> parsed = new ArrayDeque<>();
    /** To what the node has asked since its last Sync or query. */
    private BackendReply next = new BackendReply();
    private final byte[] key;
    private byte status = Backend.IDLE;
    private long sent;
    /** Whether nothing has been sent since the engine said that it is ready. */
    private boolean inStep = true;
    /** The BEGIN that precedes what is sent next, and whether the messages of one have been sent and not answered. */
    private @Nullable String begin;
    private boolean beginning;
    private @Nullable ErrorFields refusal;
    private final Cancellation cancellation;
    private boolean cancelledByClient;
    /** Whether the search path is the node's. */
    private boolean ownSearchPath;

    /**
     * For a connection that is idle.
     *
     * @param clientReader what reads the client's messages, which go to the engine before what is sent here
     * @param settle goes on with the session, after something happened outside of the two streams
     */
    BackendRequests(OwnMessages own, BackendConnection connection, FrameReader clientReader, Runnable settle) {
        this.own = own;
        this.key = own.sessionKey();
        this.connection = connection;
        this.channel = connection.channel();
        this.cancellation = new Cancellation(connection);
        this.clientReader = clientReader;
        this.settle = settle;
    }

    /** Whether a parameter that the engine reports is as the node has set it for itself, and not as the client knows it. */
    boolean isOwn(String parameter) {
        return ownSearchPath && parameter.equals("search_path");
    }

    // ------------------------------------------------------------------------------------------ state

    /** The transaction status that the engine told last, or that follows from what it has answered since. */
    byte status() {
        return status;
    }

    boolean inTransaction() {
        return status == Backend.IN_TRANSACTION;
    }

    boolean outsideOfTransaction() {
        return status == Backend.IDLE;
    }

    boolean transactionFailed() {
        return status == Backend.FAILED;
    }

    /** Whether everything has been answered. */
    boolean idle() {
        return unanswered.size() == 0;
    }

    /** Whether the engine would answer a Sync with nothing but its transaction status, which is known. */
    boolean inStep() {
        return inStep && begin == null;
    }

    /** How many messages the engine has been sent that it answers: as long as that stays it has done nothing for this session. */
    long sent() {
        return sent;
    }

    /** Whether everything has been answered but one Bind. */
    boolean awaitsBind() {
        SentMessage only = unanswered.size() == 1 ? unanswered.first() : null;
        return only == SentMessage.BIND || only == SentMessage.BIND_IN_BAND;
    }

    /** How many statements of the client's have been sent to be executed and not been answered. */
    int unansweredStatements() {
        return unanswered.statements();
    }

    /** Whether so much is unanswered that the client's next message has to wait. */
    boolean full() {
        return unanswered.size() > UnansweredMessages.LIMIT - 64;
    }

    /** Whether the client is about to hear a {@linkplain #refuse refusal}. */
    boolean refusing() {
        return refusal != null;
    }

    // ------------------------------------------------------------------------------------------ sending

    /** A message of the client's is passed on as it comes. */
    void passed(SentMessage message) {
        add(message);
    }

    private void add(SentMessage message) {
        sends(message);
        if (message.names()) {
            names.add(nextChange);
            nextChange = NameChange.NONE;
        }
    }

    /** Something is about to be written that will be answered: what precedes it is written before. */
    private void sends(SentMessage message) {
        String first = begin;
        if (first != null) {
            begin = null;
            beginning = true;
            batch().once(first, SentMessage.OWN_BEGIN).send();
        }
        inStep = false;
        sent++;
        unanswered.add(message);
    }

    /**
     * A transaction block of the client's begins in the engine together with what it is sent next, which is about to come. The engine is
     * ready, and outside of a transaction.
     *
     * @param sql a BEGIN that the engine will not refuse
     */
    void beginWithNext(String sql) {
        begin = sql;
        status = Backend.IN_TRANSACTION;
    }

    /** The message that is passed or forwarded next changes what a name stands for. */
    void changing(NameChange change) {
        nextChange = change;
    }

    /** Sends a message of the client's. */
    void forward(ByteBuf message, SentMessage as) {
        add(as);
        write(message);
    }

    /** Sends a message in which a statement stands that tells its rows. */
    void forwardInBand(ByteBuf message, SentMessage as, InBandStatement statement) {
        parsed.add(statement);
        forward(message, as);
    }

    /** Sends, after what the client sent before, what will not be answered, or is {@linkplain #passed noted} elsewhere. */
    void write(ByteBuf bytes) {
        clientReader.emitRun();
        channel.write(bytes, channel.voidPromise());
    }

    /** What the client has sent, as it came. */
    void run(ByteBuf bytes) {
        channel.write(bytes, channel.voidPromise());
    }

    void flush() {
        channel.flush();
    }

    boolean writable() {
        return channel.isWritable();
    }

    /** Has the engine answer with what it has completed so far. */
    void flushAnswers() {
        ByteBuf out = connection.buffer();
        Frontend.flush(out);
        write(out);
    }

    /** Sends the Sync that ends the client's cycle. */
    void synchronize() {
        ByteBuf out = connection.buffer();
        Frontend.sync(out);
        forward(out, SentMessage.SYNC);
    }

    /**
     * Makes the engine fail, and the client hear why in the place of its error; in a transaction block it makes that fail.
     *
     * @param as {@link SentMessage#REFUSED_PARSE} or {@link SentMessage#REFUSED_QUERY}
     */
    void refuse(ErrorFields fields, SentMessage as) {
        refusal = fields;
        ByteBuf out = connection.buffer();
        if (as == SentMessage.REFUSED_QUERY) {
            own.invalidQuery(out);
        } else {
            own.invalidParse(out);
        }
        forward(out, as);
    }

    /** Begins to write messages of the node's. */
    Batch batch() {
        return new Batch();
    }

    /** Messages of the node's that are sent together. Each method appends some; the last one sends. */
    final class Batch {
        private final ByteBuf out = connection.buffer();

        private Batch() {}

        private Batch sent(SentMessage... messages) {
            for (SentMessage message : messages) {
                sends(message);
            }
            return this;
        }

        private Batch statement(SentMessage execute) {
            return sent(SentMessage.OWN_CLOSE, SentMessage.OWN_PARSE, SentMessage.OWN_BIND, execute,
                    SentMessage.OWN_CLOSE,
                    SentMessage.OWN_CLOSE);
        }

        /** BEGIN. */
        Batch begin() {
            own.begin(out);
            return statement(SentMessage.OWN_EXECUTE);
        }

        /**
         * The capture is closed; what was changed is in the reply.
         *
         * @param alone whether nothing is unanswered that could fail, so that the engine does not skip the call
         */
        void closing(boolean alone, Answered then) {
            own.closing(out, key);
            if (alone) {
                end(SentMessage.OWN_CLOSING_ALONE, then);
            } else {
                sent(SentMessage.OWN_CLOSING).sync(then);
            }
        }

        /**
         * What a statement depends on is read; it is the reply's row.
         *
         * @param targets relations that may be temporary
         */
        Batch settings(List<String> targets) {
            own.settings(out, targets);
            return statement(SentMessage.OWN_ROW);
        }

        /** The transaction's next statement may change the schema. */
        Batch allow(byte[] statement) {
            own.allow(out, statement);
            return sent(SentMessage.OWN_CALL);
        }

        /** Constraints are about to be checked at once. */
        Batch beforeSetConstraints() {
            own.beforeSetConstraints(out);
            return sent(SentMessage.OWN_CALL);
        }

        /** Constraints have been checked. */
        Batch afterSetConstraints() {
            own.afterSetConstraints(out);
            return sent(SentMessage.OWN_CALL);
        }

        /** A statement runs under a name of the node's, so that the client's unnamed statement stays as it is. */
        Batch once(String sql, SentMessage as) {
            own.once(out, sql);
            return statement(as);
        }

        /**
         * A position is recorded in the transaction, which commits next.
         *
         * @param rowsInBand how many rows have been seen in band; -1 if they were captured by triggers
         */
        Batch record(long position, long rowsInBand) {
            if (rowsInBand < 0) {
                own.record(out, position);
            } else {
                own.recordInBand(out, position, rowsInBand);
            }
            return sent(SentMessage.OWN_CALL);
        }

        /**
         * COMMIT.
         *
         * @param portal as which the client's own has been bound, which spares the engine another one; null for the node's
         */
        Batch commit(@Nullable String portal) {
            if (portal == null) {
                own.commit(out);
                return statement(SentMessage.OWN_COMMIT);
            }
            Frontend.execute(out, portal, 0);
            return sent(SentMessage.OWN_COMMIT);
        }

        /** COMMIT by a simple query, which ends the client's unnamed statement as a query of its own does. */
        void commitByQuery(Answered then) {
            own.commitQuery(out);
            end(SentMessage.OWN_COMMIT_QUERY, then);
        }

        /** A Parse of the client's whose answer is not for it. */
        Batch parse(byte[] message) {
            out.writeBytes(message);
            return sent(SentMessage.OWN_PARSE);
        }

        /** A statement that the client has prepared is closed. */
        Batch close(String statement) {
            Frontend.closeStatement(out, statement);
            return sent(SentMessage.OWN_CLOSE);
        }

        /** Something fails, and makes a transaction block fail. */
        Batch fail() {
            own.invalidParse(out);
            return sent(SentMessage.OWN_PARSE);
        }

        /** A text is parsed, and not executed; the error of that, or null, goes on. The transaction stays what it is. */
        void check(byte[] sql, Consumer<@Nullable ErrorFields> then) {
            boolean inTransaction = inTransaction();
            if (inTransaction) {
                once("SAVEPOINT tutti", SentMessage.OWN_EXECUTE);
            }
            own.parse(out, sql);
            sent(SentMessage.OWN_CLOSE, SentMessage.OWN_PARSE);
            if (!inTransaction) {
                sync(reply -> then.accept(reply.error()));
                return;
            }
            ErrorFields[] parsed = new ErrorFields[1];
            sync(reply -> parsed[0] = reply.error());
            batch().once("ROLLBACK TO tutti", SentMessage.OWN_EXECUTE).once("RELEASE tutti", SentMessage.OWN_EXECUTE)
                    .sync(reply -> then.accept(reply.error() == null ? parsed[0] : reply.error()));
        }

        /** The catalog is read as the transaction sees it, but not as the client's search path shows it; that is the reply's result. */
        void catalog(Answered then) {
            // what the client itself has changed is reported with the first answer, and what comes after it is the node's
            once("SAVEPOINT tutti", SentMessage.OWN_EXECUTE).sync(_ -> ownSearchPath = true);
            batch().once("SET LOCAL search_path = pg_catalog, pg_temp", SentMessage.OWN_EXECUTE).sync(_ -> {});
            BackendReply[] read = new BackendReply[1];
            Batch question = batch();
            own.catalog(question.out);
            question.end(SentMessage.OWN_COLLECTED, reply -> read[0] = reply);
            batch().once("ROLLBACK TO tutti", SentMessage.OWN_EXECUTE).once("RELEASE tutti", SentMessage.OWN_EXECUTE)
                    .sync(_ -> {
                        ownSearchPath = false;
                        then.with(Objects.requireNonNull(read[0], "answered before"));
                    });
        }

        /** The relations that the open transaction has used are the reply's result. */
        void locks(Answered then) {
            own.locks(out);
            end(SentMessage.OWN_COLLECTED, then);
        }

        /** A statement by itself; a row that it returns is the reply's. */
        void query(String sql, Answered then) {
            once(sql, SentMessage.OWN_ROW).sync(then);
        }

        /** ROLLBACK, whatever of the node's has failed before. */
        void rollback(Answered then) {
            own.rollback(out);
            sent(SentMessage.OWN_CLOSE).statement(SentMessage.OWN_EXECUTE).sync(then);
        }

        /** Sends, with a Sync. */
        void sync(Answered then) {
            Frontend.sync(out);
            end(SentMessage.OWN_SYNC, then);
        }

        /** Sends what belongs to what the node asks next, or to what the client sends next. */
        void send() {
            write(out);
        }

        private void end(SentMessage last, Answered then) {
            sent(last);
            exchanges.add(new Exchange(next, then));
            next = new BackendReply();
            write(out);
        }
    }

    // ------------------------------------------------------------------------------------------ answers

    /** The message that is answered next, or null. */
    @Nullable
    SentMessage first() {
        return unanswered.first();
    }

    /** The message that is answered next has been completely. */
    void answered() {
        SentMessage over = unanswered.poll();
        if (over.names()) {
            names.remove().confirmed();
        }
        if (over == SentMessage.PARSE_IN_BAND) {
            parsed.remove();
        }
        if (over == SentMessage.OWN_BEGIN) {
            beginning = false;
        }
    }

    /** The reply to the node that what the engine answers now belongs to, if it answers the node. */
    BackendReply reply() {
        Exchange exchange = exchanges.peek();
        return exchange == null ? next : exchange.reply();
    }

    /** Whether the node's message that has failed belongs to a BEGIN that the client takes for done, and only the client waits. */
    boolean beginFails() {
        boolean fails = beginning;
        beginning = false;
        return fails && exchanges.isEmpty();
    }

    /** What the node asks next fails for something that it has asked before. */
    void failedAhead(ErrorFields fields) {
        next.failed(fields);
    }

    /** The answer to what the node has asked since its last Sync or query, which the client's Sync has ended. */
    BackendReply takeAhead() {
        BackendReply taken = next;
        next = new BackendReply();
        return taken;
    }

    /** What the client is told in place of the error that was provoked; {@code provoked} if that is not known. */
    ErrorFields takeRefusal(ErrorFields provoked) {
        ErrorFields taken = refusal;
        refusal = null;
        return taken == null ? provoked : taken;
    }

    /**
     * The first message has failed, which was no simple query: the engine skips what follows up to Sync.
     *
     * @return whether no Sync has been sent yet, so that it skips what is sent next, too
     */
    boolean skipsToSync() {
        unanswered.dropToSync();
        while (!names.isEmpty()) {
            names.removeLast().undone();
        }
        parsed.clear();
        return idle();
    }

    /** The simple query that is answered now has failed. */
    void queryFailed(SentMessage first) {
        if (first.names()) {
            names.remove().undone();
            names.addFirst(NameChange.NONE);
        }
    }

    /** What the message that is answered next has been sent for, which tells its rows. */
    @Nullable
    InBandStatement parsing() {
        return parsed.peek();
    }

    /** The engine has completed an Execute that ends the client's transaction, and perhaps begins another. */
    void transactionEnded(boolean another) {
        status = another ? Backend.IN_TRANSACTION : Backend.IDLE;
    }

    /**
     * ReadyForQuery has come. If that ends what the node has asked, goes on with the answer.
     *
     * @return whether it is in answer to the client
     */
    boolean ready(byte newStatus) {
        SentMessage last = unanswered.poll();
        if (last == SentMessage.QUERY_IN_BAND) {
            parsed.remove();
        }
        if (last.names()) {
            names.remove().confirmed();
        }
        if (!last.endsOwn() && !last.query() && last != SentMessage.SYNC) {
            throw new ProtocolViolation("ReadyForQuery in answer to " + last);
        }
        status = newStatus;
        inStep = idle();
        if (!last.endsOwn()) {
            return !last.call();
        }
        Exchange exchange = exchanges.remove();
        exchange.reply().over();
        exchange.then().with(exchange.reply());
        return false;
    }

    /** The client's cycle is over, so everything has been answered. */
    void cycleOver() {
        refusal = null;
        cancelledByClient = false;
        parsed.clear();
        next = new BackendReply();
    }

    // ------------------------------------------------------------------------------------------ cancelling, the end

    /** Asks the engine for its client to cancel what it runs, if it runs something. Completed when it has been told. */
    CompletableFuture<Void> cancel() {
        if (idle()) {
            return CompletableFuture.completedFuture(null);
        }
        cancelledByClient = true;
        return cancellation.once();
    }

    /**
     * Has the engine cancel what it runs, if it runs something.
     *
     * @param over whether there is nothing to cancel any more, though the engine has something to answer
     */
    void interrupt(BooleanSupplier over) {
        if (!idle()) {
            cancellation.until(() -> idle() || over.getAsBoolean());
        }
    }

    /**
     * Does something now, or when no request to cancel is under way, so that a late one never meets a later statement: after
     * {@link Cancellation#REQUEST_MAX} at the latest. One that is later still can meet it.
     */
    void whenNoCancels(Runnable task) {
        cancellation.stop();
        if (cancellation.none()) {
            task.run();
        } else {
            cancellation.whenNone(() -> {
                task.run();
                settle.run();
            });
        }
    }

    /** What an error means: if it comes of a request to cancel of the node's that was late, that is nothing to the client. */
    ErrorFields meant(ErrorFields error) {
        boolean cancelled = error.sqlState().equals("57014") && !cancelledByClient;
        return cancelled && cancellation.takeLate() ? RollbackSequence.answerLost() : error;
    }

    /** Ends the connection, and what runs on it. */
    void close() {
        if (!idle()) {
            cancellation.last();
        }
        connection.close();
    }
}
