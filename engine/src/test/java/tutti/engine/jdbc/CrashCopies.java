package tutti.engine.jdbc;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.hsqldb.Database;
import org.hsqldb.jdbc.JDBCConnection;
import org.hsqldb.lib.FileAccess;
import org.hsqldb.persist.HsqlProperties;
import org.hsqldb.persist.Log;
import org.hsqldb.persist.Logger;

/**
 * What a crash would leave of an HSQLDB database, before each operation on its files. One is done at a time; the log may grow
 * meanwhile.
 */
final class CrashCopies {
    /**
     * A copy.
     *
     * @param files path of the database in it
     * @param least what a caller's counter was before
     */
    record Copy(Path files, long least, String operation) {}

    private final Path from;
    private final Path to;
    private final LongSupplier least;
    private final List<Copy> copies = new ArrayList<>();

    private CrashCopies(Path from, Path to, LongSupplier least) {
        this.from = from;
        this.to = to;
        this.least = least;
    }

    /**
     * Looks over a database's shoulder from now on.
     *
     * @param database whose files are alone in their directory
     * @param to an empty directory
     * @param least noted with each copy
     */
    static CrashCopies of(EmbeddedDatabase database, Path to, LongSupplier least) throws Exception {
        Database hsqldb = hsqldb(database);
        CrashCopies copies = new CrashCopies(Path.of(hsqldb.getPath()).getParent(), to, least);
        Field log = Logger.class.getDeclaredField("log");
        log.setAccessible(true);
        watch(Log.class, "fa", log.get(hsqldb.logger), copies);
        watch(Logger.class, "fileAccess", hsqldb.logger, copies);
        watch(HsqlProperties.class, "fa", hsqldb.getProperties(), copies);
        return copies;
    }

    private static Database hsqldb(EmbeddedDatabase database) throws SQLException {
        try (EmbeddedDatabase.Session session = database.openClient()) {
            return ((org.hsqldb.Session) ((JDBCConnection) session.connection()).getSession()).getDatabase();
        }
    }

    /** Has files that HSQLDB begins to write from now on written through something; they are not synced. */
    static void writeThrough(EmbeddedDatabase database, String ending, UnaryOperator<OutputStream> through)
            throws SQLException {
        writeThrough(database, ending, through, () -> {});
    }

    /** Likewise, and synced by something else. */
    static void writeThrough(EmbeddedDatabase database, String ending, UnaryOperator<OutputStream> through,
            FileAccess.FileSync sync) throws SQLException {
        Logger logger = hsqldb(database).logger;
        FileAccess real = logger.fileAccess;
        List<OutputStream> ours = new ArrayList<>();
        logger.fileAccess = (FileAccess) Proxy.newProxyInstance(FileAccess.class.getClassLoader(),
                new Class<?>[]{FileAccess.class}, (_, method, arguments) -> {
                    try {
                        if (method.getName().equals("getFileSync") && ours.contains(arguments[0])) {
                            return sync;
                        }
                        Object result = method.invoke(real, arguments);
                        if (result instanceof OutputStream out && arguments[0].toString().endsWith(ending)) {
                            ours.add(through.apply(out));
                            return ours.getLast();
                        }
                        return result;
                    } catch (InvocationTargetException failed) {
                        throw failed.getCause();
                    }
                });
    }

    private static void watch(Class<?> declaring, String called, Object object, CrashCopies copies)
            throws Exception {
        Field field = declaring.getDeclaredField(called);
        field.setAccessible(true);
        FileAccess real = (FileAccess) field.get(object);
        field.set(object, Proxy.newProxyInstance(FileAccess.class.getClassLoader(), new Class<?>[]{FileAccess.class},
                (_, method, arguments) -> {
                    Predicate<String> reads = name -> name.startsWith("is") || name.startsWith("get")
                            || name.startsWith("openInput");
                    if (!reads.test(method.getName())) {
                        copies.take(method.getName() + " " + arguments[0]);
                    }
                    try {
                        return method.invoke(real, arguments);
                    } catch (InvocationTargetException failed) {
                        throw failed.getCause();
                    }
                }));
    }

    private synchronized void take(String operation) {
        long before = least.getAsLong();
        Path copy = to.resolve(Integer.toString(copies.size()));
        try (Stream<Path> files = Files.list(from)) {
            Files.createDirectory(copy);
            for (Path file : files.toList()) {
                String name = file.getFileName().toString();
                if (Files.isRegularFile(file) && !name.endsWith(".lck")) {
                    try (OutputStream out = Files.newOutputStream(copy.resolve(name))) {
                        Files.copy(file, out);
                    }
                }
            }
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
        copies.add(new Copy(copy.resolve("db"), before, operation));
    }

    /** Those so far. */
    synchronized List<Copy> all() {
        return List.copyOf(copies);
    }
}
