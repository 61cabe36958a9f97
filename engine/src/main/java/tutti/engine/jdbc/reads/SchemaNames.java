package tutti.engine.jdbc.reads;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.engine.jdbc.rows.Table;
import tutti.engine.jdbc.rows.Tables;

/**
 * Finds the tables that a text can bring an engine to look at: all whose names occur in it anywhere, whatever for, and
 * all whose names occur in the definitions of what it names: of views, routines, synonyms and domains, of tables with
 * their defaults, generated columns and checks, and of triggers.
 *
 * <p>
 * <b>Why nothing is missed.</b> An engine finds a table by a name, in the statement or in a definition. Texts are not taken
 * apart into strings, comments and identifiers, for which each dialect has rules of its own, but into runs of letters,
 * digits and underscores; a name that is no such run is looked for as it stands. So a name is found wherever it is
 * written, in whatever case and quotes. What can name a table otherwise counts as naming everything: identifiers with
 * escapes ({@code U&"..."}), functions that execute a string, and routines, aggregates and triggers in Java. Names that
 * mean something else, like a column of the same name, only add.
 *
 * <p>
 * What foreign keys check is left out, because the keys of write sets cover it: a child's row refers to its parent's key,
 * and a parent that goes, or changes its key, touches that key exclusively. A cascade may fire the child's triggers,
 * though, so what those name counts.
 *
 * <p>
 * As of one schema. Immutable.
 */
final class SchemaNames {
    private static final Pattern WORD = Pattern.compile("[\\p{L}\\p{N}_$]+");
    private static final Pattern TOKEN = Pattern.compile("\"(?:[^\"]|\"\")*\"|[\\p{L}\\p{N}_$]+|\\S");
    private static final Pattern ESCAPES = Pattern.compile("[uU]&['\"]");
    /** What takes SQL as a string, or can hide it. */
    private static final Set<String> BY_STRING = Set.of("CSVWRITE", "EXECUTE", "PREPARE", "RUNSCRIPT", "LINK_SCHEMA",
            "STRINGDECODE");
    private static final Set<String> CHANGING = Set.of("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "CALL",
            "TRUNCATE");
    private static final Set<String> WITHOUT_READING = Set.of("SCHEMA", "SEQUENCE", "INDEX", "ROLE", "USER", "TYPE",
            "COLLATION", "CHARACTER");
    private static final Set<String> KINDS = Set.of("TABLE", "VIEW", "DOMAIN", "CONSTANT", "SYNONYM", "FUNCTION",
            "PROCEDURE", "ALIAS", "AGGREGATE", "TRIGGER");
    private static final Set<String> DEFINES = Set.of("CREATE", "ALTER");
    private static final Set<String> BEFORE_NAME = Set.of("IF", "NOT", "EXISTS");
    private static final Pattern OPAQUE_ROUTINE = Pattern.compile("\\bEXTERNAL\\b");
    private static final Pattern OPAQUE_TRIGGER = Pattern.compile("\\b(?:CALL|AS)\\b\\s*[^\\s\\p{L}]");
    private static final String OWN_TRIGGERS = "tutti.engine.jdbc.";
    private static final String NAME = "(?:\"(?:[^\"]|\"\")*\"|[\\p{L}\\p{N}_$]+)";
    private static final Pattern FOREIGN_KEY = Pattern.compile(
            "FOREIGN\\s+KEY\\s*\\([^()]*\\)\\s*REFERENCES\\s+(?:" + NAME + "\\.)*" + NAME + "\\s*(?:\\([^()]*\\))?"
                    + "(?:\\s*ON\\s+(?:DELETE|UPDATE)\\s+(?:CASCADE|RESTRICT|NO\\s+ACTION|SET\\s+(?:NULL|DEFAULT)))*");

    private final Map<String, Named> words = new HashMap<>();
    private final Map<String, Named> phrases = new HashMap<>();
    private final Map<Table, Set<Table>> children = new HashMap<>();
    private final Map<Table, Set<Table>> parents = new HashMap<>();
    private boolean opaque;

    /** What a name stands for; more than one thing if schemas share it. */
    private static final class Named {
        private final Set<Table> tables = new HashSet<>();
        private final List<String> texts = new ArrayList<>();
        private boolean opaque;
        private boolean other;
    }

    /**
     * Tables that a text brings along.
     *
     * @param everything whether it may be any, whatever the others say
     * @param direct whose names stand in the text itself
     * @param brought whose names stand in definitions
     * @param changes whether rows may be changed
     * @param cascaded whose rows may change with those of the others
     */
    record Mentioned(boolean everything, Set<Table> direct, Set<Table> brought, boolean changes,
            Set<Table> cascaded) {}

    private SchemaNames() {}

    /**
     * The names of a schema.
     *
     * @param script statements that make it
     */
    static SchemaNames of(Tables tables, List<String> script) {
        SchemaNames names = new SchemaNames();
        Map<String, Table> byDisplayName = new HashMap<>();
        for (Table table : tables.all()) {
            names.named(table.name()).tables.add(table);
            byDisplayName.put(table.displayName(), table);
        }
        for (Table table : tables.all()) {
            for (Table.ForeignKey key : table.foreignKeys()) {
                Table parent = byDisplayName.get(key.parent());
                if (parent != null) {
                    names.parents.computeIfAbsent(table, _ -> new HashSet<>()).add(parent);
                    if (key.cascades()) {
                        names.children.computeIfAbsent(parent, _ -> new HashSet<>()).add(table);
                    }
                }
            }
        }
        script.forEach(names::define);
        return names;
    }

    /** Texts that differ in case only become equal. */
    static String fold(String text) {
        return text.toLowerCase(Locale.ROOT).toUpperCase(Locale.ROOT);
    }

    private Named named(String name) {
        return by(name).computeIfAbsent(key(name), _ -> new Named());
    }

    private Map<String, Named> by(String name) {
        return WORD.matcher(name).matches() ? words : phrases;
    }

    /** As it stands in a text. */
    private static String key(String name) {
        return fold(name).replace("\"", "\"\"");
    }

    /** One statement of the script; one that is not understood makes everything opaque. */
    private void define(String statement) {
        List<String> tokens = new ArrayList<>();
        List<Integer> ends = new ArrayList<>();
        Matcher matcher = TOKEN.matcher(statement);
        while (matcher.find()) {
            tokens.add(matcher.group());
            ends.add(matcher.end());
        }
        if (tokens.isEmpty() || !DEFINES.contains(tokens.getFirst()) || statement.contains(OWN_TRIGGERS)) {
            return;
        }
        int at = 1;
        while (at < tokens.size() && !KINDS.contains(tokens.get(at))) {
            if (WITHOUT_READING.contains(tokens.get(at))) {
                return;
            }
            at++;
        }
        if (at + 1 < tokens.size() && KINDS.contains(tokens.get(at + 1))) {
            // CREATE AGGREGATE FUNCTION
            at++;
        }
        String kind = at < tokens.size() ? tokens.get(at) : "";
        while (at < tokens.size() && kind.equals("TRIGGER") && !tokens.get(at).equals("ON")) {
            // a trigger's definition is its table's
            at++;
        }
        at++;
        while (at < tokens.size() && BEFORE_NAME.contains(tokens.get(at))) {
            at++;
        }
        while (at + 2 < tokens.size() && tokens.get(at + 1).equals(".")) {
            at += 2;
        }
        if (at >= tokens.size()) {
            opaque = true;
            return;
        }
        define(kind, tokens.contains("AGGREGATE"), unquoted(tokens.get(at)), statement.substring(ends.get(at)));
    }

    private static String unquoted(String name) {
        return name.startsWith("\"") ? name.substring(1, name.length() - 1).replace("\"\"", "\"") : name;
    }

    private void define(String kind, boolean aggregate, String name, String rest) {
        Named named = named(name);
        named.opaque |= aggregate || switch (kind) {
            case "ALIAS" -> true;
            case "TRIGGER" -> OPAQUE_TRIGGER.matcher(rest).find();
            case "FUNCTION", "PROCEDURE" -> OPAQUE_ROUTINE.matcher(rest).find();
            default -> false;
        };
        named.other |= !kind.equals("TABLE") && !kind.equals("TRIGGER");
        String text = FOREIGN_KEY.matcher(rest).replaceAll(" ");
        // without a query, a table names itself only to qualify its columns
        boolean itself = kind.equals("TABLE") && occurrences("SELECT", text) == 0;
        named.texts.add(itself ? text.replaceAll("\\b" + Pattern.quote(name) + "\\b", " ") : text);
    }

    // ------------------------------------------------------------------------------------------ texts

    /** The tables that a text brings along. */
    Mentioned mentioned(String text) {
        return new Search(false).from(text);
    }

    /** Those that a list of names brings along, whatever is done with them. */
    Mentioned listed(String names) {
        return new Search(true).from(names);
    }

    /** The only table of that name, if nothing else has it, and null otherwise. */
    @Nullable
    Table table(String name) {
        Named named = by(name).get(key(name));
        return named == null || named.other || named.tables.size() != 1 ? null : named.tables.iterator().next();
    }

    /** Whether a name stands for anything. */
    boolean known(String name) {
        return by(name).containsKey(key(name));
    }

    /** The tables that a table's rows refer to. */
    Set<Table> parents(Table table) {
        return parents.getOrDefault(table, Set.of());
    }

    /** How often a word occurs in a text. */
    static long occurrences(String word, String text) {
        String folded = fold(word);
        return WORD.matcher(fold(text)).results().filter(result -> result.group().equals(folded)).count();
    }

    /** What is found from one text. */
    private final class Search {
        private final Set<Table> direct = new HashSet<>();
        private final Set<Table> brought = new HashSet<>();
        private final Set<Table> cascaded = new HashSet<>();
        private final Set<Named> seen = new HashSet<>();
        private final Deque<Table> uncascaded = new ArrayDeque<>();
        private boolean everything = opaque;
        private boolean changes;

        Search(boolean changes) {
            this.changes = changes;
        }

        Mentioned from(String text) {
            add(text, true);
            while (changes && !uncascaded.isEmpty()) {
                cascade(uncascaded.pop());
            }
            return new Mentioned(everything, direct, brought, changes, cascaded);
        }

        private void add(String text, boolean first) {
            everything |= ESCAPES.matcher(text).find();
            String folded = fold(text);
            Matcher matcher = WORD.matcher(folded);
            while (matcher.find() && !everything) {
                everything |= BY_STRING.contains(matcher.group());
                changes |= CHANGING.contains(matcher.group());
                Named named = words.get(matcher.group());
                if (named != null) {
                    add(named, first);
                }
            }
            phrases.forEach((phrase, named) -> {
                if (folded.contains(phrase)) {
                    add(named, first);
                }
            });
        }

        private void add(Named named, boolean first) {
            (first ? direct : brought).addAll(named.tables);
            define(named);
            uncascaded.addAll(named.tables);
        }

        private void define(Named named) {
            if (seen.add(named)) {
                everything |= named.opaque;
                named.texts.forEach(text -> add(text, false));
            }
        }

        private void cascade(Table from) {
            for (Table child : children.getOrDefault(from, Set.of())) {
                if (cascaded.add(child)) {
                    define(SchemaNames.this.named(child.name()));
                    cascade(child);
                }
            }
        }
    }
}
