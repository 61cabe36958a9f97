package tutti.sim.machine;

import java.util.random.RandomGenerator;
import tutti.sim.kernel.RandomStream;

/** Random numbers of the simulation, which no JDK changes, for those who ask the JDK's interface. */
final class SimRandom implements RandomGenerator {
    private final RandomStream stream;

    SimRandom(RandomStream stream) {
        this.stream = stream;
    }

    @Override
    public long nextLong() {
        return stream.nextLong();
    }

    @Override
    public long nextLong(long bound) {
        return stream.nextLong(bound);
    }

    @Override
    public int nextInt() {
        return (int) (stream.nextLong() >>> Integer.SIZE);
    }

    @Override
    public int nextInt(int bound) {
        return stream.nextInt(bound);
    }

    @Override
    public double nextDouble() {
        return stream.nextDouble();
    }
}
