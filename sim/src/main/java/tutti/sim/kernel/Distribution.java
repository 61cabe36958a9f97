package tutti.sim.kernel;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * How durations are spread: what models draw latencies, service times and think times from. Nanoseconds; never negative
 * (normal draws below 0 count as 0). Written and read as a word and durations, for example {@code uniform 1ms 5ms}.
 */
public sealed interface Distribution {
    /** No time at all. */
    Distribution ZERO = new Constant(0);
    /** The largest deviation of a lognormal distribution: with more, means would be beyond all durations. */
    double SIGMA_MAX = 10;

    /** A duration. Draws from the stream as the kind of distribution needs; a constant draws nothing. */
    long sample(RandomStream random);

    /** The same, with durations multiplied. */
    Distribution times(double factor);

    /** Always the same. */
    record Constant(long nanos) implements Distribution {
        public Constant {
            requireTime(nanos);
        }

        @Override
        public long sample(RandomStream random) {
            return nanos;
        }

        @Override
        public Distribution times(double factor) {
            return new Constant(scaled(nanos, factor));
        }

        @Override
        public String toString() {
            return "constant " + Nanos.text(nanos);
        }
    }

    /** Between two durations, both possible, all equally likely. */
    record Uniform(long fromNanos, long toNanos) implements Distribution {
        public Uniform {
            requireTime(fromNanos);
            requireTime(toNanos - fromNanos);
        }

        @Override
        public long sample(RandomStream random) {
            return random.between(fromNanos, toNanos);
        }

        @Override
        public Distribution times(double factor) {
            return new Uniform(scaled(fromNanos, factor), scaled(toNanos, factor));
        }

        @Override
        public String toString() {
            return "uniform " + Nanos.text(fromNanos) + " " + Nanos.text(toNanos);
        }
    }

    /** Exponential. */
    record Exponential(long meanNanos) implements Distribution {
        public Exponential {
            requireTime(meanNanos);
        }

        @Override
        public long sample(RandomStream random) {
            return (long) random.exponential((double) meanNanos);
        }

        @Override
        public Distribution times(double factor) {
            return new Exponential(scaled(meanNanos, factor));
        }

        @Override
        public String toString() {
            return "exponential " + Nanos.text(meanNanos);
        }
    }

    /** Normal, cut off at 0. */
    record Normal(long meanNanos, long standardDeviationNanos) implements Distribution {
        public Normal {
            requireTime(meanNanos);
            requireTime(standardDeviationNanos);
        }

        @Override
        public long sample(RandomStream random) {
            return Math.max(0, (long) random.normal((double) meanNanos, (double) standardDeviationNanos));
        }

        @Override
        public Distribution times(double factor) {
            return new Normal(scaled(meanNanos, factor), scaled(standardDeviationNanos, factor));
        }

        @Override
        public String toString() {
            return "normal " + Nanos.text(meanNanos) + " " + Nanos.text(standardDeviationNanos);
        }
    }

    /**
     * Lognormal: the logarithm of the duration is normal.
     *
     * @param medianNanos half of all are shorter
     * @param sigma standard deviation of the natural logarithm, at least 0
     */
    record LogNormal(long medianNanos, double sigma) implements Distribution {
        public LogNormal {
            requireTime(medianNanos);
            if (!(sigma >= 0 && sigma <= SIGMA_MAX)) {
                throw new IllegalArgumentException(
                        "a lognormal deviation of " + sigma + " is not between 0 and " + SIGMA_MAX);
            }
        }

        @Override
        public long sample(RandomStream random) {
            return (long) (medianNanos * StrictMath.exp(random.normal(0, sigma)));
        }

        @Override
        public Distribution times(double factor) {
            return new LogNormal(scaled(medianNanos, factor), sigma);
        }

        @Override
        public String toString() {
            return "lognormal " + Nanos.text(medianNanos) + " " + sigma;
        }
    }

    /**
     * Any of some durations that were observed, all equally likely.
     *
     * @param nanos one at least
     */
    record Empirical(List<Long> nanos) implements Distribution {
        public Empirical {
            nanos = List.copyOf(nanos);
            if (nanos.isEmpty()) {
                throw new IllegalArgumentException("an empirical distribution needs an observation");
            }
            nanos.forEach(Distribution::requireTime);
        }

        @Override
        public long sample(RandomStream random) {
            return random.pick(nanos);
        }

        @Override
        public Distribution times(double factor) {
            return new Empirical(nanos.stream().map(one -> scaled(one, factor)).toList());
        }

        @Override
        public String toString() {
            return "empirical " + nanos.stream().map(Nanos::text).collect(Collectors.joining(" "));
        }
    }

    /**
     * Reads what {@code toString} writes.
     *
     * @throws IllegalArgumentException if it is not of that form; the message says what is
     */
    static Distribution parse(String text) {
        List<String> words = List.of(text.strip().split("\\s+"));
        if (words.getFirst().equals("lognormal") && words.size() == 3) {
            return new LogNormal(Nanos.parse(words.get(1)), sigma(words.get(2)));
        }
        List<Long> nanos = new ArrayList<>();
        for (String word : words.subList(1, words.size())) {
            nanos.add(Nanos.parse(word));
        }
        String kind = words.getFirst();
        if (kind.equals("constant") && nanos.size() == 1) {
            return new Constant(nanos.getFirst());
        } else if (kind.equals("uniform") && nanos.size() == 2) {
            return new Uniform(nanos.getFirst(), nanos.getLast());
        } else if (kind.equals("exponential") && nanos.size() == 1) {
            return new Exponential(nanos.getFirst());
        } else if (kind.equals("normal") && nanos.size() == 2) {
            return new Normal(nanos.getFirst(), nanos.getLast());
        } else if (kind.equals("empirical") && !nanos.isEmpty()) {
            return new Empirical(nanos);
        }
        throw new IllegalArgumentException("'" + text + "' is no distribution: write constant TIME, uniform FROM TO,"
                + " exponential MEAN, normal MEAN DEVIATION, lognormal MEDIAN SIGMA (a number) or empirical TIME TIME ...");
    }

    private static double sigma(String word) {
        try {
            return Double.parseDouble(word);
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException(
                    "'" + word + "' is no number: write lognormal MEDIAN SIGMA, where SIGMA is"
                            + " the standard deviation of the natural logarithm, like lognormal 2ms 0.3",
                    wrong);
        }
    }

    private static void requireTime(long nanos) {
        if (nanos < 0) {
            throw new IllegalArgumentException("a duration of " + nanos + " ns, or a range that ends before it begins");
        }
    }

    private static long scaled(long nanos, double factor) {
        if (!(factor >= 0)) {
            throw new IllegalArgumentException("a factor of " + factor + " would make time negative");
        }
        return (long) (nanos * factor);
    }
}
