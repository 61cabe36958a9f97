package tutti.core.protocol;

import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tutti.core.text.NearestWord;

/**
 * One thing about a protocol that an operator can choose: its name, what it means, what is valid, and the value if nothing
 * is said. Configuration, help and documentation are made from it ({@link ProtocolDescriptor#parameters}). Values are texts: numbers in decimal,
 * times such as {@code 500us}, {@code 20ms}, {@code 1s}, {@code 5min}.
 */
public sealed interface Parameter {
    /** Lower-case words with hyphens between them. */
    String name();

    /** What it means, in a sentence or two. */
    String description();

    /** The value if nothing is said, as a text. */
    String byDefault();

    /** What is valid, for the person who reads it. */
    String valid();

    /** The valid value that is closest to this text. */
    String nearest(String text);

    /**
     * The value that a text stands for: a {@link Long} (of a time, nanoseconds), {@link Double}, {@link String} or
     * {@link Clusters.Division}.
     *
     * @throws IllegalArgumentException naming the parameter, the text, what is valid and the nearest valid text
     */
    Object parse(String text);

    /** How an impossible value is reported. */
    private static IllegalArgumentException impossible(Parameter parameter, String text) {
        return new IllegalArgumentException(parameter.name() + " is '" + text + "'; valid: " + parameter.valid()
                + "; nearest: " + parameter.nearest(text));
    }

    /**
     * A whole number.
     *
     * @param minimum lowest valid value
     * @param maximum highest valid value
     * @param normal if nothing is said
     * @param unit what is counted, in the plural
     * @param auto whether it can be {@code auto}, which stands for 0 and is chosen while it runs
     */
    record Count(String name, long minimum, long maximum, long normal, String unit,
            String description, boolean auto) implements Parameter {
        private static final String AUTO = "auto";

        /** One that must be a number. */
        public Count(String name, long minimum, long maximum, long normal, String unit, String description) {
            this(name, minimum, maximum, normal, unit, description, false);
        }

        @Override
        public String byDefault() {
            return Long.toString(normal);
        }

        @Override
        public String valid() {
            return minimum + " to " + maximum + " (" + unit + ")" + (auto ? ", or " + AUTO : "");
        }

        @Override
        public String nearest(String text) {
            try {
                return Long.toString(Math.clamp(Long.parseLong(text.strip()), minimum, maximum));
            } catch (NumberFormatException _) {
                return byDefault();
            }
        }

        @Override
        public Object parse(String text) {
            if (auto && text.strip().equals(AUTO)) {
                return 0L;
            }
            try {
                long value = Long.parseLong(text.strip());
                if (value >= minimum && value <= maximum) {
                    return value;
                }
            } catch (NumberFormatException _) {
                throw impossible(this, text);
            }
            throw impossible(this, text);
        }
    }

    /**
     * A span of time.
     *
     * @param minimumNanos lowest valid value
     * @param maximumNanos highest valid value
     * @param normalNanos if nothing is said
     */
    record Time(String name, long minimumNanos, long maximumNanos, long normalNanos,
            String description) implements Parameter {
        private static final Pattern NOTATION = Pattern.compile("(\\d{1,15})\\s*(us|ms|s|min|h)");
        private static final Map<String, Long> UNITS = Map.of("us", 1_000L, "ms", 1_000_000L, "s", 1_000_000_000L,
                "min", 60_000_000_000L, "h", 3_600_000_000_000L);
        private static final List<String> LARGEST_FIRST = List.of("h", "min", "s", "ms");

        @Override
        public String byDefault() {
            return print(normalNanos);
        }

        @Override
        public String valid() {
            return print(minimumNanos) + " to " + print(maximumNanos);
        }

        @Override
        public String nearest(String text) {
            long nanos = nanos(text);
            return nanos < 0 ? byDefault() : print(Math.clamp(nanos, minimumNanos, maximumNanos));
        }

        @Override
        public Object parse(String text) {
            long nanos = nanos(text);
            if (nanos < minimumNanos || nanos > maximumNanos) {
                throw impossible(this, text);
            }
            return nanos;
        }

        /** Nanoseconds, at most {@link Long#MAX_VALUE}; -1 if it is not a time. */
        private static long nanos(String text) {
            Matcher matcher = NOTATION.matcher(text.strip());
            if (!matcher.matches()) {
                return -1;
            }
            long number = Long.parseLong(matcher.group(1));
            long unit = UNITS.getOrDefault(matcher.group(2), 1L);
            return number > Long.MAX_VALUE / unit ? Long.MAX_VALUE : number * unit;
        }

        private static String print(long nanos) {
            for (String unit : LARGEST_FIRST) {
                long size = UNITS.getOrDefault(unit, 1L);
                if (nanos >= size && nanos % size == 0) {
                    return nanos / size + unit;
                }
            }
            return nanos / 1000 + "us";
        }
    }

    /**
     * A probability or share.
     *
     * @param minimum lowest valid value
     * @param maximum highest valid value
     * @param normal if nothing is said
     */
    record Fraction(String name, double minimum, double maximum, double normal,
            String description) implements Parameter {
        @Override
        public String byDefault() {
            return Double.toString(normal);
        }

        @Override
        public String valid() {
            return minimum + " to " + maximum;
        }

        @Override
        public String nearest(String text) {
            double value = number(text);
            return Double.isNaN(value) ? byDefault() : Double.toString(Math.clamp(value, minimum, maximum));
        }

        @Override
        public Object parse(String text) {
            double value = number(text);
            if (value >= minimum && value <= maximum) {
                return value;
            }
            throw impossible(this, text);
        }

        private static double number(String text) {
            try {
                return Double.parseDouble(text.strip());
            } catch (NumberFormatException _) {
                return Double.NaN;
            }
        }
    }

    /**
     * One of a few words.
     *
     * @param words that are valid, lower case; the first if nothing is said
     * @param ofOrder whether it only says how the world should make the total order, and changes nothing of the protocol
     */
    record Choice(String name, List<String> words, String description, boolean ofOrder) implements Parameter {
        public Choice {
            words = List.copyOf(words);
        }

        /** Of the protocol itself. */
        public Choice(String name, List<String> words, String description) {
            this(name, words, description, false);
        }

        @Override
        public String byDefault() {
            return words.getFirst();
        }

        @Override
        public String valid() {
            return String.join(", ", words);
        }

        @Override
        public String nearest(String text) {
            return NearestWord.of(text, words);
        }

        @Override
        public Object parse(String text) {
            String word = text.strip().toLowerCase(Locale.ROOT);
            if (!words.contains(word)) {
                throw impossible(this, text);
            }
            return word;
        }
    }

    /**
     * A text of a form of its own.
     *
     * @param form that it must have
     * @param says the form in words, for the person who writes it
     * @param normal if nothing is said; has the form
     */
    record Text(String name, Pattern form, String says, String normal, String description) implements Parameter {
        @Override
        public String byDefault() {
            return normal;
        }

        @Override
        public String valid() {
            return says;
        }

        @Override
        public String nearest(String text) {
            String clean = text.strip();
            return form.matcher(clean).matches() ? clean : normal;
        }

        @Override
        public Object parse(String text) {
            String clean = text.strip();
            if (!form.matcher(clean).matches()) {
                throw impossible(this, text);
            }
            return clean;
        }
    }

    /** Which replicas are in which cluster. If nothing is said, each replica is a cluster of its own. */
    record Clusters(String name, String description) implements Parameter {
        /** What the name of a cluster looks like. */
        static final String NAME = "[a-z][a-z0-9-]*";

        private static final String EACH_ALONE = "each-alone";
        private static final String NODES = "\\d{1,3}(,\\d{1,3})*";
        private static final Pattern FORM = Pattern.compile(NAME + ":" + NODES + "(;" + NAME + ":" + NODES + ")*");

        /**
         * Replicas by the names of their clusters.
         *
         * @param clusters empty if each replica is a cluster of its own
         */
        public record Division(Map<String, Set<Integer>> clusters) {
            /** Whether there may be more than one cluster. */
            public boolean divides() {
                return clusters.size() != 1;
            }

            /**
             * The clusters of these replicas.
             *
             * @throws IllegalArgumentException if others are named, or not all
             */
            Map<String, Set<Integer>> of(Set<Integer> replicas) {
                if (clusters.isEmpty()) {
                    Map<String, Set<Integer>> alone = new TreeMap<>();
                    replicas.forEach(one -> alone.put("r" + one, Set.of(one)));
                    return alone;
                }
                Set<Integer> named = new TreeSet<>();
                clusters.values().forEach(named::addAll);
                if (!named.equals(replicas)) {
                    throw new IllegalArgumentException(
                            "the clusters '" + text(clusters) + "' hold the replicas " + named
                                    + ", but there are " + new TreeSet<>(replicas));
                }
                return clusters;
            }
        }

        /** Clusters as the text that stands for them. */
        public static String text(Map<String, ? extends Collection<Integer>> clusters) {
            return clusters.entrySet().stream()
                    .map(cluster -> cluster.getKey() + ":" + cluster.getValue().stream().sorted().map(String::valueOf)
                            .collect(Collectors.joining(",")))
                    .collect(Collectors.joining(";"));
        }

        @Override
        public String byDefault() {
            return EACH_ALONE;
        }

        @Override
        public String valid() {
            return EACH_ALONE + ", or names with their replicas, like braga:0,1;lisbon:2";
        }

        @Override
        public String nearest(String text) {
            String clean = text.strip();
            return FORM.matcher(clean).matches() ? clean : EACH_ALONE;
        }

        @Override
        public Object parse(String text) {
            String clean = text.strip();
            if (clean.equals(EACH_ALONE)) {
                return new Division(Map.of());
            }
            if (!FORM.matcher(clean).matches()) {
                throw impossible(this, text);
            }
            Map<String, Set<Integer>> clusters = new TreeMap<>();
            Set<Integer> all = new TreeSet<>();
            for (String cluster : clean.split(";", -1)) {
                int colon = cluster.indexOf(':');
                String called = cluster.substring(0, colon);
                Set<Integer> nodes = new TreeSet<>();
                for (String one : cluster.substring(colon + 1).split(",", -1)) {
                    int node = Integer.parseInt(one);
                    if (!all.add(node)) {
                        throw new IllegalArgumentException(name + " is '" + text + "': replica " + node
                                + " is there twice");
                    }
                    nodes.add(node);
                }
                if (clusters.put(called, nodes) != null) {
                    throw new IllegalArgumentException(name + " is '" + text + "': cluster " + called
                            + " is there twice");
                }
            }
            return new Division(clusters);
        }
    }
}
