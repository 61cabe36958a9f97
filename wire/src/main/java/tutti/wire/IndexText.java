package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.IndexBuilder;
import tutti.engine.postgres.catalog.Table;
import tutti.wire.sql.SqlTokens;

/**
 * Reads a CREATE INDEX without CONCURRENTLY, as far as it has to be known to build the same index under another name.
 *
 * @param definition what the index is to be; its name is empty if the statement says none
 * @param before what stands before that name, or before where it would stand
 * @param after what stands behind it
 */
record IndexText(IndexBuilder.Definition definition, String before, String after) {
    /** What {@link #question} answers if the index can be built. */
    static final String BUILDS = "b";
    /** What it answers, before the table's name, if that is partitioned. */
    static final String PARTITIONED = "p";
    private static final long CREATE = SqlTokens.key("create");
    private static final long UNIQUE = SqlTokens.key("unique");
    private static final long INDEX = SqlTokens.key("index");
    private static final long[] IF_NOT_EXISTS = {SqlTokens.key("if"), SqlTokens.key("not"), SqlTokens.key("exists")};
    private static final long ON = SqlTokens.key("on");
    private static final long ONLY = SqlTokens.key("only");

    /**
     * Reads it.
     *
     * @return null if it is no such statement, or says a name that has to be looked at more closely
     */
    static @Nullable IndexText read(String sql, boolean standardStrings) {
        byte[] bytes = sql.getBytes(StandardCharsets.UTF_8);
        SqlCursor at = new SqlCursor();
        at.reset(bytes, 0, bytes.length, standardStrings);
        if (!at.atWord(CREATE)) {
            return null;
        }
        at.advance();
        boolean unique = at.atWord(UNIQUE);
        if (unique) {
            at.advance();
        }
        if (!at.atWord(INDEX)) {
            return null;
        }
        at.advance();
        boolean unnamed = at.atWord(ON);
        for (long word : IF_NOT_EXISTS) {
            if (at.atWord(word)) {
                at.advance();
            }
        }
        String before = new String(bytes, 0, at.start(), StandardCharsets.UTF_8);
        String name = "";
        if (!unnamed) {
            name = at.atWord(ON) ? null : name(bytes, at);
            if (name == null) {
                return null;
            }
            at.advance();
        }
        if (!at.atWord(ON)) {
            return null;
        }
        String after = new String(bytes, at.start(), bytes.length - at.start(), StandardCharsets.UTF_8);
        at.advance();
        if (at.atWord(ONLY)) {
            at.advance();
        }
        int table = at.start();
        int end = table;
        boolean dot = true;
        while (dot) {
            if (name(bytes, at) == null) {
                return null;
            }
            end = at.position();
            at.advance();
            dot = at.at('.');
            if (dot) {
                at.advance();
            }
        }
        int rest = end;
        while (at.inStatement()) {
            end = at.position();
            at.advance();
        }
        return end == rest
                ? null
                : new IndexText(new IndexBuilder.Definition(unique, name,
                        new String(bytes, table, rest - table, StandardCharsets.UTF_8),
                        new String(bytes, rest, end - rest, StandardCharsets.UTF_8)), before, after);
    }

    /** Whether the statement says a name for the index. */
    boolean isNamed() {
        return !definition.name().isEmpty();
    }

    /** The same with another name. */
    IndexText named(String name) {
        return new IndexText(new IndexBuilder.Definition(definition.unique(), name, definition.table(),
                definition.rest()), before, after);
    }

    /** The statement, where it says a name. */
    String sql() {
        return before + Table.quote(definition.name()) + ' ' + after;
    }

    /** The identifier that stands here; null if there is none, or it is not as it looks. */
    private static @Nullable String name(byte[] bytes, SqlCursor at) {
        if ((!at.atWord() && !at.atQuoted()) || at.isUnclear(true)
                || at.position() - at.start() > SqlTokens.NAME_BYTES_MAX) {
            return null;
        }
        String text = new String(bytes, at.start(), at.position() - at.start(), StandardCharsets.UTF_8);
        if (at.atWord()) {
            return text.chars().allMatch(letter -> letter < 128) ? text.toLowerCase(Locale.ROOT) : null;
        }
        return text.startsWith("\"") ? text.substring(1, text.length() - 1).replace("\"\"", "\"") : null;
    }

    /**
     * Asks what would become of the statement before anything of the index is built: {@value #BUILDS} if it can be built; {@value #PARTITIONED} and the table's name if that is
     * partitioned; otherwise the statement is to be executed, and to say by itself what is wrong, or that nothing is to be done. With the rights, and by the search path, of the
     * session.
     */
    String question() {
        return "SELECT CASE WHEN c.relkind OPERATOR(pg_catalog.=) 'p' THEN pg_catalog.concat('" + PARTITIONED
                + "', c.relname)"
                + " WHEN c.relkind OPERATOR(pg_catalog.=) 'r' AND pg_catalog.pg_has_role(c.relowner, 'USAGE')"
                + " AND pg_catalog.has_schema_privilege(c.relnamespace, 'CREATE')"
                + " AND NOT EXISTS (SELECT FROM pg_catalog.pg_class x WHERE x.relnamespace OPERATOR(pg_catalog.=) c.relnamespace"
                + " AND x.relname OPERATOR(pg_catalog.=) " + Table.literal(definition.name()) + "::pg_catalog.name)"
                + " AND NOT EXISTS (SELECT FROM tutti.placed t WHERE t.table_oid OPERATOR(pg_catalog.=) c.oid)"
                + " THEN '" + BUILDS + "' ELSE '' END FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=)"
                + " (SELECT pg_catalog.to_regclass(" + Table.literal(definition.table()) + ")::pg_catalog.oid)";
    }
}
