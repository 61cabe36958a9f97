package tutti.engine.jdbc.reads;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;
import tutti.engine.postgres.catalog.TableCatalog;

/** The footprints of statements, as of one schema. Safe for use from any thread. */
public final class Footprints {
    private static final int STATEMENTS_MAX = 2000;
    private static final int CHARACTERS_MAX = 100_000;
    private static final Pattern ENTRY = Pattern.compile(
            "\\s*(?:(?:\"[^\"]*\"|[^\\s\",.]+)\\s*\\.\\s*)?(\"(?:[^\"]|\"\")*\"|[^\\s\",.]+)\\s*(?:,|$)");

    private final Tables tables;
    private final List<String> script;
    private volatile @Nullable SchemaNames made;
    private final Map<String, Footprint> known = new ConcurrentHashMap<>();

    /**
     * Of a schema.
     *
     * @param script statements that make it
     */
    public Footprints(Tables tables, List<String> script) {
        this.tables = tables;
        this.script = List.copyOf(script);
    }

    /** Made when first asked for, since under most protocols nobody asks; by two threads at once, twice the same. */
    private SchemaNames names() {
        SchemaNames present = made;
        if (present == null) {
            present = SchemaNames.of(tables, script);
            made = present;
        }
        return present;
    }

    /** A statement's, or that of several. */
    public Footprint of(String sql) {
        if (sql.length() > CHARACTERS_MAX) {
            return Footprint.EVERYTHING;
        }
        Footprint present = known.get(sql);
        if (present == null) {
            if (known.size() >= STATEMENTS_MAX) {
                known.clear();
            }
            present = Footprint.of(names(), sql);
            known.put(sql, present);
        }
        return present;
    }

    /**
     * Of a transaction whose client lists what it will touch.
     *
     * @param list names of tables, views and the like, separated by commas
     * @return null if some of them stand for nothing, as {@link #unknown} tells
     */
    public @Nullable Footprint declared(String list) {
        return unknown(list).isEmpty() ? Footprint.declared(names(), list) : null;
    }

    /** What in a client's list is no name of anything. */
    public List<String> unknown(String list) {
        List<String> unknown = new ArrayList<>();
        Matcher matcher = ENTRY.matcher(list);
        int at = 0;
        while (at < list.length() && matcher.find(at) && matcher.start() == at) {
            String name = matcher.group(1);
            String plain = name.startsWith("\"")
                    ? name.substring(1, name.length() - 1).replace("\"\"", "\"")
                    : name;
            if (!names().known(plain)) {
                unknown.add(plain);
            }
            at = matcher.end();
        }
        if (at < list.length() || list.isBlank()) {
            unknown.add(list.substring(at).strip());
        }
        return unknown;
    }

    /**
     * A table that a statement may touch although its class is not among these, in words, or null; likewise.
     *
     * @param sql the statement
     */
    public @Nullable String outside(String sql, ConflictClasses classes) {
        ConflictClasses touched = of(sql).classes();
        if (classes.all()) {
            return null;
        }
        if (touched.all()) {
            return "tables that cannot be told from its statements";
        }
        for (Table table : tables.all()) {
            if (touched.contains(table.hash()) && !classes.contains(table.hash())) {
                return "table " + table.displayName();
            }
        }
        return null;
    }

    /**
     * A table that is touched although its class is not among these, in words, or null; "tables that cannot be told" if
     * it may be any.
     *
     * @param touched keys of a write set, or of the tables of a read set
     */
    public @Nullable String outside(KeySet touched, ConflictClasses classes) {
        for (int i = 0; i < touched.size() && !classes.all(); i++) {
            long hash = touched.hash(i);
            if (hash == TableCatalog.SCHEMA_KEY && touched.kind(i) == KeyKind.SCAN) {
                return "tables that cannot be told from its statements";
            }
            for (Table table : tables.all()) {
                if (table.hash() == hash && !classes.contains(hash)) {
                    return "table " + table.displayName();
                }
            }
        }
        return null;
    }
}
