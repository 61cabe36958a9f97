package tutti.engine.procedure;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.MemberRefEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.Opcode;
import java.lang.reflect.AccessFlag;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Looks at the class files that a {@link StoredProcedure} consists of: its own, and all that it names and that are not Java's or Tutti's. They may use
 * of Java's library what comes to the same in every run on every machine, and keep nothing from one run to the next. Also makes the digest by which
 * nodes compare what they have.
 *
 * <p>
 * <b>What it cannot see</b>: what depends on the identity of objects, as the order of a hash map whose keys do not define {@code hashCode}. It is a guard
 * against oversights, not against an author who wants to get around it.
 */
final class ProcedureCheck {
    /** Most classes of one procedure. */
    private static final int CLASSES_MAX = 1000;
    private static final String CONSTRUCTOR = "<init>";
    /** Packages of Java's library that may be used, but for what is forbidden below. */
    private static final Set<String> PACKAGES = Set.of("java/lang", "java/math", "java/util", "java/util/function",
            "java/util/stream", "java/util/regex", "java/time", "java/time/format", "java/time/temporal",
            "java/time/chrono", "java/text", "java/nio/charset", "java/sql");
    /** What may be used of other packages: what compilers put in. */
    private static final Set<String> CLASSES = Set.of("java/lang/invoke/LambdaMetafactory",
            "java/lang/invoke/StringConcatFactory", "java/lang/invoke/MethodHandles",
            "java/lang/invoke/MethodHandles$Lookup", "java/lang/invoke/MethodHandle", "java/lang/invoke/MethodType",
            "java/lang/invoke/CallSite", "java/lang/invoke/TypeDescriptor", "java/lang/runtime/ObjectMethods",
            "java/lang/runtime/SwitchBootstraps", "java/lang/invoke/SerializedLambda", "java/io/Serializable",
            "java/lang/annotation/Annotation", "java/nio/ByteBuffer", "java/nio/ByteOrder");
    private static final Set<String> FORBIDDEN_CLASSES = Set.of("java/lang/Thread", "java/lang/ThreadLocal",
            "java/lang/InheritableThreadLocal", "java/lang/ThreadGroup", "java/lang/Runtime", "java/lang/Process",
            "java/lang/ProcessBuilder", "java/lang/ProcessHandle", "java/lang/ClassLoader", "java/lang/Module",
            "java/lang/ScopedValue", "java/lang/StackWalker", "java/util/Timer", "java/util/TimerTask",
            "java/util/ServiceLoader", "java/util/SplittableRandom", "java/util/ResourceBundle", "java/util/Scanner",
            "java/util/WeakHashMap", "java/util/IdentityHashMap", "java/sql/DriverManager", "java/sql/Connection");
    /** By class, names of members that may not be used, perhaps with their parameters. */
    private static final Map<String, Set<String>> FORBIDDEN = Map.ofEntries(
            Map.entry("java/lang/Math", Set.of("random")), Map.entry("java/lang/StrictMath", Set.of("random")),
            Map.entry("java/lang/Class", Set.of("forName", "getResource", "getResourceAsStream", "getClassLoader",
                    "getMethods", "getDeclaredMethods", "getMethod", "getDeclaredMethod", "getField",
                    "getDeclaredField", "getConstructor", "getDeclaredConstructor", "newInstance")),
            Map.entry("java/util/Random", Set.of(CONSTRUCTOR + "()")),
            Map.entry("java/util/UUID", Set.of("randomUUID")),
            Map.entry("java/util/Date", Set.of(CONSTRUCTOR + "()")),
            Map.entry("java/util/GregorianCalendar", Set.of(CONSTRUCTOR)),
            Map.entry("java/util/Calendar", Set.of("getInstance")),
            Map.entry("java/util/Locale", Set.of("getDefault", "setDefault")),
            Map.entry("java/util/TimeZone", Set.of("getDefault", "setDefault")),
            Map.entry("java/time/ZoneId", Set.of("systemDefault")),
            Map.entry("java/time/Clock",
                    Set.of("systemUTC", "system", "systemDefaultZone", "tickMillis", "tickMinutes", "tickSeconds")),
            Map.entry("java/util/Collections", Set.of("shuffle(Ljava/util/List;)")),
            Map.entry("java/util/Collection", Set.of("parallelStream")),
            Map.entry("java/util/Set", Set.of("of", "copyOf", "parallelStream")),
            Map.entry("java/util/Map", Set.of("of", "copyOf", "ofEntries")),
            Map.entry("java/util/List", Set.of("parallelStream")),
            Map.entry("java/util/ArrayList", Set.of("parallelStream")));
    /** Of any class. */
    private static final Set<String> FORBIDDEN_OF_ALL = Set.of("parallel", "identityHashCode");
    /** All that may be used of a class of which little may. */
    private static final Map<String, Set<String>> ALLOWED = Map.of("java/lang/System",
            Set.of("arraycopy", "lineSeparator"));
    private static final String TIME = "java/time/";

    private final ClassLoader loader;
    /** Bytes of class files by name, with slashes. */
    private final Map<String, byte[]> found = new TreeMap<>();
    private final Set<String> seen = new TreeSet<>();

    private ProcedureCheck(ClassLoader loader) {
        this.loader = loader;
    }

    /**
     * Looks at a class and those that it uses.
     *
     * @return the digest of all of them, as text of 32 characters
     * @throws IllegalArgumentException naming what it may not use, and what to use instead
     */
    static String digest(Class<?> procedure) {
        ClassLoader loader = procedure.getClassLoader();
        ProcedureCheck check = new ProcedureCheck(loader == null ? ClassLoader.getSystemClassLoader() : loader);
        try {
            check.look(procedure.getName().replace('.', '/'));
        } catch (IOException unreadable) {
            throw new IllegalArgumentException("the class file of " + procedure.getName() + " cannot be read: "
                    + unreadable.getMessage(), unreadable);
        }
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            check.found.values().forEach(digest::update);
            return Base64.getUrlEncoder().withoutPadding().encodeToString(digest.digest()).substring(0, 32);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private void look(String name) throws IOException {
        if (!seen.add(name)) {
            return;
        }
        byte[] bytes;
        try (InputStream file = loader.getResourceAsStream(name + ".class")) {
            if (file == null) {
                throw new IllegalArgumentException("class " + spelled(name) + " is not on the node's class path");
            }
            bytes = file.readAllBytes();
        }
        if (found.size() == CLASSES_MAX) {
            throw new IllegalArgumentException("it uses more than " + CLASSES_MAX + " classes of its own");
        }
        found.put(name, bytes);
        ClassModel model = ClassFile.of().parse(bytes);
        for (MethodModel method : model.methods()) {
            if (method.flags().has(AccessFlag.NATIVE)) {
                throw forbidden(name, "native methods", "write it in Java");
            }
            if (!method.methodName().equalsString("<clinit>")) {
                keepsNothing(name, method);
            }
        }
        for (PoolEntry entry : model.constantPool()) {
            if (entry instanceof MemberRefEntry member) {
                member(name, member);
            } else if (entry instanceof ClassEntry used) {
                used(name, used.asInternalName());
            }
        }
    }

    private static void keepsNothing(String name, MethodModel method) {
        method.code().ifPresent(code -> code.forEach(element -> {
            if (element instanceof FieldInstruction field && field.opcode() == Opcode.PUTSTATIC) {
                throw forbidden(name, "the static field " + field.name().stringValue()
                        + ", which it changes when it runs", "keep what lasts in tables");
            }
        }));
    }

    private void used(String name, String used) throws IOException {
        String element = element(used);
        if (element == null) {
            return;
        }
        if (!ofJava(element)) {
            if (!isOfTutti(element)) {
                look(element);
            }
            return;
        }
        String of = element.substring(0, element.lastIndexOf('/'));
        if (FORBIDDEN_CLASSES.contains(outer(element)) || (!PACKAGES.contains(of) && !CLASSES.contains(element))) {
            throw forbidden(name, spelled(element), "a procedure works on its arguments and its transaction");
        }
    }

    /** Tutti's own classes are the same at all nodes of a release; procedures may only know those of this package. */
    private static boolean isOfTutti(String element) {
        return element.startsWith("org/jspecify/")
                || element.startsWith(ProcedureCheck.class.getPackageName().replace('.', '/') + "/Procedure")
                || element.equals(StoredProcedure.class.getName().replace('.', '/'));
    }

    private static boolean ofJava(String element) {
        return element.startsWith("java/") || element.startsWith("javax/") || element.startsWith("jdk/")
                || element.startsWith("sun/") || element.startsWith("com/sun/");
    }

    private static String outer(String element) {
        int inner = element.indexOf('$');
        return inner < 0 ? element : element.substring(0, inner);
    }

    /** Of what an array consists, or null if that is no class. */
    private static @Nullable String element(String used) {
        int at = used.lastIndexOf('[') + 1;
        return at == 0 ? used : used.charAt(at) == 'L' ? used.substring(at + 1, used.length() - 1) : null;
    }

    private static void member(String name, MemberRefEntry member) {
        String owner = member.owner().asInternalName();
        if (!ofJava(owner)) {
            return;
        }
        String called = member.name().stringValue();
        String type = member.type().stringValue();
        String with = type.startsWith("(") ? called + type.substring(0, type.indexOf(')') + 1) : called;
        Set<String> allowed = ALLOWED.get(owner);
        Set<String> not = FORBIDDEN.getOrDefault(owner, Set.of());
        boolean now = owner.startsWith(TIME) && called.equals("now");
        if ((allowed != null && !allowed.contains(called)) || not.contains(called) || not.contains(with) || now
                || FORBIDDEN_OF_ALL.contains(called)) {
            throw forbidden(name, spelled(owner) + (called.equals(CONSTRUCTOR) ? "()" : "." + called),
                    now || owner.equals("java/util/Date")
                            ? "take ProcedureCall.submitted()"
                            : not.contains("of")
                                    ? "its order differs from process to process: take a LinkedHashMap or LinkedHashSet"
                                    : "take ProcedureCall's random(n), uuid(n) or submitted(), and nothing that a machine or process has of its own");
        }
    }

    private static String spelled(String name) {
        return name.replace('/', '.').replace('$', '.');
    }

    private static IllegalArgumentException forbidden(String name, String what, String instead) {
        return new IllegalArgumentException("class " + spelled(name) + " uses " + what
                + ", and so may come out differently in another run, or at another node: " + instead);
    }
}
