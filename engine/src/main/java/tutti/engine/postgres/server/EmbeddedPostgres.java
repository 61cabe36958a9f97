package tutti.engine.postgres.server;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.ClosedWatchServiceException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.engine.postgres.server.ServerException.Kind;

/**
 * One running PostgreSQL server on this machine, started by {@link #start} on a data directory that is made if it is not
 * there. It is a child of this process and in its process group, so that what ends the group ends the server too; a
 * server that outlived its parent all the same is ended before a new one is started on its data.
 *
 * <p>
 * Methods block; they may be called from any thread, one at a time.
 */
public final class EmbeddedPostgres implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EmbeddedPostgres.class);
    /** What sessions are given to end, when the server is stopped. */
    private static final Duration STOP_TIMEOUT = Duration.ofSeconds(30);
    /** So often it is told that a server still recovers, or still writes its last checkpoint. */
    private static final Duration TOLD_EVERY = Duration.ofSeconds(10);
    private static final long LOG_LIMIT_BYTES = 16L << 20;
    private static final Duration LOG_LOOKED_AT_EVERY = Duration.ofSeconds(1);
    private static final int LAST_WORDS_BYTES = 4000;
    private static final String SETTINGS_FILE = "tutti.conf";
    /** In the control file, where the state of the database is, in 4 bytes as the machine has them. */
    private static final int CONTROL_STATE_AT = 16;
    /** States from that of a database that was shut down to that of one whose last checkpoint is being written. */
    private static final int CONTROL_SHUT_DOWN = 1;
    private static final int CONTROL_SHUTTING_DOWN = 3;

    private final ServerConfiguration configuration;
    private final Process process;
    private final FileChannel lock;

    private EmbeddedPostgres(ServerConfiguration configuration, Process process, FileChannel lock) {
        this.configuration = configuration;
        this.process = process;
        this.lock = lock;
    }

    /** Starts a server, as below, and waits for as long as it takes. */
    public static EmbeddedPostgres start(ServerConfiguration configuration) throws IOException, InterruptedException {
        return start(configuration, new CompletableFuture<>(), _ -> {});
    }

    /**
     * Starts a server and waits until it takes connections. After a crash it recovers first, for as long as that takes: ended, it would
     * begin again from the same place.
     *
     * @param givenUp completed when nobody waits for it any more; then it is ended
     * @param recovers told while it recovers, every ten seconds, what the server has said last
     * @throws ServerException if it cannot, or was given up; nothing is left running
     */
    public static EmbeddedPostgres start(ServerConfiguration configuration, CompletableFuture<?> givenUp,
            Consumer<String> recovers) throws IOException, InterruptedException {
        Path data = configuration.dataDirectory();
        Files.createDirectories(data.getParent());
        FileChannel lock = lock(configuration);
        boolean started = false;
        try {
            initialise(configuration);
            endOrphans(data);
            writeSettings(configuration);
            EmbeddedPostgres server = launch(configuration, lock, givenUp, recovers);
            started = true;
            return server;
        } finally {
            if (!started) {
                lock.close();
            }
        }
    }

    /** Makes the data directory if it is not there. A half made one is never mistaken for a whole one. */
    static void initialise(ServerConfiguration configuration) throws IOException, InterruptedException {
        Path data = configuration.dataDirectory();
        if (Files.exists(data.resolve("PG_VERSION"))) {
            return;
        }
        if (Files.exists(data)) {
            try (Stream<Path> entries = Files.list(data)) {
                if (entries.findAny().isPresent()) {
                    throw new ServerException(Kind.DATA_DAMAGED, data
                            + " is neither empty nor a PostgreSQL data directory; give another directory or empty it");
                }
            }
            Files.delete(data);
        }
        Path making = data.resolveSibling(data.getFileName() + ".making");
        Path password = data.resolveSibling(data.getFileName() + ".password");
        ServerBinaries.deleteRecursively(making);
        try {
            Files.writeString(password, configuration.password() + "\n");
            run(configuration, "initdb", "-D", making.toString(), "-U", configuration.superuser(), "--pwfile",
                    password.toString(), "--auth=scram-sha-256", "--no-sync", "--encoding=UTF8", "--locale=C",
                    "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--data-checksums", "--no-instructions");
            Files.writeString(making.resolve("postgresql.conf"), "\ninclude '" + SETTINGS_FILE + "'\n",
                    StandardOpenOption.APPEND);
            run(configuration, "initdb", "-D", making.toString(), "--sync-only");
            Files.move(making, data, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(password);
            ServerBinaries.deleteRecursively(making);
        }
    }

    private static void run(ServerConfiguration configuration, String program, String... arguments)
            throws IOException, InterruptedException {
        Process process = configuration.binaries().command(program, List.of(arguments)).redirectErrorStream(true)
                .start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (!process.waitFor(configuration.timeout().toNanos(), TimeUnit.NANOSECONDS)) {
            process.destroyForcibly();
            throw new ServerException(Kind.TIMEOUT, program + " did not end within " + configuration.timeout());
        }
        if (process.exitValue() != 0) {
            throw ServerException.explain(
                    program + " failed with status " + process.exitValue() + " on " + configuration.dataDirectory(),
                    said);
        }
    }

    /**
     * Executes statements in a server that is alone with its user, who is a superuser and needs no password, while none runs on the
     * data: the way in when no role can log in any more.
     *
     * @param statements of one line, in the database postgres
     * @throws ServerException if they fail
     */
    public static void executeAlone(ServerConfiguration configuration, String statements)
            throws IOException, InterruptedException {
        try (FileChannel _ = lock(configuration)) {
            endOrphans(configuration.dataDirectory());
            ProcessBuilder command = configuration.binaries().command("postgres",
                    List.of("--single", "-D", configuration.dataDirectory().toString(), "postgres"));
            Process process = command.redirectErrorStream(true).start();
            try (var in = process.getOutputStream()) {
                in.write((statements + "\n").getBytes(StandardCharsets.UTF_8));
            }
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0 || said.contains("ERROR:") || said.contains("FATAL:")) {
                throw ServerException.explain("PostgreSQL alone refuses on " + configuration.dataDirectory(), said);
            }
        }
    }

    private static FileChannel lock(ServerConfiguration configuration) throws IOException {
        Path data = configuration.dataDirectory();
        FileChannel channel = FileChannel.open(data.resolveSibling(data.getFileName() + ".lock"),
                StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            if (channel.tryLock() != null) {
                return channel;
            }
        } catch (OverlappingFileLockException here) {
            LOG.debug("{} is locked by this process", data, here);
        }
        channel.close();
        throw new ServerException(Kind.DATA_IN_USE,
                "another process runs a server on " + data + "; stop it, or give another data directory");
    }

    /** Ends what is left of a server whose parent died: nobody else may run one here, we hold the lock. */
    private static void endOrphans(Path data) throws IOException, InterruptedException {
        Path real = data.toRealPath();
        List<ProcessHandle> orphans = ProcessHandle.allProcesses().filter(process -> runsIn(process, real)).toList();
        if (!orphans.isEmpty()) {
            LOG.warn("{} processes of an earlier server still run in {}: ending them", orphans.size(), data);
            for (ProcessHandle orphan : orphans) {
                signal("QUIT", orphan.pid());
            }
            for (ProcessHandle orphan : orphans) {
                await(orphan, orphan.onExit());
            }
        }
        Files.deleteIfExists(data.resolve("postmaster.pid"));
    }

    private static void await(ProcessHandle orphan, CompletableFuture<ProcessHandle> exit)
            throws ServerException, InterruptedException {
        try {
            exit.get(5, TimeUnit.SECONDS);
        } catch (TimeoutException stubborn) {
            LOG.warn("process {} does not end: killing it", orphan.pid(), stubborn);
            orphan.destroyForcibly();
            try {
                exit.get(5, TimeUnit.SECONDS);
            } catch (TimeoutException | ExecutionException immortal) {
                throw new ServerException(Kind.DATA_IN_USE,
                        "process " + orphan.pid() + " of an earlier server cannot be ended", immortal);
            }
        } catch (ExecutionException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static boolean runsIn(ProcessHandle process, Path directory) {
        try {
            Path proc = Path.of("/proc", Long.toString(process.pid()));
            return Files.readSymbolicLink(proc.resolve("cwd")).equals(directory)
                    && Files.readString(proc.resolve("comm")).strip().equals("postgres");
        } catch (IOException goneOrNotOurs) {
            return false;
        }
    }

    private static void writeSettings(ServerConfiguration configuration) throws IOException {
        StringBuilder text = new StringBuilder("# written by Tutti at every start\n");
        configuration.effectiveSettings().forEach((name, value) -> text.append(name).append(" = '")
                .append(value.replace("\\", "\\\\").replace("'", "''")).append("'\n"));
        try {
            Files.writeString(configuration.dataDirectory().resolve(SETTINGS_FILE), text);
        } catch (IOException failed) {
            throw ServerException.explain("cannot write settings into " + configuration.dataDirectory(),
                    String.valueOf(failed.getMessage()));
        }
    }

    private static EmbeddedPostgres launch(ServerConfiguration configuration, FileChannel lock,
            CompletableFuture<?> givenUp, Consumer<String> recovers) throws IOException, InterruptedException {
        Path data = configuration.dataDirectory();
        Path log = configuration.logFile();
        shorten(log);
        long logStart = Files.exists(log) ? Files.size(log) : 0;
        try (WatchService watch = data.getFileSystem().newWatchService()) {
            data.register(watch, StandardWatchEventKinds.ENTRY_CREATE, StandardWatchEventKinds.ENTRY_MODIFY);
            ProcessBuilder command = configuration.binaries().command("postgres", List.of("-D", data.toString()));
            if (hasTerminal()) {
                // out of reach of the terminal's Ctrl-C, which is for us: commits under way still need the server
                command.command().addFirst("setsid");
            }
            command.directory(data.toFile());
            command.redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
            Process process = command.start();
            boolean ready = false;
            try {
                process.getOutputStream().close();
                CompletableFuture<Void> _ = process.onExit().thenRun(() -> close(watch));
                CompletableFuture<Void> _ = givenUp.thenRun(() -> close(watch));
                awaitReady(configuration, watch, process, logStart, recovers);
                ready = true;
            } finally {
                if (!ready) {
                    process.destroyForcibly().waitFor(STOP_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
                }
            }
            LOG.info("PostgreSQL {} runs as process {} on port {}, data in {}", ServerBinaries.VERSION, process.pid(),
                    configuration.port(), data);
            Thread.ofVirtual().name("tutti-postgres-log").start(() -> boundLog(process, log));
            return new EmbeddedPostgres(configuration, process, lock);
        }
    }

    /** Whether this process has a controlling terminal, as Linux tells. */
    private static boolean hasTerminal() {
        try {
            String stat = Files.readString(Path.of("/proc/self/stat"));
            // The command's name, in parentheses, may hold anything; then come state, parent, group, session, terminal.
            return !"0".equals(stat.substring(stat.lastIndexOf(')') + 2).split(" ", 6)[4]);
        } catch (IOException e) {
            LOG.trace("not Linux", e);
            return false;
        }
    }

    private static void close(WatchService watch) {
        try {
            watch.close();
        } catch (IOException failed) {
            LOG.debug("watch service not closed", failed);
        }
    }

    /** The limit is for who does not begin: a server that says that it is starting recovers. */
    private static void awaitReady(ServerConfiguration configuration, WatchService watch, Process process,
            long logStart, Consumer<String> recovers)
            throws IOException, InterruptedException {
        Path data = configuration.dataDirectory();
        Path pidFile = data.resolve("postmaster.pid");
        Duration pause = configuration.timeout().compareTo(TOLD_EVERY) < 0 ? configuration.timeout() : TOLD_EVERY;
        long deadline = System.nanoTime() + configuration.timeout().toNanos();
        for (String state = ""; !state.equals("ready") && !state.equals("standby"); state = state(pidFile, process)) {
            WatchKey key = null;
            boolean closed = false;
            try {
                key = watch.poll(pause.toNanos(), TimeUnit.NANOSECONDS);
            } catch (ClosedWatchServiceException ended) {
                LOG.debug("server process ended, or was given up", ended);
                closed = true;
            }
            if (!process.isAlive()) {
                throw ServerException.explain("PostgreSQL did not start on " + data + ", port " + configuration.port(),
                        lastWords(configuration.logFile(), logStart));
            }
            if (closed) {
                throw new ServerException(Kind.TIMEOUT, "PostgreSQL on " + data + " was ended before it was ready");
            }
            if (key != null) {
                key.pollEvents();
                key.reset();
                continue;
            }
            if (!state(pidFile, process).isEmpty()) {
                String said = end(configuration.logFile(), logStart).strip();
                String last = said.substring(said.lastIndexOf('\n') + 1);
                LOG.info("PostgreSQL recovers in {}: {}", data, last);
                recovers.accept(last);
            } else if (System.nanoTime() - deadline >= 0) {
                throw new ServerException(Kind.TIMEOUT, "PostgreSQL did not begin within " + configuration.timeout()
                        + " on " + data + ": " + lastWords(configuration.logFile(), logStart));
            }
        }
    }

    /** The server writes its state into the eighth line of its pid file; nothing if it has not yet. */
    private static String state(Path pidFile, Process process) throws IOException {
        if (!Files.exists(pidFile)) {
            return "";
        }
        List<String> lines = Files.readAllLines(pidFile, StandardCharsets.ISO_8859_1);
        return lines.size() < 8 || !lines.getFirst().strip().equals(Long.toString(process.pid()))
                ? ""
                : lines.get(7).strip();
    }

    /** Keeps the log from growing for as long as a server runs, which appends to it. */
    private static void boundLog(Process process, Path log) {
        try {
            while (!process.waitFor(LOG_LOOKED_AT_EVERY.toNanos(), TimeUnit.NANOSECONDS)) {
                try {
                    shorten(log);
                } catch (IOException failed) {
                    LOG.warn("{} is too long, and its end cannot be kept: {}", log, failed.getMessage(), failed);
                }
            }
        } catch (InterruptedException impossible) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Puts the end of a log that is too long aside, and empties it, also if its end cannot be kept. What is written in that moment may be
     * lost.
     */
    private static void shorten(Path log) throws IOException {
        if (!Files.exists(log) || Files.size(log) <= LOG_LIMIT_BYTES) {
            return;
        }
        try (FileChannel from = FileChannel.open(log, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            try (FileChannel to = FileChannel.open(log.resolveSibling(log.getFileName() + ".1"),
                    StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
                long end = from.size();
                long at = end - LOG_LIMIT_BYTES;
                while (at < end) {
                    at += from.transferTo(at, end - at, to);
                }
            } finally {
                from.truncate(0);
            }
        }
    }

    /** The end of a log, of what was written from a byte on. */
    private static String end(Path log, long from) throws IOException {
        if (!Files.exists(log)) {
            return "";
        }
        try (var channel = Files.newByteChannel(log)) {
            long start = Math.max(from, channel.size() - LAST_WORDS_BYTES);
            channel.position(start);
            ByteBuffer bytes = ByteBuffer.allocate((int) Math.min(LAST_WORDS_BYTES, channel.size() - start));
            while (bytes.hasRemaining() && channel.read(bytes) >= 0) {
                // until all is read
            }
            return new String(bytes.array(), StandardCharsets.UTF_8);
        }
    }

    /** What of that tells why a server has ended. */
    private static String lastWords(Path log, long from) throws IOException {
        String text = end(log, from);
        if (text.length() <= LAST_WORDS_BYTES / 2) {
            return text;
        }
        String errors = text.lines().filter(line -> Stream.of("FATAL", "PANIC", "ERROR", "HINT", "DETAIL", "WARNING")
                .anyMatch(level -> line.contains(level + ":")) || line.contains("could not bind")
                || line.contains("cannot"))
                .reduce("", (a, b) -> a + " " + b);
        return errors.isBlank() ? text : errors;
    }

    private static void signal(String name, long pid) throws IOException, InterruptedException {
        Process kill = new ProcessBuilder("sh", "-c", "kill -" + name + " " + pid).redirectErrorStream(true).start();
        String said = new String(kill.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (kill.waitFor() != 0) {
            LOG.debug("kill -{} {}: {}", name, pid, said.strip());
        }
    }

    /** Where it listens: always the loopback address. */
    public String host() {
        return ServerConfiguration.HOST;
    }

    /** The TCP port. */
    public int port() {
        return configuration.port();
    }

    /** The Unix socket it also listens on, cheaper than TCP; empty if the data directory's path is too long for one. */
    public Optional<Path> socket() {
        return configuration.socket();
    }

    /** Process id of the server. */
    public long pid() {
        return process.pid();
    }

    /** Whether the server process is there. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Completed when the server process has ended, for whatever reason. */
    public CompletableFuture<Void> onExit() {
        return process.onExit().thenAccept(_ -> {});
    }

    /**
     * Rolls back what is open, ends all sessions, writes a checkpoint and waits for the end: half a minute for the sessions, and for the
     * checkpoint as long as it takes.
     *
     * @throws ServerException if sessions do not end; then the server was killed
     */
    public void stop() throws IOException, InterruptedException {
        if (process.isAlive()) {
            signal("INT", process.pid());
            boolean ended = process.waitFor(STOP_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
            while (!ended && writesLastCheckpoint()) {
                LOG.info("PostgreSQL in {} still writes its last checkpoint", configuration.dataDirectory());
                ended = process.waitFor(TOLD_EVERY.toNanos(), TimeUnit.NANOSECONDS);
            }
            if (!ended) {
                kill();
                throw new ServerException(Kind.TIMEOUT, "PostgreSQL on " + configuration.dataDirectory()
                        + " did not stop within " + STOP_TIMEOUT
                        + " and was killed; it will recover at its next start");
            }
        }
        lock.close();
    }

    /** Also while it puts away what is of no use behind that. */
    private boolean writesLastCheckpoint() throws IOException {
        ByteBuffer state = ByteBuffer.allocate(Integer.BYTES).order(ByteOrder.nativeOrder());
        try (FileChannel control = FileChannel.open(configuration.dataDirectory().resolve("global/pg_control"),
                StandardOpenOption.READ)) {
            return control.read(state, CONTROL_STATE_AT) == Integer.BYTES && state.getInt(0) >= CONTROL_SHUT_DOWN
                    && state.getInt(0) <= CONTROL_SHUTTING_DOWN;
        }
    }

    /** Ends the server process without warning, as a crash does. Its children notice and follow. */
    public void kill() throws IOException, InterruptedException {
        process.destroyForcibly().waitFor();
        endOrphansAfterKill();
        lock.close();
    }

    private void endOrphansAfterKill() throws IOException, InterruptedException {
        Path real = configuration.dataDirectory().toRealPath();
        for (ProcessHandle child : ProcessHandle.allProcesses().filter(process -> runsIn(process, real)).toList()) {
            await(child, child.onExit());
        }
    }

    /** Like {@link #stop}, for try-with-resources. */
    @Override
    public void close() throws IOException {
        try {
            stop();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while PostgreSQL was stopping", interrupted);
        }
    }
}
