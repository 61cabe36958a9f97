package tutti.node;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tutti.core.schema.DecodeException;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.runtime.DamagedFileException;
import tutti.runtime.Directory;
import tutti.runtime.DurableFiles;

/**
 * What a node keeps in files of its own beside the order's log: its incarnation number, and snapshots of the protocol's
 * state from which it can begin without the whole log. All are {@link DurableFiles}.
 *
 * <p>
 * One snapshot may be saved beside other calls; those come from one thread at a time.
 */
final class NodeFiles {
    /** What helps when a file of a node is of no use. */
    static final String REMEDY = "remove this node's data, and give it a copy of another node's database to begin with";

    private static final String INCARNATION = "incarnation";
    private static final String VERDICTS = "verdicts";
    private static final String ABSENCES = "absences";
    private static final Pattern SNAPSHOT = Pattern.compile("protocol-(\\d+)\\.snapshot");

    private final Directory directory;

    /** Which life of a node was the last. */
    record Incarnation(long last) implements Encoded {
        static final Schema<Incarnation> SCHEMA = Schema
                .message("incarnation", 2, Incarnation.class, "Number of the node's last life.")
                .of(Field.of("last", Types.NATURAL, Incarnation::last), Incarnation::new);
    }

    /** Ballots that were closed about positions which the engine does not hold. */
    record Verdicts(List<Ballots.Ballot> ballots) implements Encoded {
        static final Schema<Verdicts> SCHEMA = Schema
                .message("verdicts", 3, Verdicts.class,
                        "What was decided about positions before which the node stands.")
                .of(Field.of("ballots", Types.list(Ballots.Ballot.SCHEMA, Ballots.CLOSED_MAX), Verdicts::ballots),
                        Verdicts::new);
    }

    /** How long others have been away, in nanoseconds, counted while this node reached a majority. */
    record Absences(Map<Integer, Long> nanos) implements Encoded {
        static final Schema<Absences> SCHEMA = Schema
                .message("absences", 5, Absences.class, "How long other nodes have been away.")
                .of(Field.of("nanos", Types.map(Types.INT, Types.NATURAL, 1 << 16), Absences::nanos), Absences::new);
    }

    /** What is in the files. */
    static final MessageSet<Encoded> SET = new MessageSet<>("node files",
            "In files of a node's own, each behind its CRC-32C of 4 bytes.",
            List.of(NodeSnapshot.SCHEMA, Incarnation.SCHEMA, Verdicts.SCHEMA, MemberSnapshot.SCHEMA, Absences.SCHEMA,
                    LostKeysSnapshot.SCHEMA, BallotTablesSnapshot.SCHEMA, PlacementSnapshot.SCHEMA,
                    LostReleasesSnapshot.SCHEMA));

    /** A snapshot of the protocol after a position, as bytes. */
    record Snapshot(long position, byte[] state) {}

    /**
     * Uses a directory, and removes what a crash has left unfinished in it.
     *
     * @throws IOException if it cannot be read or written
     */
    NodeFiles(Directory directory) throws IOException {
        this.directory = directory;
        for (String name : directory.list()) {
            if (name.endsWith(DurableFiles.ASIDE)) {
                directory.delete(name);
            }
        }
    }

    /** Where it is, for people. */
    String location() {
        return directory.location();
    }

    /** A number larger than every one answered before, kept over restarts. */
    long nextIncarnation() throws IOException {
        long next = 1;
        if (directory.exists(INCARNATION)) {
            try {
                next = SET.decode(read(INCARNATION), Incarnation.class).last() + 1;
            } catch (DecodeException wrong) {
                throw new IOException(directory.location(INCARNATION) + " cannot be used: " + wrong.getMessage()
                        + "; or " + REMEDY, wrong);
            }
        }
        keepIncarnation(next);
        return next;
    }

    /** Numbers answered from now on are larger than this one. */
    void keepIncarnation(long last) throws IOException {
        DurableFiles.write(directory, INCARNATION, new Incarnation(last).bytes());
    }

    /** What was kept last by {@link #keepVerdicts}; none if nothing was. */
    List<Ballots.Ballot> verdicts() throws IOException {
        if (!directory.exists(VERDICTS)) {
            return List.of();
        }
        try {
            return SET.decode(read(VERDICTS), Verdicts.class).ballots();
        } catch (DecodeException wrong) {
            throw new IOException(directory.location(VERDICTS) + " cannot be used: " + wrong.getMessage() + "; or "
                    + REMEDY, wrong);
        }
    }

    /** Keeps verdicts for the next life, durably, in place of those kept before. */
    void keepVerdicts(List<Ballots.Ballot> ballots) throws IOException {
        DurableFiles.write(directory, VERDICTS, new Verdicts(ballots).bytes());
    }

    /** What was kept last by {@link #keepAbsences}; nothing if nothing was. */
    Map<Integer, Long> absences() throws IOException {
        if (!directory.exists(ABSENCES)) {
            return Map.of();
        }
        try {
            return SET.decode(read(ABSENCES), Absences.class).nanos();
        } catch (DecodeException wrong) {
            throw new IOException(directory.location(ABSENCES) + " cannot be used: " + wrong.getMessage()
                    + "; remove it: then their time counts anew", wrong);
        }
    }

    /** Keeps for the next life, durably, how long others have been away. */
    void keepAbsences(Map<Integer, Long> nanos) throws IOException {
        DurableFiles.write(directory, ABSENCES, new Absences(nanos).bytes());
    }

    /** Keeps a snapshot, durably. */
    void save(Snapshot snapshot) throws IOException {
        DurableFiles.write(directory, name(snapshot.position()), snapshot.state());
    }

    /** The newest snapshot of a position not after {@code position}. */
    Optional<Snapshot> newestUpTo(long position) throws IOException {
        for (long candidate : positions().reversed()) {
            if (candidate <= position) {
                ByteBuffer content = read(name(candidate));
                byte[] state = new byte[content.remaining()];
                content.get(state);
                return Optional.of(new Snapshot(candidate, state));
            }
        }
        return Optional.empty();
    }

    /** Removes snapshots of positions before {@code position}. */
    void removeBefore(long position) throws IOException {
        for (long candidate : positions()) {
            if (candidate < position) {
                directory.delete(name(candidate));
            }
        }
    }

    private ByteBuffer read(String name) throws IOException {
        try {
            return DurableFiles.read(directory, name);
        } catch (DamagedFileException damaged) {
            throw new DamagedFileException(damaged.getMessage() + "; " + REMEDY);
        }
    }

    private List<Long> positions() throws IOException {
        return directory.list().stream().map(SNAPSHOT::matcher).filter(Matcher::matches)
                .map(name -> Long.valueOf(name.group(1))).sorted(Comparator.naturalOrder()).toList();
    }

    private static String name(long position) {
        return "protocol-" + position + ".snapshot";
    }
}
