package tutti.sim.world;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.attribute.SourceFileAttribute;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.constantpool.Utf8Entry;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tutti.core.protocol.Protocols;

/**
 * Which build ran: a fingerprint of all classes that scenarios can run through, and of nothing else, so that a change of other code, of a
 * comment or of a test leaves a campaign what it is.
 *
 * <p>
 * <b>Which classes.</b> Those that {@link ScenarioRun}, {@link Scenario} and {@link Protocols} mention anywhere in their class files (in code,
 * types, signatures and annotations), those that these mention, and so on, of Tutti and of libraries, without the JDK. Nothing that runs is
 * left out: scenarios find no class by a name that is put together while they run. Of some protocols alone, it is without what is reached
 * only because something lists what all protocols have ({@link Protocols}, and the formats of their snapshots): of the others that is made, to be
 * listed, and does nothing else.
 *
 * <p>
 * <b>What of them.</b> All but what is there for people who debug: numbers of lines, names of local variables and of the source file, and the
 * tables by which the virtual machine verifies code. They are written anew by the JDK that runs, so fingerprints are compared by those who run
 * the same one.
 */
public final class BuildFingerprint {
    private static final int SHOWN_BYTES = 8;
    private static final int ROOM_BYTES = 4;
    private static final String OWN = "tutti/";
    /** Under which classes of libraries are counted. */
    private static final String LIBRARIES = "libraries";
    private static final List<Class<?>> ROOTS = List.of(ScenarioRun.class, Scenario.class, Protocols.class);
    private static final String PROTOCOLS = "tutti/core/protocol/";
    /** What mentions something of every protocol. */
    private static final Set<String> LISTS = Set.of(file(Protocols.class), PROTOCOLS + "Snapshots");
    /** The name of a class, as class files have it: alone, or within the text of a type. */
    private static final Pattern NAME = Pattern
            .compile("^([a-z][\\w$]*(?:/[\\w$]+)+)$|L([a-z][\\w$]*(?:/[\\w$]+)+)[;<]");
    private static final ClassFile FILES = ClassFile.of(ClassFile.DebugElementsOption.DROP_DEBUG,
            ClassFile.LineNumbersOption.DROP_LINE_NUMBERS, ClassFile.StackMapsOption.DROP_STACK_MAPS,
            ClassFile.ConstantPoolSharingOption.NEW_POOL);

    private final Map<String, String> rooms;
    private final Set<String> classes;

    /**
     * Looks at the classes of this build.
     *
     * @throws UncheckedIOException if they cannot be read
     */
    public BuildFingerprint() {
        this(Protocols.STANDARD.names());
    }

    /**
     * Looks at those that scenarios of some protocols can run through.
     *
     * @param protocols their names
     * @throws UncheckedIOException if they cannot be read
     */
    public BuildFingerprint(Collection<String> protocols) {
        this(ROOTS, protocols);
    }

    BuildFingerprint(List<Class<?>> roots, Collection<String> protocols) {
        boolean all = protocols.containsAll(Protocols.STANDARD.names());
        Set<String> descriptors = protocols.stream()
                .map(protocol -> file(Protocols.STANDARD.descriptor(protocol).getClass()))
                .collect(Collectors.toSet());
        SortedMap<String, byte[]> found = new TreeMap<>();
        Set<String> met = new HashSet<>();
        Deque<String> toLookAt = new ArrayDeque<>();
        roots.forEach(root -> toLookAt.add(file(root)));
        met.addAll(toLookAt);
        while (!toLookAt.isEmpty()) {
            String name = toLookAt.remove();
            byte[] content = content(name);
            if (content != null) {
                ClassModel model = FILES.parse(content);
                found.put(name, digest(normal(content)));
                Set<String> mentioned = mentioned(model);
                if (!all && LISTS.contains(name)) {
                    mentioned.removeIf(one -> one.startsWith(PROTOCOLS) && !descriptors.contains(one));
                }
                mentioned.stream().filter(met::add).forEach(toLookAt::add);
            }
        }
        SortedMap<String, MessageDigest> byRoom = new TreeMap<>();
        found.forEach((name, digest) -> {
            MessageDigest room = byRoom.computeIfAbsent(room(name), _ -> sha256());
            room.update(name.getBytes(StandardCharsets.UTF_8));
            room.update(digest);
        });
        SortedMap<String, String> texts = new TreeMap<>();
        byRoom.forEach((room, digest) -> texts.put(room, HexFormat.of().formatHex(digest.digest(), 0, ROOM_BYTES)));
        rooms = texts;
        classes = Set.copyOf(found.keySet());
    }

    private static String file(Class<?> type) {
        return type.getName().replace('.', '/');
    }

    /** A class file without what is there for people who debug. */
    static byte[] normal(byte[] content) {
        return FILES.transformClass(FILES.parse(content), (builder, element) -> {
            if (!(element instanceof SourceFileAttribute)) {
                builder.with(element);
            }
        });
    }

    private static Set<String> mentioned(ClassModel model) {
        Set<String> names = new HashSet<>();
        for (PoolEntry entry : model.constantPool()) {
            if (entry instanceof Utf8Entry text) {
                Matcher matcher = NAME.matcher(text.stringValue());
                while (matcher.find()) {
                    names.add(matcher.group(1) == null ? matcher.group(2) : matcher.group(1));
                }
            }
        }
        return names;
    }

    /** Of a class that is neither of the JDK nor missing. */
    private static byte @Nullable [] content(String name) {
        if (name.startsWith("java/") || name.startsWith("jdk/") || name.startsWith("javax/")) {
            return null;
        }
        try (InputStream in = BuildFingerprint.class.getClassLoader().getResourceAsStream(name + ".class")) {
            return in == null ? null : in.readAllBytes();
        } catch (IOException cannot) {
            throw new UncheckedIOException("cannot read the class " + name, cannot);
        }
    }

    private static String room(String name) {
        return name.startsWith(OWN) ? name.substring(OWN.length(), name.indexOf('/', OWN.length())) : LIBRARIES;
    }

    private static byte[] digest(byte[] content) {
        return sha256().digest(content);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The first 64 bits of a SHA-256 over everything: the same wherever the class files lie, in jars or directories. */
    public String text() {
        MessageDigest all = sha256();
        rooms.forEach((room, digest) -> all.update((room + digest).getBytes(StandardCharsets.UTF_8)));
        return HexFormat.of().formatHex(all.digest(), 0, SHOWN_BYTES);
    }

    /** By room, and of all libraries together: the first 32 bits of what its classes add up to. */
    public Map<String, String> rooms() {
        return Map.copyOf(rooms);
    }

    /** Names of the classes that are in it, as class files have them. */
    Set<String> classes() {
        return classes;
    }

    /** The rooms whose classes differ from those of another build. */
    public List<String> differsIn(Map<String, String> other) {
        Set<String> all = new HashSet<>(rooms.keySet());
        all.addAll(other.keySet());
        List<String> differing = new ArrayList<>(all);
        differing.removeIf(room -> rooms.getOrDefault(room, "").equals(other.getOrDefault(room, "")));
        differing.sort(null);
        return differing;
    }
}
