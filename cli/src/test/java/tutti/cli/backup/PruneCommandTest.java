package tutti.cli.backup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.json.JsonMapper;
import tutti.command.Program;
import tutti.server.BackupNote;

/** Which backups go, and which stay. */
class PruneCommandTest {
    @TempDir
    private Path directory;

    private void backup(String kind, long most, int daysOld) throws Exception {
        backup(kind, most, daysOld, Map.of());
    }

    private void backup(String kind, long most, int daysOld, Map<String, List<Integer>> lacks) throws Exception {
        Path backup = directory.resolve(String.format(Locale.ROOT, "%020d-%s", most, kind));
        Path about = Files.createDirectories(backup.resolve(BackupNote.PART));
        Files.writeString(about.resolve("backup.json"),
                JsonMapper.shared().writeValueAsString(new BackupNote(kind, "state", "a",
                        Math.max(0, most - 5), most,
                        Instant.now().minus(Duration.ofDays(daysOld)).minusSeconds(60).toEpochMilli(),
                        new TreeMap<>(lacks))));
        Files.writeString(backup.resolve(BackupNote.COPY), "");
        Files.writeString(backup.resolve(BackupNote.COMPLETE), "");
    }

    @Test
    void aBaseThatLacksTablesIsNoReasonToRemoveOneThatHasThem() throws Exception {
        backup("base", 100, 40);
        backup("base", 200, 30);
        backup("base", 300, 20, Map.of("public.events", List.of(0, 2)));
        prune(Program.OK, "--keep-bases", "1");
        assertEquals(List.of("200-base", "300-base"), left());
    }

    /** As one that was put together from two that came at once. */
    @Test
    void aBaseWithoutWhatWasBackedUpDoesNotCountAndStays() throws Exception {
        backup("base", 100, 40);
        backup("base", 200, 30);
        backup("base", 300, 20);
        Files.delete(directory.resolve(String.format(Locale.ROOT, "%020d-base", 300)).resolve(BackupNote.COPY));
        String told = prune(Program.OK, "--keep-bases", "1");
        assertTrue(told.contains("300-base is left, and does not count"), told);
        assertEquals(List.of("200-base", "300-base"), left());
    }

    private void backups() throws Exception {
        backup("base", 100, 40);
        backup("log", 150, 35);
        backup("log", 200, 30);
        backup("base", 210, 20);
        // taken before that base was complete, of a node that was further
        backup("log", 215, 20);
        backup("log", 300, 10);
        backup("base", 310, 5);
        backup("log", 400, 1);
        Files.createDirectories(directory.resolve("incoming"));
    }

    private List<String> left() throws Exception {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(Files::isDirectory).map(each -> each.getFileName().toString().replaceFirst("^0+", ""))
                    .sorted().toList();
        }
    }

    private String prune(int status, String... arguments) {
        StringWriter out = new StringWriter();
        CommandLine command = new CommandLine(new BackupCommand()).setOut(new PrintWriter(out))
                .setErr(new PrintWriter(out))
                .setExecutionExceptionHandler((failed, _, _) -> {
                    out.append(String.valueOf(failed.getMessage()));
                    return Program.FAILURE;
                });
        assertEquals(status, command.execute(Stream.concat(Stream.of("prune", "--to", directory.toString()),
                Stream.of(arguments)).toArray(String[]::new)), out::toString);
        return out.toString();
    }

    @Test
    void whatReachesLessFarThanTheOldestBaseThatIsKeptGoes() throws Exception {
        backups();
        List<String> before = left();
        assertTrue(prune(Program.OK, "--keep-bases", "2", "--dry-run").contains("would remove"));
        assertEquals(before, left());
        prune(Program.OK, "--keep-bases", "2");
        assertEquals(List.of("210-base", "215-log", "300-log", "310-base", "400-log", "incoming"), left());
        prune(Program.OK, "--keep-bases", "1");
        assertEquals(List.of("310-base", "400-log", "incoming"), left());
        assertTrue(prune(Program.OK, "--keep-bases", "1").contains("nothing is older"));
    }

    @Test
    void daysKeepTheBaseBeforeThem() throws Exception {
        backups();
        prune(Program.OK, "--keep-days", "40");
        assertEquals(9, left().size());
        prune(Program.OK, "--keep-days", "19");
        assertEquals(List.of("210-base", "215-log", "300-log", "310-base", "400-log", "incoming"), left());
        prune(Program.OK, "--keep-days", "0", "--keep-bases", "2");
        assertEquals(6, left().size());
        prune(Program.OK, "--keep-days", "0");
        assertEquals(List.of("310-base", "400-log", "incoming"), left());
    }

    @Test
    void whoDoesNotSayWhatToKeepLosesNothing() throws Exception {
        backups();
        assertTrue(prune(Program.FAILURE).contains("what is to be kept?"));
        prune(Program.FAILURE, "--keep-bases", "0");
        assertEquals(9, left().size());
    }
}
