package tutti.server.config;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.List;
import tutti.core.protocol.Protocols;
import tutti.engine.Engines;
import tutti.order.Orders;

/**
 * What there is to say about one key of the configuration file. Stands on the record component that holds the value, so
 * that the reader, the printed defaults and the manual are all made from the same definition. The key is the
 * component's name in kebab case.
 */
@Target(ElementType.RECORD_COMPONENT)
@Retention(RetentionPolicy.RUNTIME)
@interface Setting {
    /** In {@link #byDefault}: the file must give a value. */
    String REQUIRED = "(required)";

    /** In {@link #byDefault}: left out, the value is null. */
    String NONE = "(none)";

    /** Lists of the only values that a text may have. */
    enum Choices {
        /** No list: other things are said of the value. */
        ANY(List.of()),
        /** Names of protocols. */
        PROTOCOLS(Protocols.STANDARD.names()),
        /** Names of engines. */
        ENGINES(Engines.INSTALLED.names()),
        /** Kinds of orders. */
        ORDERS(Orders.STANDARD.names()),
        /** How long ordered transactions are kept. */
        DURABILITIES(List.of("disk", "none")),
        /** How nodes know each other. */
        PEER_SECURITIES(List.of("tls", "none", "trusted-network")),
        /** Where a database in the node's process is kept. */
        STORAGES(List.of("files", "memory")),
        /** Isolation levels of PostgreSQL's that differ from one another. */
        ISOLATIONS(List.of("read committed", "repeatable read", "serializable")),
        /** When a client hears of what it has changed. */
        ACKNOWLEDGEMENTS(List.of("executed", "applied", "logged")),
        /** How the log is written. */
        LOG_FORMATS(List.of("text", "json"));

        @SuppressWarnings("ImmutableEnumChecker") // Lists of the JDK that cannot be changed.
        private final List<String> valid;

        Choices(List<String> valid) {
            this.valid = valid;
        }

        /** The values; empty if there is no list. */
        List<String> valid() {
            return valid;
        }
    }

    /** What it means, for the person who writes the file; one or more sentences. */
    String doc();

    /** The value when the file does not say, in the notation of the file. */
    String byDefault() default REQUIRED;

    /** A plausible value where there is no default, in the notation of the file. */
    String example() default "";

    /** Lowest value allowed, in the notation of the file; for numbers, sizes and durations. */
    String min() default "";

    /** Highest value allowed, likewise. */
    String max() default "";

    /** The only values allowed; for texts. */
    Choices oneOf() default Choices.ANY;

    /** What the whole of a text must look like. */
    String pattern() default "";

    /** A whole number that stands for bytes; written with an optional unit. */
    boolean bytes() default false;

    /** Whether a number can be {@code auto}, which is read as 0: the node chooses it while it runs. */
    boolean auto() default false;
}
