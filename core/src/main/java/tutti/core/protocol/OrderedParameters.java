package tutti.core.protocol;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Values of those parameters of a protocol that change at one position of the order, for all replicas ({@link ProtocolDescriptor#ordered}). A
 * function of the ordered prefix. Immutable.
 *
 * @param since position of the message that gave these values; 0 for those with which the order began
 * @param values by name, as configurations have them
 */
public record OrderedParameters(long since, SortedMap<String, String> values) {
    /** Of a protocol that has none. */
    public static final OrderedParameters NONE = new OrderedParameters(0, Map.of());

    /** Copies the values. */
    public OrderedParameters {
        values = Collections.unmodifiableSortedMap(new TreeMap<>(values));
    }

    /** With values in any order. */
    public OrderedParameters(long since, Map<String, String> values) {
        this(since, new TreeMap<>(values));
    }
}
