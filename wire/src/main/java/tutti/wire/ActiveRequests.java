package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import tutti.engine.postgres.capture.Statement;
import tutti.node.Transactions;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.sql.StatementClasses;

/**
 * Decides which whole requests every node executes (active replication), instead of this one that ships the changes: those
 * whose client, session or function asks for it ({@link Modes}), all under a protocol that knows nothing else, and those that can be
 * where the protocol prefers it. Only what has the same result everywhere may be. On the session's event loop.
 */
final class ActiveRequests {

    /** Whether a request is for every node. */
    private enum Place {
        HERE, EVERYWHERE_IF_POSSIBLE, EVERYWHERE
    }

    private final Session session;
    private final TextSettings texts;
    private final StatementRules rules;

    ActiveRequests(Session session, TextSettings texts, StatementRules rules) {
        this.session = session;
        this.texts = texts;
        this.rules = rules;
    }

    private Place place() {
        Transactions node = session.node();
        return node.wholeOnly()
                ? Place.EVERYWHERE
                : switch (session.modes().now()) {
                    case ACTIVE -> Place.EVERYWHERE;
                    case PASSIVE -> Place.HERE;
                    case DEFAULT -> node.everywhereIfPossible() ? Place.EVERYWHERE_IF_POSSIBLE : Place.HERE;
                };
    }

    /** Whether no request of this session is, so that none needs to be looked at. */
    boolean never() {
        return place() == Place.HERE
                && (session.modes().now() == Modes.Mode.PASSIVE || !session.capture().declaresModes());
    }

    /** Whether texts of prepared statements are needed. */
    boolean possible() {
        return !never();
    }

    private StatementClasses.Statements statements(byte[] sql) {
        return texts.understood(sql)
                ? session.capture().statements(sql, texts.standardStrings())
                : new StatementClasses.Statements(List.of(), "text that is not in UTF-8", null);
    }

    private boolean declared(List<StatementClasses.Statements> parts) {
        return session.modes().now() == Modes.Mode.DEFAULT
                && parts.stream().anyMatch(part -> "active".equals(part.mode()));
    }

    private boolean passive(List<StatementClasses.Statements> parts) {
        return session.modes().now() == Modes.Mode.DEFAULT && !session.node().wholeOnly()
                && parts.stream().anyMatch(part -> "passive".equals(part.mode()));
    }

    /** Whether a request of these statements is for every node. */
    private boolean wants(List<StatementClasses.Statements> parts) {
        Place place = place();
        if (place == Place.EVERYWHERE || declared(parts)) {
            return true;
        }
        return place == Place.EVERYWHERE_IF_POSSIBLE && !passive(parts)
                && parts.stream().allMatch(part -> part.varying() == null);
    }

    private static ErrorFields varies(String what) {
        return Errors.error(Errors.READ_ONLY, "every node executes what changes the database,"
                + " and this may come out differently: " + what)
                .with('H', "Let the client compute the value and send it as a constant, or the rows as INSERT.");
    }

    /**
     * Has a simple query that is a transaction by itself executed by every node, if that is wanted.
     *
     * @return whether it is, or is refused; if not, nothing has been done
     */
    boolean query(StatementKind kind, ByteBuf buffer, int start, int bodyLength) {
        if (!kind.mayWrite() || never()) {
            return false;
        }
        byte[] sql = Messages.queryText(buffer, start, bodyLength);
        StatementClasses.Statements statements = statements(sql);
        boolean copies = kind == StatementKind.COPY_IN;
        if (!wants(List.of(statements)) || (copies && place() == Place.EVERYWHERE_IF_POSSIBLE)) {
            return false;
        }
        ErrorFields refusal = rules.unavailable();
        String varying = copies ? "COPY from the client" : statements.varying();
        if (refusal == null && varying != null) {
            refusal = varies(varying);
        }
        if (refusal != null) {
            session.backend().refuse(refusal, SentMessage.REFUSED_QUERY);
            return true;
        }
        List<Statement.Call> calls = statements.texts().stream().map(Statement.Call::plain).toList();
        session.ordered().request(row -> session.capture().request(calls, row), rules.classes(sql).classes(),
                response -> response);
        return true;
    }

    /** Whether a cycle that begins with binding this statement may be for every node, and is to be recorded. */
    boolean mayBe(Prepared prepared) {
        if (!prepared.kind().mayWrite() || session.transaction().implicit() || never()) {
            return false;
        }
        StatementAccess access = prepared.access();
        return place() != Place.HERE || (access != null && declared(List.of(access.statements())));
    }

    /**
     * Has a recorded cycle executed by every node, if that is wanted. Everything sent before it has been answered.
     *
     * @return whether it is, or is refused; if not, nothing has been done
     */
    boolean recorded(RecordedCycle cycle) {
        if (never()) {
            return false;
        }
        List<RecordedCycle.Execution> executions = cycle.whole() ? cycle.executions() : null;
        if (executions == null) {
            if (place() == Place.HERE || place() == Place.EVERYWHERE_IF_POSSIBLE) {
                return false;
            }
            refuse(cycle, Errors.error(Errors.READ_ONLY,
                    "every node executes what changes the database, so its statements must come as a whole: each prepared,"
                            + " bound, executed, and then Sync"));
            return true;
        }
        List<StatementClasses.Statements> parts = executions.stream().map(execution -> execution.of().statements())
                .toList();
        if (!wants(parts)) {
            return false;
        }
        ErrorFields refusal = rules.unavailable();
        for (StatementClasses.Statements part : parts) {
            String varying = part.varying();
            if (refusal == null && varying != null) {
                refusal = varies(varying);
            }
        }
        if (refusal != null) {
            refuse(cycle, refusal);
            return true;
        }
        cycle.classify();
        List<Statement.Call> calls = executions.stream().map(RecordedCycle.Execution::call).toList();
        parseAll(cycle, () -> session.ordered().request(row -> session.capture().request(calls, row),
                cycle.classified().classes(), response -> answers(executions, response)));
        return true;
    }

    private void refuse(RecordedCycle cycle, ErrorFields refusal) {
        session.error(refusal);
        if (cycle.complete()) {
            session.finishCycle(Backend.IDLE);
        } else {
            session.cycle().skip();
        }
    }

    /** The session may use what the cycle prepares in later ones. */
    private void parseAll(RecordedCycle cycle, Runnable then) {
        List<RecordedCycle.Recorded> parses = cycle.messages().stream()
                .filter(recorded -> recorded.type() == Frontend.PARSE).toList();
        if (parses.isEmpty()) {
            then.run();
            return;
        }
        BackendRequests.Batch batch = session.backend().batch();
        parses.forEach(parse -> batch.parse(parse.message()));
        batch.sync(reply -> {
            ErrorFields cause = reply.error();
            if (cause == null) {
                then.run();
            } else {
                refuse(cycle, cause);
            }
        });
    }

    /** What a client that used the extended protocol sees of a node's answers to its statements, one after the other. */
    private static byte[] answers(List<RecordedCycle.Execution> executions, byte[] response) {
        ByteBuf out = Unpooled.buffer(response.length + 16 * executions.size());
        ByteBuf in = Unpooled.wrappedBuffer(response);
        for (RecordedCycle.Execution execution : executions) {
            if (execution.parsed()) {
                Backend.empty(out, Backend.PARSE_COMPLETE);
            }
            Backend.empty(out, Backend.BIND_COMPLETE);
            boolean described = false;
            boolean ended = false;
            while (!ended && in.isReadable(Messages.HEADER)) {
                byte type = in.getByte(in.readerIndex());
                if (execution.call().described() && !described && type != Backend.NOTICE_RESPONSE) {
                    described = true;
                    if (type != Backend.ROW_DESCRIPTION && type != Backend.ERROR_RESPONSE) {
                        Backend.empty(out, Backend.NO_DATA);
                    }
                }
                out.writeBytes(in, 1 + in.getInt(in.readerIndex() + 1));
                if (type == Backend.ERROR_RESPONSE) {
                    return bytes(out);
                }
                ended = type == Backend.COMMAND_COMPLETE || type == Backend.EMPTY_QUERY
                        || type == Backend.PORTAL_SUSPENDED;
            }
        }
        // An error at the very end, when deferred constraints were checked.
        out.writeBytes(in);
        return bytes(out);
    }

    private static byte[] bytes(ByteBuf out) {
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return bytes;
    }
}
