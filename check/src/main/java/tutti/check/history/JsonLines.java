package tutti.check.history;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Files of which each line is a JSON object, the first one saying what the file is: {@code {"format": …, "version": 1}}.
 */
final class JsonLines {
    static final JsonMapper MAPPER = JsonMapper.builder().build();
    private static final int VERSION = 1;

    private JsonLines() {}

    /** The first line of a file, and whatever else it is to hold. */
    static ObjectNode header(String format) {
        return MAPPER.createObjectNode().put("format", format).put("version", VERSION);
    }

    static void write(BufferedWriter to, JsonNode line) throws IOException {
        to.write(MAPPER.writeValueAsString(line));
        to.write('\n');
    }

    /**
     * Reads a file.
     *
     * @param header told the first line, once it is known to be of this format
     * @param line told each of the others
     * @throws IOException naming file and line, if it cannot be read or is something else
     */
    static void read(Path file, String format, Consumer<JsonNode> header, Consumer<JsonNode> line) throws IOException {
        try (BufferedReader from = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            int number = 0;
            for (String text = from.readLine(); text != null; text = from.readLine()) {
                number++;
                try {
                    JsonNode node = MAPPER.readTree(text);
                    if (number > 1) {
                        line.accept(node);
                    } else if (node.path("format").asString("").equals(format)
                            && node.path("version").asInt(0) == VERSION) {
                        header.accept(node);
                    } else {
                        throw new IOException(
                                file + " does not begin as a file of format " + format + ", version " + VERSION);
                    }
                } catch (JacksonException | IllegalArgumentException | IllegalStateException e) {
                    throw new IOException(file + ", line " + number + ": " + e.getMessage(), e);
                }
            }
            if (number == 0) {
                throw new IOException(file + " is empty");
            }
        }
    }
}
