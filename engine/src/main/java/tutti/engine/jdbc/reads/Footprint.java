package tutti.engine.jdbc.reads;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.ReadSet;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.postgres.catalog.KeyHash;
import tutti.engine.postgres.catalog.TableCatalog;

/**
 * What a statement may touch, as far as its text and the schema tell, and what of that it reads. More than it does touch,
 * never less. Immutable.
 */
public final class Footprint {
    /** Of a statement that cannot be looked into. */
    public static final Footprint EVERYTHING = new Footprint(ConflictClasses.ALL, true, Set.of(), List.of());

    /** Of what touches no table, and has to have some class. */
    private static final long NO_TABLE = KeyHash.seed("no table");

    private final ConflictClasses classes;
    private final boolean changes;
    private final Set<Table> scanned;
    private final List<RowLookup> lookups;

    private Footprint(ConflictClasses classes, boolean changes, Set<Table> scanned, List<RowLookup> lookups) {
        this.classes = classes;
        this.changes = changes;
        this.scanned = scanned;
        this.lookups = lookups;
    }

    /** Of a statement, or of several. */
    static Footprint of(SchemaNames names, String sql) {
        SchemaNames.Mentioned mentioned = names.mentioned(sql);
        if (mentioned.everything()) {
            return EVERYTHING;
        }
        RowLookups found = RowLookups.of(names, sql);
        Set<Table> scanned = new HashSet<>(mentioned.direct());
        found.lookups().forEach(lookup -> scanned.remove(lookup.table()));
        scanned.remove(found.unread());
        scanned.addAll(mentioned.brought());
        return new Footprint(classes(names, mentioned), mentioned.changes(), Set.copyOf(scanned),
                List.copyOf(found.lookups()));
    }

    /** Of transactions that touch the tables that a text names, and no others. */
    static Footprint declared(SchemaNames names, String text) {
        SchemaNames.Mentioned mentioned = names.listed(text);
        return mentioned.everything()
                ? EVERYTHING
                : new Footprint(classes(names, mentioned), true, mentioned.direct(), List.of());
    }

    /**
     * One class for each table that may be read or changed, and for each that is looked at when a foreign key is checked:
     * a child's row must not come while its parent goes, so whoever writes the child has the parent's class, too.
     */
    private static ConflictClasses classes(SchemaNames names, SchemaNames.Mentioned mentioned) {
        Set<Table> written = new HashSet<>(mentioned.direct());
        written.addAll(mentioned.brought());
        written.addAll(mentioned.cascaded());
        Set<Long> hashes = new HashSet<>();
        for (Table table : written) {
            hashes.add(table.hash());
            if (mentioned.changes()) {
                names.parents(table).forEach(parent -> hashes.add(parent.hash()));
            }
        }
        return ConflictClasses.of(hashes.isEmpty() ? Set.of(NO_TABLE) : hashes);
    }

    /** One class for each table that it may touch, or all. */
    public ConflictClasses classes() {
        return classes;
    }

    /** Whether it may change rows. */
    public boolean changes() {
        return changes;
    }

    /**
     * Adds what it reads. Everything is a scan of the schema's key, to which every write set refers.
     *
     * @param values bound to its parameters, in their order; shorter, or with nulls, where they are not known
     */
    public void addTo(ReadSet.Builder reads, List<? extends @Nullable Object> values) {
        if (classes.all()) {
            reads.scan(TableCatalog.SCHEMA_KEY);
            return;
        }
        scanned.forEach(table -> reads.scan(table.hash()));
        for (RowLookup lookup : lookups) {
            Long row = lookup.hash(values);
            if (row == null) {
                reads.scan(lookup.table().hash());
            } else {
                reads.row(lookup.table().hash(), row);
            }
        }
    }
}
