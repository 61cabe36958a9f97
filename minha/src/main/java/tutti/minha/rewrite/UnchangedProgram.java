package tutti.minha.rewrite;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;
import tutti.minha.Program;

/**
 * A program that was compiled for the JDK, to be run in the simulation as it is. Each process gets classes of its own:
 *
 * <pre>{@code
 * UnchangedProgram hello = UnchangedProgram.of(List.of(Path.of("hello.jar")), "com.example.Hello");
 * machine.runFresh("hello", hello::newProcess, "peer");
 * }</pre>
 *
 * docs/simulation-library.md says what is rewritten, and what is not simulated: that throws
 * {@link UnsupportedOperationException} when the program comes to it, with the place and what to use instead.
 */
public final class UnchangedProgram {
    private final ClassLoader source;
    private final String mainClass;
    private final Rewriter rewriter = new Rewriter(this::original);
    private final Map<String, byte[]> rewritten = new ConcurrentHashMap<>();
    private long nanosPerTick = 3;

    private UnchangedProgram(ClassLoader source, String mainClass) {
        if (source.getResource(mainClass.replace('.', '/') + ".class") == null) {
            throw new IllegalArgumentException("class " + mainClass + " is not in the program's class path");
        }
        this.source = source;
        this.mainClass = mainClass;
    }

    /**
     * A program from a class path.
     *
     * @param classPath jars and directories
     * @param mainClass whose {@code main} is run
     * @throws IllegalArgumentException if a part of the class path does not exist, or the main class is not there
     */
    public static UnchangedProgram of(List<Path> classPath, String mainClass) {
        URL[] urls = classPath.stream().map(UnchangedProgram::url).toArray(URL[]::new);
        return new UnchangedProgram(new URLClassLoader(urls, ClassLoader.getPlatformClassLoader()), mainClass);
    }

    /** A program that a class loader can find, which is not used to load it. */
    public static UnchangedProgram of(ClassLoader source, String mainClass) {
        return new UnchangedProgram(source, mainClass);
    }

    private static URL url(Path path) {
        if (!Files.exists(path)) {
            throw new IllegalArgumentException(path + " in the class path does not exist");
        }
        try {
            return path.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(path + " in the class path is no file", e);
        }
    }

    /**
     * Sets what a bit of work costs: the code between one beginning of a method or of a round of a loop and the next. At
     * first it is 3 ns.
     *
     * @param nanos of a machine of speed 1; 0 if computing is to take no time
     */
    public UnchangedProgram withNanosPerTick(long nanos) {
        if (nanos < 0) {
            throw new IllegalArgumentException("a cost of " + nanos + " ns");
        }
        nanosPerTick = nanos;
        return this;
    }

    ClassLoader source() {
        return source;
    }

    private byte @Nullable [] original(String internalName) {
        try (InputStream in = source.getResourceAsStream(internalName + ".class")) {
            return in == null ? null : in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException("class " + internalName + " cannot be read", e);
        }
    }

    byte @Nullable [] rewritten(String internalName) {
        byte[] known = rewritten.get(internalName);
        if (known == null) {
            byte[] original = original(internalName);
            if (original == null) {
                return null;
            }
            known = rewriter.rewrite(original);
            rewritten.put(internalName, known);
        }
        return known;
    }

    /** The program for one process: its main method, of classes that nobody else has. */
    public Program newProcess() {
        ProcessLoader loader = new ProcessLoader(this);
        return arguments -> {
            long cost = nanosPerTick;
            var ticks = loader.ticks();
            Jvm.current().setWork(() -> ticks.getAsLong() * cost);
            tutti.minha.jdk.lang.Thread.currentThread().setContextClassLoader(loader);
            run(loader, arguments);
        };
    }

    private void run(ProcessLoader loader, String[] arguments) throws Exception {
        Method main = main(loader.loadClass(mainClass));
        main.setAccessible(true);
        try {
            Object target = null;
            if (!Modifier.isStatic(main.getModifiers())) {
                var constructor = main.getDeclaringClass().getDeclaredConstructor();
                constructor.setAccessible(true);
                target = constructor.newInstance();
            }
            if (main.getParameterCount() == 0) {
                main.invoke(target);
            } else {
                main.invoke(target, (Object) arguments);
            }
        } catch (InvocationTargetException e) {
            throw sneaky(e.getCause() == null ? e : e.getCause());
        }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> RuntimeException sneaky(Throwable e) throws E {
        throw (E) e;
    }

    private static Method main(Class<?> type) throws NoSuchMethodException {
        try {
            return type.getDeclaredMethod("main", String[].class);
        } catch (NoSuchMethodException e) {
            try {
                return type.getDeclaredMethod("main");
            } catch (NoSuchMethodException _) {
                throw e;
            }
        }
    }
}
