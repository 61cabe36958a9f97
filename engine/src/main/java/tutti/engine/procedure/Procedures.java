package tutti.engine.procedure;

import java.lang.reflect.Constructor;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Group;

/** The {@link StoredProcedure}s that are registered at a node, by name. Immutable, for any thread. */
public final class Procedures {
    /** Most of them: nodes tell each other what they have in their greetings, which are short; three words are for what their servers have, and can. */
    public static final int COUNT_MAX = Group.OWN_CAPABILITIES_MAX - 3;
    /** What a name looks like. */
    public static final String NAME = "[a-z][a-z0-9_.-]{0,62}";
    /** A node at which nothing is registered. */
    public static final Procedures NONE = new Procedures(Map.of());

    private static final Pattern NAMES = Pattern.compile(NAME);
    private static final String ABILITY = "java:";

    private record Entry(Constructor<? extends StoredProcedure> maker, String version) {}

    private final Map<String, Entry> entries;

    private Procedures(Map<String, Entry> entries) {
        this.entries = entries;
    }

    /**
     * Registers classes.
     *
     * @param classes names of them, by the names of the procedures
     * @param loader that finds them
     * @throws IllegalArgumentException naming a procedure that cannot be one, why, and what to do
     */
    public static Procedures of(Map<String, String> classes, ClassLoader loader) {
        if (classes.size() > COUNT_MAX) {
            throw new IllegalArgumentException(
                    classes.size() + " procedures: at most " + COUNT_MAX + " can be registered");
        }
        Map<String, Entry> entries = new TreeMap<>();
        new TreeMap<>(classes).forEach((name, of) -> {
            if (!NAMES.matcher(name).matches()) {
                throw new IllegalArgumentException("procedure " + name + ": a name has the form " + NAME);
            }
            try {
                entries.put(name, entry(of, loader));
            } catch (IllegalArgumentException impossible) {
                throw new IllegalArgumentException("procedure " + name + ": " + impossible.getMessage(), impossible);
            }
        });
        return new Procedures(entries);
    }

    private static Entry entry(String of, ClassLoader loader) {
        try {
            Class<?> found = Class.forName(of, false, loader);
            if (!StoredProcedure.class.isAssignableFrom(found) || Modifier.isAbstract(found.getModifiers())) {
                throw new IllegalArgumentException(
                        "class " + of + " does not implement " + StoredProcedure.class.getName());
            }
            String version = ProcedureCheck.digest(found);
            return new Entry(found.asSubclass(StoredProcedure.class).getConstructor(), version);
        } catch (ClassNotFoundException | LinkageError missing) {
            throw new IllegalArgumentException("class " + of + " is not on the node's class path, or not whole ("
                    + missing + "): put its jar there (TUTTI_CLASSPATH), at every node", missing);
        } catch (NoSuchMethodException no) {
            throw new IllegalArgumentException("class " + of + " has no public constructor without parameters", no);
        }
    }

    /** Their names. */
    public Set<String> names() {
        return entries.keySet();
    }

    /** The version of one: a digest of its classes; null if there is none of that name. */
    public @Nullable String version(String name) {
        Entry entry = entries.get(name);
        return entry == null ? null : entry.version();
    }

    /** What nodes tell each other that they can: for each procedure its name and version, in short. */
    public Set<String> abilities() {
        Set<String> all = new TreeSet<>();
        entries.forEach((name, entry) -> all.add(ability(name, entry.version())));
        return all;
    }

    /** How a node says that it has a version of a procedure: 64 characters at most. */
    public static String ability(String name, String version) {
        return ABILITY + Integer.toHexString(name.hashCode()) + ":" + version;
    }

    /**
     * What one says that it touches ({@link StoredProcedure#tables}), separated by commas; empty if it says nothing.
     *
     * @throws IllegalArgumentException if there is none of that name, or it cannot be made
     */
    public String tables(String name) {
        return String.join(", ", make(name, String.valueOf(version(name))).tables());
    }

    /**
     * One, made anew for a run.
     *
     * @param version that it must have
     * @throws IllegalArgumentException if it is not here in that version, or cannot be made
     */
    public StoredProcedure make(String name, String version) {
        Entry entry = entries.get(name);
        if (entry == null || !entry.version().equals(version)) {
            throw new IllegalArgumentException("the node that is to execute procedure " + name + " has "
                    + (entry == null ? "none of that name" : "another version of it")
                    + ": register the same class at all nodes");
        }
        try {
            return entry.maker().newInstance();
        } catch (ReflectiveOperationException | LinkageError broken) {
            throw new IllegalArgumentException("procedure " + name + " cannot be made: "
                    + (broken.getCause() == null ? broken : broken.getCause()), broken);
        }
    }
}
