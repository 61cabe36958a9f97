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

    /** Runs scenarios; loaded by {@link Noting}. */
    public static final class Runs implements Runnable {
        /** For {@link Noting}. */
        public Runs() {}

        @Override
        public void run() {
            for (Scenario.OrderKind order : Scenario.OrderKind.values()) {
                for (String protocol : Protocols.STANDARD.names()) {
                    ScenarioRun.run(Scenario.random(7, Protocols.STANDARD.descriptor(protocol), Map.of(), order, 100,
                            FaultProfile.parse("all,rare,disks,rows,beyond,parameters")));
                }
            }
        }
    }

    @Test
    void nothingThatScenariosLoadIsMissing() throws ReflectiveOperationException {
        Noting loader = new Noting();
        ((Runnable) loader.loadClass(Runs.class.getName()).getConstructor().newInstance()).run();
        Set<String> missing = new TreeSet<>(loader.loaded);
        missing.removeAll(new BuildFingerprint().classes());
        missing.remove(Runs.class.getName().replace('.', '/'));
        assertEquals(Set.of(), missing);
        assertTrue(loader.loaded.contains(RaftOrder.class.getName().replace('.', '/')));
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
        BuildFingerprint few = new BuildFingerprint(List.of(Engine.class));
        assertEquals(few.text(), new BuildFingerprint(List.of(Engine.class)).text());
        assertNotEquals(few.text(), new BuildFingerprint(List.of(Engine.class, ReplicaNode.class)).text());
        Map<String, String> other = new TreeMap<>(few.rooms());
        assertEquals(List.of(), few.differsIn(other));
        other.put("core", "0");
        other.put("node", "0");
        assertEquals(List.of("core", "node"), few.differsIn(other));
    }
}
