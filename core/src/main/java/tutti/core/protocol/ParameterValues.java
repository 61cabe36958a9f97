package tutti.core.protocol;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import tutti.core.text.NearestWord;

/** The values of all parameters of a protocol, checked one by one. Immutable. */
public final class ParameterValues {
    private final Map<String, Object> values;

    private ParameterValues(Map<String, Object> values) {
        this.values = values;
    }

    /**
     * Reads them.
     *
     * @param protocol whose they are, for errors
     * @param known all parameters
     * @param texts values by name; what is left out has its default
     * @throws IllegalArgumentException naming the protocol, the parameter, the value, and the nearest that is valid
     */
    static ParameterValues parse(String protocol, List<Parameter> known, Map<String, String> texts) {
        List<String> names = known.stream().map(Parameter::name).toList();
        texts.forEach((name, text) -> {
            if (!names.contains(name)) {
                throw new IllegalArgumentException("protocol " + protocol + " has no parameter '" + name + "' ("
                        + text + "); " + (names.isEmpty()
                                ? "it has none"
                                : "it has: " + String.join(", ", names) + "; nearest: "
                                        + NearestWord.of(name, names)));
            }
        });
        Map<String, Object> values = new LinkedHashMap<>();
        for (Parameter parameter : known) {
            try {
                values.put(parameter.name(),
                        parameter.parse(texts.getOrDefault(parameter.name(), parameter.byDefault())));
            } catch (IllegalArgumentException impossible) {
                throw new IllegalArgumentException("protocol " + protocol + ": " + impossible.getMessage(),
                        impossible);
            }
        }
        return new ParameterValues(values);
    }

    /** A count. */
    public long of(Parameter.Count parameter) {
        return (Long) value(parameter);
    }

    /** A time in nanoseconds. */
    public long of(Parameter.Time parameter) {
        return (Long) value(parameter);
    }

    /** A probability or share. */
    public double of(Parameter.Fraction parameter) {
        return (Double) value(parameter);
    }

    /** The word that was chosen. */
    public String of(Parameter.Choice parameter) {
        return (String) value(parameter);
    }

    /** A text of the parameter's form. */
    public String of(Parameter.Text parameter) {
        return (String) value(parameter);
    }

    /** Which replicas are in which cluster. */
    public Parameter.Clusters.Division of(Parameter.Clusters parameter) {
        return (Parameter.Clusters.Division) value(parameter);
    }

    /** Whether they are the same as others, but for parameters of some names. */
    boolean same(ParameterValues others, Set<String> but) {
        return values.keySet().equals(others.values.keySet()) && values.entrySet().stream()
                .allMatch(each -> but.contains(each.getKey())
                        || each.getValue().equals(others.values.get(each.getKey())));
    }

    private Object value(Parameter parameter) {
        Object value = values.get(parameter.name());
        if (value == null) {
            throw new IllegalArgumentException("no parameter " + parameter.name());
        }
        return value;
    }
}
