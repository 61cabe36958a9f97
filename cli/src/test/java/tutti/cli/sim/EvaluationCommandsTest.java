package tutti.cli.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class EvaluationCommandsTest {
    @TempDir
    private Path directory = Path.of("");

    private final StringWriter out = new StringWriter();

    private int run(String... arguments) {
        out.getBuffer().setLength(0);
        CommandLine line = new CommandLine(new SimCommand());
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(out));
        return line.execute(arguments);
    }

    @Test
    void aSweepIsRunPrintedAndWritten() throws Exception {
        Path scenario = Files.writeString(directory.resolve("my.yaml"), """
                extends: gorda-lan
                title: Mine
                run: {transactions: 200, warm-up: 1s, repetitions: 2}
                sweep: {workload.clients: [90, 180]}
                """);
        Path json = directory.resolve("numbers.json");
        Path html = directory.resolve("report.html");
        assertEquals(0, run("run", scenario.toString(), "--json", json.toString(), "--html", html.toString()),
                out::toString);
        assertTrue(out.toString().contains(" ± "), out.toString());
        assertTrue(out.toString().contains("all replicas committed the same sequence"), out.toString());
        assertTrue(out.toString().contains("simulated seconds per real second"), out.toString());
        JsonNode runs = JsonMapper.builder().build().readTree(Files.readString(json)).get("runs");
        assertEquals(4, runs.size());
        assertEquals("180", runs.get(2).get("point").get("workload.clients").asString());
        assertTrue(runs.get(0).get("tpm").asDouble() > 100);
        assertTrue(Files.readString(html).contains("</svg>"));
    }

    @Test
    void aSingleRunHasATimelineAndAReport() throws Exception {
        Path trace = directory.resolve("trace.json");
        Path html = directory.resolve("report.html");
        assertEquals(0, run("run", "gorda-lan", "--set", "run.transactions=100", "--set", "run.warm-up=1s", "--trace",
                trace.toString(), "--html", html.toString(), "--seed", "3"), out::toString);
        JsonNode events = JsonMapper.builder().build().readTree(Files.readString(trace)).get("traceEvents");
        assertTrue(events.size() > 300, () -> events.size() + " events");
        assertTrue(out.toString().contains("seed 3, "), out.toString());
        assertTrue(Files.readString(html).contains("Transactions by stage"));
    }

    @Test
    void packetsOfRealGroupCommunicationAreCaptured() throws Exception {
        Path pcap = directory.resolve("run.pcap");
        assertTrue(run("run", "gorda-lan", "--pcap", pcap.toString()) != 0);
        assertTrue(out.toString().contains("order.kind=group"), out.toString());
        assertEquals(0,
                run("run", "gorda-lan-3", "--set", "run.transactions=50", "--set", "run.warm-up=100ms", "--pcap",
                        pcap.toString()),
                out::toString);
        assertTrue(Files.size(pcap) > 2000, () -> out.toString());
    }

    @Test
    void performabilityIsMeasuredAgainstTheSameRunWithoutFaults() {
        assertTrue(run("run", "gorda-lan-3", "--performability") != 0);
        assertTrue(out.toString().contains("this scenario has none"), out.toString());
        String[] faulty = {"run", "gorda-lan-3", "--set", "run.transactions=1500", "--set", "run.warm-up=1s", "--set",
                "faults=[{kind: random-loss, rate: 0.1}]", "--performability"};
        assertEquals(0, run(faulty), out::toString);
        String table = out.toString().substring(out.toString().indexOf("P(L <= tau)"));
        Matcher share = Pattern.compile("payment +[0-9.]+ +[0-9.]+ +([0-9.]+)").matcher(table);
        assertTrue(share.find(), out.toString());
        double within = Double.parseDouble(share.group(1));
        assertTrue(within > 0.2 && within < 0.85, () -> "P(L <= tau) = " + within);
    }

    @Test
    void whatIsWrongIsAnErrorOfUsage() {
        assertTrue(run("run", "gorda-lan", "--set", "workload.clients=none") != 0);
        assertTrue(run("figures", "--paper", "akara", "--only", "10") != 0);
    }

    @Tag("long")
    @Test
    void aFigureIsMade() throws Exception {
        assertEquals(0, run("figures", "--paper", "akara", "--only", "8c", "--transactions", "800", "--repetitions",
                "1", "--out",
                directory.toString()), out::toString);
        assertTrue(Files.readString(directory.resolve("akara-8c.csv")).contains("delivery,"));
        assertTrue(out.toString().contains("about 99"), out.toString());
        assertTrue(Files.exists(directory.resolve("index.html")));
        assertFalse(Files.exists(directory.resolve("akara-8c.png")));
        assertEquals(0,
                run("figures", "--paper", "gorda", "--only", "3.8", "--transactions", "300", "--repetitions", "2",
                        "--png", "--out",
                        directory.toString()),
                out::toString);
        assertTrue(Files.readString(directory.resolve("gorda-3.8.svg")).contains("random loss 5%"));
        BufferedImage picture = ImageIO.read(directory.resolve("gorda-3.8.png").toFile());
        assertEquals(1120, picture.getWidth());
        assertTrue(IntStream.range(0, picture.getWidth()).anyMatch(x -> picture.getRGB(x, 300) != -1), "it is empty");
    }
}
