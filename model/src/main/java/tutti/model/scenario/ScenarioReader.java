package tutti.model.scenario;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import tutti.core.text.NearestWord;
import tutti.yaml.Problem;
import tutti.yaml.UnusableFileException;
import tutti.yaml.YamlFile;

/**
 * Reads scenarios: a file, what it {@code extends}, what that extends, and so on; keys given on the command line or by a sweep
 * lie on top. A name without a dot or slash is that of a shipped scenario.
 */
public final class ScenarioReader {
    /** The scenarios that are shipped. */
    public static final List<String> SHIPPED = List.of("akara-lan", "gorda-lan", "gorda-lan-3", "gorda-wan",
            "gorda-cluster", "one-database", "macroddb", "scaling");
    /** The calibrations that are shipped. */
    public static final List<String> SHIPPED_CALIBRATIONS = List.of("paper", "h2-memory", "nodes");

    private static final String TO_BEGIN_WITH = "`./tutti sim run --print gorda-lan` prints one";
    private static final int DEPTH_MAX = 8;
    private static final String COMMAND_LINE = "command line";

    private final List<Problem> problems = new ArrayList<>();

    private ScenarioReader() {}

    /**
     * Reads a scenario.
     *
     * @param name of a file, or of a shipped scenario
     * @param overrides full keys like {@code workload.clients}, with values
     * @throws UnusableFileException if something is wrong, with all that is
     */
    public static ScenarioFile read(String name, Map<String, String> overrides) throws UnusableFileException {
        ScenarioReader reader = new ScenarioReader();
        List<Section.Layer> layers = new ArrayList<>();
        overrides.forEach((key, value) -> reader.layer(override(key, value), COMMAND_LINE, layers));
        reader.open(name, SHIPPED, "scenario", Path.of(""), layers, 0);
        ScenarioFile file = null;
        if (reader.problems.isEmpty()) {
            file = new Interpreter(reader, new Section("", layers, reader.problems)).interpret();
        }
        if (file == null || !reader.problems.isEmpty()) {
            throw new UnusableFileException(reader.problems);
        }
        return file;
    }

    /** YAML that gives one key below others a value. */
    private static String override(String key, String value) {
        StringBuilder text = new StringBuilder();
        int depth = 0;
        for (String part : key.split("\\.", -1)) {
            text.append(depth > 0 ? "\n" : "").append("  ".repeat(depth++)).append(part).append(':');
        }
        return text.append(' ').append(value).append('\n').toString();
    }

    List<Problem> problems() {
        return problems;
    }

    /** Reads a file or a resource, and those that it extends. */
    void open(String name, List<String> shipped, String what, Path directory, List<Section.Layer> layers, int depth) {
        if (depth == DEPTH_MAX) {
            problem(name, 0, "extends more than " + DEPTH_MAX + " others, or itself", "");
            return;
        }
        boolean isFile = name.indexOf('.') >= 0 || name.indexOf('/') >= 0;
        Path path = directory.resolve(name);
        String text = isFile
                ? YamlFile.text(path, "scenario", "shipped scenarios: " + String.join(", ", SHIPPED), problems)
                        .orElse(null)
                : resource(name, shipped, what);
        if (text == null) {
            return;
        }
        int before = layers.size();
        layer(text, isFile ? path.toString() : name, layers);
        if (layers.size() == before) {
            return;
        }
        for (NodeTuple entry : layers.get(before).node().getValue()) {
            if (entry.getKeyNode() instanceof ScalarNode key && key.getValue().equals("extends")
                    && entry.getValueNode() instanceof ScalarNode value) {
                Path parent = path.getParent();
                open(value.getValue(), shipped, what, isFile && parent != null ? parent : directory, layers, depth + 1);
            }
        }
    }

    private @Nullable String resource(String name, List<String> shipped, String what) {
        if (shipped.contains(name)) {
            try (InputStream in = ScenarioReader.class.getResourceAsStream(name + ".yaml")) {
                if (in != null) {
                    return new String(in.readAllBytes(), StandardCharsets.UTF_8);
                }
            } catch (IOException e) {
                problem(name, 0, "cannot be read: " + e.getMessage(), "");
                return null;
            }
        }
        problem(name, 0, "is no shipped " + what,
                "did you mean " + NearestWord.of(name, shipped) + "? shipped: "
                        + String.join(", ", shipped) + "; a file's name has a dot or a slash");
        return null;
    }

    private void layer(String text, String file, List<Section.Layer> layers) {
        YamlFile.root(text, file, TO_BEGIN_WITH, problems).ifPresent(root -> {
            if (root instanceof MappingNode mapping) {
                layers.add(new Section.Layer(file, mapping));
            } else {
                problem(file, 0, "must be a section of keys", TO_BEGIN_WITH);
            }
        });
    }

    private void problem(String file, int line, String reason, String remedy) {
        problems.add(new Problem(file, line, "", reason, remedy));
    }

    /**
     * The text of a shipped scenario or calibration.
     *
     * @throws UnusableFileException if there is none of that name
     */
    public static String shipped(String name) throws UnusableFileException {
        ScenarioReader reader = new ScenarioReader();
        List<String> all = new ArrayList<>(SHIPPED);
        all.addAll(SHIPPED_CALIBRATIONS);
        String text = reader.resource(name, all, "scenario or calibration");
        if (text == null) {
            throw new UnusableFileException(reader.problems);
        }
        return text;
    }
}
