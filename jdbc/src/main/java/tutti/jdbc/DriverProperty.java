package tutti.jdbc;

import java.sql.DriverPropertyInfo;
import java.util.Locale;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/** The connection properties that are the driver's own; all others are pgjdbc's. */
enum DriverProperty {
    /** Which node a new connection goes to. */
    LOAD_BALANCE("loadBalance", "false", "Which node a new connection goes to: the first one in the URL that can be"
            + " reached (false), any (true or random), one after the other (round-robin), or the one to which this"
            + " virtual machine has the fewest connections (least-connections).", "false", "true", "random",
            "round-robin", "least-connections"),
    /** Where transactions go while the connection is read-only. */
    READ_ONLY_ROUTING("readOnlyRouting", "same", "Where transactions go after setReadOnly(true): to the node that"
            + " others go to (same), to one that the load balancer chooses (any), or to another one if there is any"
            + " (other). The second connection is opened when it is needed first, and kept.", "same", "any", "other"),
    /** How new what a transaction reads must be. */
    READ_LEVEL("readLevel", "causal", "What a transaction sees at least: what its node happens to have (local);"
            + " besides, all that was committed or seen by this connection, at any node (session), or by all connections"
            + " of this virtual machine that name the same nodes (causal); all that any client was told of before the"
            + " transaction began (linearizable), for which the order is asked once for each.",
            "local", "session", "causal", "linearizable"),
    /** What becomes of a read-only transaction whose node is lost. */
    READ_ONLY_FAILOVER("readOnlyFailover", "move", "When the node is lost during a read-only transaction that has read"
            + " something: go on at another node, in a new snapshot that is no older (move), or fail with 40001"
            + " (abort).", "move", "abort"),
    /** How long a node is looked for when one was lost. */
    FAILOVER_TIMEOUT("failoverTimeout", "30", "How long nodes are tried, in seconds, after one was lost, before the"
            + " application gets an error of class 08."),
    /** When a node is given up that says nothing. */
    SILENCE_TIMEOUT("silenceTimeout", "1",
            "How long a node may say nothing, in seconds, before its connections in use are given up like"
                    + " those of a lost node. Only if another node answers meanwhile; a node that answers may take as long as it likes for"
                    + " a statement. 0 waits for ever."),
    /** How long the cluster is asked about a commit. */
    RESOLVE_TIMEOUT("resolveTimeout", "30", "How long the cluster is asked, in seconds, whether a transaction has"
            + " committed whose node was lost meanwhile, before the application gets 08007.");

    private final String key;
    private final String byDefault;
    private final String description;
    /** Separated by a bar; empty if any value will do. */
    private final String choices;

    DriverProperty(String key, String byDefault, String description, String... choices) {
        this.key = key;
        this.byDefault = byDefault;
        this.description = description;
        this.choices = String.join("|", choices);
    }

    String key() {
        return key;
    }

    static @Nullable DriverProperty of(String key) {
        for (DriverProperty property : values()) {
            if (property.key.equals(key)) {
                return property;
            }
        }
        return null;
    }

    private String[] choices() {
        return choices.isEmpty() ? new String[0] : choices.split("\\|", -1);
    }

    /** Its value, one of the choices if it has any. */
    String of(Properties properties) throws java.sql.SQLException {
        String value = properties.getProperty(key);
        if (value == null) {
            return byDefault;
        }
        if (choices.isEmpty()) {
            return value.strip();
        }
        for (String choice : choices()) {
            if (choice.equals(value.strip().toLowerCase(Locale.ROOT))) {
                return choice;
            }
        }
        throw Failures.invalid("property " + key + " cannot be '" + value + "': it is one of "
                + String.join(", ", choices()));
    }

    /** Its value as a number of seconds, as nanoseconds. */
    long nanosOf(Properties properties) throws java.sql.SQLException {
        String value = of(properties);
        try {
            long seconds = Long.parseLong(value);
            if (seconds >= 0 && seconds <= 86_400) {
                return seconds * 1_000_000_000L;
            }
        } catch (NumberFormatException notANumber) {
            throw Failures.invalid("property " + key + " cannot be '" + value + "': it is a number of seconds",
                    notANumber);
        }
        throw Failures.invalid("property " + key + " cannot be " + value + ": it is 0 to 86400 seconds");
    }

    DriverPropertyInfo info(Properties given) {
        DriverPropertyInfo info = new DriverPropertyInfo(key, given.getProperty(key, byDefault));
        info.description = description;
        info.choices = choices.isEmpty() ? null : choices();
        return info;
    }
}
