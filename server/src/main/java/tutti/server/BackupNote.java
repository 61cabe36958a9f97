package tutti.server;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * What a backup says of itself, in its file {@value #FILE}.
 *
 * @param kind {@code base}, with a database and all that a node begins with, or {@code log}, with what was ordered since another
 *            backup
 * @param state what nodes must have in common to begin with it
 * @param node name of the one that gave it
 * @param least position that a base's database holds in any case, below which it is of no use; 0 for a log
 * @param most position that the log reaches
 * @param millis when that was, by the node's clock, since 1970
 * @param lacks of a base, tables that its node lacks, with the nodes that keep them; earlier versions do not say, and lack none
 */
public record BackupNote(String kind, String state, String node, long least, long most, long millis,
        @JsonSetter(nulls = Nulls.AS_EMPTY) SortedMap<String, List<Integer>> lacks) {
    /** Directory of a backup for what it says of itself. */
    public static final String PART = "about";
    /** Directory into which a backup comes; only when it has been moved away is it one. */
    public static final String INCOMING = "incoming";
    /** File that says that a backup is whole. */
    public static final String COMPLETE = "complete";
    /** File of a backup with all that is in it, as it came from the node, compressed; older backups have the parts themselves instead. */
    public static final String COPY = "copy";
    private static final Set<String> DATABASES = Set.of("postgres", "h2", "hsqldb", "h2-compressed");
    /** What a copy may have: the engines' parts, of which it has one, and what goes with it. */
    public static final Set<String> PARTS = Stream
            .concat(DATABASES.stream(), Stream.of(NodeCopies.REPLICA, NodeCopies.ORDER, PART))
            .collect(Collectors.toUnmodifiableSet());
    /** Where it is in a backup. */
    static final String FILE = "backup.json";
    private static final JsonMapper MAPPER = JsonMapper.shared();

    /** Whether a database comes with it. */
    public boolean isBase() {
        return kind.equals("base");
    }

    /** Whether all that a node keeps is in it. */
    boolean hasAllOf(int number) {
        return lacks.values().stream().noneMatch(keepers -> keepers.contains(number));
    }

    /** Whether a backup of which this is said has what its kind needs: the file {@value #COPY}, or, of an older release, its parts. */
    public boolean isAllIn(Path backup) {
        return Files.exists(backup.resolve(COPY)) || (Files.exists(backup.resolve(NodeCopies.ORDER))
                && (!isBase() || (Files.exists(backup.resolve(NodeCopies.REPLICA))
                        && DATABASES.stream().anyMatch(each -> Files.exists(backup.resolve(each))))));
    }

    /** The backups in a directory that say that they are whole, by name; not the one that is coming. */
    public static List<Path> in(Path directory) throws IOException {
        try (Stream<Path> all = Files.list(directory)) {
            return all.filter(each -> !each.endsWith(INCOMING) && Files.exists(each.resolve(COMPLETE))).sorted()
                    .toList();
        }
    }

    void write(Path directory) throws IOException {
        Files.writeString(directory.resolve(FILE), MAPPER.writeValueAsString(this) + "\n");
    }

    /** That of a backup in a directory. */
    public static BackupNote read(Path backup) throws IOException {
        Path file = backup.resolve(PART).resolve(FILE);
        try {
            return MAPPER.readValue(Files.readString(file), BackupNote.class);
        } catch (JacksonException other) {
            throw new IOException(file + " cannot be read: " + other.getOriginalMessage(), other);
        }
    }
}
