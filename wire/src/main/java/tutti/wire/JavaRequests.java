package tutti.wire;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.capture.Statement;
import tutti.engine.procedure.Procedures;
import tutti.pgwire.ErrorFields;
import tutti.wire.sql.StatementClasses;

/**
 * Which requests that call procedures in Java can be handed in: those of one statement, whose classes are declared, for the owner of a log, of procedures that all
 * nodes that are there have in the same version. Immutable, for any thread.
 *
 * @param registered at this node
 * @param lacking numbers of nodes that are there and not known to have something ({@link Procedures#ability}); from any thread
 */
public record JavaRequests(Procedures registered, Function<String, Set<Integer>> lacking) {
    /** Of a node at which nothing is registered. */
    public static final JavaRequests NONE = new JavaRequests(Procedures.NONE, _ -> Set.of());

    /** Settings that a request needs, by name; none if it calls nothing in Java. */
    Map<String, String> settings(StatementClasses.Statements statements) {
        Map<String, String> settings = new HashMap<>();
        if (!statements.java().isEmpty()) {
            settings.put(Statement.JAVA_CALLS, "[]");
            settings.put(Statement.JAVA_VERSIONS, String.join(" ", statements.java().stream()
                    .map(name -> name + "=" + registered.version(name)).toList()));
        }
        return settings;
    }

    /**
     * Why a request cannot be handed in, or null.
     *
     * @param parts its statements
     * @param owner whether the owner of its log is to execute it
     * @param separately whether each statement is a request by itself
     */
    @Nullable
    ErrorFields refusal(List<StatementClasses.Statements> parts, boolean owner, boolean separately) {
        Set<String> names = new TreeSet<>();
        for (StatementClasses.Statements part : parts) {
            names.addAll(part.java());
            if (part.undeclared() != null) {
                return Errors.error("42P13", "procedure " + part.undeclared()
                        + " has one in Java executed, and does not say which tables, or rows, that touches")
                        .with('H', "ALTER PROCEDURE " + part.undeclared() + " SET tutti.classes = 'table, table($1)';");
            }
        }
        if (names.isEmpty()) {
            return null;
        }
        String all = String.join(", ", names);
        if (!owner) {
            return Errors.notSupported("procedure " + all + " is written in Java, and only the owner of a request log"
                    + " executes that")
                    .with('H', "Use protocol hybrid, and tutti.mode = 'default'.");
        }
        if (parts.stream().anyMatch(StatementClasses.Statements::several) || (parts.size() > 1 && !separately)) {
            return Errors
                    .notSupported("procedure " + all + " is written in Java, and must be called alone: what Java does"
                            + " follows all statements of the request")
                    .with('H', "Send the CALL as a request of its own.");
        }
        return unavailable(names);
    }

    /** Why procedures of these names cannot be called, or null: this node has none, or not all others that are there have the same. */
    public @Nullable ErrorFields unavailable(Set<String> names) {
        for (String name : names) {
            String version = registered.version(name);
            if (version == null) {
                return Errors.error("42883", "there is no Java procedure " + name + " at this node; there are: "
                        + (registered.names().isEmpty() ? "none" : String.join(", ", registered.names())))
                        .with('H', "Name its class in `procedures` of the configuration of every node.");
            }
            Set<Integer> lack = lacking.apply(Procedures.ability(name, version));
            if (!lack.isEmpty()) {
                return Errors.error("55000", "Java procedure " + name + " is not at node "
                        + String.join(", ", new TreeSet<>(lack).stream().map(String::valueOf).toList())
                        + ", or there in another version than here")
                        .with('H', "Register the same class at all nodes, and start them again, one after the other.");
            }
        }
        return null;
    }
}
