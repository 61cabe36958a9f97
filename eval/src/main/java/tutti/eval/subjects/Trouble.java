package tutti.eval.subjects;

import java.util.List;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Impairment;

/** What a group suffers from. */
enum Trouble {
    /** Nothing. */
    NONE("no faults"),
    /** Each message is lost with a probability of one in twenty, to each receiver independently (D5.1, table 3.3). */
    RANDOM_LOSS("random loss 5%"),
    /** One twentieth of the time everything is lost, for 5 ms on average. */
    BURSTY_LOSS("bursty loss 5%"),
    /** One member takes 200 microseconds of processor time for each fragment that it receives, the others 5. */
    SLOW_MEMBER("one slow member");

    private final String words;

    Trouble(String words) {
        this.words = words;
    }

    String words() {
        return words;
    }

    /** What is wrong with the network, nothing or one thing. */
    List<Impairment> impairments() {
        return switch (this) {
            case NONE, SLOW_MEMBER -> List.of();
            case RANDOM_LOSS -> everywhere(new Impairment.Effect.Discard(0.05));
            case BURSTY_LOSS -> everywhere(new Impairment.Effect.LoseInBursts(
                    new Distribution.Uniform(0, 10 * Nanos.MILLI), new Distribution.Uniform(0, 190 * Nanos.MILLI)));
        };
    }

    private static List<Impairment> everywhere(Impairment.Effect effect) {
        List<String> any = List.of(Impairment.ANY);
        return List.of(new Impairment(any, any, effect));
    }
}
