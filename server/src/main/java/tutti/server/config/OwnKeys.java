package tutti.server.config;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Dump;
import org.snakeyaml.engine.v2.api.DumpSettings;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.FlowStyle;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * Keeps what an operator has added to a configuration that a program writes again and again: keys that the program did not write last time. Values are
 * kept, comments and their layout are not.
 */
public final class OwnKeys {
    private static final String HEAD = "# Written by `tutti start`, which writes its own keys anew each time and keeps those that are added; comments"
            + " are not kept.\n";

    private OwnKeys() {}

    /** What stands in the file cannot be kept: a key that the program writes was changed, or it is no YAML. */
    public static final class RefusedException extends Exception {
        private static final long serialVersionUID = 1;

        RefusedException(String message, @Nullable Throwable cause) {
            super(message, cause);
        }
    }

    /**
     * What is to be written.
     *
     * @param present what the file says now
     * @param last what the program has written last; null if that is not known, when only keys that it does not write now count as added
     * @param fresh what the program would write
     * @return that, with the keys that were added; {@code fresh} as it is if none was
     * @throws RefusedException if a key that the program writes was changed, to something else than it would write now; or if {@code present}
     *             is no YAML
     */
    public static String kept(String present, @Nullable String last, String fresh) throws RefusedException {
        Map<Object, Object> now = map(fresh);
        Map<Object, Object> there;
        try {
            there = map(present);
        } catch (YamlEngineException no) {
            throw new RefusedException(
                    "is not YAML: " + no.getMessage() + ": mend it, or remove it to have it written anew", no);
        }
        Map<Object, Object> added = added(there, last == null ? now : map(last), now, "", last == null);
        if (added.isEmpty()) {
            return fresh;
        }
        DumpSettings settings = DumpSettings.builder().setDefaultFlowStyle(FlowStyle.AUTO).build();
        return HEAD + new Dump(settings).dumpToString(merged(now, added));
    }

    private static Map<Object, Object> map(String yaml) {
        Object read = new Load(LoadSettings.builder().build()).loadFromString(yaml);
        return read instanceof Map<?, ?> map ? new LinkedHashMap<>(map) : new LinkedHashMap<>();
    }

    private static Map<Object, Object> added(Map<?, ?> present, Map<?, ?> last, Map<?, ?> now, String path,
            boolean unknown) throws RefusedException {
        Map<Object, Object> added = new LinkedHashMap<>();
        for (Map.Entry<?, ?> each : present.entrySet()) {
            Object key = each.getKey();
            Object value = each.getValue();
            String name = path + key;
            if (value != null && value.equals(last.get(key))) {
                continue;
            }
            if (value instanceof Map<?, ?> inner && (last.get(key) instanceof Map || now.get(key) instanceof Map)) {
                Map<Object, Object> below = added(inner, inside(last.get(key)), inside(now.get(key)), name + ".",
                        unknown);
                if (!below.isEmpty()) {
                    added.put(key, below);
                }
            } else if (!now.containsKey(key)) {
                added.put(key, value);
            } else if (!unknown && value != null && !value.equals(now.get(key))) {
                throw new RefusedException(name + " says " + value + ", and `tutti start` has chosen " + now.get(key)
                        + " there: take that out of"
                        + " the file again, or say it by an option", null);
            }
        }
        return added;
    }

    private static Map<?, ?> inside(@Nullable Object value) {
        return value instanceof Map<?, ?> map ? map : Map.of();
    }

    private static Map<Object, Object> merged(Map<?, ?> fresh, Map<?, ?> added) {
        Map<Object, Object> merged = new LinkedHashMap<>(fresh);
        added.forEach((key, value) -> merged.put(key, value instanceof Map<?, ?> inner
                ? merged(inside(fresh.get(key)), inner)
                : value));
        return merged;
    }
}
