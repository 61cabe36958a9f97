package tutti.yaml;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Node;

/** Reads YAML files up to their nodes, which know their lines; values are not interpreted. */
public final class YamlFile {
    private static final int BYTES_MAX = 1 << 20;

    private YamlFile() {}

    /**
     * The text of a file of at most 1 MiB.
     *
     * @param kind what such a file is, as in "no scenario"
     * @param ifMissing the remedy if it is not there; may be empty
     * @param problems where to add why it cannot be read
     * @return empty if it cannot be read
     */
    public static Optional<String> text(Path file, String kind, String ifMissing, List<Problem> problems) {
        try {
            if (Files.size(file) <= BYTES_MAX) {
                return Optional.of(Files.readString(file));
            }
            unreadable(file, "is larger than 1 MiB, which no " + kind + " is", "", problems);
        } catch (NoSuchFileException _) {
            unreadable(file, "there is no such file", ifMissing, problems);
        } catch (CharacterCodingException _) {
            unreadable(file, "is not UTF-8 text", "", problems);
        } catch (IOException e) {
            unreadable(file, "cannot be read: " + e.getMessage(), "", problems);
        }
        return Optional.empty();
    }

    private static void unreadable(Path file, String reason, String remedy, List<Problem> problems) {
        problems.add(new Problem(file.toString(), 0, "", reason, remedy));
    }

    /**
     * What a text holds.
     *
     * @param file its name in problems
     * @param ifEmpty the remedy if there is nothing in it; may be empty
     * @param problems where to add why it is not YAML
     * @return empty if it is not YAML, or there is nothing in it
     */
    public static Optional<Node> root(String text, String file, String ifEmpty, List<Problem> problems) {
        try {
            Optional<Node> root = new Compose(LoadSettings.builder().setLabel(file).build()).composeString(text);
            if (root.isEmpty()) {
                problems.add(new Problem(file, 0, "", "is empty", ifEmpty));
            }
            return root;
        } catch (MarkedYamlEngineException e) {
            problems.add(new Problem(file, e.getProblemMark().map(Mark::getLine).orElse(-1) + 1, "",
                    "is not YAML: " + e.getProblem(), ""));
        } catch (YamlEngineException e) {
            problems.add(new Problem(file, 0, "", "is not YAML: " + e.getMessage(), ""));
        }
        return Optional.empty();
    }

    /** The line on which something begins, counted from 1; 0 if that is not known. */
    public static int line(Node node) {
        return node.getStartMark().map(Mark::getLine).orElse(-1) + 1;
    }
}
