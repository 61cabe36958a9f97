package tutti.server.http;

import java.util.List;
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

    /** Likewise, of its secondaries alone. */
    public static String write(NodeStatus.Secondaries secondaries) {
        return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(secondaries) + "\n";
    }

    /** Likewise, of the members of its cluster. */
    public static String write(NodeStatus.Members members) {
        return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(members) + "\n";
    }

    /**
     * Reads what {@link #write(NodeStatus.Members)} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static NodeStatus.Members readMembers(String json) {
        return read(json, NodeStatus.Members.class);
    }

    /** Likewise, of the parameters that the order can change. */
    public static String write(NodeStatus.Parameters parameters) {
        return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(parameters) + "\n";
    }

    /**
     * Reads what {@link #write(NodeStatus.Parameters)} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static NodeStatus.Parameters readParameters(String json) {
        return read(json, NodeStatus.Parameters.class);
    }

    /** An array of tables that some nodes lack. */
    public static String writeTables(List<NodeStatus.PlacedTable> tables) {
        return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(tables) + "\n";
    }

    /**
     * Reads what {@link #writeTables} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static List<NodeStatus.PlacedTable> readTables(String json) {
        return List.of(read(json, NodeStatus.PlacedTable[].class));
    }

    /** An array of positions that some node could not apply. */
    public static String write(List<NodeStatus.Position> positions) {
        return MAPPER.writerWithDefaultPrettyPrinter().writeValueAsString(positions) + "\n";
    }

    /**
     * Reads what {@link #write(List)} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static List<NodeStatus.Position> readPositions(String json) {
        return List.of(read(json, NodeStatus.Position[].class));
    }

    /**
     * Reads what {@link #write(NodeStatus.Secondaries)} wrote.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static NodeStatus.Secondaries readSecondaries(String json) {
        return read(json, NodeStatus.Secondaries.class);
    }

    /**
     * Reads what {@link #write(NodeStatus)} wrote, also of a version that knows more.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static NodeStatus read(String json) {
        return read(json, NodeStatus.class);
    }

    private static <T> T read(String json, Class<T> type) {
        try {
            return MAPPER.readValue(json, type);
        } catch (JacksonException e) {
            throw new IllegalArgumentException("not the status of a Tutti node: " + e.getOriginalMessage(), e);
        }
    }
}
