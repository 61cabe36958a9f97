package tutti.server.config;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;
import tutti.core.text.NearestWord;
import tutti.yaml.Problem;
import tutti.yaml.UnusableFileException;
import tutti.yaml.YamlFile;

/**
 * Reads a configuration file. It is YAML in form only: what a value means is decided by the key that it stands at, never
 * by how it looks. An unknown key, a key given twice, a missing one and an impossible value are all reported, each with
 * its line and with what would be valid.
 */
public final class ConfigReader {
    private static final String TO_BEGIN_WITH = "`tutti node --print-config` prints one to begin with";

    private final String file;
    private final Path directory;
    private final List<Problem> problems = new ArrayList<>();
    private final Map<String, Integer> lines = new HashMap<>();

    private ConfigReader(String file, Path directory) {
        this.file = file;
        this.directory = directory;
    }

    /**
     * Reads a file.
     *
     * @throws UnusableFileException if it is missing, cannot be read, or does not say how to run a node
     */
    public static NodeConfig read(Path file) throws UnusableFileException {
        List<Problem> problems = new ArrayList<>();
        Optional<String> text = YamlFile.text(file, "configuration", TO_BEGIN_WITH, problems);
        if (text.isEmpty()) {
            throw new UnusableFileException(problems);
        }
        return read(text.get(), file.toString(), file.toAbsolutePath().getParent());
    }

    /**
     * Reads a text.
     *
     * @param file its name in errors
     * @param directory where relative paths start
     * @throws UnusableFileException if it does not say how to run a node
     */
    public static NodeConfig read(String text, String file, Path directory) throws UnusableFileException {
        ConfigReader reader = new ConfigReader(file, directory);
        Object config = reader.document(text);
        if (config == null) {
            throw new UnusableFileException(reader.problems);
        }
        return (NodeConfig) config;
    }

    /** A section of which the file says nothing. */
    static <T> T defaults(Class<T> section) {
        ConfigReader reader = new ConfigReader("defaults", Path.of(""));
        Object value = reader.section(null, section, "");
        if (value == null) {
            throw new IllegalStateException("the defaults of " + section + " are impossible: " + reader.problems);
        }
        return section.cast(value);
    }

    private @Nullable Object document(String text) {
        return YamlFile.root(text, file, TO_BEGIN_WITH, problems).map(root -> section(root, NodeConfig.class, ""))
                .orElse(null);
    }

    /** Reads a record from a mapping, or from its defaults; null if something in it is wrong. */
    private @Nullable Object section(@Nullable Node node, Class<?> type, String path) {
        int problemsBefore = problems.size();
        String prefix = path.isEmpty() ? "" : path + ".";
        Map<String, Node> given = mapping(node, path, type);
        List<Schema.Key> keys = Schema.keys(type);
        List<@Nullable Object> values = new ArrayList<>(keys.size());
        for (Schema.Key key : keys) {
            values.add(value(given.get(key.name()), key, prefix + key.name(), line(path)));
        }
        if (problems.size() > problemsBefore) {
            return null;
        }
        try {
            return constructor(type).newInstance(values.toArray());
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof ImpossibleValue impossible) {
                String key = prefix + impossible.key();
                problem(line(key), key, impossible.reason(), impossible.remedy());
                return null;
            }
            throw new IllegalStateException("cannot build " + type, e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot build " + type, e);
        }
    }

    private static Constructor<?> constructor(Class<?> type) throws NoSuchMethodException {
        return type.getDeclaredConstructor(
                Arrays.stream(type.getRecordComponents()).map(RecordComponent::getType).toArray(Class<?>[]::new));
    }

    /** The keys of a mapping, after unknown and repeated ones have been reported. */
    private Map<String, Node> mapping(@Nullable Node node, String path, Class<?> type) {
        Map<String, Node> given = new LinkedHashMap<>();
        if (node == null || isNull(node)) {
            return given;
        }
        List<String> valid = Schema.keys(type).stream().map(Schema.Key::name).toList();
        if (!(node instanceof MappingNode mapping)) {
            problem(YamlFile.line(node), path, "must be a section of keys", "valid keys: " + String.join(", ", valid));
            return given;
        }
        String prefix = path.isEmpty() ? "" : path + ".";
        for (NodeTuple entry : mapping.getValue()) {
            int line = YamlFile.line(entry.getKeyNode());
            if (!(entry.getKeyNode() instanceof ScalarNode scalar)) {
                problem(line, path, "has a key that is not a word", "valid keys: " + String.join(", ", valid));
                continue;
            }
            String name = scalar.getValue();
            if (!valid.contains(name)) {
                problem(line, prefix + name, "is no key", suggestion(name, valid, prefix));
            } else if (given.putIfAbsent(name, entry.getValueNode()) != null) {
                problem(line, prefix + name, "is given twice", "first on line " + lines.get(prefix + name));
            } else {
                lines.put(prefix + name, line);
            }
        }
        return given;
    }

    private static String suggestion(String name, List<String> valid, String prefix) {
        String nearest = NearestWord.near(name, valid);
        if (!nearest.isEmpty()) {
            return "did you mean " + prefix + nearest + "?";
        }
        List<String> elsewhere = Schema.paths(NodeConfig.class, "").stream().filter(path -> path.endsWith("." + name))
                .toList();
        return (elsewhere.isEmpty() ? "" : "did you mean " + String.join(" or ", elsewhere) + "? ")
                + "valid keys here: " + String.join(", ", valid);
    }

    private @Nullable Object value(@Nullable Node node, Schema.Key key, String path, int sectionLine) {
        if (node == null || (isNull(node) && !key.isSection())) {
            if (key.isOptional()) {
                return null;
            }
            if (key.isRequired()) {
                String what = key.setting().example().isEmpty() ? "" : ", for example " + key.setting().example();
                problem(node == null ? sectionLine : YamlFile.line(node), path, "is missing",
                        "it must be given" + what + ": " + key.setting().doc());
                return null;
            }
        }
        if (key.isSection()) {
            return section(node, key.section(), path);
        }
        if (key.isList()) {
            return list(node, key, path);
        }
        if (key.component().getType() == Map.class) {
            return textMap(node, path);
        }
        String text = key.setting().byDefault();
        int line = sectionLine;
        if (node != null) {
            line = YamlFile.line(node);
            if (!(node instanceof ScalarNode scalar)) {
                problem(line, path, "must be a single value", Values.range(key.setting(), "valid: "));
                return null;
            }
            text = scalar.getValue();
        }
        try {
            return Values.parse(text, key, directory);
        } catch (ImpossibleValue e) {
            problem(line, path, e.reason(), e.remedy());
            return null;
        }
    }

    private @Nullable Object list(@Nullable Node node, Schema.Key key, String path) {
        if (!(node instanceof SequenceNode sequence)) {
            problem(node == null ? 0 : YamlFile.line(node), path, "must be a list",
                    "begin each element with \"- \" on a line of its own");
            return null;
        }
        List<Object> elements = new ArrayList<>();
        for (int i = 0; i < sequence.getValue().size(); i++) {
            Node element = sequence.getValue().get(i);
            String elementPath = path + "[" + i + "]";
            lines.put(elementPath, YamlFile.line(element));
            Object value = section(element, key.element(), elementPath);
            if (value != null) {
                elements.add(value);
            }
        }
        return elements;
    }

    private Map<String, String> textMap(@Nullable Node node, String path) {
        Map<String, String> map = new LinkedHashMap<>();
        if (node == null) {
            return map;
        }
        if (!(node instanceof MappingNode mapping)) {
            problem(YamlFile.line(node), path, "must be a section of names and values", "");
            return map;
        }
        for (NodeTuple entry : mapping.getValue()) {
            if (entry.getKeyNode() instanceof ScalarNode name && entry.getValueNode() instanceof ScalarNode value) {
                if (map.putIfAbsent(name.getValue(), value.getValue()) != null) {
                    problem(YamlFile.line(name), path + "." + name.getValue(), "is given twice", "");
                }
            } else {
                problem(YamlFile.line(entry.getKeyNode()), path, "must be a section of names and single values", "");
            }
        }
        return map;
    }

    private static boolean isNull(Node node) {
        return node instanceof ScalarNode scalar && scalar.getTag().equals(Tag.NULL);
    }

    /** The line of a key, or of the nearest section around it that the file has. */
    private int line(String path) {
        String here = path;
        while (!here.isEmpty()) {
            Integer line = lines.get(here);
            if (line != null) {
                return line;
            }
            int end = Math.max(here.lastIndexOf('.'), here.lastIndexOf('['));
            here = end < 0 ? "" : here.substring(0, end);
        }
        return 0;
    }

    private void problem(int line, String key, String reason, String remedy) {
        problems.add(new Problem(file, line, key, reason, remedy));
    }
}
