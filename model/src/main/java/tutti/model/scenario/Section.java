package tutti.model.scenario;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import tutti.core.text.NearestWord;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.yaml.Problem;
import tutti.yaml.YamlFile;

/**
 * A section of a scenario, read key by key: asking for a key makes it a valid one, and {@link #end} reports those that
 * nobody asked for. A section may stand in several files on top of each other; the first that has a key decides, sections
 * excepted, which are laid on top of each other in turn. A value that is impossible is reported, and taken to be the default.
 */
final class Section {
    /** A section of one file. */
    record Layer(String file, MappingNode node) {}

    private record Found(String file, Node node) {
        int line() {
            return YamlFile.line(node);
        }
    }

    private final String path;
    private final List<Layer> layers;
    private final List<Problem> problems;
    private final Set<String> valid = new LinkedHashSet<>();

    Section(String path, List<Layer> layers, List<Problem> problems) {
        this.path = path;
        this.layers = layers;
        this.problems = problems;
    }

    private String full(String key) {
        return path.isEmpty() ? key : path + "." + key;
    }

    private List<Found> all(String key) {
        valid.add(key);
        List<Found> found = new ArrayList<>();
        for (Layer layer : layers) {
            for (NodeTuple entry : layer.node.getValue()) {
                if (entry.getKeyNode() instanceof ScalarNode name && name.getValue().equals(key)) {
                    found.add(new Found(layer.file, entry.getValueNode()));
                }
            }
        }
        return found;
    }

    private @Nullable Found first(String key) {
        List<Found> found = all(key);
        return found.isEmpty() ? null : found.getFirst();
    }

    private void wrong(Found at, String key, String reason, String remedy) {
        problems.add(new Problem(at.file, at.line(), full(key), reason, remedy));
    }

    /** Reports what is wrong with a key that was read. */
    void wrong(String key, String reason, String remedy) {
        Found at = first(key);
        if (at == null) {
            Layer layer = layers.isEmpty() ? null : layers.getFirst();
            problems.add(new Problem(layer == null ? "" : layer.file,
                    layer == null ? 0 : YamlFile.line(layer.node), full(key), reason, remedy));
        } else {
            wrong(at, key, reason, remedy);
        }
    }

    /** As which it may lie on top of another. */
    List<Layer> layers() {
        return layers;
    }

    boolean has(String key) {
        return first(key) != null;
    }

    /** A section below this one; empty if no file has it. */
    Section section(String key) {
        List<Layer> below = new ArrayList<>();
        for (Found found : all(key)) {
            if (found.node instanceof MappingNode mapping) {
                below.add(new Layer(found.file, mapping));
            } else {
                wrong(found, key, "must be a section of keys", "");
            }
        }
        return new Section(full(key), below, problems);
    }

    /** The sections of a list; those of the first file that has it. */
    List<Section> list(String key) {
        Found found = first(key);
        List<Section> sections = new ArrayList<>();
        if (found == null) {
            return sections;
        }
        if (!(found.node instanceof SequenceNode sequence)) {
            wrong(found, key, "must be a list", "begin each element with \"- \" on a line of its own");
            return sections;
        }
        for (Node element : sequence.getValue()) {
            if (element instanceof MappingNode mapping) {
                sections.add(new Section(full(key) + "[" + sections.size() + "]",
                        List.of(new Layer(found.file, mapping)), problems));
            } else {
                wrong(new Found(found.file, element), key, "must be a list of sections of keys", "");
            }
        }
        return sections;
    }

    /** A text; the default if no file has it. */
    String text(String key, String byDefault) {
        Found found = first(key);
        if (found == null) {
            return byDefault;
        }
        if (found.node instanceof ScalarNode scalar) {
            return scalar.getValue();
        }
        wrong(found, key, "must be a single value", "");
        return byDefault;
    }

    /** One of some words. */
    String word(String key, String byDefault, List<String> words) {
        String text = text(key, byDefault);
        if (words.contains(text)) {
            return text;
        }
        wrong(key, "is '" + text + "'",
                "did you mean " + NearestWord.of(text, words) + "? valid: " + String.join(", ", words));
        return byDefault;
    }

    /** The constant of an enumeration that is written like this in lower case, with hyphens. */
    <E extends Enum<E>> E word(String key, E byDefault) {
        List<String> words = new ArrayList<>();
        for (E one : byDefault.getDeclaringClass().getEnumConstants()) {
            words.add(kebab(one));
        }
        String word = word(key, kebab(byDefault), words);
        return byDefault.getDeclaringClass().getEnumConstants()[words.indexOf(word)];
    }

    private static String kebab(Enum<?> one) {
        return one.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    boolean flag(String key, boolean byDefault) {
        return Boolean.parseBoolean(word(key, Boolean.toString(byDefault), List.of("true", "false")));
    }

    /** A whole number in a range. */
    long count(String key, long byDefault, long least, long most) {
        String text = text(key, Long.toString(byDefault));
        try {
            long value = Long.parseLong(text.replace("_", ""));
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException _) {
            // Reported below.
        }
        wrong(key, "is '" + text + "'", "valid: a whole number from " + least + " to " + most);
        return byDefault;
    }

    /** A number in a range. */
    double number(String key, double byDefault, double least, double most) {
        String text = text(key, Double.toString(byDefault));
        try {
            double value = Double.parseDouble(text);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException _) {
            // Reported below.
        }
        wrong(key, "is '" + text + "'", "valid: a number from " + least + " to " + most);
        return byDefault;
    }

    /** A duration in nanoseconds. */
    long nanos(String key, long byDefault, long least) {
        String text = text(key, Nanos.text(byDefault));
        try {
            long value = Nanos.parse(text);
            if (value >= least) {
                return value;
            }
            wrong(key, "is '" + text + "'", "valid: " + Nanos.text(least) + " and more");
        } catch (IllegalArgumentException wrong) {
            wrong(key, "is wrong: " + wrong.getMessage(), "");
        }
        return byDefault;
    }

    /** A distribution, or a single duration, which stands for a constant. */
    Distribution times(String key, Distribution byDefault) {
        String text = text(key, byDefault.toString());
        return text.isEmpty() || !Character.isDigit(text.charAt(0))
                ? distribution(key, byDefault)
                : new Distribution.Constant(nanos(key, 0, 0));
    }

    Distribution distribution(String key, Distribution byDefault) {
        String text = text(key, byDefault.toString());
        try {
            return Distribution.parse(text);
        } catch (IllegalArgumentException wrong) {
            wrong(key, "is wrong: " + wrong.getMessage(), "for example `uniform 1ms 5ms`");
            return byDefault;
        }
    }

    /** Any keys with single values, of all files together. */
    Map<String, String> pairs() {
        Map<String, String> pairs = new LinkedHashMap<>();
        for (Layer layer : layers.reversed()) {
            for (NodeTuple entry : layer.node.getValue()) {
                if (entry.getKeyNode() instanceof ScalarNode name && entry.getValueNode() instanceof ScalarNode value) {
                    valid.add(name.getValue());
                    pairs.put(name.getValue(), value.getValue());
                } else {
                    wrong(new Found(layer.file, entry.getKeyNode()), "", "must be a section of names and single values",
                            "");
                }
            }
        }
        return pairs;
    }

    /** Keys of the first file that has any, with lists of single values. */
    Map<String, List<String>> lists() {
        Map<String, List<String>> lists = new LinkedHashMap<>();
        for (Layer layer : layers.reversed()) {
            for (NodeTuple entry : layer.node.getValue()) {
                Found at = new Found(layer.file, entry.getKeyNode());
                if (!(entry.getKeyNode() instanceof ScalarNode name)
                        || !(entry.getValueNode() instanceof SequenceNode sequence)) {
                    wrong(at, "", "must be a section of keys and lists of values", "");
                    continue;
                }
                valid.add(name.getValue());
                List<String> values = new ArrayList<>();
                for (Node element : sequence.getValue()) {
                    if (element instanceof ScalarNode value) {
                        values.add(value.getValue());
                    } else {
                        wrong(at, name.getValue(), "must be a list of single values", "");
                    }
                }
                lists.put(name.getValue(), values);
            }
        }
        return lists;
    }

    /** Reports keys that nobody asked for, and keys that are given twice. */
    void end() {
        for (Layer layer : layers) {
            Set<String> seen = new LinkedHashSet<>();
            for (NodeTuple entry : layer.node.getValue()) {
                Found at = new Found(layer.file, entry.getKeyNode());
                if (!(entry.getKeyNode() instanceof ScalarNode name)) {
                    wrong(at, "", "has a key that is not a word", "valid keys: " + String.join(", ", valid));
                } else if (!valid.contains(name.getValue())) {
                    wrong(at, name.getValue(), "is no key",
                            "did you mean " + full(NearestWord.of(name.getValue(), List.copyOf(valid)))
                                    + "? valid keys here: " + String.join(", ", valid));
                } else if (!seen.add(name.getValue())) {
                    wrong(at, name.getValue(), "is given twice", "");
                }
            }
        }
    }
}
