package tutti.check.history;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;
import tutti.core.txn.TransactionId;

/**
 * A {@link History} as a file of JSON lines: a header with the names of keys, then one line per transaction (in which
 * transactions are written as {@code [node, serial]}, reads as {@code [key]} for the initial version or
 * {@code [key, node, serial]}), then one line per replica.
 */
public final class HistoryFile {
    private static final String FORMAT = "tutti-history";

    private HistoryFile() {}

    /** Writes, replacing what is there. */
    public static void write(History history, Path file) throws IOException {
        try (BufferedWriter to = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            ObjectNode header = JsonLines.header(FORMAT);
            ArrayNode names = header.putArray("names");
            history.keyNames.forEach((key, name) -> names.addArray().add(key.longValue()).add(name));
            JsonLines.write(to, header);
            for (int i = 0; i < history.transactions(); i++) {
                JsonLines.write(to, transaction(history, i));
            }
            for (ReplicaLog replica : history.replicas()) {
                JsonLines.write(to, replica(history, replica));
            }
        }
    }

    /**
     * Reads what {@link #write} wrote.
     *
     * @throws IOException naming file and line, if it cannot be read or is something else
     */
    public static History read(Path file) throws IOException {
        HistoryRecorder recorder = new HistoryRecorder();
        JsonLines.read(file, FORMAT,
                header -> header.path("names")
                        .forEach(name -> recorder.name(name.get(0).asLong(), name.get(1).asString())),
                line -> {
                    if (line.has("replica")) {
                        replica(recorder, line);
                    } else {
                        transaction(recorder, line);
                    }
                });
        return recorder.history();
    }

    private static ObjectNode transaction(History history, int i) {
        ObjectNode line = JsonLines.MAPPER.createObjectNode();
        line.set("id", id(history, i, JsonLines.MAPPER.createArrayNode()));
        if (history.session(i) >= 0) {
            line.put("session", history.session(i));
        }
        instant(line, "begun", history.begunNanos(i));
        instant(line, "requested", history.requestedNanos(i));
        instant(line, "answered", history.answeredNanos(i));
        if (history.answer(i) != History.Answer.NONE) {
            line.put("answer", history.answer(i).name());
        }
        if (history.snapshot(i) != History.NO_SNAPSHOT) {
            line.put("snapshot", history.snapshot(i));
        }
        if (history.position(i) > 0) {
            line.put("position", history.position(i));
        }
        if (history.readsFrom(i) < history.readsTo(i)) {
            ArrayNode reads = line.putArray("reads");
            for (int read = history.readsFrom(i); read < history.readsTo(i); read++) {
                ArrayNode pair = reads.addArray().add(history.key(history.readKey(read)));
                if (history.readWriter(read) != History.INITIAL) {
                    ArrayNode _ = id(history, history.readWriter(read), pair);
                }
            }
        }
        if (history.writes(i)) {
            ArrayNode writes = line.putArray("writes");
            for (int write = history.writesFrom(i); write < history.writesTo(i); write++) {
                writes.add(history.key(history.writeKey(write)));
            }
        }
        return line;
    }

    private static ArrayNode id(History history, int transaction, ArrayNode to) {
        TransactionId id = history.id(transaction);
        return to.add(id.node()).add(id.serial());
    }

    private static TransactionId id(JsonNode from, int at) {
        return new TransactionId(from.get(at).asInt(), from.get(at + 1).asLong());
    }

    private static void instant(ObjectNode line, String name, long nanos) {
        if (nanos != History.NO_INSTANT) {
            line.put(name, nanos);
        }
    }

    private static void transaction(HistoryRecorder recorder, JsonNode line) {
        TransactionId id = id(line.required("id"), 0);
        recorder.begun(id, line.path("session").asInt(-1), line.path("begun").asLong(History.NO_INSTANT));
        if (line.has("requested")) {
            recorder.commitRequested(id, line.get("requested").asLong());
        }
        if (line.has("answered") || line.has("answer")) {
            recorder.answered(id, line.path("answered").asLong(History.NO_INSTANT),
                    History.Answer.valueOf(line.path("answer").asString(History.Answer.NONE.name())));
        }
        if (line.has("snapshot")) {
            recorder.snapshot(id, line.get("snapshot").asLong());
        }
        if (line.has("position")) {
            recorder.committed(id, line.get("position").asLong());
        }
        for (JsonNode read : line.path("reads")) {
            recorder.read(id, read.get(0).asLong(), read.size() == 1 ? null : id(read, 1));
        }
        for (JsonNode write : line.path("writes")) {
            recorder.write(id, write.asLong());
        }
    }

    private static ObjectNode replica(History history, ReplicaLog replica) {
        ObjectNode line = JsonLines.MAPPER.createObjectNode().put("replica", replica.replica()).put("crashed",
                replica.crashed());
        ArrayNode lives = line.putArray("lives");
        for (ReplicaLog.Life life : replica.lives()) {
            ObjectNode node = lives.addObject().put("after", life.after());
            ArrayNode applied = node.putArray("applied");
            for (int i = 0; i < life.size(); i++) {
                ArrayNode one = id(history, life.transactions()[i], applied.addArray().add(life.positions()[i]));
                if (life.states()[i] != 0) {
                    one.add(life.states()[i]);
                }
            }
        }
        return line;
    }

    private static void replica(HistoryRecorder recorder, JsonNode line) {
        int replica = line.get("replica").asInt();
        for (JsonNode life : line.required("lives")) {
            recorder.started(replica, life.required("after").asLong());
            for (JsonNode applied : life.required("applied")) {
                recorder.applied(replica, applied.get(0).asLong(), id(applied, 1),
                        applied.size() > 3 ? applied.get(3).asLong() : 0);
            }
        }
        if (line.path("crashed").asBoolean(false)) {
            recorder.crashed(replica);
        }
    }
}
