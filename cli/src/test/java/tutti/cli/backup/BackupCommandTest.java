package tutti.cli.backup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Program;
import tutti.node.copy.CopySource;
import tutti.node.copy.CopyStream;
import tutti.runtime.real.PathDirectory;
import tutti.server.BackupNote;

/** What `tutti backup` makes of a directory, with a node that only sends. */
class BackupCommandTest {
    private static final List<String> PARTS = List.of("order", "replica", "h2", BackupNote.PART);

    @TempDir
    private Path directory;
    private Path backups = Path.of("");
    private HttpServer node;
    private final List<String> asked = new ArrayList<>();
    /** Done before the node sends what it is asked for. */
    private Runnable first = () -> {};

    @BeforeEach
    void listen() throws IOException {
        backups = directory.resolve("backups");
        node = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        node.createContext("/backup", this::send);
        node.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        node.start();
    }

    @AfterEach
    void stop() {
        node.stop(0);
    }

    /** A base up to position 100, or what was ordered from then on to 200. */
    private void send(HttpExchange exchange) throws IOException {
        String after = String.valueOf(exchange.getRequestURI().getQuery());
        asked.add(after);
        exchange.sendResponseHeaders(200, 0);
        first.run();
        boolean base = after.equals("null");
        Path note = Files.writeString(directory.resolve("note-" + asked.size()),
                JsonMapper.shared().writeValueAsString(new BackupNote(base ? "base" : "log", "state", "a",
                        base ? 100 : 0, base ? 100 : 200, System.currentTimeMillis(), new TreeMap<>())));
        List<CopySource.Entry> entries = new ArrayList<>();
        PARTS.forEach(part -> entries.add(new CopySource.Entry(part, null)));
        entries.add(new CopySource.Entry(BackupNote.PART + "/backup.json", () -> PathDirectory.read(note)));
        try (OutputStream out = exchange.getResponseBody()) {
            CopyStream.send(new CopySource.Unchanging(entries), out, _ -> {});
        }
    }

    private record Said(int status, String text) {}

    private static Said execute(String... arguments) {
        StringWriter out = new StringWriter();
        int status = new CommandLine(new BackupCommand()).setOut(new PrintWriter(out)).setErr(new PrintWriter(out))
                .setExecutionExceptionHandler((failed, _, _) -> {
                    out.append(String.valueOf(failed.getMessage()));
                    return Program.FAILURE;
                }).execute(arguments);
        return new Said(status, out.toString());
    }

    private static String run(int status, String... arguments) {
        Said said = execute(arguments);
        assertEquals(status, said.status, said.text);
        return said.text;
    }

    private String[] arguments() {
        return new String[]{"--url", "http://127.0.0.1:" + node.getAddress().getPort(), "--to", backups.toString()};
    }

    private String backup() {
        return run(Program.OK, arguments());
    }

    private String verify(int status) {
        return run(status, "verify", "--to", backups.toString());
    }

    private List<String> kept() throws IOException {
        return BackupNote.in(backups).stream().map(each -> each.getFileName().toString().replaceFirst("^0+", ""))
                .toList();
    }

    @Test
    void whoComesWhileABackupIsTakenIsRefusedAndSpoilsNothing() throws IOException {
        List<Said> meanwhile = new ArrayList<>();
        first = () -> {
            first = () -> {};
            meanwhile.add(execute(arguments()));
            meanwhile.add(execute("prune", "--keep-bases", "1", "--to", backups.toString()));
        };
        assertTrue(backup().contains("a base"));
        assertEquals(List.of("100-base"), kept());
        assertTrue(Files.exists(BackupNote.in(backups).getFirst().resolve(BackupNote.COPY)), "it has nothing in it");
        assertTrue(meanwhile.size() == 2 && meanwhile.stream()
                .allMatch(each -> each.status == Program.FAILURE && each.text.contains("is in use")),
                meanwhile::toString);
        assertTrue(verify(Program.OK).contains("1 backup, 0 damaged"));
        assertTrue(backup().contains("what was ordered since position 100"));
        assertEquals(List.of("null", "after=100"), asked);
    }

    /** As its command was killed before it was moved to its place. */
    @Test
    void whatHasOnlyComeIsNoBackup() throws IOException {
        backup();
        backup();
        Files.move(BackupNote.in(backups).getLast(), backups.resolve(BackupNote.INCOMING));
        assertTrue(verify(Program.OK).contains("1 backup, 0 damaged"));
        backup();
        assertEquals(List.of("null", "after=100", "after=100"), asked);
        assertEquals(List.of("100-base", "200-log"), kept());
    }

    @Test
    void aBaseWithoutWhatWasBackedUpIsDamagedAndAnotherIsTaken() throws IOException {
        backup();
        Path base = BackupNote.in(backups).getFirst();
        Files.delete(base.resolve(BackupNote.COPY));
        assertTrue(verify(Program.FAILURE).contains("DAMAGED"));
        backup();
        assertEquals(List.of("null", "null"), asked);
        assertTrue(verify(Program.OK).contains("1 backup, 0 damaged"));
        Files.delete(base.resolve(BackupNote.COPY));
        for (String part : PARTS) {
            Files.createDirectories(base.resolve(part));
        }
        assertTrue(verify(Program.OK).contains("of an older release"));
        try (Stream<Path> all = Files.list(backups)) {
            assertEquals(List.of(base), all.filter(Files::isDirectory).toList());
        }
    }
}
