package tutti.server.config;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What has changed in a node's file since the node was started, and what of that can count while it runs.
 *
 * @param config the node's configuration from now on: as it was, with those changes that count at once
 * @param taken keys that count at once
 * @param later keys that count when the node is started again
 */
public record ConfigChanges(NodeConfig config, List<String> taken, List<String> later) {
    /** Keys that count at once, besides parameters of the protocol that are a node's own. Certificates and keys of the node are read again by themselves. */
    public static final Set<String> AT_ONCE = Set.of("apply.appliers", "apply.batch-transactions",
            "apply.linger", "copies.automatic", "copies.bytes-per-second", "limits.stop-grace",
            "order.retention-bytes", "order.retention-time");

    private static final String PARAMETERS = "protocol-parameters";

    public ConfigChanges {
        taken = List.copyOf(taken);
        later = List.copyOf(later);
    }

    /**
     * Compares.
     *
     * @param present by which the node runs
     * @param fresh what the file says now
     */
    public static ConfigChanges between(NodeConfig present, NodeConfig fresh) {
        List<String> taken = new ArrayList<>();
        List<String> later = new ArrayList<>();
        NodeConfig config = (NodeConfig) merged("", present, fresh, taken, later);
        return new ConfigChanges(config, taken, later);
    }

    private static Record merged(String path, Record present, Record fresh, List<String> taken, List<String> later) {
        RecordComponent[] components = present.getClass().getRecordComponents();
        @Nullable
        Object[] values = new Object[components.length];
        for (int i = 0; i < components.length; i++) {
            String key = path + key(components[i].getName());
            Object was = value(components[i], present);
            Object is = value(components[i], fresh);
            values[i] = was;
            if (Objects.equals(was, is)) {
                continue;
            }
            if (was instanceof Record before && is instanceof Record now) {
                values[i] = merged(key + ".", before, now, taken, later);
            } else if (key.equals(PARAMETERS)) {
                values[i] = parameters(present, fresh, taken, later);
            } else if (AT_ONCE.contains(key)) {
                values[i] = is;
                taken.add(key);
            } else {
                later.add(key);
            }
        }
        Class<?>[] types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
        try {
            return present.getClass().getDeclaredConstructor(types).newInstance(values);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(present.getClass() + " cannot be made anew", impossible);
        }
    }

    /** Those that are a node's own count at once; with another protocol there are others, and none does. */
    private static Map<String, String> parameters(Record present, Record fresh, List<String> taken,
            List<String> later) {
        if (!(present instanceof NodeConfig was && fresh instanceof NodeConfig is)) {
            throw new IllegalStateException(present.getClass() + " has no " + PARAMETERS);
        }
        Map<String, String> values = new TreeMap<>(was.protocolParameters());
        Set<String> names = new TreeSet<>(values.keySet());
        names.addAll(is.protocolParameters().keySet());
        for (String name : names) {
            String before = was.protocolParameters().get(name);
            String now = is.protocolParameters().get(name);
            if (Objects.equals(before, now)) {
                continue;
            }
            if (!was.protocol().equals(is.protocol()) || !was.chosenProtocol().descriptor().local().contains(name)) {
                later.add(PARAMETERS + "." + name);
                continue;
            }
            taken.add(PARAMETERS + "." + name);
            if (now == null) {
                values.remove(name);
            } else {
                values.put(name, now);
            }
        }
        return values;
    }

    private static @Nullable Object value(RecordComponent component, Record of) {
        try {
            return component.getAccessor().invoke(of);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(component + " cannot be read", impossible);
        }
    }

    private static String key(String name) {
        return name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
    }
}
