package tutti.sim.world;

import tutti.core.protocol.Claims;
import tutti.core.protocol.Trait;
import tutti.sim.kernel.Nanos;
import tutti.sim.kernel.RandomStream;
import tutti.sim.world.node.Submission.Form;

/** How many clients there are, how they hand in their transactions, and how long they think: by seed and protocol. */
final class ClientMix {
    private static final int CLIENTS_MIN = 2;
    private static final int CLIENTS_MAX = 8;
    /** Of crowded replicas, where more waits for an applier than one has at a time. */
    private static final int CROWD_MAX = 32;
    private static final double CROWDED = 0.2;
    private static final double BURST = 0.7;
    private static final int[] USUAL = {12, 3, 3, 3, 1};
    private static final int[] BY_CLASSES = {1, 6, 4, 4, 2};
    private static final int[] WHOLE = {2, 0, 1, 6, 6};

    private final int[] forms;
    private final int clientsPerReplica;

    ClientMix(RandomStream random, Claims claims) {
        int[] base = claims.has(Trait.WHOLE_ONLY) ? WHOLE : claims.has(Trait.NEEDS_CLASSES) ? BY_CLASSES : USUAL;
        forms = base.clone();
        forms[random.nextInt(forms.length)] += claims.has(Trait.WHOLE_ONLY) ? 0 : random.nextInt(4);
        clientsPerReplica = (int) random.between(CLIENTS_MIN, random.chance(CROWDED) ? CROWD_MAX : CLIENTS_MAX);
    }

    int clientsPerReplica() {
        return clientsPerReplica;
    }

    Form form(RandomStream random) {
        int sum = 0;
        for (int weight : forms) {
            sum += weight;
        }
        int dice = random.nextInt(sum);
        int chosen = 0;
        while (dice >= forms[chosen]) {
            dice -= forms[chosen++];
        }
        return Form.values()[chosen];
    }

    /** In bursts, such that the transactions last about as long as the faults. */
    long think(RandomStream random, Scenario scenario, int replicas) {
        if (random.chance(BURST)) {
            return random.nextLong(Nanos.MILLI);
        }
        double mean = (double) scenario.plan().safetyNanos() * replicas * clientsPerReplica / scenario.transactions();
        return (long) random.exponential(mean / (1 - BURST) / 2);
    }
}
