package tutti.wire;

import io.netty.buffer.ByteBuf;

/** What a client's Parse message prepares: reads its statement, and finds out what that is and what the session has to know of it later. On the session's event loop. */
final class ParsedStatements {
    private final Session session;
    private final ClientSql sql;
    private final TextSettings texts;
    private final StatementRules rules;
    private final ActiveRequests active;

    ParsedStatements(Session session, ClientSql sql, TextSettings texts, StatementRules rules, ActiveRequests active) {
        this.session = session;
        this.sql = sql;
        this.texts = texts;
        this.rules = rules;
        this.active = active;
    }

    /** What a Parse message prepares. */
    Prepared prepare(ByteBuf buffer, int start, int bodyLength) {
        Prepared prepared = classified(buffer, start, bodyLength);
        return prepared.kind().isSentAgain() || prepared.kind() == StatementKind.WRITE
                ? prepared.with(texts.reading(sql.bytes(), sql.length()))
                : prepared;
    }

    private Prepared classified(ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int nameEnd = Messages.end(buffer, start, limit);
        sql.read(buffer, nameEnd + 1, limit);
        rules.judges();
        ClusterQuestion question = sql.question();
        if (question != null) {
            return Prepared.of(question);
        }
        Classifier classified = sql.classified();
        StatementKind kind = classified.count() > 1 ? StatementKind.WRITE : classified.single();
        if (kind.isSentAgain() && !texts.canBeSentOn(sql.bytes(), sql.length())) {
            return new Prepared(StatementKind.REFUSED, null, TextSettings.NOT_UTF8);
        }
        return switch (kind) {
            case SCHEMA, CONSTRAINTS -> new Prepared(kind, sql.utility(), null);
            case REFUSED -> new Prepared(kind, null, classified.refusal());
            case SESSION -> {
                Prepared prepared = new Prepared(kind, UtilityStatement.of(sql.text()), null);
                byte[] text = DeferredMessages.setsLocally(prepared) ? sql.copy() : null;
                yield text != null && texts.understood(text)
                        ? prepared
                                .with(new StatementAccess(session.capture(), text, texts.standardStrings(), new int[0]))
                        : prepared;
            }
            case FORGET, SAVEPOINT -> new Prepared(kind, UtilityStatement.of(sql.text()), null);
            case NOTIFY -> new Prepared(kind, UtilityStatement.of(sql.notification()), null);
            case PREPARE, FINISH, DATABASE -> new Prepared(kind, UtilityStatement.of(sql.text()), null);
            case BEGIN -> classified.readOnly() ? Prepared.BEGIN_READ_ONLY : Prepared.of(kind);
            case READ, WRITE, COPY_IN -> {
                boolean matters = nameEnd > start || rules.notesReads() || session.node().needsClasses()
                        || active.possible();
                byte[] text = matters ? sql.copy() : null;
                Prepared prepared = classified.truncates()
                        ? new Prepared(kind, UtilityStatement.of(sql.text()), null)
                        : classified.needsBlock() ? Prepared.of(kind).inBlocks() : Prepared.of(kind);
                yield text != null && texts.understood(text)
                        ? prepared.with(new StatementAccess(session.capture(), text, texts.standardStrings(),
                                StatementAccess.types(buffer, nameEnd + 1 + sql.length() + 1, limit)))
                        : prepared;
            }
            default -> Prepared.of(kind);
        };
    }
}
