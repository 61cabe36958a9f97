package tutti.bench;

import java.util.SplittableRandom;
import tutti.workload.tpcc.TpccTransaction;

/**
 * How much of TPC-C's work reads: the transactions of each kind, reading and writing, keep their shares among themselves
 * (MacroDDB section 5.2).
 */
enum MacroMix {
    STANDARD("8/92", 8), HALF("50/50", 50), READING("80/20", 80), READ_ONLY("100/0", 100);

    private final String label;
    private final int reads;

    MacroMix(String label, int reads) {
        this.label = label;
        this.reads = reads;
    }

    /** Reading/writing, in percent. */
    String label() {
        return label;
    }

    /** Draws what comes next. */
    TpccTransaction draw(SplittableRandom random) {
        return TpccTransaction.draw(reads, (least, most) -> random.nextInt(least, most + 1));
    }
}
