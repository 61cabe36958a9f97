package tutti.pgfront;

import io.netty.buffer.ByteBuf;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.session.LostTransaction;
import tutti.wire.FrontEnd;
import tutti.wire.SaidMessages;
import tutti.wire.StatementTimes;
import tutti.pgfront.PgStatement.Kind;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Fields;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;

/**
 * A session's part of the PostgreSQL protocol: simple and extended queries, one message after the other, on a thread of
 * its own.
 *
 * <p>
 * Outside of a block a transaction is committed by Sync. The completion of the statement before Sync is held back until
 * then, so that a client which looks no further than that hears of a lost certification.
 */
final class PgProtocol implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(PgProtocol.class);

    private final ClientConnection client;
    private final PgSession session;
    private final Translator translator;
    private final Commands commands;
    private final Copy copy;
    private final Replay replay;
    private final StatementTimes times;
    private final NamedObjects kept;
    private boolean skipping;
    /** Nothing of the client's is under way. */
    private boolean mayGo = true;
    /** What completes the last statement, not sent yet; null if nothing waits. */
    private @Nullable String heldTag;

    PgProtocol(ClientConnection client, PgSession session, Translator translator, Replay.Shared replays) {
        this.client = client;
        this.replay = new Replay(replays, client, session);
        this.times = new StatementTimes(replays.node(), System::nanoTime);
        client.beforeSending(replay::sending);
        session.tells(replay);
        session.followedBy(times.trace());
        session.whenCancelled(replay::cancel);
        this.session = session;
        this.kept = session.kept();
        this.translator = translator;
        this.commands = new Commands(session, client, this::forget);
        this.copy = new Copy(client, session, translator);
    }

    @Override
    public void run() {
        try {
            while (next()) {
                // What it has said is gone before the next message is waited for: it may be large.
            }
            if (client.isDismissed()) {
                fatal(FrontEnd.SHUT_DOWN);
            }
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        } catch (ProtocolViolation violation) {
            fatal(ErrorFields.of("FATAL", ProtocolViolation.SQL_STATE, String.valueOf(violation.getMessage())));
        } catch (StackOverflowError deep) {
            fatal(ErrorFields.of("FATAL", "54001", "the statement is nested too deeply: make several of it"));
        } catch (RuntimeException broken) {
            LOG.error("a client's session ends because of an error in this node", broken);
            fatal(ErrorFields.of("FATAL", "XX000", "internal error: " + broken));
        } finally {
            replay.leave();
            times.end();
            client.close();
            kept.close();
            session.close();
        }
    }

    /** Deals with the next message; false if there is none. */
    private boolean next() throws InterruptedException {
        ClientConnection.Message message = client.next(mayGo);
        if (message == null || message.type() == Frontend.TERMINATE) {
            return false;
        }
        replay.said(message.type(), message.body(), session.isOutside());
        times.said(message.type(), message.body(), message.body().readerIndex(), message.body().readableBytes());
        ErrorFields refusal = message.refusal();
        if (refusal == null) {
            handle(message.type(), message.body());
        } else {
            refuse(message.type(), refusal);
        }
        while (replay.due()) {
            sayAgain();
        }
        boolean over = (message.type() == Frontend.SYNC || message.type() == Frontend.QUERY) && !skipping;
        if (over) {
            times.over(session.status() != Backend.IDLE);
            replay.cycleOver();
        }
        mayGo = over && session.status() == Backend.IDLE;
        return true;
    }

    private void fatal(ErrorFields fields) {
        try {
            Backend.errorResponse(client.out(), fields);
            client.flush();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Forgets a prepared statement.
     *
     * @param name null for all
     */
    private void forget(@Nullable String name) throws SQLException {
        if (name == null) {
            kept.forgetAll();
        } else {
            kept.statement(name);
            kept.forgetStatement(name);
        }
    }

    private void handle(byte type, ByteBuf body) throws InterruptedException {
        if (type == Frontend.SYNC) {
            sync();
            return;
        }
        if (skipping) {
            // A simple query, too, is skipped up to Sync.
            return;
        }
        releaseHeld();
        if (type == Frontend.QUERY) {
            query(Fields.cString(body));
            return;
        }
        try {
            switch (type) {
                case Frontend.PARSE -> parse(body);
                case Frontend.BIND -> bind(body);
                case Frontend.DESCRIBE -> describe(body);
                case Frontend.EXECUTE -> execute(body);
                case Frontend.CLOSE -> close(body);
                case Frontend.FLUSH -> client.flush();
                case Frontend.FUNCTION_CALL -> {
                    error(new SQLException("function calls of protocol 2 are not supported: use SELECT", "0A000"));
                    ready();
                }
                case Frontend.COPY_DATA, Frontend.COPY_DONE, Frontend.COPY_FAIL -> {
                    // What is left of a COPY that has been refused.
                }
                default -> throw new ProtocolViolation("invalid frontend message type " + (type & 0xff));
            }
        } catch (SQLException failed) {
            if (lost(failed)) {
                return;
            }
            error(failed);
            skipping = true;
            // A client that pipelines waits for it with Flush, which is skipped now, and sends Sync behind it.
            client.flush();
        }
        client.mayFlush();
    }

    /** A message that is not taken fails like the statement that it is part of. */
    private void refuse(byte type, ErrorFields why) throws InterruptedException {
        replay.spoil();
        if (skipping) {
            return;
        }
        releaseHeld();
        error(new SQLException(why.message(), why.sqlState()));
        if (type == Frontend.QUERY || type == Frontend.FUNCTION_CALL) {
            ready();
        } else {
            skipping = true;
            client.flush();
        }
    }

    private void releaseHeld() {
        String tag = heldTag;
        if (tag != null) {
            heldTag = null;
            complete(tag);
        }
    }

    private void complete(String tag) {
        report();
        Backend.commandComplete(client.out(), tag);
    }

    private void report() {
        ErrorFields notice = session.notice();
        if (notice != null) {
            Backend.noticeResponse(client.out(), notice);
        }
        replay.aside(() -> session.report()
                .forEach((name, value) -> Backend.parameterStatus(client.out(), name, value)));
    }

    private void error(SQLException failed) {
        LOG.debug("a statement failed", failed);
        String cancelled = session.cancelled();
        session.failed();
        if (session.status() == Backend.IDLE) {
            kept.forgetPortals();
        }
        report();
        ErrorFields told = SqlStates.of(failed, cancelled);
        times.failed(told);
        Backend.errorResponse(client.out(), told);
    }

    // ------------------------------------------------------------------------------------------ transactions that have lost

    /** A transaction fails. Returns whether it has lost, and is run again. */
    private boolean lost(SQLException failed) {
        if (replay.isInVain()) {
            return true;
        }
        ErrorFields told = SqlStates.of(failed, session.cancelled());
        if (failed instanceof LastStatement.NotBooked first) {
            replay.books(first.key());
        }
        boolean others = told.sqlState().equals("40001") || told.sqlState().equals("40P01");
        LostTransaction.Loss loss = others && replay.repeats() ? session.loss(failed) : null;
        if (loss == null) {
            return false;
        }
        times.lost(told, true);
        replay.lost(loss, told, session.status() != Backend.IDLE);
        session.runAgain(failed);
        kept.forgetPortals();
        heldTag = null;
        skipping = false;
        return true;
    }

    /** Says again what the client has said since its transaction began. */
    private void sayAgain() throws InterruptedException {
        replay.begin();
        SaidMessages said = replay.messages();
        for (int at = 0; at < said.end() && replay.goesOn(); at += said.length(at)) {
            byte type = said.type(at);
            if (type == Frontend.PARSE) {
                parseAgain(replay.prepares(at), said.body(at));
            } else {
                handle(type, said.body(at));
            }
            if (replay.isInVain()) {
                session.seenInVain();
            }
        }
        if (replay.ended()) {
            inVain();
        } else if (!replay.due() && session.isOutside()) {
            session.rollback();
        }
    }

    /** If it fails now, the client still has the statement that it was told of. */
    private void parseAgain(String name, ByteBuf body) throws InterruptedException {
        Prepared before = kept.layAside(name);
        handle(Frontend.PARSE, body);
        kept.putBack(name, before);
    }

    /** The client hears that its transaction was lost, where it is. */
    private void inVain() throws InterruptedException {
        session.rollback();
        kept.forgetPortals();
        heldTag = null;
        if (replay.blockFails()) {
            session.failBlock();
        }
        report();
        Backend.errorResponse(client.out(), replay.cause());
        skipping = !replay.isCycleComplete();
        if (skipping) {
            client.flush();
        } else {
            ready();
        }
    }

    private void ready() throws InterruptedException {
        if (session.status() == Backend.IDLE) {
            kept.forgetPortals();
        }
        report();
        Backend.readyForQuery(client.out(), session.status());
        client.flush();
    }

    private void sync() throws InterruptedException {
        if (!skipping) {
            try {
                session.commitImplicit();
                releaseHeld();
            } catch (SQLException failed) {
                if (lost(failed)) {
                    return;
                }
                heldTag = null;
                error(failed);
            }
        }
        skipping = false;
        ready();
    }

    // ------------------------------------------------------------------------------------------ simple queries

    private void query(String sql) throws InterruptedException {
        skipping = false;
        kept.forgetPortal("");
        List<List<Token>> texts = Token.statements(sql);
        try {
            List<PgStatement> translated = new ArrayList<>(texts.size());
            for (List<Token> text : texts) {
                translated.add(translator.translate(text));
            }
            session.alone(PgStatement.together(translated));
            for (int i = 0; i < texts.size(); i++) {
                PgStatement statement = translated.get(i);
                if (statement.kind() == Kind.EMPTY) {
                    if (texts.size() == 1) {
                        Backend.empty(client.out(), Backend.EMPTY_QUERY);
                    }
                } else {
                    session.check(statement);
                    simple(statement, i == texts.size() - 1);
                }
            }
            session.commitImplicit();
        } catch (SQLException failed) {
            if (lost(failed)) {
                return;
            }
            error(failed);
        }
        ready();
    }

    private void simple(PgStatement statement, boolean last) throws SQLException, InterruptedException {
        if (statement.kind() == Kind.COPY) {
            replay.spoil();
            String tag = copy.execute(statement.tokens());
            if (last) {
                session.commitImplicit();
            }
            complete(tag);
            return;
        }
        if (statement.parameterCount() > 0) {
            throw new SQLException("there is no parameter $" + statement.parameterCount(), "42P02");
        }
        if (!statement.kind().prepared()) {
            Commands.Answer answer = command(statement, new Object[0]);
            Commands.Answered answered = Commands.answered(statement);
            if (answered != null) {
                Answers.columns(client.out(), List.of(answered.name()), List.of(PgType.Column.of(answered.type())),
                        new short[0]);
                Answers.row(client.out(), answer, answered, new short[0], session.zone());
            }
            complete(answer.tag());
            return;
        }
        try (Prepared prepared = session.prepare(statement, new int[0]);
                Rows rows = session.execute(prepared, new Object[0], new short[0])) {
            if (last) {
                session.commitImplicit();
            }
            List<PgType.Column> columns = prepared.columns();
            if (rows.answered() && columns != null) {
                Answers.columns(client.out(), prepared.names(), columns, new short[0]);
                rows.send(client, 0);
            }
            complete(Answers.tag(statement, rows));
        }
    }

    // ------------------------------------------------------------------------------------------ extended queries

    private void parse(ByteBuf body) throws SQLException {
        int bytes = body.readableBytes();
        String name = Fields.cString(body);
        String sql = Fields.cString(body);
        int[] declared = new int[Fields.int16(body) & 0xffff];
        for (int i = 0; i < declared.length; i++) {
            declared[i] = Fields.int32(body);
        }
        if (!name.isEmpty() && kept.hasStatement(name)) {
            throw new SQLException("prepared statement \"" + name + "\" already exists", "42P05");
        }
        List<List<Token>> texts = Token.statements(sql).stream().filter(text -> !text.isEmpty()).toList();
        if (texts.size() > 1) {
            throw new SQLException("cannot insert multiple commands into a prepared statement", "42601");
        }
        PgStatement statement = translator.translate(texts.isEmpty() ? List.of() : texts.getFirst());
        session.check(statement);
        if (statement.kind() == Kind.COPY) {
            throw new SQLException("COPY must be sent as a simple query, without parameters", "0A000");
        }
        Prepared prepared;
        if (statement.kind().prepared()) {
            prepared = prepare(statement, declared);
        } else {
            prepared = new Prepared(statement, declared);
            Commands.Answered answered = Commands.answered(statement);
            if (answered != null) {
                prepared.answers(answered);
            }
        }
        kept.put(name, prepared, bytes);
        Backend.empty(client.out(), Backend.PARSE_COMPLETE);
    }

    /** Prepares a statement, with casts if the engine cannot do without. */
    private Prepared prepare(PgStatement statement, int[] declared) throws SQLException {
        try {
            return session.prepare(translator.withCasts(statement, declared, false), declared);
        } catch (SQLException failed) {
            if (!ParameterHints.unknownType(failed)) {
                throw failed;
            }
            return session.prepare(translator.withCasts(statement, declared, true), declared);
        }
    }

    private void bind(ByteBuf body) throws SQLException {
        int bytes = body.readableBytes();
        String name = Fields.cString(body);
        Prepared prepared = kept.statement(Fields.cString(body));
        session.check(prepared.statement());
        short[] formats = Answers.formats(body);
        int[] types = prepared.parameterTypes();
        int count = Fields.int16(body) & 0xffff;
        if (count != types.length && (prepared.statement().kind().prepared() || count != 0)) {
            throw new SQLException(
                    "bind message supplies " + count + " parameters, but the prepared statement requires "
                            + types.length,
                    ProtocolViolation.SQL_STATE);
        }
        if (formats.length > 1 && formats.length != count) {
            throw new SQLException("bind message has " + formats.length + " parameter formats but " + count
                    + " parameters", ProtocolViolation.SQL_STATE);
        }
        @Nullable
        Object[] values = new @Nullable Object[count];
        for (int i = 0; i < count; i++) {
            int length = Fields.int32(body);
            if (length >= 0) {
                if (length > body.readableBytes()) {
                    throw new ProtocolViolation("a message is shorter than its contents say");
                }
                values[i] = prepared.value(i, body.readSlice(length), Rows.binary(formats, i), session.zone());
            }
        }
        kept.bind(name, prepared, values, Answers.formats(body), bytes);
        Backend.empty(client.out(), Backend.BIND_COMPLETE);
    }

    private void describe(ByteBuf body) throws SQLException {
        byte kind = Fields.int8(body);
        String name = Fields.cString(body);
        Prepared prepared;
        short[] formats = new short[0];
        if (kind == 'S') {
            prepared = kept.statement(name);
            Answers.parameters(client.out(), prepared.parameterTypes());
        } else {
            Portal portal = kept.portal(name);
            prepared = portal.prepared;
            formats = portal.formats;
        }
        List<PgType.Column> columns = prepared.columns();
        if (columns == null) {
            Backend.empty(client.out(), Backend.NO_DATA);
        } else {
            Answers.columns(client.out(), prepared.names(), columns, formats);
        }
    }

    private void execute(ByteBuf body) throws SQLException, InterruptedException {
        String name = Fields.cString(body);
        Portal portal = kept.portal(name);
        int limit = Math.max(0, Fields.int32(body));
        PgStatement statement = portal.prepared.statement();
        session.check(statement);
        if (portal.over) {
            throw new SQLException("portal \"" + name + "\" cannot be run", "55000");
        }
        if (statement.kind() == Kind.EMPTY) {
            Backend.empty(client.out(), Backend.EMPTY_QUERY);
            return;
        }
        if (!statement.kind().prepared()) {
            portal.over = true;
            Commands.Answer answer = command(statement, portal.values);
            Commands.Answered answered = Commands.answered(statement);
            if (answered != null) {
                Answers.row(client.out(), answer, answered, portal.formats, session.zone());
            }
            heldTag = answer.tag();
            return;
        }
        Rows rows = portal.rows;
        if (rows == null) {
            session.alone(session.needsToKnow() ? cycle(statement.sql()) : null);
            rows = session.execute(portal.prepared, portal.values, portal.formats);
            portal.rows = rows;
        }
        if (!rows.answered()) {
            portal.over = true;
            heldTag = Answers.tag(statement, rows);
            return;
        }
        long sent = rows.send(client, limit);
        if (rows.done()) {
            heldTag = Answers.tag(statement, statement.kind() == Kind.CHANGE ? rows.count() : sent);
        } else {
            Backend.empty(client.out(), Backend.PORTAL_SUSPENDED);
        }
    }

    /** The portals of a block end with it, also where the next one begins at once. */
    private Commands.Answer command(PgStatement statement, @Nullable Object[] values)
            throws SQLException, InterruptedException {
        if (statement.kind() == Kind.COMMIT || statement.kind() == Kind.ROLLBACK) {
            kept.forgetPortals();
        }
        if (statement.parameterCount() == 0) {
            return commands.execute(statement);
        }
        Object value = values[0];
        return value == null ? Commands.Answer.NULL : commands.execute(statement.with(value));
    }

    /**
     * What is executed up to Sync, as a transaction of its own: this statement, and those that the client names in what it has
     * sent behind it. Null if that is not known.
     */
    private @Nullable String cycle(String first) throws InterruptedException {
        List<ClientConnection.Message> ahead = client.ahead(Frontend.SYNC);
        if (ahead == null) {
            return null;
        }
        StringBuilder all = new StringBuilder(first);
        for (ClientConnection.Message message : ahead) {
            ByteBuf body = message.body().duplicate();
            if (message.type() == Frontend.PARSE) {
                Fields.cString(body);
                all.append(";\n").append(Fields.cString(body));
            } else if (message.type() == Frontend.BIND) {
                Fields.cString(body);
                Prepared bound = kept.known(Fields.cString(body));
                all.append(";\n").append(bound == null ? "" : bound.statement().sql());
            }
        }
        return all.toString();
    }

    private void close(ByteBuf body) {
        byte kind = Fields.int8(body);
        String name = Fields.cString(body);
        if (kind == 'S') {
            kept.forgetStatement(name);
        } else {
            kept.forgetPortal(name);
        }
        Backend.empty(client.out(), Backend.CLOSE_COMPLETE);
    }
}
