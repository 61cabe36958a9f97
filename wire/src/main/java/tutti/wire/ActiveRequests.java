package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;
import tutti.node.Transactions;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.Frontend;
import tutti.wire.sql.StatementClasses;

/**
 * Decides where whole requests are executed, if not by this node in the client's session. By every node (active replication): those
 * whose client, session or function asks for it ({@link Modes}), all under a protocol that knows nothing else, and those that can be
 * where the protocol prefers it. By their owner: those that can be where the protocol has owners and does not prefer that; there still
 * what is to be acknowledged as logged, and procedures in Java. Only what has the same result everywhere may be. On the session's event loop.
 */
final class ActiveRequests {
    private static final Set<String> SETTINGS = Set.of("SET", "RESET");
    /** Of the request, and nothing that the server knows. */
    private static final Pattern OWN_SETTING = Pattern.compile("(?i)\\s*set\\s+local\\s+tutti\\.");

    /** Where a request is executed. */
    private enum Place {
        /** In the client's session. */
        HERE,
        /** In the session of an executor, of the node that owns the request's log, if it comes to the same there. */
        OWNER_IF_POSSIBLE,
        /** By every node, if it comes to the same everywhere. */
        EVERYWHERE_IF_POSSIBLE,
        /** By every node; it is refused if it does not come to the same everywhere. */
        EVERYWHERE;

        boolean ifPossible() {
            return this == OWNER_IF_POSSIBLE || this == EVERYWHERE_IF_POSSIBLE;
        }
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
                    case DEFAULT -> node.everywhereIfPossible() && !session.modes().logged()
                            ? Place.EVERYWHERE_IF_POSSIBLE
                            : node.undertakes() ? Place.OWNER_IF_POSSIBLE : Place.HERE;
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
                : StatementClasses.Statements.unknown("text that is not in UTF-8");
    }

    private boolean declared(List<StatementClasses.Statements> parts) {
        return session.modes().now() == Modes.Mode.DEFAULT
                && parts.stream().anyMatch(part -> "active".equals(part.mode()));
    }

    private boolean passive(List<StatementClasses.Statements> parts) {
        return session.modes().now() == Modes.Mode.DEFAULT && !session.node().wholeOnly()
                && parts.stream().anyMatch(part -> "passive".equals(part.mode()));
    }

    /** Where a request of these statements is executed. */
    private Place place(List<StatementClasses.Statements> parts) {
        Place place = place();
        if (place == Place.EVERYWHERE || declared(parts)) {
            return Place.EVERYWHERE;
        }
        if (place == Place.EVERYWHERE_IF_POSSIBLE && session.node().undertakes()
                && parts.stream().anyMatch(part -> !part.java().isEmpty())) {
            place = Place.OWNER_IF_POSSIBLE;
        }
        boolean possible = place.ifPossible() && !passive(parts)
                && parts.stream().allMatch(part -> part.varying() == null);
        return possible
                && (place != Place.OWNER_IF_POSSIBLE || parts.stream().allMatch(StatementClasses.Statements::rows))
                        ? place
                        : Place.HERE;
    }

    private static ErrorFields varies(String what) {
        return Errors.error(Errors.READ_ONLY, "every node executes what changes the database,"
                + " and this may come out differently: " + what)
                .with('H', "Let the client compute the value and send it as a constant, or the rows as INSERT.");
    }

    /**
     * Has a simple query that is a transaction by itself executed elsewhere, if that is wanted.
     *
     * @param inSession executes the message that it is given in the session, after all
     * @return whether it is, or is refused; if not, nothing has been done
     */
    boolean query(StatementKind kind, ByteBuf buffer, int start, int bodyLength, Consumer<byte[]> inSession) {
        boolean logged = session.modes().logged();
        if (!kind.mayWrite() || (never() && !logged)) {
            return false;
        }
        byte[] sql = Messages.queryText(buffer, start, bodyLength);
        StatementClasses.Statements statements = statements(sql);
        boolean copies = kind == StatementKind.COPY_IN;
        Place place = place(List.of(statements));
        Capture.Classified touched = rules.classes(sql);
        boolean here = place == Place.HERE || (copies && place.ifPossible());
        if (place == Place.OWNER_IF_POSSIBLE) {
            here |= !session.turns().needed(); // what has had its turn here stays here
        }
        if (logged && place != Place.EVERYWHERE && here) {
            session.backend().refuse(notLogged(statements.varying()), SentMessage.REFUSED_QUERY);
            return true;
        }
        if (here) {
            return false;
        }
        JavaRequests java = session.capture().java();
        ErrorFields refusal = rules.unavailable();
        if (refusal == null) {
            refusal = java.refusal(List.of(statements), place == Place.OWNER_IF_POSSIBLE, false);
        }
        SequenceDraws draws = SequenceDraws.of(List.of(List.of(statements)));
        refusal = refusal == null ? draws.refusal() : refusal;
        String varying = copies ? "COPY from the client" : statements.varying();
        if (refusal == null && varying != null) {
            refusal = varies(varying);
        }
        if (refusal != null) {
            session.backend().refuse(refusal, SentMessage.REFUSED_QUERY);
            return true;
        }
        List<Statement.Call> calls = statements.texts().stream().map(Statement.Call::plain).toList();
        byte[] message = place == Place.OWNER_IF_POSSIBLE ? Messages.copy(buffer, start, bodyLength) : new byte[0];
        if (place == Place.OWNER_IF_POSSIBLE) {
            session.ordered().undertaken(draws, (row, drawn) -> session.capture().request(calls, row,
                    touched.vouched(), 0, drawn, java.settings(statements)),
                    touched.classes(),
                    response -> response, logged ? calls.size() : 0,
                    logged ? unread(statements.texts()) : List.of(), () -> inSession.accept(message));
        } else {
            session.ordered().request(draws,
                    (row, drawn) -> session.capture().request(calls, row, false, 0, drawn, Map.of()),
                    touched.classes(),
                    response -> response);
        }
        return true;
    }

    /** What the server can be asked to read beforehand; nothing if a setting before it may change what it means. */
    private static List<byte[]> unread(List<String> texts) {
        List<byte[]> others = texts.stream().filter(text -> !OWN_SETTING.matcher(text).lookingAt())
                .map(text -> text.getBytes(StandardCharsets.UTF_8)).toList();
        return others.stream().map(text -> new StatementText(text).operation()).anyMatch(SETTINGS::contains)
                ? List.of()
                : others;
    }

    /** Why a function is not called by its object id, which this node would do alone; or null. */
    @Nullable
    ErrorFields callRefusal() {
        if (place() == Place.EVERYWHERE) {
            return Errors
                    .notSupported(
                            "every node executes what changes the database, and the function call protocol, by which"
                                    + " drivers use large objects, has one node execute it")
                    .with('H', "Call the function by SELECT.");
        }
        return session.modes().logged() && !session.cycle().inBlock() ? notLogged(null) : null;
    }

    /** Whether a cycle that begins with binding this statement may be for every node, and is to be recorded. */
    boolean mayBe(Prepared prepared) {
        if (!prepared.kind().mayWrite() || session.transaction().implicit() || (never() && !session.modes().logged())) {
            return false;
        }
        StatementAccess access = prepared.access();
        return place() != Place.HERE || session.modes().logged()
                || (access != null && declared(List.of(access.statements())));
    }

    /**
     * Has a recorded cycle executed elsewhere, if that is wanted. Everything sent before it has been answered.
     *
     * @param here executes it in the session, after all
     * @return whether it is, or is refused; if not, nothing has been done
     */
    boolean recorded(RecordedCycle cycle, Runnable here) {
        boolean logged = session.modes().logged();
        if (never() && !logged) {
            return false;
        }
        List<RecordedCycle.Execution> executions = cycle.whole() ? cycle.executions() : null;
        if (executions == null) {
            if (logged) {
                refuse(cycle, notLogged(null));
                return true;
            }
            if (place() != Place.EVERYWHERE) {
                return false;
            }
            refuse(cycle, Errors.error(Errors.READ_ONLY,
                    "every node executes what changes the database, so its statements must come as a whole: each prepared,"
                            + " bound, executed, and then Sync"));
            return true;
        }
        List<StatementClasses.Statements> parts = executions.stream().map(execution -> execution.of().statements())
                .toList();
        Place place = place(parts);
        String moment = place == Place.HERE ? null : moment(executions);
        if (place == Place.HERE || (moment != null && place.ifPossible())) {
            if (logged) {
                refuse(cycle, notLogged(moment != null ? moment : varying(parts)));
            }
            return logged;
        }
        cycle.classify();
        JavaRequests java = session.capture().java();
        ErrorFields refusal = rules.unavailable();
        if (refusal == null) {
            refusal = java.refusal(parts, place == Place.OWNER_IF_POSSIBLE,
                    logged && session.modes().separately());
        }
        boolean each = place == Place.OWNER_IF_POSSIBLE && session.modes().separately() && executions.size() > 1;
        SequenceDraws draws = SequenceDraws.of(each ? parts.stream().map(List::of).toList() : List.of(parts));
        refusal = refusal == null ? draws.refusal() : refusal;
        String varying = moment != null ? moment : varying(parts);
        if (refusal == null && varying != null) {
            refusal = varies(varying);
        }
        if (refusal != null) {
            refuse(cycle, refusal);
            return true;
        }
        List<Statement.Call> calls = executions.stream().map(RecordedCycle.Execution::call).toList();
        parseAll(cycle, () -> {
            if (each) {
                session.ordered().loggedEach(draws,
                        (row, drawn, number) -> session.capture().request(List.of(calls.get(number)), row,
                                cycle.vouched(), number, drawn, java.settings(parts.get(number))),
                        cycle.classesOfEach(), response -> answers(executions, response));
            } else if (place == Place.OWNER_IF_POSSIBLE) {
                session.ordered().undertaken(draws,
                        (row, drawn) -> session.capture().request(calls, row, cycle.vouched(), 0, drawn,
                                parts.size() == 1 ? java.settings(parts.getFirst()) : Map.of()),
                        cycle.classified().classes(), response -> answers(executions, response),
                        logged ? calls.size() : 0, List.of(), here);
            } else {
                session.ordered().request(draws,
                        (row, drawn) -> session.capture().request(calls, row, false, 0, drawn, Map.of()),
                        cycle.classified().classes(), response -> answers(executions, response));
            }
        });
        return true;
    }

    private static @Nullable String moment(List<RecordedCycle.Execution> executions) {
        return executions.stream().map(RecordedCycle.Execution::moment).filter(Objects::nonNull).findFirst()
                .orElse(null);
    }

    private static @Nullable String varying(List<StatementClasses.Statements> parts) {
        return parts.stream().map(StatementClasses.Statements::varying).filter(Objects::nonNull).findFirst()
                .orElse(null);
    }

    /** Why a request cannot be acknowledged before it is executed. */
    private static ErrorFields notLogged(@Nullable String varying) {
        return Errors.notSupported("the request cannot be acknowledged as logged, since "
                + (varying != null
                        ? "it may come out differently in another session: " + varying
                        : "only INSERT, UPDATE, DELETE, MERGE, SELECT and CALL that come as a whole, and of which it is known"
                                + " what they touch, are executed by the owner of a log"))
                .with('H',
                        "SET " + Modes.ACKNOWLEDGE
                                + " = 'executed', or let the client compute what varies and send"
                                + " it as a parameter, or use what is fixed at submission:"
                                + " tutti_submitted(), tutti_random(n), tutti_uuid(n), tutti_nextval(sequence, n).");
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
