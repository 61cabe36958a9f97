package tutti.sim.world;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.function.Consumer;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tutti.core.protocol.Protocols;
import tutti.core.spi.Engine;
import tutti.node.ReplicaNode;
import tutti.order.raft.RaftOrder;
import tutti.sim.fault.FaultProfile;

class BuildFingerprintTest {
    private static final String CODE = "class Some { int twice(int count) { int sum = count + count; return sum; } }";

    private static final List<String> ALL = Protocols.STANDARD.names();

    @TempDir
    private Path directory = Path.of("");

    private byte[] compiled(String code, String... options) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileObject source = new SimpleJavaFileObject(URI.create("string:///Some.java"),
                JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreErrors) {
                return code;
            }
        };
        List<String> all = new ArrayList<>(List.of("-d", directory.toString()));
        all.addAll(Arrays.asList(options));
        assertTrue(compiler.getTask(null, null, null, all, null, List.of(source)).call());
        return Files.readAllBytes(directory.resolve("Some.class"));
    }

    private byte[] normal(String code, String... options) throws IOException {
        return BuildFingerprint.normal(compiled(code, options));
    }

    @Test
    void commentsNamesOfVariablesAndWhatIsKeptForDebuggersDoNotCount() throws IOException {
        byte[] before = normal(CODE, "-g");
        assertFalse(Arrays.equals(compiled(CODE, "-g"), compiled("/* A comment. */\n\n" + CODE, "-g")));
        assertArrayEquals(before, normal("/* A comment. */\n\n" + CODE, "-g"));
        assertArrayEquals(before, normal(CODE.replace("sum", "all"), "-g"));
        assertArrayEquals(before, normal(CODE, "-g:none"));
    }

    @Test
    void whatRunsCounts() throws IOException {
        assertFalse(Arrays.equals(normal(CODE), normal(CODE.replace("+", "-"))));
    }

    /** Loads what is Tutti's or MicroRaft's itself, and notes what that is. */
    private static final class Noting extends ClassLoader {
        private final Set<String> loaded = new ConcurrentSkipListSet<>();

        Noting() {
            super(Noting.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("tutti.") && !name.startsWith("io.microraft.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> found = findLoadedClass(name);
                if (found != null) {
                    return found;
                }
                String file = name.replace('.', '/');
                try (InputStream in = getParent().getResourceAsStream(file + ".class")) {
                    if (in == null) {
                        throw new ClassNotFoundException(name);
                    }
                    byte[] content = in.readAllBytes();
                    loaded.add(file);
                    return defineClass(name, content, 0, content.length);
                } catch (IOException unreadable) {
                    throw new ClassNotFoundException(name, unreadable);
                }
            }
        }
    }

    /** Runs scenarios of protocols; loaded by {@link Noting}. */
    public static final class Runs implements Consumer<List<String>> {
        /** For {@link Noting}. */
        public Runs() {}

        @Override
        public void accept(List<String> protocols) {
            for (Scenario.OrderKind order : Scenario.OrderKind.values()) {
                for (String protocol : protocols) {
                    ScenarioRun.run(Scenario.random(7, Protocols.STANDARD.descriptor(protocol), Map.of(), order, 100,
                            FaultProfile.parse("all,rare,disks,rows,beyond,parameters")));
                }
            }
        }
    }

    /** Lists protocols and nothing else; loaded by {@link Noting}. */
    public static final class Lists implements Consumer<List<String>> {
        /** For {@link Noting}. */
        public Lists() {}

        @Override
        public void accept(List<String> protocols) {
            protocols.forEach(Protocols.STANDARD::descriptor);
            try {
                Class.forName(Protocols.class.getPackageName() + ".Snapshots", true, getClass().getClassLoader());
            } catch (ClassNotFoundException missing) {
                throw new IllegalStateException(missing);
            }
        }
    }

    /** What is loaded for these protocols. */
    @SuppressWarnings("unchecked")
    private static Set<String> loaded(Class<? extends Consumer<List<String>>> what, List<String> protocols)
            throws ReflectiveOperationException {
        Noting loader = new Noting();
        ((Consumer<List<String>>) loader.loadClass(what.getName()).getConstructor().newInstance()).accept(protocols);
        Set<String> all = new TreeSet<>(loader.loaded);
        all.remove(what.getName().replace('.', '/'));
        return all;
    }

    @Test
    void nothingThatScenariosLoadIsMissing() throws ReflectiveOperationException {
        Set<String> missing = loaded(Runs.class, ALL);
        assertTrue(missing.contains(RaftOrder.class.getName().replace('.', '/')));
        missing.removeAll(new BuildFingerprint().classes());
        assertEquals(Set.of(), missing);
    }

    @Test
    void ofOneProtocolOnlyWhatListsTheOthersIsMissing() throws ReflectiveOperationException {
        List<String> one = List.of(Protocols.DEFAULT);
        BuildFingerprint its = new BuildFingerprint(one);
        Set<String> missing = loaded(Runs.class, one);
        missing.removeAll(its.classes());
        missing.removeAll(loaded(Lists.class, one));
        assertEquals(Set.of(), missing);
        assertNotEquals(new BuildFingerprint().text(), its.text());
        assertTrue(its.classes().contains("tutti/core/protocol/SnapshotIsolation"));
        assertFalse(its.classes().contains("tutti/core/protocol/Hybrid"), "Hybrid is in it");
    }

    @Test
    void whatScenariosDoNotReachIsNotInIt() {
        BuildFingerprint all = new BuildFingerprint();
        assertTrue(all.classes().contains(ReplicaNode.class.getName().replace('.', '/')));
        assertFalse(all.classes().stream().anyMatch(name -> name.startsWith("tutti/runtime/real/")
                || name.startsWith("tutti/sim/world/mutant/") || name.endsWith("Test")), all.classes()::toString);
    }

    @Test
    void itSaysWhichRoomsDiffer() {
        BuildFingerprint few = new BuildFingerprint(List.of(Engine.class), ALL);
        assertEquals(few.text(), new BuildFingerprint(List.of(Engine.class), ALL).text());
        assertNotEquals(few.text(), new BuildFingerprint(List.of(Engine.class, ReplicaNode.class), ALL).text());
        Map<String, String> other = new TreeMap<>(few.rooms());
        assertEquals(List.of(), few.differsIn(other));
        other.put("core", "0");
        other.put("node", "0");
        assertEquals(List.of("core", "node"), few.differsIn(other));
    }
}
