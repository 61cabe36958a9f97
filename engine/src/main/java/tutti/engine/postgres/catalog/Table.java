package tutti.engine.postgres.catalog;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A replicated table. Immutable.
 *
 * @param oid object id at this node; other nodes may have another
 * @param schema its schema
 * @param name its name
 * @param columns in their order, without dropped ones, as in the row's text form
 * @param uniqueKeys every unique index and exclusion constraint, the one that names rows first, if there is one
 * @param foreignKeys what it refers to
 * @param hash the key ("table", this)
 * @param rowSeed for hashes of whole rows
 */
public record Table(
        long oid,
        String schema,
        String name,
        List<Column> columns,
        List<UniqueKey> uniqueKeys,
        List<ForeignKey> foreignKeys,
        long hash,
        long rowSeed) {
    /** Keeps copies. */
    public Table {
        columns = List.copyOf(columns);
        uniqueKeys = List.copyOf(uniqueKeys);
        foreignKeys = List.copyOf(foreignKeys);
    }

    /** That of its key: tables are looked up for each row, and columns and keys are long to go through. */
    @Override
    public int hashCode() {
        return Long.hashCode(hash);
    }

    /** Whether rows are named by a key; otherwise by all their values, and there may be several of a name. */
    public boolean hasKey() {
        return !uniqueKeys.isEmpty() && uniqueKeys.getFirst().namesRows();
    }

    /** What names rows: the primary key, or a unique index that comes to one. Only if {@link #hasKey()}. */
    public UniqueKey key() {
        return uniqueKeys.getFirst();
    }

    /** The hash of a row that is named by all its values. */
    public long rowHash(RowText row) {
        long hash = rowSeed;
        for (int i = 0; i < columns.size(); i++) {
            byte[] value = columns.get(i).generated() ? null : row.value(i);
            if (value == null) {
                hash = KeyHash.nullPart(hash);
            } else {
                byte[] normalised = columns.get(i).form().normalise(value);
                hash = KeyHash.part(hash, normalised, 0, normalised.length);
            }
        }
        return KeyHash.finish(hash);
    }

    /** Whether {@link #identity} tells different rows apart, and gives all that are the same one. */
    public boolean identityIsExact() {
        return columns.stream().allMatch(column -> column.generated() || column.textIsValue());
    }

    /** What stands for a row where it is named by all its values; of what the engine generates from others, nothing. */
    public String identity(RowText row) {
        StringBuilder identity = new StringBuilder();
        for (int i = 0; i < columns.size(); i++) {
            byte[] value = columns.get(i).generated() ? null : row.value(i);
            if (value == null) {
                identity.append('-');
            } else {
                byte[] same = columns.get(i).identity(value);
                identity.append(same.length).append(':').append(new String(same, StandardCharsets.ISO_8859_1));
            }
        }
        return identity.toString();
    }

    /** Schema and name as a person reads them, and as messages name the table. */
    public String displayName() {
        return schema + "." + name;
    }

    /** An identifier in quotes. */
    public static String quote(String identifier) {
        return '"' + identifier.replace("\"", "\"\"") + '"';
    }

    /** A text as SQL has it. */
    public static String literal(String text) {
        return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'";
    }

    /**
     * A column.
     *
     * @param name its name
     * @param form when its values are equal
     * @param type name of its type, of the base type for a domain; with {@code []} behind it for an array, and with
     *            {@code *} if it is none of pg_catalog
     * @param generated whether the engine computes it from other columns, so that it cannot be given
     * @param identityAlways whether it is an identity column that an update cannot set
     */
    public record Column(String name, ValueForm form, String type, boolean generated, boolean identityAlways) {
        /** Whether the text of a value depends on nothing but the value, once a moment has been {@linkplain ValueForm normalised}. */
        boolean textIsValue() {
            return form != ValueForm.OPAQUE
                    || !(type.endsWith("*") || type.startsWith("timestamptz") || type.startsWith("tstz"));
        }

        /** What stands for a value when rows are compared by all their values. */
        byte[] identity(byte[] text) {
            return form == ValueForm.MOMENT ? form.normalise(text) : text;
        }
    }

    /**
     * Columns of which no two rows have the same values, or something that comes to it.
     *
     * @param name of the index, as a person reads it
     * @param seed for hashes of its keys
     * @param columns indexes into the table's columns; none for an index of expressions
     * @param forms in which their values are compared, one for each column
     * @param watched all columns that it depends on, including those of expressions and predicates
     * @param namesRows whether it is what the table's rows are named by, the primary key as a rule
     * @param nullsDistinct whether a row with a NULL in it meets no other
     * @param opaque whether keys cannot be computed here (expressions, exclusion constraints): all rows are then taken
     *            to have the same
     */
    public record UniqueKey(
            String name,
            long seed,
            List<Integer> columns,
            List<ValueForm> forms,
            List<Integer> watched,
            boolean namesRows,
            boolean nullsDistinct,
            boolean opaque) {
        /** Keeps copies. */
        public UniqueKey {
            columns = List.copyOf(columns);
            forms = List.copyOf(forms);
            watched = List.copyOf(watched);
        }

        /** The hash of the key of a row. */
        public long hash(RowText row) {
            return hash(row, columns);
        }

        /**
         * The same.
         *
         * @param places where the values of its columns stand in the row
         */
        public long hash(RowText row, List<Integer> places) {
            long hash = seed;
            for (int i = 0; !opaque && i < columns.size(); i++) {
                byte[] value = row.value(places.get(i));
                if (value == null) {
                    hash = KeyHash.nullPart(hash);
                } else {
                    byte[] normalised = forms.get(i).normalise(value);
                    hash = KeyHash.part(hash, normalised, 0, normalised.length);
                }
            }
            return KeyHash.finish(hash);
        }

        /** Whether different normalised values are different keys, so that rows can be told apart here. */
        public boolean exact() {
            if (opaque) {
                return false;
            }
            for (ValueForm form : forms) {
                if (!form.exact()) {
                    return false;
                }
            }
            return true;
        }
    }

    /**
     * A reference to a key of another table.
     *
     * @param parent the key referred to, as a person reads it
     * @param parentColumns names of its columns
     * @param parentSeed seed of the parent's key
     * @param columns of the child, in the order of the columns of the parent's key
     * @param forms in which the values are compared: those of the parent's columns, or opaque
     * @param opaque whether the parent's keys cannot be computed, so that all rows are taken to name the same one
     */
    public record ForeignKey(
            String parent, List<String> parentColumns, long parentSeed, List<Integer> columns, List<ValueForm> forms,
            boolean opaque) {
        /** Keeps copies. */
        public ForeignKey {
            parentColumns = List.copyOf(parentColumns);
            columns = List.copyOf(columns);
            forms = List.copyOf(forms);
        }

        /** The hash of the key that a row names; null if it names none. */
        public @Nullable Long parentHash(RowText row) {
            long hash = parentSeed;
            for (int i = 0; i < columns.size(); i++) {
                byte[] value = row.value(columns.get(i));
                if (value == null) {
                    return null;
                }
                if (!opaque) {
                    byte[] normalised = forms.get(i).normalise(value);
                    hash = KeyHash.part(hash, normalised, 0, normalised.length);
                }
            }
            return KeyHash.finish(hash);
        }
    }
}
