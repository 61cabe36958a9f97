package tutti.server.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tutti.server.metrics.PrometheusNodeMetrics;

/** Alert rules and dashboard (docs/monitoring) ask for metrics that nodes have. */
class MonitoringTest {
    private static final Path DIRECTORY = Path.of("..", "docs", "monitoring");
    private static final Pattern METRIC = Pattern.compile("\\b(?:tutti|jvm|process)_[a-z0-9_]+");
    private static final Pattern LABELS = Pattern
            .compile("\\b(?:by|without) \\(([a-z_, ]*)\\)|\\{\\{\\$?(?:labels\\.)?([a-z_]+)}}");
    /** What Prometheus adds, and what a histogram has. */
    private static final Set<String> LABELS_OF_PROMETHEUS = Set.of("instance", "job", "le");

    /** Lines of a node's page, of one to which everything has happened. */
    private static List<String> page() throws Exception {
        NodeStatus shown = AdminServerTest.status(NodeStatus.State.READY, null);
        PrometheusNodeMetrics metrics = new PrometheusNodeMetrics(() -> new NodeStatus(shown.node(), shown.name(),
                shown.cluster(), shown.state(), shown.reason(), shown.protocol(), shown.version(), shown.database(),
                shown.sql(), shown.positions(), shown.leader(), shown.majority(), shown.members(), shown.sessions(),
                shown.inFlight(), shown.committed(), shown.aborted(),
                new NodeStatus.OrderStatus(1, 2, 3, List.of(), 4, 5L), shown.heapUsedBytes(), shown.uptimeSeconds(),
                shown.secondaries(), shown.lacks()));
        metrics.committed(1);
        metrics.aborted("certification");
        metrics.applied(1, 1);
        metrics.copyBegun();
        metrics.copyEnded("copy", true);
        metrics.copyBegun();
        metrics.copyEnded("backup", false);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        metrics.writeTo(out);
        return out.toString(StandardCharsets.UTF_8).lines().filter(line -> !line.startsWith("#")).toList();
    }

    private static void check(List<String> expressions) throws Exception {
        Set<String> names = new HashSet<>();
        Set<String> labels = new HashSet<>(LABELS_OF_PROMETHEUS);
        for (String line : page()) {
            names.add(line.split("[{ ]", 2)[0]);
            Matcher label = Pattern.compile("[{,]([a-z_]+)=").matcher(line);
            while (label.find()) {
                labels.add(label.group(1));
            }
        }
        Set<String> unknown = new TreeSet<>();
        int found = 0;
        for (String expression : expressions) {
            Matcher metric = METRIC.matcher(expression);
            while (metric.find()) {
                found++;
                if (!names.contains(metric.group())) {
                    unknown.add(metric.group());
                }
            }
            Matcher named = LABELS.matcher(expression);
            while (named.find()) {
                for (String label : (named.group(1) == null ? named.group(2) : named.group(1)).split(", ", -1)) {
                    if (!labels.contains(label) && !label.equals("value")) {
                        unknown.add("label " + label);
                    }
                }
            }
        }
        assertEquals(Set.of(), unknown);
        assertTrue(found >= expressions.size() / 2, () -> "metrics were found in " + expressions);
    }

    @Test
    @SuppressWarnings("unchecked") // What a YAML file is read as.
    void alertRules() throws Exception {
        Map<String, Object> file = (Map<String, Object>) new Load(LoadSettings.builder().build())
                .loadFromString(Files.readString(DIRECTORY.resolve("alerts.yaml")));
        List<String> expressions = new ArrayList<>();
        Set<Object> names = new HashSet<>();
        for (Map<String, Object> group : (List<Map<String, Object>>) file.get("groups")) {
            for (Map<String, Object> rule : (List<Map<String, Object>>) group.get("rules")) {
                assertTrue(names.add(rule.get("alert")), rule::toString);
                assertTrue(rule.keySet().containsAll(Set.of("expr", "labels", "annotations")), rule::toString);
                expressions.add((String) rule.get("expr"));
                expressions.add(rule.get("annotations").toString());
            }
        }
        check(expressions);
    }

    @Test
    void dashboard() throws Exception {
        JsonNode dashboard = JsonMapper.shared().readTree(Files.readString(DIRECTORY.resolve("dashboard.json")));
        List<String> expressions = new ArrayList<>();
        for (JsonNode panel : dashboard.get("panels")) {
            for (JsonNode target : panel.get("targets")) {
                expressions.add(target.get("expr").asString());
                expressions.add(target.get("legendFormat").asString());
            }
        }
        assertTrue(expressions.size() > 20);
        check(expressions);
    }
}
