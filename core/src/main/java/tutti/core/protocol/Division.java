package tutti.core.protocol;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import tutti.core.schema.Field;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;

/**
 * How requests are divided among replicas under {@link Hybrid}: what the order can change. Immutable.
 *
 * @param since position of the message that made it so; 0 if the order began with it
 * @param mode who executes whole requests
 * @param logs how many request logs there are, 1 to {@link RequestLogs#LOGS_MAX}
 * @param owners whose log 0, 1, ... is at home, over and over again; none for all replicas in turn
 */
record Division(long since, Hybrid.Mode mode, int logs, List<Integer> owners) {
    static final int OWNERS_MAX = 1024;
    static final Schema<Division> SCHEMA = Schema.part("division", Division.class).of(
            Field.of("since", Types.NATURAL, Division::since),
            Field.of("mode", Types.oneOf(Hybrid.Mode.class), Division::mode),
            Field.of("logs", Types.integer(1, RequestLogs.LOGS_MAX), Division::logs),
            Field.of("owners", Types.list(Types.u8(0, 255), OWNERS_MAX), Division::owners), Division::new);
    static final String IN_TURN = "in-turn";

    Division {
        owners = List.copyOf(owners);
    }

    /** With which the order begins. */
    Division(Hybrid.Mode mode, int logs, List<Integer> owners) {
        this(0, mode, logs, owners);
    }

    /** The same as of another position. */
    Division since(long position) {
        return new Division(position, mode, logs, owners);
    }

    /** The same with other owners, as of another position. */
    Division ownedBy(long position, List<Integer> others) {
        return new Division(position, mode, logs, others);
    }

    boolean oneOwner() {
        return mode == Hybrid.Mode.PASSIVE;
    }

    /** As configurations have it. */
    OrderedParameters parameters() {
        return new OrderedParameters(since, Map.of(HybridDescriptor.EXECUTION.name(),
                mode.name().toLowerCase(Locale.ROOT), HybridDescriptor.LOGS.name(), Integer.toString(logs),
                HybridDescriptor.OWNERS.name(), owners.isEmpty()
                        ? IN_TURN
                        : owners.stream().map(String::valueOf).collect(Collectors.joining(","))));
    }
}
