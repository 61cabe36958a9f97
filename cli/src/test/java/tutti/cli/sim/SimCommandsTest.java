package tutti.cli.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.minha.example.Example;
import tutti.sim.fault.FaultKind;
import tutti.sim.fault.FaultProfile;

class SimCommandsTest {
    @TempDir
    private Path directory = Path.of("");

    private final StringWriter out = new StringWriter();

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        CommandLine line = new CommandLine(new SimCommand()).setCaseInsensitiveEnumValuesAllowed(true);
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(out));
        return line.execute(arguments);
    }

    @Test
    void checkRunsScenariosAndWritesNumbers() throws Exception {
        Path json = directory.resolve("numbers.json");
        assertEquals(0, run("check", "--protocol", "si,nodo", "--seeds", "3", "--first-seed", "7", "--transactions",
                "100", "--json", json.toString()), out::toString);
        assertTrue(out.toString().contains("3 scenarios of 100 transactions"), out.toString());
        JsonNode numbers = JsonMapper.builder().build().readTree(Files.readString(json));
        JsonNode series = numbers.get("series");
        assertEquals("nodo", series.get(1).get("protocol").asString());
        assertEquals(3, series.get(1).get("scenarios").asInt());
        assertEquals(0, series.get(0).get("failed").asInt());
        assertTrue(series.get(0).get("counts").get("committed").asInt() > 100);
        assertEquals(3, series.get(0).get("checks").get("total order").asInt());
    }

    @Test
    void someNodesLackTablesWhereThatIsAskedFor() throws Exception {
        assertEquals(0, run("check", "--partial", "--protocol", "si", "--seeds", "2", "--transactions", "100"),
                out::toString);
        assertTrue(run("check", "--partial", "--protocol", "hybrid", "--seeds", "1") != 0, out::toString);
        assertTrue(out.toString().contains("under hybrid every node keeps all tables"), out.toString());
    }

    @Test
    void aCampaignWhereSomeNodesLackTablesIsOneOfItsOwn() throws Exception {
        Path file = directory.resolve("numbers.json");
        Path page = Files.writeString(directory.resolve("page.md"),
                "<!-- campaign of si with tables on some nodes: made by ./tutti sim check --protocol si --partial"
                        + " --docs docs/campaign.md -->\n"
                        + "<!-- end of campaign of si with tables on some nodes -->\n");
        assertEquals(0, run("check", "--partial", "--minutes", "0.01", "--protocol", "si", "--faults", "crash",
                "--transactions", "50", "--json", file.toString(), "--docs", page.toString()), out::toString);
        assertTrue(Files.readString(page).contains("some nodes lack some tables"), Files.readString(page));
        CampaignNumbers read = CampaignNumbers.read(file);
        assertFalse(read.scenario(0).placement().isEverywhere());
        Files.writeString(file, Files.readString(file).replaceAll("\"partial\" : true,", ""));
        assertTrue(CampaignNumbers.read(file).scenario(0).placement().isEverywhere(), "as files of before");
        assertTrue(run("check", "--resume", file.toString(), "--partial") != 0, out::toString);
    }

    @Test
    void aCampaignRunsForItsTimeGoesOnFromItsFileAndIsPublished() throws Exception {
        assertEquals(0, run("check", "--minutes", "0.02", "--protocol", "si,active", "--faults", "crash", "--faults",
                "loss", "--order", "ideal,raft", "--transactions", "50", "--failures", directory.toString()),
                out::toString);
        String said = out.toString();
        assertTrue(said.contains(", drawn now") && said.contains("times faster than real time"), said);
        Path file;
        try (var found = Files.list(directory)) {
            file = found.findFirst().orElseThrow();
        }
        JsonNode numbers = JsonMapper.builder().build().readTree(Files.readString(file));
        assertEquals(8, numbers.get("series").size());
        assertTrue(said.contains("seeds from " + numbers.get("firstSeed").asLong()), said);
        int before = scenarios(numbers);
        Path page = Files.writeString(directory.resolve("page.md"),
                "# Page\n<!-- campaign of si, active: made by ./tutti"
                        + " sim check --protocol si,active --docs docs/campaign.md -->\nwhat stood here before\n"
                        + "<!-- end of campaign of si, active -->\n");
        assertEquals(0, run("check", "--resume", file.toString(), "--minutes", "0.02", "--docs", page.toString()),
                out::toString);
        JsonNode after = JsonMapper.builder().build().readTree(Files.readString(file));
        assertTrue(scenarios(after) > before, out::toString);
        assertEquals(numbers.get("firstSeed"), after.get("firstSeed"));
        String text = Files.readString(page);
        assertTrue(text.contains("the last of 2 parts, build `" + numbers.get("build").asString() + "`")
                && text.contains("| crash |")
                && text.contains("Nothing failed.") && !text.contains("stood here"), text);
        Files.writeString(file, Files.readString(file).replace(numbers.get("build").asString(), "0123456789abcdef"));
        assertTrue(run("check", "--resume", file.toString()) != 0, out::toString);
        assertTrue(out.toString().contains("was begun by build 0123456789abcdef, this is "), out.toString());
        assertTrue(run("check", "--resume", file.toString(), "--seeds", "3") != 0, out::toString);
        assertTrue(run("check", "--resume", page.toString()) != 0, out::toString);
        assertTrue(run("check", "--minutes", "1", "--seeds", "3") != 0, out::toString);
    }

    /** A campaign that is told no faults has all there are. */
    @Test
    void campaignsHaveAllKindsOfFaults() {
        EnumSet<FaultKind> missing = EnumSet.allOf(FaultKind.class);
        CheckCommand.CAMPAIGN_FAULTS.forEach(profile -> missing.removeAll(FaultProfile.parse(profile).kinds()));
        assertEquals(Set.of(), missing);
        missing.addAll(EnumSet.allOf(FaultKind.class));
        CheckCommand.PARTIAL_CAMPAIGN_FAULTS.forEach(profile -> missing.removeAll(FaultProfile.parse(profile).kinds()));
        assertEquals(Set.of(FaultKind.ENGINE_REFUSES), missing);
    }

    private static int scenarios(JsonNode numbers) {
        int sum = 0;
        for (JsonNode series : numbers.get("series")) {
            sum += series.get("scenarios").asInt();
        }
        return sum;
    }

    @Tag("long")
    @Test
    void aFailureIsMadeSmallExplainedAndReplayed() throws Exception {
        assertEquals(1, run("check", "--protocol", "active", "--mutant", "execution-differs", "--seeds", "1",
                "--transactions", "200", "--faults", "all", "--shrink", "20", "--failures", directory.toString()),
                out::toString);
        String said = out.toString();
        assertTrue(said.contains("FAILED active, seed ") && said.contains("raft order, faults all, by ")
                && said.contains("0 are needed") && said.contains("equal commit sequences"), said);
        assertTrue(said.contains("the nodes' log"), said);
        List<Path> files;
        try (var found = Files.list(directory)) {
            files = found.toList();
        }
        assertTrue(!files.isEmpty(), said);
        assertEquals(1, run("replay", files.getFirst().toString()), out::toString);
        assertTrue(out.toString().contains("the same run as the one that the file was written from"), out.toString());
        Path changed = Files.writeString(directory.resolve("changed.txt"),
                Files.readString(files.getFirst()).replace("mutant execution-differs", "mutant none"));
        assertEquals(0, run("replay", changed.toString()), out::toString);
        assertTrue(out.toString().contains("another run"), out.toString());
    }

    @Test
    void examplesAreListedAndRun() {
        assertEquals(0, run("example"), out::toString);
        assertTrue(out.toString().contains("two threads that take turns under a lock"), out.toString());
        assertEquals(0, run("example", "timer", "--seed", "3"), out::toString);
        assertTrue(out.toString().contains("task 9 at 90") && out.toString().contains("seed 3, "), out.toString());
        assertEquals(1, run("example", "nothing"), out::toString);
    }

    @Test
    void programsForTheJdkRunUnchanged() throws Exception {
        String classes = Path.of(Example.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
        String hello = "tutti.minha.example.plain.Hello";
        assertEquals(0, run("program", "--class-path", classes, "--run", "a " + hello + " b", "--run",
                "b " + hello + " a", "--latency", "7ms", "--crash", "a@1s-2s"), out::toString);
        assertTrue(out.toString().contains("a: received 5 bytes at 7 ms from /10.0.0.2:12345: Hello"), out.toString());
        assertTrue(out.toString().contains("still there: thread a/Hello/main (WAITING)"), out.toString());
        assertTrue(run("program", "--class-path", classes, "--run", "a Missing") != 0, out::toString);
        assertTrue(run("program", "--class-path", "not-there.jar", "--run", "a Main") != 0, out::toString);
        assertTrue(run("program", "--class-path", classes, "--run", "a") != 0, out::toString);
        assertTrue(run("program", "--class-path", classes, "--run", "a " + hello, "--crash", "b@1s") != 0,
                out::toString);
    }
}
