package tutti.server.http;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.node.ReplicaNode;
import tutti.server.config.HostPort;
import tutti.server.config.NodeConfig;

/**
 * Answers what operators may have a node do, with what they want for it read from the request: {@code POST /flight-recording} has the node write
 * what its flight recorder keeps to a file; {@code GET /secondaries} tells of the copies of its database within the node, and
 * {@code POST /secondaries?count=N} makes them so many; {@code GET /positions} tells of positions that some node could not apply, and
 * {@code POST /positions?skip=P} or {@code keep=P} decides about one; {@code GET /members} tells of the members of the cluster, and {@code POST} with
 * {@code add=N&order=HOST:PORT}, {@code remove=N} or {@code move=N&order=HOST:PORT} changes them; {@code GET /parameters} tells of the protocol's
 * parameters that the order can change, and {@code POST} with {@code NAME=VALUE} for each that is to be another one changes them; {@code GET /tables}
 * tells which tables some nodes lack, and {@code POST /tables?nodes=N,N&table=NAME} keeps one, or several, on some nodes only; {@code POST /reload} has it
 * read its configuration again, {@code POST /comparison} takes steps of {@code tutti compare}, {@code POST /changes} of {@code tutti changes}, and
 * {@code POST /backup} sends a backup.
 */
final class OperationAnswers {
    private static final String JSON = "application/json";
    private static final String TEXT = "text/plain";
    private static final String BOTH = "GET, HEAD, POST";
    private static final String POST = "POST";
    private static final Pattern DECISION = Pattern.compile("(skip|keep)=(\\d{1,18})");
    private static final Pattern AFTER = Pattern.compile("after=(\\d{1,18})");
    private static final Pattern MEMBER = Pattern
            .compile("(add|remove|move)=(\\d{1,3})(?:&order=([\\w.\\-\\[\\]:]{1,262}))?");
    private static final Pattern KEEPERS = Pattern.compile("all|\\d{1,3}(,\\d{1,3})*");
    private static final Pattern COUNT = Pattern.compile("count=(\\d{1,4})");

    private final Operations operations;

    OperationAnswers(Operations operations) {
        this.operations = operations;
    }

    /** Answers, and returns true, if the path is one of those above. */
    boolean answer(Request request) throws IOException {
        switch (request.path()) {
            case "/flight-recording" -> request.change(POST, TEXT, () -> operations.writeFlightRecording() + "\n");
            case "/reload" -> request.change(POST, TEXT, () -> operations.reload() + "\n");
            case "/comparison" -> request.change(POST, JSON, () -> operations.comparison(request.parameters()));
            case "/changes" ->
                request.change(POST, "application/x-ndjson", () -> operations.changes(request.parameters()));
            case "/backup" -> backup(request);
            case "/secondaries" -> secondaries(request);
            case "/positions" -> positions(request);
            case "/members" -> members(request);
            case "/parameters" -> parameters(request);
            case "/tables" -> tables(request);
            default -> {
                return false;
            }
        }
        return true;
    }

    private void backup(Request request) throws IOException {
        Matcher wanted = AFTER.matcher(request.query());
        request.changeLargely(POST, () -> operations.backup(wanted.matches() ? Long.parseLong(wanted.group(1)) : -1));
    }

    private void secondaries(Request request) throws IOException {
        int wanted = count(request.query());
        if (request.reads()) {
            request.send(JSON, () -> StatusJson.write(operations.secondaries()));
        } else if (request.posts() && wanted < 0) {
            request.send(400, TEXT, "say how many secondaries there are to be, 0 to "
                    + NodeConfig.InProcess.SECONDARIES_MAX + ", as in /secondaries?count=2\n");
        } else {
            request.change(BOTH, JSON, () -> StatusJson.write(operations.secondaries(wanted)));
        }
    }

    /** How many secondaries a request wants, or -1 if it does not say, or wants too many. */
    private static int count(String query) {
        Matcher wanted = COUNT.matcher(query);
        int count = wanted.matches() ? Integer.parseInt(wanted.group(1)) : -1;
        return count > NodeConfig.InProcess.SECONDARIES_MAX ? -1 : count;
    }

    private void positions(Request request) throws IOException {
        Matcher wanted = DECISION.matcher(request.query());
        if (request.reads()) {
            // What a node could not apply may be told with rows of it.
            request.permitted(JSON, () -> StatusJson.write(operations.positions()));
        } else if (request.posts() && !wanted.matches()) {
            request.send(400, TEXT, "say what is decided, as in /positions?skip=1234 or /positions?keep=1234\n");
        } else {
            request.change(BOTH, JSON, () -> StatusJson.write(
                    operations.decide(Long.parseLong(wanted.group(2)), wanted.group(1).equals("keep"))));
        }
    }

    private void members(Request request) throws IOException {
        ReplicaNode.MemberChange wanted = memberChange(request.query());
        if (request.reads()) {
            request.send(JSON, () -> StatusJson.write(operations.members()));
        } else if (request.posts() && wanted == null) {
            request.send(400, TEXT, "say what is to change, as in /members?add=3&order=host:7400,"
                    + " /members?remove=3 or /members?move=3&order=host:7400\n");
        } else {
            request.change(BOTH, JSON, () -> StatusJson.write(operations.change(Objects.requireNonNull(wanted))));
        }
    }

    /** What a request wants to change, or null if it does not say. */
    private static ReplicaNode.@Nullable MemberChange memberChange(String query) {
        Matcher wanted = MEMBER.matcher(query);
        if (!wanted.matches() || Integer.parseInt(wanted.group(2)) > 255
                || wanted.group(1).equals("remove") != (wanted.group(3) == null)
                || (wanted.group(3) != null && !isPlace(wanted.group(3)))) {
            return null;
        }
        int node = Integer.parseInt(wanted.group(2));
        return switch (wanted.group(1)) {
            case "add" -> new ReplicaNode.MemberChange.Add(node, wanted.group(3));
            case "move" -> new ReplicaNode.MemberChange.Move(node, wanted.group(3));
            default -> new ReplicaNode.MemberChange.Remove(node);
        };
    }

    private static boolean isPlace(String order) {
        try {
            var _ = HostPort.parse(order);
            return true;
        } catch (IllegalArgumentException none) {
            return false;
        }
    }

    private void parameters(Request request) throws IOException {
        Map<String, String> wanted = request.parameters();
        if (request.reads()) {
            request.send(JSON, () -> StatusJson.write(operations.parameters()));
        } else if (request.posts() && wanted.isEmpty()) {
            request.send(400, TEXT, "say what is to change, as in /parameters?logs=128\n");
        } else {
            request.change(BOTH, JSON, () -> StatusJson.write(operations.change(wanted)));
        }
    }

    private void tables(Request request) throws IOException {
        List<String> tables = request.all("table");
        Matcher nodes = KEEPERS.matcher(String.join("&", request.all("nodes")));
        if (request.reads()) {
            request.send(JSON, () -> StatusJson.writeTables(operations.tables()));
        } else if (request.posts() && (tables.isEmpty() || !nodes.matches())) {
            request.send(400, TEXT,
                    "say which tables are to be where, as in /tables?nodes=0,2&table=public.events; nodes=all forgets where they are\n");
        } else {
            request.change(BOTH, JSON,
                    () -> StatusJson.writeTables(operations.place(tables, keepers(nodes.group()))));
        }
    }

    private static Set<Integer> keepers(String nodes) {
        return nodes.equals("all")
                ? Set.of()
                : Stream.of(nodes.split(",", -1)).map(Integer::valueOf).collect(Collectors.toUnmodifiableSet());
    }
}
