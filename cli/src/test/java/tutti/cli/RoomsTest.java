package tutti.cli;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.conditions.ArchConditions;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The arrows between the rooms, as docs/decisions/0001-rooms.md draws them. */
class RoomsTest {
    /** In whichever directory they were compiled to, and in jars that tests share. */
    private static final ImportOption NO_TESTS = from -> !from.contains("/test-classes/")
            && !from.contains("-tests.jar");
    private static final JavaClasses TUTTI = new ClassFileImporter().withImportOption(NO_TESTS)
            .importPackages("tutti");

    static Set<String> rooms() {
        return Rooms.MAY_USE.keySet();
    }

    @ParameterizedTest
    @MethodSource("rooms")
    void aRoomUsesOnlyWhatItMay(String room) {
        assertFalse(TUTTI.that(inRoom(room)).isEmpty(), "there are classes to look at");
        arrows(room, Rooms.MAY_USE.get(room)).check(TUTTI);
    }

    private static ArchRule arrows(String room, Set<String> mayUse) {
        DescribedPredicate<JavaClass> elsewhere = describe("lie in a room that " + room + " may not use",
                used -> used.getPackageName().startsWith("tutti.") && !room(used).equals(room)
                        && !mayUse.contains(room(used)));
        return noClasses().that(inRoom(room)).should().dependOnClassesThat(elsewhere)
                .because("docs/decisions/0001-rooms.md says so");
    }

    @Test
    void anArrowInTheWrongDirectionWouldBeFound() {
        assertThrows(AssertionError.class, () -> arrows("order", Set.of()).check(TUTTI));
    }

    @Test
    void onlyScenariosInTheSimulatorUseWorkloadsAndCheckers() {
        noClasses().that().resideInAPackage("tutti.sim..").and()
                .resideOutsideOfPackage("tutti.sim.world..").should().dependOnClassesThat()
                .resideInAnyPackage("tutti.workload..", "tutti.check..")
                .because("docs/decisions/0001-rooms.md says so").check(TUTTI);
    }

    @Test
    void thereAreNoCyclesBetweenPackages() {
        SlicesRuleDefinition.slices().assignedFrom(PACKAGES).should().beFreeOfCycles().check(TUTTI);
    }

    /**
     * Packages, with one exception: the mirrors of JDK classes in {@code minha} have the JDK's packages, and with these the
     * cycles that the JDK has between them, and with its process, whose threads and sockets they are.
     */
    private static final SliceAssignment PACKAGES = new SliceAssignment() {
        @Override
        public SliceIdentifier getIdentifierOf(JavaClass of) {
            String name = of.getPackageName();
            if (!name.startsWith("tutti.")) {
                return SliceIdentifier.ignore();
            }
            return SliceIdentifier.of(name.startsWith("tutti.minha.jdk.") ? "tutti.minha" : name);
        }

        @Override
        public String getDescription() {
            return "packages";
        }
    };

    @Test
    void noRoomIsForgotten() {
        for (JavaClass found : TUTTI) {
            if (!Rooms.MAY_USE.containsKey(room(found))) {
                throw new AssertionError(found.getName() + " lies in a room that this test does not know");
            }
        }
    }

    @Test
    void coreAndGroupCommunicationArePure() {
        purity("core").check(TUTTI);
        purity("group").check(TUTTI);
        purity("grid", inPackages("tutti.grid.multicast", "tutti.grid.genuine", "tutti.grid.view", "tutti.grid.store",
                "tutti.grid.commit"))
                .check(TUTTI);
        assertThrows(AssertionError.class, () -> purity("node").check(TUTTI), "an impure room would be found");
    }

    /** No threads, no clocks, no input or output, no randomness: the same code runs in the simulator. */
    private static ArchRule purity(String room) {
        return purity(room, inRoom(room));
    }

    private static ArchRule purity(String room, DescribedPredicate<JavaClass> of) {
        Set<String> packages = Set.of("java.lang", "java.lang.annotation", "java.lang.invoke", "java.lang.reflect",
                "java.lang.runtime",
                "java.util", "java.util.function", "java.util.regex", "java.util.stream", "java.nio",
                "java.nio.charset", "java.math",
                "org.jspecify.annotations", "");
        Set<String> impure = Set.of("java.lang.Thread", "java.lang.ThreadLocal", "java.lang.Process",
                "java.lang.ProcessBuilder", "java.lang.ProcessHandle", "java.lang.Runtime", "java.lang.ScopedValue",
                "java.util.Random", "java.util.SplittableRandom", "java.util.UUID", "java.util.Timer",
                "java.util.Date", "java.util.Scanner", "java.nio.MappedByteBuffer");
        Set<String> pure = Set.of("java.util.zip.CRC32C");
        DescribedPredicate<JavaClass> allowed = describe("are pure", used -> {
            String name = used.getBaseComponentType().getName();
            String owner = room(used.getBaseComponentType());
            return owner.equals(room) || owner.equals("core") || pure.contains(name)
                    || (packages.contains(used.getBaseComponentType().getPackageName()) && !impure.contains(name));
        });
        return classes().that(of).should().onlyDependOnClassesThat(allowed).andShould(
                ArchConditions.not(
                        ArchConditions.callMethodWhere(describe(
                                "reads a clock or draws a number",
                                call -> Set.of("nanoTime", "currentTimeMillis", "random", "identityHashCode")
                                        .contains(call.getTarget().getName())
                                        && call.getTargetOwner().getPackageName().equals("java.lang")))));
    }

    @Test
    void whatDecidesRunsOnTheSeam() {
        onTheSeam(inRoom("order")).check(TUTTI);
        onTheSeam(inRoom("bookkeeper")).check(TUTTI);
        // Recorders that any thread may use: what they hold a lock for is short, and waits for nothing.
        onTheSeam(inRoom("node"), Set.of("java.util.concurrent.locks.ReentrantLock")).check(TUTTI);
        onTheSeam(inPackages("tutti.grid", "tutti.grid.multicast", "tutti.grid.view", "tutti.grid.store",
                "tutti.grid.commit", "tutti.grid.node")).check(TUTTI);
        for (String real : Set.of("runtime", "engine")) {
            assertThrows(AssertionError.class, () -> onTheSeam(inRoom(real)).check(TUTTI),
                    "what is real would be found");
        }
    }

    /**
     * No threads and nothing that blocks one, no clocks, files, sockets or random numbers but those of {@code tutti.runtime}:
     * the same code runs on a simulated machine.
     */
    private static ArchRule onTheSeam(DescribedPredicate<JavaClass> of) {
        return onTheSeam(of, Set.of());
    }

    private static ArchRule onTheSeam(DescribedPredicate<JavaClass> of, Set<String> allowed) {
        Set<String> outside = Set.of("java.nio.file", "java.nio.channels", "java.util.concurrent.locks",
                "java.util.random",
                "java.lang.foreign", "javax.net", "javax.net.ssl");
        Set<String> concurrent = Set.of("ConcurrentHashMap", "ConcurrentSkipListMap", "ConcurrentLinkedQueue",
                "ConcurrentLinkedDeque", "CopyOnWriteArrayList", "TimeUnit", "Executor", "CompletableFuture",
                "CompletionStage", "CompletionException", "ConcurrentMap");
        Set<String> io = Set.of("IOException", "UncheckedIOException", "Closeable", "Serializable", "EOFException",
                "ByteArrayInputStream", "ByteArrayOutputStream", "DataInputStream", "DataOutputStream", "DataInput",
                "DataOutput", "InputStream", "OutputStream", "ObjectStreamException");
        Set<String> net = Set.of("InetSocketAddress", "InetAddress", "URI");
        Set<String> forbidden = Set.of("java.lang.Thread", "java.lang.Thread$Builder", "java.lang.ThreadLocal",
                "java.lang.Process", "java.lang.ProcessBuilder", "java.lang.ProcessHandle", "java.lang.Runtime",
                "java.lang.ScopedValue", "java.security.SecureRandom", "java.util.SplittableRandom", "java.util.Timer");
        DescribedPredicate<JavaClass> bypasses = describe("bypass tutti.runtime", used -> {
            JavaClass type = used.getBaseComponentType();
            String within = type.getPackageName();
            String simple = type.getName().substring(type.getName().lastIndexOf('.') + 1).split("\\$", -1)[0];
            return !allowed.contains(type.getName())
                    && (forbidden.contains(type.getName()) || within.startsWith("io.netty")
                            || within.startsWith("tutti.runtime.")
                            || (outside.contains(within) && !type.getName().equals("java.util.random.RandomGenerator"))
                            || (within.equals("java.util.concurrent") && !concurrent.contains(simple))
                            || (within.equals("java.io") && !io.contains(simple))
                            || (within.equals("java.net") && !net.contains(simple)));
        });
        DescribedPredicate<JavaAccess<?>> calls = describe("reads a clock, draws a number or waits", call -> {
            String owner = call.getTargetOwner().getName();
            String name = call.getTarget().getName();
            return switch (owner) {
                case "java.lang.System" ->
                    Set.of("nanoTime", "currentTimeMillis", "identityHashCode", "exit").contains(name);
                case "java.lang.Math", "java.lang.StrictMath" -> name.equals("random");
                case "java.lang.Object" ->
                    name.startsWith("wait") || name.startsWith("notify") || name.equals("hashCode");
                case "java.util.Random" -> name.equals("<init>");
                case "java.util.UUID" -> name.equals("randomUUID");
                case "java.util.concurrent.CompletableFuture" -> Set.of("get", "join", "orTimeout", "completeOnTimeout",
                        "delayedExecutor").contains(name) || name.endsWith("Async");
                default -> owner.startsWith("java.time.") && (name.equals("now") || name.startsWith("system"));
            };
        });
        return noClasses().that(of).should().dependOnClassesThat(bypasses)
                .orShould(ArchConditions.accessTargetWhere(calls)).because("docs/decisions/0001-rooms.md says so");
    }

    private static DescribedPredicate<JavaClass> inRoom(String room) {
        return describe("lie in " + room, found -> room(found).equals(room));
    }

    private static DescribedPredicate<JavaClass> inPackages(String... names) {
        return describe("lie in " + String.join(", ", names), found -> Set.of(names).contains(found.getPackageName()));
    }

    /** The second part of the package name of our own classes; empty for others. */
    private static String room(JavaClass of) {
        String name = of.getPackageName();
        if (!name.startsWith("tutti.")) {
            return "";
        }
        int end = name.indexOf('.', "tutti.".length());
        return name.substring("tutti.".length(), end < 0 ? name.length() : end);
    }
}
