package tutti.minha.jdk.lang;

import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;
import tutti.minha.Jvm;

/**
 * The mirror of {@link java.lang.System}: time, output and the end are those of the simulated process; the rest is the
 * JDK's. System properties and the environment are shared with the real process.
 */
@SuppressWarnings("JavaLangClash")
public final class System {
    /** The output of whichever process prints. */
    public static final PrintStream out = new PrintStream(new Output(false), false, StandardCharsets.UTF_8);
    /** The error output of whichever process prints. */
    public static final PrintStream err = new PrintStream(new Output(true), false, StandardCharsets.UTF_8);
    /** At its end. */
    public static final InputStream in = InputStream.nullInputStream();

    private System() {}

    private static final class Output extends OutputStream {
        private final boolean errors;

        Output(boolean errors) {
            this.errors = errors;
        }

        private PrintStream stream() {
            return errors ? Jvm.current().err() : Jvm.current().out();
        }

        @Override
        public void write(int b) {
            stream().write(b);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            stream().write(bytes, offset, length);
        }
    }

    /** Nanoseconds of the machine's clock. */
    public static long nanoTime() {
        return Jvm.current().nanoTime();
    }

    /** Milliseconds since the beginning of 1970 by the machine's clock. */
    public static long currentTimeMillis() {
        return Jvm.current().currentTimeMillis();
    }

    /** Ends the process. */
    public static void exit(int status) {
        Jvm.current().exit(status);
    }

    /** Without effect. */
    public static void gc() {
        // Memory is the real process's business.
    }

    /** A number that is the same in each run, unlike the JDK's. */
    public static int identityHashCode(@Nullable Object of) {
        return Identity.hashCode(of);
    }

    /** See {@link java.lang.System#arraycopy}. */
    public static void arraycopy(Object from, int fromIndex, Object to, int toIndex, int length) {
        java.lang.System.arraycopy(from, fromIndex, to, toIndex, length);
    }

    /** See {@link java.lang.System#lineSeparator}; the same on all systems here. */
    public static String lineSeparator() {
        return "\n";
    }

    /** See {@link java.lang.System#getProperty(String)}. */
    public static @Nullable String getProperty(String name) {
        return java.lang.System.getProperty(name);
    }

    /** See {@link java.lang.System#getProperty(String, String)}. */
    public static String getProperty(String name, String otherwise) {
        return java.lang.System.getProperty(name, otherwise);
    }

    /** See {@link java.lang.System#setProperty}. */
    public static @Nullable String setProperty(String name, String value) {
        return java.lang.System.setProperty(name, value);
    }

    /** See {@link java.lang.System#getProperties}. */
    public static Properties getProperties() {
        return java.lang.System.getProperties();
    }

    /** See {@link java.lang.System#getenv(String)}. */
    public static @Nullable String getenv(String name) {
        return java.lang.System.getenv(name);
    }

    /** See {@link java.lang.System#getenv()}. */
    public static Map<String, String> getenv() {
        return java.lang.System.getenv();
    }
}
