package tutti.minha.rewrite;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.Enumeration;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** Loads the classes of one process: those of the program rewritten and anew, the JDK's and the mirrors as they are. */
final class ProcessLoader extends ClassLoader {
    private static final String TICKS = Ticks.class.getName();
    private static final List<String> SHARED = List.of("java.", "javax.", "jdk.", "sun.", "com.sun.", "tutti.minha.",
            "tutti.sim.kernel.", "tutti.sim.thread.", "tutti.sim.host.", "tutti.sim.net.", "tutti.sim.disk.",
            "org.jspecify.");
    /** Programs, which are nobody's but the process's. */
    private static final String EXAMPLES = "tutti.minha.example.";

    static {
        registerAsParallelCapable();
    }

    private final UnchangedProgram program;

    ProcessLoader(UnchangedProgram program) {
        super("simulated", ProcessLoader.class.getClassLoader());
        this.program = program;
    }

    /** What counts the work of the process. */
    LongSupplier ticks() {
        try {
            return (LongSupplier) loadClass(TICKS).getConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the counter of a process cannot be made", e);
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            if (name.equals(TICKS)) {
                return define(name, ownBytes());
            }
            if (SHARED.stream().noneMatch(name::startsWith) || name.startsWith(EXAMPLES)) {
                byte[] rewritten = program.rewritten(name.replace('.', '/'));
                if (rewritten != null) {
                    return define(name, rewritten);
                }
                throw new ClassNotFoundException(name + " is neither in the program's class path nor in the JDK");
            }
            return super.loadClass(name, resolve);
        }
    }

    private Class<?> define(String name, byte[] bytes) {
        return defineClass(name, bytes, 0, bytes.length);
    }

    private static byte[] ownBytes() {
        try (InputStream in = ProcessLoader.class.getResourceAsStream(Ticks.class.getSimpleName() + ".class")) {
            if (in == null) {
                throw new IllegalStateException("the class file of " + TICKS + " is not where the others are");
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public @Nullable URL getResource(String name) {
        return program.source().getResource(name);
    }

    @Override
    public Enumeration<URL> getResources(String name) throws IOException {
        return program.source().getResources(name);
    }
}
