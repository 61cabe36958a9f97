package tutti.eval.subjects;

import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.Distribution;
import tutti.sim.kernel.Nanos;
import tutti.sim.net.Impairment;

/** What a group suffers from. */
enum Trouble {
    /** Nothing. */
    NONE("no faults", null),
    /** Each message is lost with a probability of one in twenty, to each receiver independently (D5.1, table 3.3). */
    RANDOM_LOSS("random loss 5%", new Impairment.Effect.Discard(0.05)),
    /** One twentieth of the time everything is lost, for 5 ms on average. */
    BURSTY_LOSS("bursty loss 5%", new Impairment.Effect.LoseInBursts(new Distribution.Uniform(0, 10 * Nanos.MILLI),
            new Distribution.Uniform(0, 190 * Nanos.MILLI))),
    /** One member takes 200 microseconds of processor time for each fragment that it receives, the others 5. */
    SLOW_MEMBER("one slow member", null);

    private final String words;
    private final Impairment.@Nullable Effect effect;

    Trouble(String words, Impairment.@Nullable Effect effect) {
        this.words = words;
        this.effect = effect;
    }

    String words() {
        return words;
    }

    /** What is wrong with the network, nothing or one thing. */
    List<Impairment> impairments() {
        List<String> any = List.of(Impairment.ANY);
        return effect == null ? List.of() : List.of(new Impairment(any, any, effect));
    }
}
