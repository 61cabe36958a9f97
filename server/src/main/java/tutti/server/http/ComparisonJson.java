package tutti.server.http;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** What nodes answer when their databases are compared, written by the node and read by the command line. */
public final class ComparisonJson {
    private static final JsonMapper MAPPER = JsonMapper.shared();

    private ComparisonJson() {}

    /**
     * All tables of a node.
     *
     * @param position at which they were looked at
     * @param lacks tables that other nodes keep only, by name, which are not among them
     */
    public record Tables(long position, List<Table> tables, @JsonSetter(nulls = Nulls.AS_EMPTY) List<String> lacks) {
        public Tables {
            tables = List.copyOf(tables);
            lacks = List.copyOf(lacks);
        }
    }

    /**
     * A table.
     *
     * @param name with its schema, as SQL needs it
     * @param definition columns, constraints and indexes in words, sorted
     * @param rows how many
     * @param digest of them
     * @param error why they could not be read; null if they could
     */
    public record Table(String name, List<String> definition, long rows, long digest, @Nullable String error) {
        public Table {
            definition = List.copyOf(definition);
        }
    }

    /** Digests of the parts of a table, {@code rows:digest} each. */
    public record Parts(List<String> parts) {
        public Parts {
            parts = List.copyOf(parts);
        }
    }

    /** A row by its key, and a hash of all of it. */
    public record Row(String key, long hash) {}

    /**
     * Rows of a part.
     *
     * @param rows null if there are too many
     */
    public record Rows(@Nullable List<Row> rows) {}

    /** One object. */
    public static String write(Record answer) {
        return MAPPER.writeValueAsString(answer) + "\n";
    }

    /**
     * Reads it.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static <T extends Record> T read(String json, Class<T> type) {
        try {
            return MAPPER.readValue(json, type);
        } catch (JacksonException e) {
            throw new IllegalArgumentException("not what a Tutti node says of its tables: " + e.getOriginalMessage(),
                    e);
        }
    }
}
