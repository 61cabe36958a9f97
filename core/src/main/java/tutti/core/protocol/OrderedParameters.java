package tutti.core.protocol;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

/**
 * Values of those parameters of a protocol that change at one position of the order, for all replicas ({@link ProtocolDescriptor#ordered}). A
 * function of the ordered prefix. Immutable.
 *
 * @param since position of the message that gave these values; 0 for those with which the order began
 * @param values by name, ascending, as configurations have them
 */
public record OrderedParameters(long since, Map<String, String> values) {
    /** Of a protocol that has none. */
    public static final OrderedParameters NONE = new OrderedParameters(0, Map.of());

    /** Copies the values. */
    public OrderedParameters {
        values = Collections.unmodifiableMap(new TreeMap<>(values));
    }
}
