package tutti.wire.sql;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.catalog.References;
import tutti.engine.postgres.catalog.References.Named;

/**
 * Which tables may a piece of SQL touch? All whose name it mentions anywhere, whatever for, and all that views, functions,
 * triggers, policies, defaults, cascades and partitions of what it mentions mention in turn. A name that stands for a column
 * or an alias as well is counted too: too much is never wrong here.
 *
 * <p>
 * <b>Why nothing is missed.</b> PostgreSQL finds a table by a name in a text: in the statement's own, or in one that is kept
 * in the catalog and looked at through {@link References}. What builds names while it runs (EXECUTE in PL/pgSQL, functions of
 * pg_catalog that take SQL or names of tables as strings, prepared statements run by name) or cannot be looked into
 * (functions in other languages) is taken to touch everything. Strings in function bodies are read as SQL as well.
 */
final class Footprint {
    private static final Set<String> BY_STRING = Set.of("execute", "query_to_xml", "query_to_xml_and_xmlschema",
            "query_to_xmlschema", "cursor_to_xml", "cursor_to_xmlschema", "table_to_xml", "table_to_xml_and_xmlschema",
            "schema_to_xml", "schema_to_xml_and_xmlschema", "database_to_xml", "database_to_xml_and_xmlschema",
            "ts_stat",
            "ts_rewrite", "refcursor");
    private static final int NESTED_MAX = 64;

    private enum How {
        DIRECT, BROUGHT, CASCADED
    }

    private final References references;
    private final Set<Long> direct = new HashSet<>();
    private final Set<Long> brought = new HashSet<>();
    private final Set<Long> cascaded = new HashSet<>();
    private final Set<String> seen = new HashSet<>();
    private boolean everything;

    private Footprint(References references) {
        this.references = references;
        this.everything = references.opaque();
    }

    /**
     * Keys of tables.
     *
     * @param direct those whose names stand in the statement itself
     * @param brought those that come along with something else, also if they are named as well
     * @param cascaded those that foreign keys change along with others. They are not read: that no child has come or gone
     *            is certain from the parent's key, which the child's write set refers to
     */
    record Tables(Set<Long> direct, Set<Long> brought, Set<Long> cascaded) {
        Set<Long> all() {
            Set<Long> all = new HashSet<>(direct);
            all.addAll(brought);
            all.addAll(cascaded);
            return all;
        }
    }

    /** The tables that a statement may touch; null if that may be any. */
    static @Nullable Tables of(List<SqlText.Token> tokens, References references) {
        Footprint footprint = new Footprint(references);
        boolean body = tokens.stream().findFirst().filter(first -> first.isWord("do")).isPresent();
        footprint.add(tokens, body, 0);
        return footprint.everything ? null : new Tables(footprint.direct, footprint.brought, footprint.cascaded);
    }

    private void add(List<SqlText.Token> tokens, boolean stringsToo, int depth) {
        if (depth > NESTED_MAX) {
            everything = true;
        }
        for (SqlText.Token token : tokens) {
            if (everything) {
                return;
            }
            if (token.isName()) {
                everything |= !token.plain() || token.isWordOf(BY_STRING);
                name(token.text(), depth == 0 ? How.DIRECT : How.BROUGHT, depth);
            } else if (stringsToo && token.kind() == SqlTokens.STRING) {
                add(SqlText.of(token.text()).tokens(), true, depth + 1);
            }
        }
    }

    private void name(String name, How how, int depth) {
        Named named = references.get(name);
        if (named == null) {
            return;
        }
        (switch (how) {
            case DIRECT -> direct;
            case BROUGHT -> brought;
            case CASCADED -> cascaded;
        }).addAll(named.tables());
        if (!seen.add(name)) {
            return;
        }
        everything |= named.unknown();
        How next = how == How.CASCADED ? How.CASCADED : How.BROUGHT;
        named.related().forEach(related -> name(related, next, depth + 1));
        named.cascades().forEach(child -> name(child, How.CASCADED, depth + 1));
        for (String text : named.texts()) {
            add(SqlText.of(text).tokens(), true, depth + 1);
        }
    }
}
