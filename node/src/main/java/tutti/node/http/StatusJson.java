package tutti.node.http;

import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** The status of a node as JSON, written by the node and read by the command line. */
public final class StatusJson {
    private static final JsonMapper MAPPER = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();

    private StatusJson() {}

    /** One object, indented. */
    public static String write(NodeStatus status) {
        return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(status) + "\n";
    }

    /**
     * Reads what {@link #write} wrote, also of a version that knows more.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static NodeStatus read(String json) {
        try {
            return MAPPER.readValue(json, NodeStatus.class);
        } catch (JacksonException e) {
            throw new IllegalArgumentException("not the status of a Tutti node: " + e.getOriginalMessage(), e);
        }
    }
}
